"""``$`expr` `` in a prompt becomes the value of that expression; every other byte of a prompt stays as typed.

Braces, ``$PATH``, percent signs, quotes and lone backticks mean nothing here. The syntax was chosen because it is rare
in text and code; a prompt that needs it literally is sent with ``%%pi --raw``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

from pi_nb.errors import UserError

__all__ = ["as_prompt_text", "interpolate"]

_EXPRESSION = re.compile(r"\$`([^`\n]+)`")
TABLE_ROWS = 20  # rows of a table that go into a prompt; the rest is counted


def interpolate(text: str, evaluate: Callable[[str], Any]) -> str:
    """Return ``text`` with each ``$`expr` `` replaced by its value.

    Args:
        text: The prompt as typed.
        evaluate: Evaluates one Python expression in the user's namespace.

    Raises:
        UserError: An expression could not be evaluated; nothing has been sent.
    """

    def value(match: re.Match[str]) -> str:
        try:
            return as_prompt_text(evaluate(match[1]))
        except Exception as error:
            raise UserError(
                f"{match[0]} could not be evaluated: {type(error).__name__}: {error}",
                hint="Nothing was sent. To send the prompt exactly as typed, use %%pi --raw.",
            ) from error

    return _EXPRESSION.sub(value, text)


def as_prompt_text(value: Any) -> str:
    """Return a value as a model should read it: text, NumPy's numbers as they are, tables as Markdown, else a repr."""
    if isinstance(value, str):
        return value
    if _is_numpy_scalar(value):
        return str(value)  # 6, where its repr says np.int64(6)
    table = _table(value)
    return repr(value) if table is None else table


def _is_numpy_scalar(value: Any) -> bool:
    numpy = sys.modules.get("numpy")  # there is none if nobody imported it
    return numpy is not None and isinstance(value, numpy.generic)


def _table(value: Any) -> str | None:
    """Return a data frame (pandas, polars or alike) as a Markdown table, or None for anything else."""
    columns = getattr(value, "columns", None)
    rows = getattr(value, "itertuples", None) or getattr(value, "iter_rows", None)
    if columns is None or rows is None or not hasattr(value, "shape"):
        return None
    indexed = hasattr(value, "itertuples")
    head: list[Any] = [*([""] if indexed else []), *columns]
    lines = [_row(head), _row(["---"] * len(head))]
    lines += [_row(row) for row in islice(_rows(rows), TABLE_ROWS)]
    left = value.shape[0] - TABLE_ROWS
    return "\n".join(lines) + (f"\n\n… and {left} more of {value.shape[0]} rows" if left > 0 else "")


def _rows(rows: Callable[[], Iterable[Sequence[Any]]]) -> Iterable[Sequence[Any]]:
    return rows()


def _row(cells: Iterable[Any]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

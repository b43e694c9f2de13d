"""Prompts reach a magic exactly as they were typed.

IPython rewrites a cell before it looks for magics: it takes ``>>>`` for a pasted prompt and strips it, and it takes
a line that ends in a question mark for a request for help, so that ``%pi what is a closure?`` would look up
``closure``. Two input transformers come before that, for the magics that take a text only.
"""

from __future__ import annotations

from typing import Any

from IPython.core.inputtransformer2 import EscapedCommand

__all__ = ["PromptLine", "install", "prompt_cell", "remove"]

NAMES = frozenset({"pi", "pi_steer", "pi_followup", "pi_next"})  # magics that take a text


def prompt_cell(lines: list[str]) -> list[str]:
    """Turn a whole ``%%pi`` cell into the call it means, before anything else has touched its body."""
    start = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if start == len(lines):
        return lines
    name, _, options = lines[start].rstrip("\r\n").partition(" ")
    if name.removeprefix("%%") not in NAMES or not name.startswith("%%"):
        return lines
    body = "".join(lines[start + 1 :])
    return [f"get_ipython().run_cell_magic({name[2:]!r}, {options.strip()!r}, {body!r})\n"]


class PromptLine(EscapedCommand):
    """``%pi some text``, found before IPython looks for a question mark at the end of the line."""

    priority = 1  # HelpEnd has 5; the lowest goes first

    @classmethod
    def find(cls, tokens_by_line: list[Any]) -> PromptLine | None:
        """Find a line that begins with ``%pi`` and has a text after it."""
        for line in tokens_by_line:
            words = [token for token in line if token.string.strip()]
            if len(words) > 2 and words[0].string == "%" and words[1].string in NAMES and _has_prompt(words):
                return cls(words[0].start)
        return None


def _has_prompt(words: list[Any]) -> bool:
    """Return whether something other than a request for help (``%pi?``) follows the name."""
    return bool(words[2].start[1] > words[1].end[1])


def install(ip: Any) -> None:
    """Put both transformers in front; installing twice is the same as installing once."""
    remove(ip)
    ip.input_transformers_cleanup.insert(0, prompt_cell)
    ip.input_transformer_manager.token_transformers.insert(0, PromptLine)


def remove(ip: Any) -> None:
    """Take both transformers away again, those of an earlier import of this module included."""
    for transformers, mine in (
        (ip.input_transformers_cleanup, prompt_cell),
        (ip.input_transformer_manager.token_transformers, PromptLine),
    ):
        transformers[:] = [t for t in transformers if not _same(t, mine)]


def _same(left: Any, right: Any) -> bool:
    names = ("__module__", "__qualname__")
    return all(getattr(left, name, None) == getattr(right, name) for name in names)

"""Several answers to one prompt, side by side; on a narrow page they are scrolled, as text they follow each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from pi_nb.notebook.answer_html import STYLE, answer_html
from pi_nb.notebook.answer_markdown import _literal, answer_markdown, answer_text
from pi_nb.notebook.caption import Caption, clean
from pi_nb.notebook.transcript import Snapshot
from pi_nb.views.plain import UNTYPESET

__all__ = ["Column", "columns_bundle"]

COLUMNS_STYLE = """<style>
.pi-columns { display: flex; gap: .8em; overflow-x: auto; align-items: stretch; padding-bottom: .4em; }
.pi-columns > section { flex: 1 0 17em; min-width: 17em; max-width: 45em; box-sizing: border-box;
  border: 1px solid var(--jp-border-color2, var(--vscode-panel-border, #80808055)); border-radius: 6px;
  padding: .4em .8em .6em; display: flex; flex-direction: column; }
.pi-columns > section > .pi-nb { flex: 1; display: flex; flex-direction: column; }
.pi-columns > section > .pi-nb > .pi-facts { margin-top: auto; }
.pi-columns .pi-title { font-weight: 600; margin: 0 0 .3em; overflow-wrap: anywhere; }
.pi-columns .pi-score { font-variant-numeric: tabular-nums; font-weight: 400; float: right; }
.pi-columns .pi-failure { color: var(--jp-error-color1, var(--vscode-errorForeground, #d32f2f)); }
.pi-columns-note { color: var(--jp-content-font-color2, var(--vscode-descriptionForeground, #737373)); }
</style>"""


@dataclass(frozen=True, slots=True)
class Column:
    """One answer: what it is called, how it stands, why it failed and what it scored (both may be empty)."""

    title: str
    run: Snapshot
    caption: Caption
    failure: str = ""
    score: str = ""

    @property
    def heading(self) -> str:
        """Title and score in one line."""
        return f"{self.title} · score {self.score}" if self.score else self.title


def columns_bundle(columns: Sequence[Column], *, note: str = "", closing: str = "") -> dict[str, str]:
    """Return answers in each format that some front end reads.

    Args:
        columns: The answers.
        note: What is said above them.
        closing: What is said below them.
    """
    return {
        "text/html": _html(columns, note, closing),
        "text/markdown": _markdown(columns, note, closing),
        "text/plain": _text(columns, note, closing),
    }


def _html(columns: Sequence[Column], note: str, closing: str) -> str:
    above, below = (_words("pi-columns-note", text) for text in (note, closing))
    body = "".join(map(_section, columns))
    return f'<div>{STYLE}{COLUMNS_STYLE}{above}<div class="pi-columns">{body}</div>{below}</div>'


def _section(column: Column) -> str:
    score = f'<span class="pi-score">{escape(clean(column.score))}</span>' if column.score else ""
    failure = _words("pi-failure", column.failure)
    body = answer_html(column.run, column.caption).replace(STYLE, "", 1)
    title = f'<div class="pi-title {UNTYPESET}">{score}{escape(clean(column.title))}</div>'
    return f"<section>{title}{failure}{body}</section>"


def _words(kind: str, text: str) -> str:
    return f'<p class="{kind} {UNTYPESET}">{escape(clean(text))}</p>' if text else ""


def _markdown(columns: Sequence[Column], note: str, closing: str) -> str:
    pieces = [f"*{_literal(note)}*"] if note else []
    for column in columns:
        pieces += [f"#### {_literal(column.heading)}", f"**{_literal(column.failure)}**" if column.failure else ""]
        pieces.append(answer_markdown(column.run, column.caption))
    pieces.append(f"*{_literal(closing)}*" if closing else "")
    return "\n\n".join(piece for piece in pieces if piece)


def _text(columns: Sequence[Column], note: str, closing: str) -> str:
    pieces = [f"[{clean(note)}]"] if note else []
    for column in columns:
        failure = f"\nfailed: {clean(column.failure)}" if column.failure else ""
        pieces.append(f"── {clean(column.heading)} ──{failure}\n{answer_text(column.run, column.caption)}")
    pieces.append(f"[{clean(closing)}]" if closing else "")
    return "\n\n".join(piece for piece in pieces if piece)

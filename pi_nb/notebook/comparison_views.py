"""A comparison as plain text and as escaped HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape

from pi_nb.notebook.caption import clean
from pi_nb.notebook.comparing import Comparison, Said
from pi_nb.notebook.worddiff import Kind, word_diff
from pi_nb.views.plain import clip, pad, visible

__all__ = ["as_html", "as_text"]

WIDE = 100  # cells of the plain text
LONGEST = 20_000  # characters of a message that are shown

STYLE = """<style>
.pi-compare { --pi-soft: var(--jp-content-font-color2, var(--vscode-descriptionForeground, #737373));
  --pi-line: var(--jp-border-color2, var(--vscode-panel-border, #80808055)); max-width: 90em; }
.pi-compare table { width: 100%; table-layout: fixed; border-collapse: collapse; }
.pi-compare.pi-compare tr { background: none; }
.pi-compare.pi-compare :is(td, th) { text-align: left; vertical-align: top; padding: .4em .7em;
  border: 1px solid var(--pi-line); white-space: pre-wrap; overflow-wrap: anywhere; }
.pi-compare .pi-facts td, .pi-compare .pi-facts th { padding: .1em .7em; font-size: .85em; }
.pi-compare .pi-soft { color: var(--pi-soft); font-size: .85em; }
.pi-compare del { background: #d32f2f33; } .pi-compare ins { background: #388e3c33; text-decoration: none; }
</style>"""


def as_html(found: Comparison, *, whole_text: bool = False) -> str:
    """Return a comparison as one HTML element: side by side, or (``whole_text``) the last answers as one text."""
    body = _answers(found) if whole_text else _table(found)
    return f'<div class="pi-compare">{STYLE}<p class="pi-soft">{escape(_heading(found))}</p>{_facts(found)}{body}</div>'


def _heading(found: Comparison) -> str:
    if not found.common:
        return "Nothing in common."
    return f"{found.common} message{'' if found.common == 1 else 's'} in common, the last: {clean(found.point)}"


def _facts(found: Comparison) -> str:
    names = "".join(f"<th>{escape(clean(side.ref))}</th>" for side in (found.left, found.right))
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(clean(left))}</td><td>{escape(clean(right))}</td></tr>"
        for name, left, right in found.facts
    )
    return f'<table class="pi-facts"><tr><th></th>{names}</tr>{rows}</table>'


def _table(found: Comparison) -> str:
    rows = "".join(f"<tr>{_cell(left, right, 'gone')}{_cell(right, left, 'new')}</tr>" for left, right in found.rows)
    return f"<table>{rows}</table>" if rows else "<p>The same branch.</p>"


def _cell(said: Said | None, other: Said | None, mine: Kind) -> str:
    """Return one message; the words that the message beside it does not have are marked."""
    if said is None:
        return "<td></td>"
    body = _marked(said, other, mine) if other is not None and other.who == said.who else escape(_shown(said.text))
    return f'<td><div class="pi-soft">{escape(said.who)} {escape(said.entry_id[:8])}</div>{body}</td>'


def _marked(said: Said, other: Said, mine: Kind) -> str:
    old, new = (said, other) if mine == "gone" else (other, said)
    tag = "del" if mine == "gone" else "ins"
    return "".join(
        escape(text) if kind == "same" else f"<{tag}>{escape(text)}</{tag}>"
        for kind, text in word_diff(_shown(old.text), _shown(new.text))
        if kind in ("same", mine)
    )


def _answers(found: Comparison) -> str:
    tags = {"same": ("", ""), "gone": ("<del>", "</del>"), "new": ("<ins>", "</ins>")}
    pieces = word_diff(_shown(found.left.answer), _shown(found.right.answer))
    body = "".join(f"{tags[kind][0]}{escape(text)}{tags[kind][1]}" for kind, text in pieces)
    return f"<table><tr><td>{body}</td></tr></table>"


def _shown(text: str) -> str:
    text = clean(text)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n… {len(text) - LONGEST:,} more characters"


# ---------------------------------------------------------------- plain text


def as_text(found: Comparison, *, whole_text: bool = False, wide: int = WIDE) -> str:
    """Return a comparison as plain text: two columns, or (``whole_text``) the last answers with ``[-gone-]{+new+}``."""
    lines = [_heading(found), "", *_text_facts(found, wide), ""]
    if whole_text:
        marks = {"same": "{}", "gone": "[-{}-]", "new": "{{+{}+}}"}
        pieces = word_diff(_shown(found.left.answer), _shown(found.right.answer))
        return "\n".join([*lines, "".join(marks[kind].format(text) for kind, text in pieces)])
    for left, right in found.rows:
        lines += [*_beside(_lines(left, wide), _lines(right, wide), wide), ""]
    return "\n".join(lines).rstrip("\n")


def _text_facts(found: Comparison, wide: int) -> Iterator[str]:
    half = (wide - 12) // 2
    rows = [("", found.left.ref, found.right.ref), *found.facts]
    for name, left, right in rows:
        yield f"{name:12}{pad(clip(visible(left), half), half)}{clip(visible(right), half)}".rstrip()


def _lines(said: Said | None, wide: int) -> list[str]:
    if said is None:
        return []
    room = (wide - 3) // 2
    lines = [visible(f"{said.who} {said.entry_id[:8]}")]
    for part in _shown(said.text).split("\n"):
        lines += textwrap.wrap(visible(part), room - 2, initial_indent="  ", subsequent_indent="  ") or [""]
    return [clip(line, room) for line in lines]


def _beside(left: list[str], right: list[str], wide: int) -> Iterator[str]:
    room = (wide - 3) // 2
    for index in range(max(len(left), len(right))):
        one = left[index] if index < len(left) else ""
        other = right[index] if index < len(right) else ""
        yield f"{pad(one, room)} │ {other}".rstrip()

"""A session's tree as one SVG picture that needs nothing: no ``dot``, no font, no script."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import accumulate
from typing import Final

from pi_nb.session.tree import Session
from pi_nb.views.entry_line import Line
from pi_nb.views.gutter import ROW, dot, dot_x, strokes
from pi_nb.views.looks import picture_style
from pi_nb.views.outline import Drawn, Mark, Outline, outline
from pi_nb.views.plain import clip, width

__all__ = ["tree_svg"]

_EDGE: Final = 16  # px around everything
_TOP: Final = 44  # px above the first row
_CELL: Final = 7.1  # px, an average cell of the text font
_MONO: Final = 6.6  # px, a cell of the id font
_CELLS: Final = 96  # most cells of text in a row
_APART: Final = 10  # px between two trees
_GAP: Final = 14  # px between a row's mark and what it says
_STYLE: Final = (
    ".pi-nb-svg text{font:13px system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,sans-serif;white-space:pre}"
    ".pi-nb-svg .mono{font:11px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace}"
    ".pi-nb-svg .who{font-weight:600}.pi-nb-svg .off .who,.pi-nb-svg .quiet .who{font-weight:400}"
)


def tree_svg(session: Session, *, max_rows: int | None = 200, everything: bool = False) -> str:
    """Return the tree as an SVG document with its own style, light or dark as the viewer's system is.

    Args:
        session: The session.
        max_rows: Most rows; those nearest to the leaf are drawn and the rest counted. None draws all.
        everything: True to draw bookkeeping too: labels, names, moves of the leaf.
    """
    shown = outline(session, max_rows=max_rows, everything=everything)
    rows = list(shown.drawn())
    left = _EDGE + max((width(row.id) for row in rows), default=0) * _MONO + 8
    wide = (
        max(_EDGE + width(shown.heading) * _CELL, *(_words_at(row, left) + _length(row) for row in rows), 240) + _EDGE
    )
    tops = list(accumulate((ROW + _APART * _begins(row) for row in rows[1:]), initial=_TOP))
    high = tops[-1] + ROW * bool(rows) + (36 if shown.footing else _EDGE)
    body = (part for row, top in zip(rows, tops, strict=False) for part in _row(row, left, top, wide))
    return "".join((_open(shown, round(wide), high), *body, _close(shown, high)))


def _begins(drawn: Drawn) -> bool:
    return drawn.row.origin != "entry"


def _open(shown: Outline, wide: int, high: int) -> str:
    style = _STYLE + picture_style(".pi-nb-svg")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="pi-nb-svg" role="img" width="{wide}" height="{high}" '
        f'viewBox="0 0 {wide} {high}" aria-label="{escape(shown.heading)}"><style>{style}</style>'
        f'<rect class="back" x=".5" y=".5" width="{wide - 1}" height="{high - 1}" rx="8"/>'
        f'<text class="dim" x="{_EDGE}" y="27">{escape(shown.heading)}</text>'
    )


def _close(shown: Outline, high: int) -> str:
    return f'<text class="dim" x="{_EDGE}" y="{high - 14}">{escape(shown.footing)}</text></svg>'


def _row(drawn: Drawn, left: float, top: float, wide: float) -> Iterator[str]:
    row, base = drawn.row, top + 17.5
    if row.leaf:
        yield f'<rect class="here" x="6" y="{top + 1:g}" width="{wide - 12:g}" height="{ROW - 2}" rx="5"/>'
    yield f'<text class="mono dim" x="{_EDGE}" y="{base:g}">{escape(drawn.id)}</text>'
    yield f'<g transform="translate({left:g})">'
    for stroke in strokes(row, top):
        yield f'<path class="{stroke.css}" d="{stroke.d}"/>'
    yield f"{dot(row, drawn.line.kind, top)}</g>"
    at = left + dot_x(row) + _GAP
    for mark in drawn.marks:
        yield _chip(mark, at, top)
        at += _chip_width(mark)
    css = "words" + " off" * (not row.active) + " quiet" * (not drawn.line.is_message)
    yield f'<text class="{css}" x="{at:g}" y="{base:g}">{_words(drawn.line)}</text>'


def _chip(mark: Mark, x: float, top: float) -> str:
    size = _chip_width(mark) - 6
    length = size - 10
    return (
        f'<g class="chip {mark.kind}"><rect x="{x:g}" y="{top + 5:g}" width="{size:g}" height="{ROW - 10}" rx="4"/>'
        f'<text class="mono" x="{x + 5:g}" y="{top + 17:g}" textLength="{length:g}" '
        f'lengthAdjust="spacingAndGlyphs">{escape(mark.text)}</text></g>'
    )


def _chip_width(mark: Mark) -> float:
    return width(mark.text) * _MONO + 16


def _words(line: Line) -> str:
    """Return what a row says as coloured pieces of one text."""
    pieces = [("who " + line.kind, line.head), ("", line.text), *(("mono dim", f"[{call}]") for call in line.calls)]
    pieces.append(("fail", f"({line.failure})" if line.failure else ""))
    room, out = _CELLS, []
    for css, text in pieces:
        text = clip(text, room)
        room -= width(text) + 1
        if text:
            out.append(f'<tspan class="{css}">{escape(text)}</tspan>' if css else escape(text))
    return " ".join(out)


def _words_at(drawn: Drawn, left: float) -> float:
    return left + dot_x(drawn.row) + _GAP + sum(map(_chip_width, drawn.marks))


def _length(drawn: Drawn) -> float:
    return min(_CELLS, width(str(drawn.line))) * _CELL

"""The lines left of a row, as SVG: shared by the picture and the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from pi_nb.views.layout import ACTIVE, MAX_LANES, Row

__all__ = ["LANE", "ROW", "dot", "dot_x", "strokes"]

ROW: Final = 26  # px, height of a row
LANE: Final = 20  # px, width of a column
_RADIUS: Final = 4.5  # px, of an entry's mark
_BEND: Final = 9  # px, radius of the bend into a branch


class Stroke(NamedTuple):
    """A line: its colour class and its path data."""

    css: str
    d: str


def dot_x(row: Row) -> float:
    """Return where the row's mark stands, in px from the left edge of the gutter."""
    return _x(len(row.bars))


def _x(column: int) -> float:
    return (column + 0.5) * LANE


def strokes(row: Row, top: float = 0) -> Iterator[Stroke]:
    """Yield the lines of a row whose upper edge is at ``top`` px, the active ones last so that they lie on top."""
    yield from sorted(_strokes(row, top), key=lambda stroke: "active" in stroke.css)


def _strokes(row: Row, top: float) -> Iterator[Stroke]:
    middle, bottom, x = top + ROW / 2, top + ROW, dot_x(row)
    for column, bar in enumerate(row.bars):
        if bar:
            yield Stroke(_css(bar), f"M{_x(column):g} {top:g}V{bottom:g}")
    if row.joint:
        trunk = _x(len(row.bars) - 1)
        yield Stroke(
            _css(row.above, gap=row.gap or row.lane > MAX_LANES),
            f"M{trunk:g} {top:g}V{middle - _BEND:g}Q{trunk:g} {middle:g} {trunk + _BEND:g} {middle:g}H{x - _RADIUS:g}",
        )
    elif row.above:
        yield Stroke(_css(row.above, gap=row.gap), f"M{x:g} {top:g}V{middle - _RADIUS:g}")
    if row.down:
        elsewhere = row.forks and len(row.bars) == MAX_LANES  # the columns below begin further right
        yield Stroke(_css(row.down, gap=elsewhere), f"M{x:g} {middle + _RADIUS:g}V{bottom:g}")


def _css(line: int, *, gap: bool = False) -> str:
    return f"{'active' if line == ACTIVE else 'line'}{' gap' if gap else ''}"


def dot(row: Row, kind: str, top: float = 0) -> str:
    """Return the row's mark as SVG: filled on the path to the leaf, ringed where the leaf is."""
    x, y = dot_x(row), top + ROW / 2
    ring = f'<circle class="ring" cx="{x:g}" cy="{y:g}" r="8.5"/>' if row.leaf else ""
    css = f"dot {kind} on" if row.active else f"dot {kind}"
    return f'{ring}<circle class="{css}" cx="{x:g}" cy="{y:g}" r="{_RADIUS:g}"/>'

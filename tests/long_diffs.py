"""Failing comparisons of long texts: told from where they begin to differ, at once.

In CI pytest compares all of two texts, line by line and letter by letter, which takes cubic time: minutes, or hours,
for a bundle of JavaScript that is some letters off.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

MOST = 10_000  # characters of both that are compared whole
_LINES, _WIDTH, _BEFORE = 12, 300, 60

_whole = difflib.ndiff


def install() -> None:
    """Let everything that asks for an ``ndiff`` have a short one of what is long."""
    difflib.ndiff = ndiff


def ndiff(a: Sequence[str], b: Sequence[str], *args: Any, **options: Any) -> Iterator[str]:
    """Yield what ``difflib.ndiff`` does; of long texts only some lines from the first difference on."""
    if sum(map(len, (*a, *b))) <= MOST:
        yield from _whole(a, b, *args, **options)
        return
    first = _common(a, b)
    one, two = a[first : first + _LINES], b[first : first + _LINES]
    column = max(0, _common(one[0], two[0]) - _BEFORE) if one and two else 0
    yield f"? long texts: line {first + 1} and some more, from column {column + 1} on\n"
    yield from _whole(_cut(one, column), _cut(two, column), *args, **options)


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how much two sequences have in common at their beginning."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _cut(lines: Sequence[str], column: int) -> list[str]:
    return [line[column : column + _WIDTH].rstrip("\n") + "\n" for line in lines]

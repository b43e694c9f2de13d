"""Exact replacements in a text: each found once, all applied to the text as it was, or none.

Lines may end in LF or CRLF. Both count as the same when a text is looked for, what is put in gets the ends of the
place where it goes, and nothing else changes.
"""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from pi_nb.errors import ToolError

__all__ = ["Replacement", "apply"]

_LISTED = 10  # places named when a text is found more than once
_SEARCHED = 20_000  # lines that are compared with a text that is not there
_WIDTH = 200  # characters of a line that are compared or shown


@dataclass(frozen=True, slots=True)
class Replacement:
    """A text that is there once, and what comes in its place."""

    old: str
    new: str


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    index: int
    new: str


class _Text:
    """A text with LF ends only, which knows where it had CRLF."""

    def __init__(self, original: str) -> None:
        self.original = original
        self.plain = original.replace("\r\n", "\n")
        self._pairs = list(_pairs(original))
        self._mostly_pairs = 2 * len(self._pairs) > self.plain.count("\n")

    def place(self, position: int) -> int:
        """Return where a position of the plain text is in the original."""
        return position + bisect_left(self._pairs, position)

    def fitted(self, new: str, start: int, end: int) -> str:
        """Return ``new`` with the line ends that the place between two plain positions has."""
        lf = new.replace("\r\n", "\n")
        if bisect_left(self._pairs, start) < bisect_left(self._pairs, end):
            return lf.replace("\n", "\r\n")
        if "\n" in self.plain[start:end] or not self._mostly_pairs:
            return lf
        return lf.replace("\n", "\r\n")

    def line(self, position: int) -> int:
        """Return the 1-based line of a plain position."""
        return self.plain.count("\n", 0, position) + 1


def _pairs(text: str) -> Iterator[int]:
    """Return where, in the plain text, a newline stands for CRLF."""
    found = text.find("\r\n")
    seen = 0
    while found >= 0:
        yield found - seen
        seen += 1
        found = text.find("\r\n", found + 2)


def apply(text: str, edits: Sequence[Replacement], *, name: str) -> str:
    """Return the text with all replacements made.

    Args:
        text: The text as it is; every replacement is looked for in this.
        edits: What to replace; their order does not matter.
        name: What the text is called in errors.

    Raises:
        ToolError: A text is not found, or found more than once, or two overlap, or nothing would change. The message
            says which, and where to look.
    """
    if not edits:
        raise ToolError("No replacement was given.")
    source = _Text(text)
    spans = sorted((_find(source, edit, i, len(edits), name) for i, edit in enumerate(edits)), key=lambda s: s.start)
    for first, second in pairwise(spans):
        if second.start < first.end:
            one, two = sorted((first.index, second.index))
            raise ToolError(f"edits[{one}] and edits[{two}] overlap in {name}; make them one.")
    result = _replaced(source, spans)
    if result == text:
        raise ToolError(f"Nothing would change in {name}: the new text is the same as the old.")
    return result


def _replaced(source: _Text, spans: Sequence[_Span]) -> str:
    parts, at = [], 0
    for span in spans:
        parts += [source.original[at : source.place(span.start)], source.fitted(span.new, span.start, span.end)]
        at = source.place(span.end)
    return "".join([*parts, source.original[at:]])


def _find(source: _Text, edit: Replacement, index: int, count: int, name: str) -> _Span:
    old = edit.old.replace("\r\n", "\n")
    label = "oldText" if count == 1 else f"edits[{index}].oldText"
    if not old:
        raise ToolError(f"{label} is empty. To create or fill a file use write.")
    found = list(islice(_occurrences(source.plain, old), _LISTED + 1))
    if not found:
        raise ToolError(f"{label} is not in {name}. {_nearest(source.plain, old)}")
    if len(found) > 1:
        lines = ", ".join(str(source.line(position)) for position in found[:_LISTED])
        how_many = f"{len(found)} times" if len(found) <= _LISTED else f"more than {_LISTED} times"
        raise ToolError(
            f"{label} is in {name} {how_many}, in lines {lines}. Add lines around it until there is only one."
        )
    return _Span(found[0], found[0] + len(old), index, edit.new)


def _occurrences(text: str, part: str) -> Iterator[int]:
    """Return all places, overlapping ones too: which of two is meant is as unclear then."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _nearest(text: str, old: str) -> str:
    """Return a hint at the line that looks most like the first line of what was not found."""
    wanted = next((line.strip() for line in old.split("\n") if line.strip()), "")
    lines = text.split("\n")[:_SEARCHED]
    for number, line in enumerate(lines, 1):
        if wanted and wanted == line.strip():
            return f"Line {number} begins like it, but its white space or what follows differs:\n{line[:_WIDTH]}"
    by_text = {line.strip()[:_WIDTH]: number for number, line in reversed(list(enumerate(lines, 1)))}
    close = difflib.get_close_matches(wanted[:_WIDTH], by_text, n=1, cutoff=0.6)
    if not close:
        return "Read the file again; nothing in it is similar."
    number = by_text[close[0]]
    return f"Nearest is line {number}:\n{lines[number - 1][:_WIDTH]}"

"""The lines of a session in a database: read when they are looked at, their neighbours with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, overload

from pi_nb.session.rawlines import RawLines

__all__ = ["FetchedLines"]

_BLOCK: Final = 512
_BLOCK_BYTES: Final = 4 * 1024 * 1024


class FetchedLines(RawLines):
    """Lines of which some are still where they are kept.

    Args:
        fetch: Returns the lines from one position up to another.
    """

    def __init__(self, fetch: Callable[[int, int], list[bytes]]) -> None:
        super().__init__()
        self._fetch = fetch
        self._lines: list[bytes | None] = []
        self._sizes: list[int] = []

    def expect(self, sizes: Iterable[int]) -> None:
        """Take lines as the next ones of which only the sizes in bytes are known."""
        self._sizes += sizes
        self._lines += [None] * (len(self._sizes) - len(self._lines))

    def append(self, line: bytes) -> None:
        """Take a line as the next one."""
        self._lines.append(line)
        self._sizes.append(len(line))

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, place: int) -> bytes: ...

    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...

    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        if isinstance(place, slice):
            return [self._line(number) for number in range(*place.indices(len(self)))]
        return self._line(range(len(self))[place])

    def __iter__(self) -> Iterator[bytes]:
        return map(self._line, range(len(self)))

    def _line(self, place: int) -> bytes:
        line = self._lines[place]
        if line is None:
            start, stop = self._unknown_around(place)
            self._lines[start:stop] = found = self._fetch(start, stop)
            line = found[place - start]
        return line

    def _unknown_around(self, place: int) -> tuple[int, int]:
        """Return the range of unknown lines around one that is worth reading at once."""
        first = place - place % _BLOCK
        last = min(first + _BLOCK, len(self._lines))
        start, stop, room = place, place + 1, _BLOCK_BYTES - self._sizes[place]
        while stop < last and self._lines[stop] is None and self._sizes[stop] <= room:
            room -= self._sizes[stop]
            stop += 1
        while start > first and self._lines[start - 1] is None and self._sizes[start - 1] <= room:
            start -= 1
            room -= self._sizes[start]
        return start, stop

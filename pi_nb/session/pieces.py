"""A long file in memory: read in pieces, the next one while somebody looks at the last."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO, Final

__all__ = ["PIECE", "Pieces", "read_pieces"]

PIECE: Final = 16 * 1024 * 1024
"""Bytes of a piece: long enough that two threads seldom wait for each other, short enough to begin soon."""


def read_pieces(stream: BinaryIO, size: int = PIECE) -> Generator[bytes, None, None]:
    """Yield a file's contents in pieces of ``size`` bytes; the last one is shorter, and may be empty.

    A third of the time that opening a long session takes is the system's, which brings the file to memory. It is
    spent on another core while the lines of the piece before are read.
    """
    piece = stream.read(size)
    if len(piece) == size:
        with ThreadPoolExecutor(1, "pi_nb-read") as ahead:
            while len(piece) == size:
                coming = ahead.submit(stream.read, size)
                yield piece
                piece = coming.result()
    yield piece


class Pieces:
    """The pieces that were read so far. Places in them are bytes from the start of the file."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._starts: list[int] = []
        self.size = 0

    def append(self, piece: bytes) -> None:
        """Take the next piece."""
        self._starts.append(self.size)
        self._pieces.append(piece)
        self.size += len(piece)

    def line(self, start: int) -> bytes:
        """Return the line that starts at a place, without its line feed."""
        number = bisect_right(self._starts, start) - 1
        piece, at = self._pieces[number], start - self._starts[number]
        end = piece.find(b"\n", at)
        return piece[at:end] if end >= 0 else self._across(number, at)

    def _across(self, number: int, at: int) -> bytes:
        """Return a line that goes on in the next piece, or ends with the file."""
        parts = [self._pieces[number][at:]]
        for piece in self._pieces[number + 1 :]:
            end = piece.find(b"\n")
            parts.append(piece if end < 0 else piece[:end])
            if end >= 0:
                break
        return b"".join(parts)

    def rest(self, start: int) -> bytes:
        """Return everything from a place on."""
        number = max(bisect_right(self._starts, start) - 1, 0)
        return b"".join(self._pieces[number:])[start - self._starts[number] :] if self._pieces else b""

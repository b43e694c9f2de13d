"""What fits into a result: 2,000 lines or 50 KB, whole lines and whole characters, and a note of what is missing.

A note is a block of its own, so that the harness, which shortens what is too long, finds nothing to do.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from pi_nb.harness.truncation import MAX_BYTES, MAX_LINES, Shortened, shorten
from pi_nb.messages import TextContent

__all__ = ["MAX_BYTES", "MAX_LINES", "Shortened", "Tail", "noted", "shorten", "size_of", "truncation_details"]

_WINDOW = 4 * MAX_BYTES
_SPILL_LIMIT = 256 * 1024 * 1024


def size_of(count: int) -> str:
    """Return a number of bytes for people: ``812 bytes``, ``50.0 KB``, ``1.2 GB``."""
    if count < 1024:
        return f"{count} byte{'' if count == 1 else 's'}"
    size = float(count)
    for unit in ("KB", "MB", "GB"):
        size /= 1024
        if size < 1024 or unit == "GB":
            break
    return f"{size:.1f} {unit}"


def noted(text: str, notes: Iterable[str]) -> tuple[TextContent, ...]:
    """Return a text and the notes on it as blocks."""
    remarks = "\n".join(f"[{note}]" for note in notes)
    if not remarks:
        return (TextContent(text=text),)
    if not text.strip():  # some providers refuse blocks of white space
        return (TextContent(text=remarks),)
    return (TextContent(text=text), TextContent(text=f"\n\n{remarks}"))


def truncation_details(short: Shortened) -> dict[str, Any]:
    """Return how a text was shortened, for a result's details, under pi's names."""
    by_lines = short.lines >= MAX_LINES
    return {
        "truncated": short.cut,
        "truncatedBy": ("lines" if by_lines else "bytes") if short.cut else None,
        "totalLines": short.total_lines,
        "totalBytes": short.total_bytes,
        "outputLines": short.lines,
        "outputBytes": len(short.text.encode("utf-8", "replace")),
        "maxLines": MAX_LINES,
        "maxBytes": MAX_BYTES,
    }


class Tail:
    """The end of a stream of bytes, kept in bounded memory; may be fed by one thread and read by others.

    As soon as the stream is longer than a result may be, the whole of it goes to a temporary file as well.
    """

    def __init__(self) -> None:
        self.total_bytes = 0
        self.newlines = 0
        self.file: Path | None = None
        self.complete = True
        """False if the file does not hold everything: the disk is full, or the stream is absurdly long."""
        self._lock = threading.Lock()
        self._window = bytearray()
        self._spill: IO[bytes] | None = None

    def __repr__(self) -> str:
        return f"<Tail bytes={self.total_bytes} lines={self.lines} file={self.file}>"

    @property
    def lines(self) -> int:
        """Number of lines so far; one that has not ended counts."""
        return self.newlines + (1 if self._window and not self._window.endswith(b"\n") else 0)

    def feed(self, data: bytes) -> None:
        """Take what came next."""
        with self._lock:
            self.total_bytes += len(data)
            self.newlines += data.count(b"\n")
            self._window += data
            if self._spill is not None:
                self._write(data)
            elif self.complete and (self.total_bytes > MAX_BYTES or self.lines > MAX_LINES):
                self._begin_file()
            if len(self._window) > 2 * _WINDOW:
                del self._window[:-_WINDOW]

    def save(self) -> Path | None:
        """Return the file that has the whole, begun now if there was no need for one; None if there can be none."""
        with self._lock:
            if self.file is None and self.complete:
                self._begin_file()
        return self.saved()

    def saved(self) -> Path | None:
        """Return the file if there is one, with all in it that was fed."""
        with self._lock:
            if self._spill is not None:
                try:
                    self._spill.flush()
                except OSError:
                    self.complete = False
            return self.file

    def close(self) -> None:
        """Close the file; what has been kept stays readable."""
        self.saved()
        with self._lock:
            spill, self._spill = self._spill, None
        if spill is not None:
            with suppress(OSError):
                spill.close()

    def end(self) -> tuple[bytes, bool]:
        """Return the last bytes, from the start of a line where there is one, and whether something came before."""
        with self._lock:
            data = bytes(self._window)
        if self.total_bytes == len(data):
            return data, False
        line = data.find(b"\n")
        if 0 <= line < len(data) - MAX_BYTES:
            return data[line + 1 :], True
        return data.lstrip(bytes(range(0x80, 0xC0))), True  # rather no half character than a broken one

    def _begin_file(self) -> None:
        try:
            handle, name = tempfile.mkstemp(prefix="pi-nb-", suffix=".log")
        except OSError:
            self.complete = False
            return
        self.file = Path(name)
        self._spill = os.fdopen(handle, "wb")
        self._write(bytes(self._window))

    def _write(self, data: bytes) -> None:
        if not self.complete or self._spill is None:
            return
        try:
            self._spill.write(data)
        except OSError:
            self.complete = False
        if self.total_bytes > _SPILL_LIMIT:
            self.complete = False

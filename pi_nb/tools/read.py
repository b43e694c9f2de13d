"""The tool ``read``: lines of a text file, or an image."""

from __future__ import annotations

import base64
import mimetypes
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pi_nb.errors import ToolError
from pi_nb.harness.signals import AbortSignal
from pi_nb.harness.tools import FunctionTool, ToolContext, ToolResult, tool
from pi_nb.messages import ImageContent, TextContent
from pi_nb.tools.files import open_regular, stop_if_aborted
from pi_nb.tools.images import HEAD, MAX_IMAGE_BYTES, image_kind, is_whole
from pi_nb.tools.paths import locate, named_errors, shown
from pi_nb.tools.truncate import MAX_BYTES, MAX_LINES, noted, size_of

__all__ = ["read_tool"]

_CHUNK = 1024 * 1024
_SAMPLE = 8 * 1024  # bytes that are looked at to tell text from other things
_ODD = 0.3  # share of characters that are none in text, from which on it is not text
_COUNT_LIMIT = 1024 * 1024 * 1024  # bytes in which lines are counted; a larger file just has more


def read_tool(cwd: str | Path | None = None) -> FunctionTool:
    """Return the tool; see :func:`pi_nb.tools.builtin_tools` for the argument."""

    @tool(name="read")
    def read(path: str, ctx: ToolContext, offset: int = 1, limit: int = MAX_LINES) -> ToolResult:
        """Read a text file, or look at an image (PNG, JPEG, GIF, WebP).

        At most 2,000 lines or 50 KB of a text come at once, without line numbers; go on with offset if there is more.

        Args:
            path: The file, relative to the working directory or absolute.
            ctx: What is known of the call.
            offset: Number of the first line wanted, from 1.
            limit: How many lines at most.
        """
        base = cwd or ctx.cwd
        if limit < 1:
            raise ToolError(f"limit must be at least 1, not {limit}.")
        place = locate(path, base)
        with open_regular(place, base) as file, named_errors(place, base):
            kind = image_kind(file.read(HEAD))
            file.seek(0)
            if kind is not None:
                return _image(file, kind, shown(place, base))
            _refuse_binary(file.read(_SAMPLE), shown(place, base))
            file.seek(0)
            return _text(file, shown(place, base), max(1, offset), limit, ctx.signal)

    return read


# ---------------------------------------------------------------- images


def _image(file: IO[bytes], kind: str, name: str) -> ToolResult:
    size = os.fstat(file.fileno()).st_size
    if size > MAX_IMAGE_BYTES:
        raise ToolError(
            f"{name} is an image of {size_of(size)}; models take {size_of(MAX_IMAGE_BYTES)}. Make it smaller first."
        )
    data = file.read()
    if not is_whole(kind, data):
        raise ToolError(f"{name} is a broken image ({kind}): its end is missing.")
    picture = ImageContent(data=base64.b64encode(data).decode("ascii"), mime_type=kind)
    return ToolResult((TextContent(text=f"{name}: {kind}, {size_of(size)}."), picture))


# ---------------------------------------------------------------- text


def _refuse_binary(sample: bytes, name: str) -> None:
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ToolError(f"{name} is text in UTF-16. Convert it first: iconv -f UTF-16 -t UTF-8.")
    text = sample.decode("utf-8", "replace")
    odd = sum(char == "\ufffd" or (char < " " and char not in "\t\n\r\f\b\x1b") for char in text)
    if "\0" in text or odd > _ODD * len(text):
        kind = mimetypes.guess_type(name)[0]
        raise ToolError(f"{name} is not text in UTF-8{f' ({kind})' if kind else ''}.")


@dataclass(slots=True)
class _Lines:
    """Lines taken from a file, as far as they fit into a result."""

    room: int = MAX_BYTES
    taken: list[bytes] = field(default_factory=list)
    cut_line: bool = False

    def take(self, line: bytes) -> bool:
        """Add a line without its end; False if it does not fit. Of a first line that does not, the head is taken."""
        needed = len(line) + (1 if self.taken else 0)
        if needed > self.room:
            if not self.taken:
                self.taken.append(line[:MAX_BYTES])
                self.cut_line = True
            return False
        self.taken.append(line)
        self.room -= needed
        return True

    @property
    def text(self) -> str:
        """The lines, joined; of a character that was cut nothing is left."""
        data = b"\n".join(self.taken)
        return data.decode("utf-8", "ignore") if self.cut_line else data.decode("utf-8", "replace")


def _text(file: IO[bytes], name: str, offset: int, limit: int, signal: AbortSignal) -> ToolResult:
    skipped = _skip(file, offset - 1, signal)
    lines = _take(file, min(limit, MAX_LINES), signal) if skipped == offset - 1 else _Lines()
    if not lines.taken and offset == 1:
        return ToolResult(f"[{name} is empty.]")
    if not lines.taken:
        raise ToolError(f"{name} ends at line {skipped}; offset {offset} is beyond that.")
    if offset == 1:
        lines.taken[0] = lines.taken[0].removeprefix(b"\xef\xbb\xbf")
    following, more = _count(file, signal)
    total = offset + len(lines.taken) - 1 + following
    notes = _notes(lines, offset, f"{'more than ' if more else ''}{total}")
    short = following > 0 and (len(lines.taken) < limit or len(lines.taken) == MAX_LINES)
    return ToolResult(noted(lines.text, notes), _details(lines, total) if short else None)


def _notes(lines: _Lines, offset: int, total: str) -> list[str]:
    last = offset + len(lines.taken) - 1
    notes = []
    if total != str(last):
        notes.append(f"Lines {offset} to {last} of {total}; go on with offset={last + 1}.")
    elif offset > 1:
        notes.append(f"Lines {offset} to {last} of {total}.")
    if lines.cut_line:
        notes.append(f"Line {offset} is longer than {size_of(MAX_BYTES)}; this is its beginning.")
    if "\ufffd" in lines.text and b"\xef\xbf\xbd" not in b"".join(lines.taken):
        notes.append("Not all of it is UTF-8; what is not is shown as \ufffd.")
    if not lines.text.strip():
        notes.append("There is nothing but white space.")
    return notes


def _details(lines: _Lines, total: int) -> dict[str, Any]:
    by_lines = len(lines.taken) == MAX_LINES
    return {
        "truncation": {
            "truncated": True,
            "truncatedBy": "lines" if by_lines else "bytes",
            "totalLines": total,
            "outputLines": len(lines.taken),
            "maxLines": MAX_LINES,
            "maxBytes": MAX_BYTES,
        }
    }


def _skip(file: IO[bytes], count: int, signal: AbortSignal) -> int:
    """Move to the start of the line after ``count`` lines; return how many there were to skip."""
    left = count
    tail = b""
    while left > 0:
        stop_if_aborted(signal)
        chunk = file.read(_CHUNK)
        if not chunk:
            return count - left + (1 if tail and not tail.endswith(b"\n") else 0)
        found = chunk.count(b"\n")
        if found >= left:
            end = _nth(chunk, left)
            file.seek(end + 1 - len(chunk), os.SEEK_CUR)
            return count
        left -= found
        tail = chunk
    return count


def _nth(chunk: bytes, number: int) -> int:
    """Return where the ``number``-th newline of the chunk is."""
    end = -1
    for _ in range(number):
        end = chunk.index(b"\n", end + 1)
    return end


def _take(file: IO[bytes], limit: int, signal: AbortSignal) -> _Lines:
    """Take lines as far as they fit, and leave the file at the start of the next one."""
    lines = _Lines()
    while len(lines.taken) < limit:
        start = file.tell()
        line = file.readline(MAX_BYTES + 2)
        if not line:
            break
        if not lines.take(line.removesuffix(b"\n")):
            if lines.cut_line:
                _finish_line(file, line, signal)
            else:
                file.seek(start)
            break
    return lines


def _finish_line(file: IO[bytes], line: bytes, signal: AbortSignal) -> None:
    while line and not line.endswith(b"\n"):
        stop_if_aborted(signal)
        line = file.readline(_CHUNK)


def _count(file: IO[bytes], signal: AbortSignal) -> tuple[int, bool]:
    """Return how many lines follow, and whether there are more than were counted."""
    count, seen, last = 0, 0, b"\n"
    while chunk := file.read(_CHUNK):
        stop_if_aborted(signal)
        count += chunk.count(b"\n")
        seen += len(chunk)
        last = chunk
        if seen > _COUNT_LIMIT:
            return count, True
    return count + (0 if last.endswith(b"\n") else 1), False

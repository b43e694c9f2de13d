"""The process behind the tool ``grep``: searches files and writes what it finds as lines of JSON.

A process of its own, because a regular expression can take longer than the world will last, cannot be interrupted
from another thread, and stops every thread of Python while it is at it. This one can be killed. It also watches
itself, where the system lets it, so that it can say which line took too long.

It reads one request (JSON) and writes objects with one key: ``row`` for each line to show, and at the end ``done``,
``slow`` or ``error``.
"""

from __future__ import annotations

import json
import math
import os
import re
import signal
import stat
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import IO, Any

from pi_nb.tools.patterns import PathPattern
from pi_nb.tools.walk import Walk

__all__ = ["LINE_SECONDS", "MAX_SHOWN", "main"]

LINE_SECONDS = 2.0
"""Time the pattern may take on one line."""
MAX_SHOWN = 500
"""Characters of a line that are shown."""

_MAX_LINE = 1024 * 1024  # bytes; what is longer is searched in pieces
_SAMPLE = 8 * 1024  # bytes looked at to tell text from other things


class _TooSlow(Exception):
    pass


@dataclass(slots=True)
class _Counts:
    files: int = 0
    matches: int = 0
    binary: int = 0
    unreadable: int = 0
    long_lines: int = 0
    more: bool = False


class _Search:
    """One request being worked on."""

    def __init__(self, request: dict[str, Any], out: IO[str]) -> None:
        self.root: str = request["root"]
        self.limit: int = request["limit"]
        self.context: int = request["context"]
        self.glob = PathPattern(request["glob"]) if request["glob"] else None
        self.search = _matcher(request)
        self.counts = _Counts()
        self.walk = Walk(self.root)
        self.place = ("", 0)
        self.begun = math.inf
        self._out = out

    def run(self) -> None:
        """Search all files."""
        for path in self._paths():
            self._file(path)
            if self.counts.more:
                return

    def say(self, **message: Any) -> None:
        """Write one object."""
        self._out.write(json.dumps(message) + "\n")
        self._out.flush()

    def summary(self) -> dict[str, Any]:
        """Return what was counted."""
        counts = {name: getattr(self.counts, name) for name in _Counts.__slots__}
        ignored = {"ignored": self.walk.ignored, "examples": self.walk.examples}
        return {**counts, **ignored, "skipped": self.walk.skipped_note(), "folders": self.walk.unreadable_note()}

    def _paths(self) -> Iterator[str]:
        if not os.path.isdir(self.root):  # noqa: PTH112
            yield ""
            return
        for found in self.walk:
            if found.is_file and (self.glob is None or self.glob.matches(found.path)):
                yield found.path

    def _file(self, path: str) -> None:
        try:
            file = _open(os.path.join(self.root, path) if path else self.root)  # noqa: PTH118
        except OSError:
            self.counts.unreadable += 1
            return
        with file:
            if b"\0" in file.read(_SAMPLE):
                self.counts.binary += 1
                return
            file.seek(0)
            self.counts.files += 1
            self._lines(path, file)

    def _lines(self, path: str, file: IO[bytes]) -> None:
        before: deque[tuple[int, str]] = deque(maxlen=self.context)
        after = 0
        for number, raw in enumerate(iter(lambda: file.readline(_MAX_LINE), b""), 1):
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            self.place, self.begun = (path, number), time.monotonic()
            found = self.search(line)
            self.begun = math.inf  # what comes until the next line may take long without being the pattern's fault
            if found is not None:
                if self.counts.matches == self.limit:
                    self.counts.more = True
                    return
                self.counts.matches += 1
                for earlier in before:
                    self._row(path, *earlier)
                before.clear()
                self._row(path, number, line, found)
                after = self.context
            elif after:
                after -= 1
                self._row(path, number, line)
            else:
                before.append((number, line))

    def _row(self, path: str, number: int, line: str, found: tuple[int, int] | None = None) -> None:
        start = 0
        if len(line) > MAX_SHOWN:
            self.counts.long_lines += 1
            if found is not None and found[1] > MAX_SHOWN:
                start = max(0, min(found[0] - MAX_SHOWN // 4, len(line) - MAX_SHOWN))
        text = line[start : start + MAX_SHOWN]
        shown = f"{'…' if start else ''}{text}{'…' if start + MAX_SHOWN < len(line) else ''}"
        self.say(row=[path, number, shown, found is not None])


def _matcher(request: dict[str, Any]) -> Any:
    """Return a function from a line to where the first match in it is, or None."""
    pattern: str = request["pattern"]
    if request["literal"] and not request["ignoreCase"]:

        def find(line: str) -> tuple[int, int] | None:
            at = line.find(pattern)
            return None if at < 0 else (at, at + len(pattern))

        return find
    source = re.escape(pattern) if request["literal"] else pattern
    compiled = re.compile(source, re.IGNORECASE if request["ignoreCase"] else 0)

    def search(line: str) -> tuple[int, int] | None:
        match = compiled.search(line)
        return match and match.span()

    return search


def _open(path: str) -> IO[bytes]:
    """Open a regular file, and nothing a link was put in the place of meanwhile."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError
    return os.fdopen(handle, "rb")


def _watch(search: _Search) -> None:
    """Look every now and then whether one line takes too long. Searching answers signals even in mid-pattern."""
    if not hasattr(signal, "setitimer"):
        return

    def look(_number: int, _frame: FrameType | None) -> None:
        if time.monotonic() - search.begun > LINE_SECONDS:
            raise _TooSlow

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, LINE_SECONDS / 4, LINE_SECONDS / 4)


def main() -> None:
    """Answer one request from standard input."""
    request = json.loads(sys.stdin.buffer.read())
    out = sys.stdout
    try:
        search = _Search(request, out)
    except (re.error, RecursionError, OverflowError) as error:
        out.write(json.dumps({"error": str(error)}) + "\n")
        return
    _watch(search)
    try:
        search.run()
        search.say(done=search.summary())
    except _TooSlow:
        search.say(slow={**search.summary(), "place": list(search.place)})

"""Bytes to server-sent events, without I/O, by the rules of the WHATWG standard.

https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["ServerSentEvent", "SseDecoder"]

# Line ends are ASCII, so lines can be found in the bytes: a character cut in two by the network never is. Only these
# three end a line; U+2028 or a form feed, where str.splitlines would cut, may stand in data.
_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(NamedTuple):
    """One event. ``retry`` is in milliseconds, if the server gave it."""

    event: str = "message"
    data: str = ""
    id: str = ""
    retry: int | None = None


class SseDecoder:
    """Turns a body that arrives in pieces, cut anywhere, into events."""

    def __init__(self) -> None:
        self._line: list[bytes] = []  # pieces of the line that is not complete yet
        self._after_cr = False
        self._at_start = True
        self._event = ""
        self._data: list[str] = []
        self._id = ""
        self._retry: int | None = None

    def decode(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that ``chunk`` completes."""
        if not chunk:
            return []
        if self._after_cr:
            # a CR ends its line at once, without waiting for what may be its LF in the next piece
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        *lines, rest = _LINE_END.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        events = []
        for line in lines:
            if self._line:
                line = b"".join((*self._line, line))
                self._line.clear()
            if (event := self._take(line)) is not None:
                events.append(event)
        if rest:
            self._line.append(rest)
        self._after_cr = chunk.endswith(b"\r")
        return events

    def flush(self) -> ServerSentEvent | None:
        """Return the event that the end of the body left without its blank line, if any.

        The standard discards it. Some servers leave out the last blank line, so a caller may use it if it is whole.
        """
        if self._line:
            self._take(b"".join(self._line))
            self._line.clear()
        return self._dispatch()

    def _take(self, line: bytes) -> ServerSentEvent | None:
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        if not line:
            return self._dispatch()
        if line.startswith(b"data: "):  # nearly every line; what follows would do the same
            self._data.append(line[6:].decode("utf-8", "replace"))
            return None
        if line.startswith(b"event: "):  # and most of the others
            self._event = line[7:].decode("utf-8", "replace")
            return None
        if line.startswith(b":"):
            return None  # a comment, often sent to keep the connection open
        name, _, value = line.decode("utf-8", "replace").partition(":")
        self._field(name, value.removeprefix(" "))
        return None

    def _field(self, name: str, value: str) -> None:
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._retry = int(value)

    def _dispatch(self) -> ServerSentEvent | None:
        event, data = self._event, self._data
        self._event, self._data = "", []
        if not data:
            return None
        return ServerSentEvent(
            event or "message", data[0] if len(data) == 1 else "\n".join(data), self._id, self._retry
        )

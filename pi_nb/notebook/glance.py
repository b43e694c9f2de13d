"""A session as its file shows it at a glance: what is said on coming back to it, before anything opens it.

Opening a session takes its classes, which take longer to import than all the rest of loading the extension. So the
lines that say where a notebook is come from the end of the file, as JSON and nothing more. Of a file in which anything
is odd there is no glance; then the session is opened, and says what is odd.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from pi_nb.session.lock import WriterLock, holder_text
from pi_nb.views.plain import visible

__all__ = ["Glance", "glance"]

PREVIEW = 70  # characters of what was said last
NEAR = 500  # entries above the leaf that are looked at
NOTES = frozenset({"label", "session_info", "custom", "usage"})  # kinds that no tree shows as places
READ = 3000  # lines that are read as JSON at most; opening is as quick after that
LONGEST = 512 * 1024 * 1024  # bytes
_SPOKEN = {"user", "assistant"}


@dataclass(frozen=True)
class Glance:
    """What a session's file says of itself.

    Attributes:
        file: The file.
        header: Its first line.
        lines: Its entries, as they stand there.
    """

    file: Path
    header: dict[str, Any]
    lines: tuple[bytes, ...]
    _worth: Iterator[int] = field(default_factory=lambda: iter(range(READ)), repr=False)

    @property
    def id(self) -> str:
        """The session's id."""
        return str(self.header["id"])

    @property
    def metadata(self) -> dict[str, Any]:
        """What the header says of where it belongs."""
        found = self.header.get("metadata")
        return found if isinstance(found, dict) else {}

    @cached_property
    def session_line(self) -> str:
        """The session in a few words."""
        name = self._last(b"session_info", "name")
        return f"{visible(self.id[-8:])}{f' {name!r}' if name else ''}, {len(self.lines)} entries"

    @cached_property
    def leaf_line(self) -> str:
        """Where the leaf is, and what was said last on its way."""
        leaf = self._leaf
        if leaf is None:
            return "root, before the first prompt"
        said = next((entry for entry in self.path if entry["type"] == "message"), None)
        if said is None:
            if len(self.path) == NEAR:
                raise ValueError
            return visible(leaf[:8])
        place = next(entry["id"] for entry in self.path if entry["type"] not in NOTES)
        behind = "" if said["id"] in (place, leaf) else f", after {visible(said['id'][:8])}"
        label = self._last(b"label", "label", target=said["id"])
        return f"{visible(place[:8])}{behind} {f'[{visible(label)}] ' if label else ''}{_brief(said['message'])}"

    @cached_property
    def last_cell(self) -> dict[str, Any]:
        """Which cell wrote the last prompt of the active path; empty if none did."""
        return next((entry["cell"] for entry in self.path if isinstance(entry.get("cell"), dict)), {})

    @cached_property
    def _leaf(self) -> str | None:
        if not self.lines:
            return None
        last = self._read(self.lines[-1])
        leaf: str | None = last["targetId"] if last["type"] == "leaf" else last["id"]
        return leaf

    @cached_property
    def path(self) -> tuple[dict[str, Any], ...]:
        """The entries from the leaf up, the nearest of them.

        Raises:
            ValueError: One of them hangs from nothing that is there.
        """
        found: list[dict[str, Any]] = []
        wanted = self._leaf
        mark = b"" if wanted is None else wanted.encode()
        for line in reversed(self.lines):
            if wanted is None or len(found) == NEAR:
                return tuple(found)
            if mark in line and (entry := self._read(line))["id"] == wanted:
                found.append(entry)
                wanted = entry["parentId"]
                mark = b"" if wanted is None else wanted.encode()
        if wanted is not None:
            raise ValueError
        return tuple(found)

    def _last(self, kind: bytes, field: str, *, target: str | None = None) -> str:
        """Return a field of the newest entry of a kind; of those about a target, if one is given.

        Raises:
            ValueError: It is no text, or is written otherwise than it is shown.
        """
        for line in reversed(self.lines):
            if b'"' + kind + b'"' in line:
                entry = self._read(line)
                if entry["type"] == kind.decode() and target in (None, entry.get("targetId")):
                    return _plain(entry.get(field))
        return ""

    def _read(self, line: bytes) -> dict[str, Any]:
        """Return an entry.

        Raises:
            ValueError: It is none, or as many as a glance is worth were read already.
        """
        entry: dict[str, Any] = orjson.loads(line)
        parent, time = entry["parentId"], entry["timestamp"]
        if next(self._worth, None) is None or not isinstance(parent, str | None) or not (time and time.strip()):
            raise ValueError
        return entry

    def check(self) -> None:
        """Raise something if this is not all a session has to be."""
        header = self.header
        if header["type"] != "session" or header.get("version") != 3 or not self.id:
            raise ValueError
        if not all(isinstance(header[name], str) and header[name] for name in ("id", "timestamp", "cwd")):
            raise ValueError
        if not isinstance(header.get("metadata", {}), dict) or not isinstance(header.get("parentSession", ""), str):
            raise ValueError
        _ = self.path, self.leaf_line, self.last_cell, self.session_line

    def who_writes(self) -> str:
        """Return who else is writing the session; nothing if nobody is."""
        lock = WriterLock(self.file)
        holder = lock.acquire()
        lock.release()
        return "" if holder is None else holder_text(holder)


def glance(file: Path) -> Glance | None:
    """Return what a session's file says of itself; None if it has to be opened to be understood."""
    try:
        data = file.read_bytes() if file.stat().st_size <= LONGEST else b""
        head, *lines, end = data.split(b"\n")
        if end or not data.startswith(b"{") or data.count(b"\n{") != len(lines) or data.count(b"}\n") != len(lines) + 1:
            return None  # a line that was not finished, or is no object
        found = Glance(file, orjson.loads(head), tuple(lines))
        found.check()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None
    return found


def _plain(value: Any) -> str:
    """Return a label or a name.

    Raises:
        ValueError: It is none, or there is something around it or a line break in it.
    """
    if value is None:
        return ""
    if not isinstance(value, str) or value != " ".join(value.splitlines()).strip().strip("\ufeff"):
        raise ValueError
    return value


def _brief(message: dict[str, Any]) -> str:
    """Return a message in a few words.

    Raises:
        ValueError: It is none of those that are said or answered in words.
    """
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    known = all(block["type"] in ("text", "thinking") for block in blocks)
    if message["role"] not in _SPOKEN or not known or not texts or message.get("stopReason") in ("error", "aborted"):
        raise ValueError
    line = visible(" ".join(f"{message['role']}: {''.join(texts)[:400]}".split()))
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1] + "…"

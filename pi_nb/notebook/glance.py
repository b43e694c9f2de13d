"""A session as its file shows it at a glance: what is said on coming back to it, before anything opens it.

Opening a session takes its classes, which take longer to import than all the rest of loading the extension. So the
lines that say where a notebook is come from the end of the file, as JSON and nothing more. Of a file in which anything
is odd there is no glance; then the session is opened, and says what is odd.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from pi_nb.session.lock import WriterLock, holder_text

__all__ = ["Glance", "glance"]

PREVIEW = 70  # characters of what was said last
NEAR = 500  # entries above the leaf that are looked at
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

    @property
    def id(self) -> str:
        """The session's id."""
        return str(self.header["id"])

    @property
    def metadata(self) -> dict[str, Any]:
        """What the header says of where it belongs."""
        found = self.header.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def session_line(self) -> str:
        """The session in a few words."""
        name = self._last(b"session_info", "name")
        return f"{self.id[-8:]}{f' {name!r}' if name else ''}, {len(self.lines)} entries"

    @property
    def leaf_line(self) -> str:
        """Where the leaf is, and what was said last on its way."""
        leaf = self._leaf
        if leaf is None:
            return "root, before the first prompt"
        said = next((entry for entry in islice(self.path, NEAR) if entry["type"] == "message"), None)
        if said is None:
            return leaf[:8]
        behind = "" if said["id"] == leaf else f", after {said['id'][:8]}"
        label = self._last(b"label", "label", target=said["id"])
        return f"{leaf[:8]}{behind} {f'[{label}] ' if label else ''}{_brief(said['message'])}"

    @property
    def last_cell(self) -> dict[str, Any]:
        """Which cell wrote the last prompt of the active path; empty if none did."""
        near = islice(self.path, NEAR)
        return next((entry["cell"] for entry in near if isinstance(entry.get("cell"), dict)), {})

    @cached_property
    def _leaf(self) -> str | None:
        if not self.lines:
            return None
        last = orjson.loads(self.lines[-1])
        leaf: str | None = last["targetId"] if last["type"] == "leaf" else last["id"]
        return leaf

    @property
    def path(self) -> Iterator[dict[str, Any]]:
        """The entries from the leaf up; as far as anybody asks for them."""
        wanted = self._leaf
        for line in reversed(self.lines):
            if wanted is None:
                return
            if wanted.encode() in line:
                entry = orjson.loads(line)
                if entry["id"] == wanted:
                    yield entry
                    wanted = entry["parentId"]

    def _last(self, kind: bytes, field: str, *, target: str | None = None) -> str:
        """Return a field of the newest entry of a kind; of those about a target, if one is given."""
        for line in reversed(self.lines):
            if b'"' + kind + b'"' in line:
                entry = orjson.loads(line)
                if entry["type"] == kind.decode() and target in (None, entry.get("targetId")):
                    return str(entry.get(field) or "")
        return ""

    def check(self) -> None:
        """Raise something if this is not all a session has to be."""
        if self.header["type"] != "session" or self.header.get("version") != 3 or not self.id:
            raise ValueError
        _ = self.leaf_line, self.last_cell, self.session_line

    def who_writes(self) -> str:
        """Return who else is writing the session; nothing if nobody is."""
        lock = WriterLock(self.file)
        holder = lock.acquire()
        lock.release()
        return "" if holder is None else holder_text(holder)


def glance(file: Path) -> Glance | None:
    """Return what a session's file says of itself; None if it has to be opened to be understood."""
    try:
        head, *lines, end = file.read_bytes().split(b"\n")
        if end:  # a line that was not finished
            return None
        found = Glance(file, orjson.loads(head), tuple(lines))
        found.check()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return None
    return found


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
    from pi_nb.views.plain import visible

    line = visible(" ".join(f"{message['role']}: {''.join(texts)[:400]}".split()))
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1] + "…"

"""What can be said of a session file from its head and its tail, without reading all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pi_nb.errors import SessionError
from pi_nb.session import lines
from pi_nb.session.header import parse_header
from pi_nb.session.ids import parse_time
from pi_nb.session.index import one_line
from pi_nb.session.logfile import open_to_read

__all__ = ["SessionInfo", "describe", "refuse_taken_id"]

_PIECE: Final = 64 * 1024
_LONGEST_HEADER: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session in a list.

    Attributes:
        file: Where it is.
        id: Its id; empty if the file is broken.
        cwd: The folder it belongs to; empty if unknown.
        name: Its name, if that was given near the beginning or the end of the file.
        created: When it began, or None if the header does not say.
        modified: When the file was last written, or None.
        metadata: What the header says beside the rest.
        parent_session: The session it was forked from, or None.
        broken: Why it cannot be opened, or None if it can.
    """

    file: Path
    id: str = ""
    cwd: str = ""
    name: str | None = None
    created: datetime | None = None
    modified: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    parent_session: str | None = None
    broken: str | None = None

    @property
    def order(self) -> tuple[float, float, str]:
        """Sorts by time of creation, then of writing; files that do not say when they were made come first."""
        created = self.created.timestamp() if self.created else float("-inf")
        modified = self.modified.timestamp() if self.modified else float("-inf")
        return created, modified, self.file.name


def describe(file: Path) -> SessionInfo:
    """Return what a file is; whatever is wrong with it is in ``broken``, nothing is raised."""
    try:
        modified = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        head, tail = _read_ends(file)
        header, _ = parse_header(_first_line(head), str(file))
    except SessionError as error:
        return SessionInfo(file, broken=str(error))
    except OSError as error:
        return SessionInfo(file, broken=f"{file} cannot be read: {error.strerror}.")
    return SessionInfo(
        file=file,
        id=header.id,
        cwd=header.cwd or "",
        name=_last_name(head, tail),
        created=parse_time(header.timestamp),
        modified=modified,
        metadata=dict(header.metadata or {}),
        parent_session=header.parent_session,
    )


def _read_ends(file: Path) -> tuple[bytes, bytes]:
    """Return the beginning (with the whole first line) and the end of a file; the end is empty if they overlap."""
    with open_to_read(file) as stream:
        head = stream.read(_PIECE)
        while b"\n" not in head.lstrip() and len(head) < _LONGEST_HEADER:
            more = stream.read(_PIECE)
            if not more:
                break
            head += more
        size = stream.seek(0, 2)
        start = max(len(head), size - _PIECE)
        stream.seek(start)
        return head, stream.read()


def _first_line(head: bytes) -> bytes:
    for line in head.split(b"\n"):
        if not lines.is_blank(line):
            return line
    return b""


def _last_name(head: bytes, tail: bytes) -> str | None:
    """Return the last name that was given in either piece; blank or null takes it away."""
    for piece in (tail, head):
        for fields in _named(piece):
            name = fields.get("name")
            return (one_line(name) or None) if isinstance(name, str) else None
    return None


def _named(piece: bytes) -> Iterator[dict[str, Any]]:
    """Yield the ``session_info`` entries of a piece of a file, the last one first."""
    if b"session_info" not in piece:
        return
    for line in reversed(piece.split(b"\n")):
        if b"session_info" not in line:
            continue
        try:
            fields = lines.decode(line)
        except ValueError:
            continue
        if isinstance(fields, dict) and fields.get("type") == "session_info":
            yield fields


def refuse_taken_id(session_id: str, folder: Path) -> None:
    """Refuse an id that a session in a folder has already; file names end with it.

    Raises:
        SessionError: ``invalid_session``.
    """
    ending = f"_{session_id}.jsonl"
    try:
        taken = [file for file in folder.glob("*.jsonl") if file.name.endswith(ending)]
    except OSError:  # a folder that cannot be: the first write says so
        return
    if taken:
        raise SessionError(
            f"The session id {session_id} is taken by {taken[0]}.",
            hint="Leave the id out to get a new one.",
            path=str(taken[0]),
        )

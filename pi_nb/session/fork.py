"""Which lines of a session a fork copies."""

from __future__ import annotations

from pi_nb.errors import SessionError
from pi_nb.session import lines
from pi_nb.session.entries import MessageEntry
from pi_nb.session.tree import Session

__all__ = ["lines_to_fork"]


def lines_to_fork(session: Session, *, at: str | None = None, before: str | None = None) -> list[bytes]:
    """Return the lines of the entries that a fork copies: all, or those of one path, without line breaks.

    Args:
        session: The session to copy from.
        at: Copy the path to this entry only.
        before: Copy the path to the parent of this user message only.

    Raises:
        SessionError: ``invalid_fork_target``: the entry is unknown, or ``before`` is no user message;
            ``invalid_session`` if the path is broken.
    """
    storage = session.storage
    with storage.lock:
        whole = at is None and before is None
        places = range(len(storage)) if whole else storage.walk(_end(session, at, before))
        return [_line(session, place) for place in places]


def _end(session: Session, at: str | None, before: str | None) -> str | None:
    """Return the last entry of the path to copy."""
    wanted = at if before is None else before
    if wanted is None or (at is not None and before is not None):
        raise SessionError("A fork is at an entry or before one, not both.", code="invalid_fork_target")
    target = session.get(wanted)
    if target is None:
        raise SessionError(f"There is no entry {wanted}.", code="invalid_fork_target")
    if before is None:
        return target.id
    if not isinstance(target, MessageEntry) or target.message.role != "user":
        raise SessionError(f"Entry {wanted} is not a user's message.", code="invalid_fork_target")
    return target.parent_id


def _line(session: Session, place: int) -> bytes:
    """Return an entry's line; in a repaired session one whose parent is missing becomes a root."""
    index = session.storage.index
    line = index.lines[place]
    if index.repaired and index.parents[place] not in index.positions and index.parents[place] is not None:
        return lines.encode({**lines.decode(line), "parentId": None})
    return line

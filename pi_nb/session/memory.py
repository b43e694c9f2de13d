"""Sessions that live in memory only: for tests and for trying things out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pi_nb.errors import SessionError
from pi_nb.session import lines
from pi_nb.session.entries import Entry, Header, parse_entry
from pi_nb.session.fork import lines_to_fork
from pi_nb.session.ids import new_session_id, now_iso
from pi_nb.session.storage import IndexedStorage, line_of
from pi_nb.session.tree import Session

__all__ = ["InMemorySessionRepo", "InMemorySessionStorage"]


class InMemorySessionStorage(IndexedStorage):
    """A session that is gone when it is.

    Args:
        header: First line; by default one with a new id.
        entries: What the log begins with.
    """

    def __init__(self, header: Header | None = None, entries: Iterable[Entry] = ()) -> None:
        super().__init__(header or Header(version=3, id=new_session_id(), timestamp=now_iso(), cwd=""))
        self._closed = False
        for entry in entries:
            self.append(entry)

    @property
    def read_only(self) -> bool:
        """True once it is closed."""
        return self._closed

    def append_fields(self, fields: dict[str, Any]) -> None:
        """Add an entry given as its fields.

        Raises:
            SessionError: ``invalid_entry`` if they hold what JSON cannot; ``storage`` after :meth:`close`.
        """
        line = line_of(fields)
        with self.lock:
            if self._closed:
                raise SessionError("The session is closed.", code="storage")
            self._index.append(fields, line)

    def close(self) -> None:
        """Refuse appends from now on."""
        self._closed = True


class InMemorySessionRepo:
    """Sessions of this process, the newest first."""

    def __init__(self) -> None:
        self._sessions: dict[str, Session] = {}

    def create(
        self,
        cwd: str = "",
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        parent_session: str | None = None,
    ) -> Session:
        """Return a new session.

        Raises:
            SessionError: The id is taken.
        """
        return self._add(cwd, id, metadata, parent_session, ())

    def _add(
        self,
        cwd: str,
        id: str | None,
        metadata: Mapping[str, Any] | None,
        parent_session: str | None,
        raw: Iterable[bytes],
    ) -> Session:
        session_id = new_session_id() if id is None else id
        if session_id in self._sessions:
            raise SessionError(f"The session id {session_id} is taken.")
        options = {"parent_session": parent_session, "metadata": dict(metadata) if metadata else None}
        given = {name: value for name, value in options.items() if value is not None}
        header = Header(version=3, id=session_id, timestamp=now_iso(), cwd=cwd, **given)
        entries = [parse_entry(lines.decode(line)) for line in raw]
        session = self._sessions[session_id] = Session(InMemorySessionStorage(header, entries))
        return session

    def open(self, id: str) -> Session:
        """Return a session.

        Raises:
            SessionError: ``not_found``.
        """
        if id not in self._sessions:
            raise SessionError(f"There is no session {id!r}.", code="not_found")
        return self._sessions[id]

    def list(self) -> list[Session]:
        """Return the sessions, the newest first."""
        return list(self._sessions.values())[::-1]

    def delete(self, id: str) -> None:
        """Forget a session. Errors as for :meth:`open`."""
        self.open(id).close()
        del self._sessions[id]

    def fork(
        self, session: Session, *, at: str | None = None, before: str | None = None, id: str | None = None
    ) -> Session:
        """Return a new session with entries of another one; neither sees what is appended to the other later.

        Raises:
            SessionError: ``invalid_fork_target``.
        """
        raw = lines_to_fork(session, at=at, before=before)
        return self._add(session.cwd, id, session.metadata, session.id, raw)

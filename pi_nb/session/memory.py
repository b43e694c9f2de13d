"""Sessions that live in memory only: for tests and for trying things out."""

from __future__ import annotations

from collections.abc import Iterable

from pi_nb.errors import SessionError
from pi_nb.session.entries import Entry, Header
from pi_nb.session.ids import new_session_id, now_iso
from pi_nb.session.storage import IndexedStorage

__all__ = ["InMemorySessionStorage"]


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

    def append(self, entry: Entry) -> None:
        """Add an entry.

        Raises:
            SessionError: ``invalid_entry`` if it holds what JSON cannot; ``storage`` after :meth:`close`.
        """
        fields, line = self._encode(entry)
        with self.lock:
            if self._closed:
                raise SessionError("The session is closed.", code="storage")
            self._remember(fields, line, entry)

    def close(self) -> None:
        """Refuse appends from now on."""
        self._closed = True

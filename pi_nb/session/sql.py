"""Sessions in a database, for several users and hosts: SQLite in a file, or PostgreSQL.

Any number of processes may append to one session at the same time. They take turns, one transaction per entry, and
every append takes in what the others wrote before it; :meth:`~SqlSessionStorage.refresh` does that without writing.

**Who hangs from what.** An entry hangs from the parent its writer named, never from what somebody else wrote in
between: an answer belongs under its question. So each storage has a leaf of its own. It begins where the log's last
line puts it and then goes only where this storage's own appends and moves take it; what others write appears as
branches. :meth:`~SqlSessionStorage.follow` goes to where the log's last line points, as opening the session again
would. A storage that only reads has no place of its own and is always there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pi_nb.errors import SessionError
from pi_nb.session import lines
from pi_nb.session.entries import Header
from pi_nb.session.header import parse_header
from pi_nb.session.ids import new_session_id, now_iso
from pi_nb.session.sql_database import Database, entries, sa, sessions
from pi_nb.session.sql_lines import FetchedLines
from pi_nb.session.sql_rows import fill, name_column, row_of, to_column
from pi_nb.session.storage import IndexedStorage, line_of

__all__ = ["SqlSessionStorage"]

_GLOBAL: Final = ("label", "session_info", "leaf")
_BATCH: Final = 500

_ours = entries.c.session == sa.bindparam("number")
_envelope = (entries.c.entry_id, entries.c.parent_id, entries.c.type, entries.c.role, entries.c.size)
_read_index = (
    sa.select(*_envelope, sa.case((entries.c.type.in_(_GLOBAL), entries.c.line)))
    .where(_ours)
    .order_by(entries.c.position)
)
_read_lines = (
    sa.select(entries.c.line)
    .where(_ours, entries.c.position >= sa.bindparam("start"), entries.c.position < sa.bindparam("stop"))
    .order_by(entries.c.position)
)
_read_news = (
    sa.select(entries.c.line).where(_ours, entries.c.position >= sa.bindparam("start")).order_by(entries.c.position)
)
_read_length = sa.select(sessions.c.length).where(sessions.c.number == sa.bindparam("number"))
_take_place = (
    sa.update(sessions)
    .where(sessions.c.number == sa.bindparam("which"))
    .values(length=sessions.c.length + 1, modified=sa.bindparam("now"))
    .returning(sessions.c.length)
)
_take_place_and_name = _take_place.values(name=sa.bindparam("title"))
_add = sa.insert(entries)


class SqlSessionStorage(IndexedStorage):
    """A session in a database. Use :meth:`open` or :meth:`create`, not the constructor."""

    def __init__(
        self, database: Database, number: int, header: Header, *, owner: bool = False, read_only: bool = False
    ) -> None:
        super().__init__(header)
        self._database = database
        self._number = number
        self._owns_database = owner
        self._why_read_only = "it was opened for reading" if read_only else None
        self._follows = read_only
        self._log_leaf: str | None = None
        self._known = FetchedLines(self._fetch)
        self._index.lines = self._known

    # ------------------------------------------------------------ making one

    @classmethod
    def create(
        cls, database: Database | str | Path, header: Header | None = None, *, raw: Iterable[bytes] = ()
    ) -> SqlSessionStorage:
        """Return a new session; others can open it at once.

        Args:
            database: The database, or what :class:`~pi_nb.session.sql_database.Database` takes.
            header: First line; by default one with a new id.
            raw: Lines of entries it begins with (a fork's).

        Raises:
            SessionError: The id is taken; ``storage`` if the database cannot be written.
        """
        header = header or Header(version=3, id=new_session_id(), timestamp=now_iso(), cwd="")
        where, owner = _database_of(database)
        try:
            storage = cls(
                where, _insert_session(where, header, [line.rstrip(b"\r\n") for line in raw]), header, owner=owner
            )
            storage._load()
        except BaseException:
            if owner:
                where.close()
            raise
        return storage

    @classmethod
    def open(cls, database: Database | str | Path, session_id: str, *, read_only: bool = False) -> SqlSessionStorage:
        """Return a session. Others may have it open too, and write.

        Args:
            database: The database, or what :class:`~pi_nb.session.sql_database.Database` takes.
            session_id: The session's whole id.
            read_only: True to only follow what others write.

        Raises:
            SessionError: ``not_found``; ``storage`` if the database cannot be read.
        """
        where, owner = _database_of(database)
        try:
            number, line = _find_session(where, session_id)
            header, warnings = parse_header(line.encode(), f"session {session_id}")
            storage = cls(where, number, header, owner=owner, read_only=read_only)
            storage._warnings += warnings
            storage._load()
        except BaseException:
            if owner:
                where.close()
            raise
        return storage

    def _load(self) -> None:
        """Read the columns of all entries; the lines stay where they are, but for those that hold for the whole log."""
        with self._database.reading() as connection:
            rows = connection.execute(_read_index, {"number": self._number}).all()
        if rows:
            fill(self._index, self._known, list(zip(*rows, strict=True)))
        self._log_leaf = self._index.leaf_id

    # ------------------------------------------------------------ what it is

    @property
    def database(self) -> Database:
        """Where the session is."""
        return self._database

    @property
    def read_only(self) -> bool:
        """True if an append would be refused: closed, or opened for reading."""
        return self._why_read_only is not None

    @property
    def log_leaf_id(self) -> str | None:
        """Where the last line known here puts the leaf; with several writers not always where this one is."""
        return self._log_leaf

    def close(self) -> None:
        """Refuse appends from now on; what is known stays readable. A second call does nothing."""
        with self.lock:
            self._why_read_only = "it is closed"
            if self._owns_database:
                self._database.close()

    def _fetch(self, start: int, stop: int) -> list[bytes]:
        where = {"number": self._number, "start": start, "stop": stop}
        with self.lock, self._database.reading() as connection:
            found = [line.encode() for line in connection.execute(_read_lines, where).scalars()]
        if len(found) != stop - start:
            raise self._gone()
        return found

    # ------------------------------------------------------------ writing

    def append_fields(self, fields: dict[str, Any]) -> None:
        """Add an entry; it is in the database when this returns, and what others wrote before it is known here.

        Raises:
            SessionError: ``storage``: it could not be written and is not in memory either; ``invalid_entry``: it holds
                what JSON cannot.
        """
        with self.lock:
            if self._why_read_only is not None:
                raise SessionError(f"Cannot write session {self._header.id}: {self._why_read_only}.", code="storage")
            line = line_of(fields)
            try:
                news = self._write(fields, line)
            except SessionError as error:
                self._look_for(fields, line, error)
                return
            self._take(news)
            self._index.append(fields, line)
            self._log_leaf = self._index.leaf_id

    def _write(self, fields: Mapping[str, Any], line: bytes) -> list[bytes]:
        """Write an entry; return the lines that others wrote since the last look."""
        take, values = _take_place, {"which": self._number, "now": now_iso()}
        if fields["type"] == "session_info":
            take, values["title"] = _take_place_and_name, name_column(fields)
        with self._database.writing() as connection:
            length = connection.execute(take, values).scalar()
            if length is None:
                raise self._gone()
            news = self._news(connection, length - 1)
            if any(lines.decode(other)["id"] == fields["id"] for other in news):
                raise SessionError(f"The id {fields['id']} was taken meanwhile; append again.", code="storage")
            connection.execute(_add, row_of(self._number, length - 1, fields, line))
        return news

    def _look_for(self, fields: Mapping[str, Any], line: bytes, error: SessionError) -> None:
        """Take in an entry that arrived although the connection broke before the answer did; else raise the error."""
        cause = error.__cause__
        if not (isinstance(cause, sa.exc.DBAPIError) and cause.connection_invalidated):
            raise error
        try:
            with self._database.reading() as connection:
                news = self._news(connection, None)
        except SessionError:
            error.hint = "It may have been written all the same: refresh before you try again."
            raise error from cause
        self._take(news)
        if line not in news:
            raise error
        self._index.leaf_id = fields["targetId"] if fields["type"] == "leaf" else fields["id"]

    def _gone(self) -> SessionError:
        return SessionError(
            f"Session {self._header.id} was deleted by somebody else; nothing was written.",
            code="storage",
            hint="Fork it to keep what is known of it here.",
        )

    # ------------------------------------------------------------ following what others write

    def refresh(self) -> int:
        """Take in what others wrote; return how many entries that were. The leaf stays, unless this only reads.

        Raises:
            SessionError: ``storage``: the database cannot be read, or the session was deleted.
        """
        with self.lock:
            with self._database.reading() as connection:
                length = connection.execute(_read_length, {"number": self._number}).scalar()
                if length is None:
                    raise self._gone()
                news = self._news(connection, length)
            self._take(news)
            return len(news)

    def follow(self) -> int:
        """Take in what others wrote and go to where the last line puts the leaf; return and errors as for refresh."""
        with self.lock:
            count = self.refresh()
            self._index.leaf_id = self._log_leaf
            return count

    def _news(self, connection: sa.Connection, length: int | None) -> list[bytes]:
        """Return the lines that are not known here, given how long the log is or None to find out."""
        known = len(self._index)
        if length == known:
            return []
        where = {"number": self._number, "start": known}
        news = [line.encode() for line in connection.execute(_read_news, where).scalars()]
        if length is not None and not known <= length <= known + len(news):
            raise SessionError(
                f"Session {self._header.id} lacks entries that it had; nothing was written.",
                code="storage",
                hint="Was an older copy of the database put back? Fork the session to keep what is known of it here.",
            )
        return news

    def _take(self, news: Sequence[bytes]) -> None:
        leaf = self._index.leaf_id
        for line in news:
            self._index.append(lines.decode(line), line)
            self._log_leaf = self._index.leaf_id
        if not self._follows:
            self._index.leaf_id = leaf


def _database_of(database: Database | str | Path) -> tuple[Database, bool]:
    """Return a database, and whether it was made here."""
    return (database, False) if isinstance(database, Database) else (Database(database), True)


def _find_session(database: Database, session_id: str) -> tuple[int, str]:
    """Return a session's number and its header."""
    if database.exists:
        which = sa.select(sessions.c.number, sessions.c.header).where(sessions.c.id == to_column(session_id))
        with database.reading() as connection:
            found = connection.execute(which).one_or_none()
        if found is not None:
            return found.number, found.header
    raise SessionError(f"There is no session {session_id!r} in {database.place}.", code="not_found")


def _insert_session(database: Database, header: Header, raw: Sequence[bytes]) -> int:
    """Write a new session with its first entries; return its number."""
    fields = [lines.decode(line) for line in raw]
    named = [entry for entry in fields if entry["type"] == "session_info"]
    row = {
        "id": to_column(header.id),
        "header": lines.encode(header.to_wire()).decode(),
        "length": len(raw),
        "name": name_column(named[-1]) if named else None,
        "modified": now_iso(),
    }
    with database.writing() as connection:
        try:
            number: int = connection.execute(sa.insert(sessions).values(row).returning(sessions.c.number)).scalar_one()
        except sa.exc.IntegrityError as error:  # by somebody earlier, or at this moment
            raise SessionError(f"The session id {header.id} is taken in {database.place}.") from error
        for start in range(0, len(raw), _BATCH):
            batch = range(start, min(start + _BATCH, len(raw)))
            connection.execute(_add, [row_of(number, place, fields[place], raw[place]) for place in batch])
    return number

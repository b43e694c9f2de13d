"""All sessions of one database: create, open, list, find, search, fork, delete."""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from pi_nb.errors import SessionError
from pi_nb.session import lines, search
from pi_nb.session.entries import Header, parse_entry
from pi_nb.session.fork import lines_to_fork
from pi_nb.session.header import parse_header
from pi_nb.session.ids import new_session_id, now_iso, parse_time
from pi_nb.session.logfile import Durability
from pi_nb.session.sql import SqlSessionStorage
from pi_nb.session.sql_database import Database, entries, sa, sessions
from pi_nb.session.sql_rows import from_column, to_column
from pi_nb.session.tree import Session

__all__ = ["Found", "SqlSessionRepo", "StoredSession"]


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A session in a list.

    Attributes:
        id: Its id.
        cwd: The folder it belongs to; empty if unknown.
        name: Its name, or None.
        created: When it began, or None if the header does not say.
        modified: When it was last written, or None.
        metadata: What the header says beside the rest.
        parent_session: The session it was forked from, or None.
        entries: How many entries it has.
        broken: Why it cannot be opened, or None if it can.
    """

    id: str
    cwd: str = ""
    name: str | None = None
    created: datetime | None = None
    modified: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    parent_session: str | None = None
    entries: int = 0
    broken: str | None = None

    @property
    def order(self) -> tuple[float, float, str]:
        """Sorts by time of creation, then of writing; those that do not say when they were made come first."""
        times = [moment.timestamp() if moment else float("-inf") for moment in (self.created, self.modified)]
        return times[0], times[1], self.id


@dataclass(frozen=True, slots=True)
class Found(search.Found):
    """An entry that a search found: its session, its id, all it says, and where in that the search's text begins."""

    session: StoredSession  # type: ignore[assignment]  # what is the same of both, but for the file


class SqlSessionRepo:
    """All sessions of one database, which they share.

    Args:
        where: The database, or what :class:`~pi_nb.session.sql_database.Database` takes; one that is given is not
            closed by :meth:`close`.
        durability: As for ``Database``.
    """

    def __init__(self, where: Database | str | Path, *, durability: Durability = "flush") -> None:
        self._is_owner = not isinstance(where, Database)
        self.database = where if isinstance(where, Database) else Database(where, durability=durability)

    def __repr__(self) -> str:
        return f"<SqlSessionRepo {self.database.place}>"

    # ------------------------------------------------------------ making and opening

    def create(
        self,
        cwd: str | Path,
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        parent_session: str | None = None,
    ) -> Session:
        """Return a new session, which others can open at once.

        Args:
            cwd: Folder it belongs to; kept as given, since it may be one of another host.
            id: Its id; by default a new UUID of version 7.
            metadata: What the header says beside the rest; JSON data.
            parent_session: What it was forked from.

        Raises:
            SessionError: The id is empty or taken; ``storage``.
        """
        return self._create(_header(str(cwd), id, metadata, parent_session), [])

    def _create(self, header: Header, raw: builtins.list[bytes]) -> Session:
        if not header.id:
            raise SessionError("A session's id cannot be empty.")
        return Session(SqlSessionStorage.create(self.database, header, raw=raw))

    def open(self, ref: str, *, read_only: bool = False) -> Session:
        """Return a session; others may have it open too, and write.

        Args:
            ref: Its id, its name, or the unique beginning or end of its id.
            read_only: True to only follow what others write.

        Raises:
            SessionError: ``not_found``; ``invalid_session``, also if ``ref`` fits several; ``storage``.
        """
        return Session(SqlSessionStorage.open(self.database, self.resolve(ref), read_only=read_only))

    def resolve(self, ref: str) -> str:
        """Return the id of the session that ``ref`` names. Errors as for :meth:`open`."""
        found = self._matches(ref) if ref and self.database.exists else []
        if len(found) == 1:
            return found[0]
        if not found:
            raise SessionError(f"There is no session {ref!r} in {self.database.place}.", code="not_found")
        raise SessionError(
            f"{ref!r} fits {len(found)} sessions: {', '.join(found)}.", hint="Name one by its id, or by more of it."
        )

    def _matches(self, ref: str) -> builtins.list[str]:
        """Return the ids of the sessions that a text names best: by id, by name, by the beginning or end of an id."""
        text, size = to_column(ref), len(to_column(ref))
        ends = sa.func.length(sessions.c.id) - size + 1
        with self.database.reading() as connection:
            for fits in (
                sessions.c.id == text,
                sessions.c.name == text,
                sa.func.substr(sessions.c.id, 1, size) == text,
                sa.and_(ends > 0, sa.func.substr(sessions.c.id, ends) == text),
            ):
                found = connection.execute(sa.select(sessions.c.id).where(fits).order_by(sessions.c.number)).scalars()
                ids = [from_column(id) for id in found]
                if ids:
                    return ids
        return []

    # ------------------------------------------------------------ listing and searching

    def list(self, cwd: str | Path | None = None, *, broken: bool = False) -> builtins.list[StoredSession]:
        """Return the sessions, the newest first; those that do not say when they began last.

        Args:
            cwd: Only those that belong to this folder.
            broken: True to list sessions whose header cannot be read too.

        Raises:
            SessionError: ``storage``.
        """
        if not self.database.exists:
            return []
        with self.database.reading() as connection:
            infos = [_describe(row) for row in connection.execute(sa.select(sessions))]
        here = None if cwd is None else str(cwd)
        wanted = [info for info in infos if (broken if info.broken else here in (None, info.cwd))]
        return sorted(wanted, key=lambda info: info.order, reverse=True)

    def find(self, metadata_key: str, value: Any) -> StoredSession | None:
        """Return the newest session whose metadata has this value, or None."""
        for info in self.list():
            if metadata_key in info.metadata and info.metadata[metadata_key] == value:
                return info
        return None

    def search(self, text: str, *, cwd: str | Path | None = None, limit: int = 100) -> builtins.list[Found]:
        """Return the entries that say a text, whatever its case, from the newest session to the oldest.

        What people and models said is looked through, and summaries, labels and names; in any language, but the
        database knows upper and lower case of the letters A to Z only, as a rule.

        Args:
            text: What to look for.
            cwd: Only in sessions that belong to this folder.
            limit: The most entries to return.
        """
        hits = (found for info in self.list(cwd) for found in self._search_in(info, text))
        with closing(hits):
            return builtins.list(islice(hits, limit)) if text else []

    def _search_in(self, info: StoredSession, text: str) -> Iterator[Found]:
        needle = lines.encode(text).decode()[1:-1]
        holding = (
            sa.select(entries.c.line)
            .join(sessions)
            .where(sessions.c.id == to_column(info.id), entries.c.line.icontains(needle, autoescape=True))
            .order_by(entries.c.position)
        )
        with self.database.reading() as connection:
            for line in connection.execute(holding).scalars():
                entry = parse_entry(lines.decode(line.encode()))
                said = search.said(entry)
                at = said.casefold().find(text.casefold())
                if at >= 0:
                    yield Found(info, entry.id, said, at)

    # ------------------------------------------------------------ forking and deleting

    def fork(
        self,
        session: Session | str,
        *,
        at: str | None = None,
        before: str | None = None,
        cwd: str | Path | None = None,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Session:
        """Return a new session with entries of another one, from here or from anywhere else, ids preserved.

        Args:
            session: The other one, or what :meth:`open` takes.
            at: Copy the path to this entry only.
            before: Copy the path to the parent of this user message only.
            cwd: Folder the new one belongs to; by default that of the other.
            id: The new one's id.
            metadata: What its header says; by default what the other's does.

        Raises:
            SessionError: ``invalid_fork_target``; otherwise as for :meth:`create` and :meth:`open`.
        """
        source = self.open(session, read_only=True) if isinstance(session, str) else session
        origin = str(source.file) if source.file else source.id
        options = source.metadata if metadata is None else metadata
        header = _header(str(cwd or source.cwd), id, options, origin)
        return self._create(header, lines_to_fork(source, at=at, before=before))

    def delete(self, ref: str | Session) -> None:
        """Delete a session for everybody; who has it open is told at the next append.

        Raises:
            SessionError: As for :meth:`open`.
        """
        if isinstance(ref, Session):
            ref.close()
            ref = ref.id
        which = sessions.c.id == to_column(self.resolve(ref))
        with self.database.writing() as connection:
            connection.execute(sa.delete(sessions).where(which))

    def close(self) -> None:
        """Let go of all connections; a second call does nothing."""
        if self._is_owner:
            self.database.close()

    def __enter__(self) -> SqlSessionRepo:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _header(cwd: str, id: str | None, metadata: Mapping[str, Any] | None, parent_session: str | None) -> Header:
    options = {"parent_session": parent_session, "metadata": dict(metadata) if metadata else None}
    given = {name: value for name, value in options.items() if value is not None}
    return Header(version=3, id=new_session_id() if id is None else id, timestamp=now_iso(), cwd=cwd, **given)


def _describe(row: sa.Row[Any]) -> StoredSession:
    id, name = from_column(row.id), row.name and from_column(row.name)
    modified = parse_time(row.modified)
    try:
        header, _ = parse_header(row.header.encode(), f"session {id}")
    except SessionError as error:
        return StoredSession(id, name=name, modified=modified, entries=row.length, broken=str(error))
    return StoredSession(
        id=id,
        cwd=header.cwd or "",
        name=name,
        created=parse_time(header.timestamp),
        modified=modified,
        metadata=dict(header.metadata or {}),
        parent_session=header.parent_session,
        entries=row.length,
    )

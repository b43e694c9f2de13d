"""A database that keeps sessions: its tables, how they are made, and how they are read and written.

Two tables. ``pi_nb_sessions`` has one row per session, with its header and how many entries it has; ``pi_nb_entries``
has one row per entry: its line as text exactly as in a session file, and beside it the few columns an index is made
of. Who appends raises the session's count first. That locks its row (PostgreSQL) or the database (SQLite, ``BEGIN
IMMEDIATE``) until the transaction ends, so writers take turns and positions have no gaps.
"""

from __future__ import annotations

import os
import sqlite3
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from pi_nb.errors import SessionError
from pi_nb.session.logfile import Durability

try:
    import sqlalchemy as sa
    from sqlalchemy import event
except ImportError as error:  # pragma: no cover - the tests have it
    raise ImportError("Sessions in a database need SQLAlchemy: pip install 'pi-nb[sql]'.") from error

__all__ = ["SCHEMA_VERSION", "Database", "entries", "sa", "sessions"]

SCHEMA_VERSION: Final = 1
_LOCK_KEY: Final = 0x70695F6E62  # "pi_nb": whoever makes the tables in PostgreSQL holds this advisory lock

metadata = sa.MetaData()
_meta = sa.Table(
    "pi_nb_meta",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
sessions = sa.Table(
    "pi_nb_sessions",
    metadata,
    sa.Column("number", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("header", sa.Text, nullable=False),
    sa.Column("length", sa.BigInteger, nullable=False),
    sa.Column("name", sa.Text),
    sa.Column("modified", sa.Text, nullable=False),
    sqlite_autoincrement=True,  # the number of a deleted session is not given to another one
)
entries = sa.Table(
    "pi_nb_entries",
    metadata,
    sa.Column("session", sa.ForeignKey(sessions.c.number, ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("entry_id", sa.Text, nullable=False),
    sa.Column("parent_id", sa.Text),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("role", sa.Text),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("line", sa.Text, nullable=False),
)


class Database:
    """Where sessions are kept: a file of SQLite or a server with PostgreSQL. May be used from several threads.

    Args:
        where: A file, or a URL: ``sqlite:///file``, ``postgresql://user:password@host/name``.
        durability: For SQLite: ``flush`` survives a killed process, ``fsync`` a power loss too. PostgreSQL does as
            the server is set.
        timeout: Seconds to wait for other writers of a SQLite file.

    Raises:
        SessionError: ``storage``: neither of the two, or in memory.
    """

    def __init__(self, where: str | Path, *, durability: Durability = "flush", timeout: float = 60.0) -> None:
        self.url = _url_of(where)
        self._timeout = timeout
        self._is_sqlite = self.url.get_backend_name() == "sqlite"
        self.engine = self._lite(durability) if self._is_sqlite else _postgres(self.url)
        options = {} if self._is_sqlite else {"isolation_level": "AUTOCOMMIT"}
        self._reader = self.engine.execution_options(**options)
        self._writer = self.engine.execution_options(pi_nb_writes=True)
        self._prepared = False
        self._closed = False
        self._let_go = weakref.finalize(self, self.engine.dispose)  # also for who forgets to close
        _databases.add(self)

    @property
    def place(self) -> str:
        """The database in words, without a password."""
        return self.url.render_as_string(hide_password=True)

    def __repr__(self) -> str:
        return f"<Database {self.place}>"

    def _lite(self, durability: Durability) -> sa.Engine:
        engine = sa.create_engine(self.url, connect_args={"timeout": self._timeout})
        level = "FULL" if durability == "fsync" else "NORMAL"

        @event.listens_for(engine, "connect")
        def configure(connection: Any, _: Any) -> None:
            connection.isolation_level = None  # transactions begin below, not where the driver thinks
            connection.execute(f"PRAGMA synchronous={level}")
            connection.execute("PRAGMA foreign_keys=ON")

        @event.listens_for(engine, "begin")
        def begin(connection: sa.Connection) -> None:
            writes = connection.get_execution_options().get("pi_nb_writes", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

        return engine

    # ------------------------------------------------------------ transactions

    @property
    def exists(self) -> bool:
        """False if it is a file that is not there; a server is taken to be there."""
        return not self._is_sqlite or Path(self.url.database or "").exists()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection to read with.

        Raises:
            SessionError: ``storage``: it cannot be read.
        """
        with self._connected("read") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give a connection in a transaction that is committed at the end, or undone if something is raised.

        Raises:
            SessionError: ``storage``: it cannot be written.
        """
        with self._connected("write") as connection, connection.begin():
            yield connection

    @contextmanager
    def _connected(self, what: str) -> Iterator[sa.Connection]:
        self._prepare()
        engine = self._writer if what == "write" else self._reader
        try:
            with self._failures(what), engine.connect() as connection:
                yield connection
        finally:
            if self._closed:  # a look at a closed session leaves no connection behind
                self.engine.dispose()

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        try:
            yield
        except sa.exc.SQLAlchemyError as error:
            cause = getattr(error, "orig", None) or error
            raise SessionError(
                f"Cannot {what} the sessions in {self.place}: {str(cause).strip().splitlines()[0]}.",
                code="storage",
                path=self.url.database if self._is_sqlite else None,
            ) from error

    def close(self) -> None:
        """Let go of all connections. Looking at a session that is still in use opens one for that moment."""
        self._closed = True
        self._let_go()

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ------------------------------------------------------------ making the tables

    def _prepare(self) -> None:
        """Make the tables if they are not there; any number of processes may do so at the same time."""
        if self._prepared:
            return
        with self._failures("open"):
            version = self._version()
            if version is None:
                self._make_tables()
                version = self._version()
        if version != SCHEMA_VERSION:
            raise SessionError(
                f"{self.place} has tables of version {version} and this program knows version {SCHEMA_VERSION}.",
                code="storage",
                hint="A newer version of pi_nb may read it.",
            )
        self._prepared = True

    def _version(self) -> int | None:
        """Return the version of the tables, or None if there are none."""
        if not self.exists:
            return None
        with self._reader.connect() as connection:
            if not sa.inspect(connection).has_table(_meta.name):
                return None
            found = connection.execute(sa.select(_meta.c.value).where(_meta.c.key == "schema")).scalar()
        return int(found) if found else None

    def _make_tables(self) -> None:
        if self._is_sqlite:
            Path(self.url.database or "").parent.mkdir(parents=True, exist_ok=True)
            self._let_readers_in()
        with self._writer.begin() as connection:
            if not self._is_sqlite:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK_KEY)))
            metadata.create_all(connection)
            known = connection.execute(sa.select(_meta.c.value).where(_meta.c.key == "schema")).scalar()
            if known is None:
                connection.execute(_meta.insert().values(key="schema", value=str(SCHEMA_VERSION)))

    def _let_readers_in(self) -> None:
        """Turn on the write-ahead log, so that readers and the writer do not wait for each other.

        SQLite does not wait when two processes turn it on at the same moment, so that is done here.
        """
        last_try = time.monotonic() + self._timeout
        connection = sqlite3.connect(self.url.database or "", timeout=self._timeout)
        try:
            while time.monotonic() < last_try:
                with suppress(sqlite3.OperationalError):
                    connection.execute("PRAGMA journal_mode=WAL")
                    return
                time.sleep(0.01)
        finally:
            connection.close()


def _url_of(where: str | Path) -> sa.URL:
    if isinstance(where, Path) or "://" not in where:
        return sa.URL.create("sqlite", database=str(Path(where).expanduser()))
    try:
        url = sa.make_url(where)
        backend = url.get_backend_name()
    except sa.exc.SQLAlchemyError as error:
        raise SessionError(f"This is no URL of a database: {error}.", code="storage") from error
    if backend in ("postgresql", "postgres"):
        return url if "+" in url.drivername else url.set(drivername="postgresql+psycopg")
    if backend != "sqlite":
        raise SessionError(
            f"Sessions are kept in SQLite or PostgreSQL, not in {backend}.",
            code="storage",
            hint="Use sqlite:///file or postgresql://user@host/name.",
        )
    if not url.database or url.database == ":memory:":
        raise SessionError("A database in memory cannot be shared; use InMemorySessionStorage.", code="storage")
    return url


def _postgres(url: sa.URL) -> sa.Engine:
    options = {"client_encoding": "utf8"} if url.get_driver_name() == "psycopg" else {}
    try:
        return sa.create_engine(url, pool_pre_ping=True, isolation_level="READ COMMITTED", connect_args=options)
    except ImportError as error:
        raise ImportError(f"PostgreSQL needs a driver ({error}): pip install 'pi-nb[sql]'.") from error


_databases: weakref.WeakSet[Database] = weakref.WeakSet()


def _leave_connections_to_the_parent() -> None:
    """A forked child makes connections of its own; two processes cannot speak through one."""
    for database in _databases:
        database.engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_connections_to_the_parent)

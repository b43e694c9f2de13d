"""Databases: which are taken, how their tables come to be, and what is said when something is wrong."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pi_nb.errors import SessionError
from pi_nb.session.entries import Header
from pi_nb.session.sql import SqlSessionStorage
from pi_nb.session.sql_database import Database
from pi_nb.session.sql_rows import from_column, to_column
from pi_nb.testing.subject import say

HEADER = Header(id="one", timestamp="t", cwd="/")


def code_of(what: Any, *args: Any, **options: Any) -> str:
    """Return the code of the error that a call ends in."""
    with pytest.raises(SessionError) as caught:
        what(*args, **options)
    return caught.value.code


@pytest.mark.parametrize("form", [Path, str, "sqlite:///{}".format, "sqlite+pysqlite:///{}".format], ids=range(4))
def test_file_can_be_named_as_one_likes(tmp_path: Path, form: Any) -> None:
    """A SQLite database is a path, a text or a URL; its folder is made."""
    file = tmp_path / "new" / "all sessions.db"
    SqlSessionStorage.create(form(file), HEADER).close()
    assert file.read_bytes().startswith(b"SQLite format 3")
    SqlSessionStorage.open(file, "one").close()


@pytest.mark.parametrize("where", ["mysql://host/name", "sqlite://", "sqlite:///:memory:", "nonsense://x", "://"])
def test_database_that_will_not_do(where: str) -> None:
    """Another kind of database, or one in memory, is refused at once."""
    assert code_of(Database, where) == "storage"


@pytest.mark.parametrize("where", ["postgresql://u:secret@host/name", "postgres://u:secret@host/name"])
def test_password_is_not_told(where: str) -> None:
    """A password is in no text that people read."""
    with Database(where) as database:
        assert "secret" not in repr(database) + database.place
        assert "u:***@host/name" in database.place


def test_server_that_is_not_there(tmp_path: Path) -> None:
    """A server that does not answer is an error with its address."""
    with pytest.raises(SessionError, match="Cannot open the sessions in postgresql") as caught:
        SqlSessionStorage.create(f"postgresql://u:secret@/name?host={tmp_path}", HEADER)
    assert caught.value.code == "storage"
    assert "secret" not in str(caught.value)


def test_opening_makes_no_file(tmp_path: Path) -> None:
    """Who opens a session in a database that is not there finds no session and leaves no file."""
    assert code_of(SqlSessionStorage.open, tmp_path / "no.db", "one") == "not_found"
    assert list(tmp_path.iterdir()) == []


def test_session_that_is_not_there(database_url: str) -> None:
    """Only a session's whole id opens it here."""
    SqlSessionStorage.create(database_url, HEADER).close()
    assert code_of(SqlSessionStorage.open, database_url, "on") == "not_found"
    assert code_of(SqlSessionStorage.create, database_url, HEADER) == "invalid_session"


def test_file_that_is_no_database(tmp_path: Path) -> None:
    """Another file is refused and left as it is."""
    file = tmp_path / "notes.txt"
    file.write_text("no database at all, " * 100)
    assert code_of(SqlSessionStorage.open, file, "one") == "storage"
    assert code_of(SqlSessionStorage.create, file, HEADER) == "storage"
    assert file.read_text() == "no database at all, " * 100
    assert list(tmp_path.iterdir()) == [file]


def test_tables_of_somebody_else_are_left_alone(tmp_path: Path) -> None:
    """A database may hold other things."""
    file = tmp_path / "app.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE sessions (x)")
        connection.commit()
    SqlSessionStorage.create(file, HEADER).close()
    with closing(sqlite3.connect(file)) as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert names >= {"sessions", "pi_nb_sessions", "pi_nb_entries", "pi_nb_meta"}


def test_tables_of_another_version(tmp_path: Path) -> None:
    """Tables that a newer version made are not touched."""
    file = tmp_path / "all.db"
    SqlSessionStorage.create(file, HEADER).close()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT value FROM pi_nb_meta WHERE key = 'schema'").fetchone() == ("1",)
        connection.execute("UPDATE pi_nb_meta SET value = '2'")
        connection.commit()
    with pytest.raises(SessionError, match="version 2"):
        SqlSessionStorage.open(file, "one")


@pytest.mark.skipif(os.name == "nt" or os.getuid() == 0, reason="root may write everything")
def test_file_that_may_not_be_written(tmp_path: Path) -> None:
    """A session in a file without permission can be read; an append says why it cannot be."""
    file = tmp_path / "all.db"
    with closing(SqlSessionStorage.create(file, HEADER)) as storage:
        storage.append(say("1"))
    file.chmod(stat.S_IRUSR)
    with closing(SqlSessionStorage.open(file, "one")) as storage:
        assert code_of(storage.append, say("2", "1")) == "storage"
        assert (len(storage), storage.leaf_id) == (1, "1")


def test_role_that_may_only_read(postgres: Any) -> None:
    """On a server, who may only read can read; an append says why it cannot be, and leaves no trace."""
    url = postgres.new_database()
    with closing(SqlSessionStorage.create(url, HEADER)) as storage:
        storage.append(say("1"))
        with storage.database.writing() as connection:
            connection.execute(sa.text("CREATE ROLE guest LOGIN"))
            connection.execute(sa.text("GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest"))
    with closing(SqlSessionStorage.open(url.replace("tests@", "guest@"), "one")) as guest:
        assert guest.get("1") == say("1")
        assert code_of(guest.append, say("2", "1")) == "storage"
        assert (len(guest), guest.leaf_id, guest.refresh()) == (1, "1", 0)


def test_full_database(tmp_path: Path) -> None:
    """When there is no more room the append is an error, and what was there is there."""
    with closing(SqlSessionStorage.create(tmp_path / "all.db", HEADER)) as storage:
        storage.append(say("1"))
        with storage.database.reading() as connection:
            connection.exec_driver_sql("PRAGMA max_page_count = 30")
        assert code_of(storage.append, say("2", "1", "x" * 1_000_000)) == "storage"
        assert (len(storage), storage.leaf_id, storage.refresh()) == (1, "1", 0)
        storage.append(say("3", "1"))
    with closing(SqlSessionStorage.open(tmp_path / "all.db", "one")) as found:
        assert [entry.id for entry in found.entries()] == ["1", "3"]


def test_writer_that_holds_the_file(tmp_path: Path) -> None:
    """An append waits for another program's transaction, and says so if that does not end; readers do not wait."""
    with Database(tmp_path / "all.db", timeout=0.2) as database:
        storage = SqlSessionStorage.create(database, HEADER)
        storage.append(say("1"))
        with closing(sqlite3.connect(tmp_path / "all.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert code_of(storage.append, say("2", "1")) == "storage"
            assert (storage.refresh(), len(SqlSessionStorage.open(database, "one"))) == (0, 1)
            other.execute("ROLLBACK")
        storage.append(say("2", "1"))
        assert len(storage) == 2


@pytest.mark.parametrize(("durability", "level"), [("flush", 1), ("fsync", 2)])
def test_durability(tmp_path: Path, durability: Any, level: int) -> None:
    """What is written survives a killed process, or a power loss too, as one asks."""
    with Database(tmp_path / "all.db", durability=durability) as database, database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == level
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


@pytest.mark.parametrize("text", ["", "a", "a\0", "\ud800", '"', '"a"', "é\n\u2028", "\\u0000", "null", "😀"])
def test_columns_hold_any_text(text: str) -> None:
    """A text comes back from a column, and what is in the column is good for any database."""
    column = to_column(text)
    assert from_column(column) == text
    assert b"\0" not in column.encode()
    assert (column == text) == (text not in ("a\0", "\ud800", '"', '"a"'))


@pytest.mark.parametrize("missing", ["sqlalchemy", "psycopg"])
def test_extra_that_is_not_installed(missing: str) -> None:
    """Without what a database needs, it says what to install."""
    code = (
        "import sys; sys.modules[sys.argv[1]] = None\n"
        "try: from pi_nb.session.sql import SqlSessionStorage; SqlSessionStorage.create('postgresql://host/name')\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, missing], capture_output=True, text=True, check=True)
    assert "pip install 'pi-nb[sql]'" in done.stdout

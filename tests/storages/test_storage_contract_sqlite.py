"""The contract of a storage, held by the one in a database: here a file of SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pi_nb.session.entries import Header
from pi_nb.session.sql import SqlSessionStorage
from pi_nb.session.storage import IndexedStorage
from pi_nb.testing import SessionStorageContract


def place_of(storage: IndexedStorage) -> str:
    """Return the file a session's database is in."""
    assert isinstance(storage, SqlSessionStorage)
    return storage.database.url.database or ""


class TestSqlite(SessionStorageContract):
    """A session in a file of SQLite; each storage has its own connections."""

    def create(self, header: Header, folder: Path) -> IndexedStorage:
        return SqlSessionStorage.create(folder / "sessions" / "all.db", header)

    def reopen(self, storage: IndexedStorage) -> IndexedStorage:
        return SqlSessionStorage.open(place_of(storage), storage.header.id)

    def look(self, storage: IndexedStorage) -> IndexedStorage | None:
        return SqlSessionStorage.open(Path(place_of(storage)), storage.header.id, read_only=True)

    def kept(self, storage: IndexedStorage) -> list[Mapping[str, Any]] | None:
        with closing(sqlite3.connect(place_of(storage))) as connection:
            rows = connection.execute("SELECT line FROM pi_nb_entries ORDER BY session, position").fetchall()
        return [json.loads(line) for (line,) in rows]

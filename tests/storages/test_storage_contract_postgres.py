"""The contract of a storage, held by the one in a database: here on a server with PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pi_nb.session.entries import Header
from pi_nb.session.sql import SqlSessionStorage
from pi_nb.session.sql_database import Database
from pi_nb.session.storage import IndexedStorage
from pi_nb.testing import SessionStorageContract


@pytest.fixture(scope="module")
def servers_database(postgres: Any) -> str:
    """Return the URL of a database that all tests here share, as sessions do."""
    return str(postgres.new_database())


class TestPostgres(SessionStorageContract):
    """A session on a server; each storage has its own connections."""

    @pytest.fixture(autouse=True)
    def emptied(self, servers_database: str) -> Iterator[None]:
        """Keep the database and take the sessions away after each test."""
        self.url = servers_database
        yield
        with psycopg.connect(self.url) as connection:
            connection.execute("TRUNCATE pi_nb_sessions, pi_nb_entries")

    def create(self, header: Header, folder: Path) -> IndexedStorage:
        return SqlSessionStorage.create(self.url, header)

    def reopen(self, storage: IndexedStorage) -> IndexedStorage:
        return SqlSessionStorage.open(self.url, storage.header.id)

    def look(self, storage: IndexedStorage) -> IndexedStorage | None:
        assert isinstance(storage, SqlSessionStorage)
        assert isinstance(storage.database, Database)
        return SqlSessionStorage.open(self.url, storage.header.id, read_only=True)

    def kept(self, storage: IndexedStorage) -> list[Mapping[str, Any]] | None:
        with psycopg.connect(self.url) as connection:
            rows = connection.execute("SELECT line FROM pi_nb_entries ORDER BY session, position").fetchall()
        return [json.loads(line) for (line,) in rows]

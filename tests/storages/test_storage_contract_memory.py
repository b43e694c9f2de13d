"""The contract of a storage, held by the one in memory."""

from __future__ import annotations

from pathlib import Path

from pi_nb.session.entries import Header, parse_entry
from pi_nb.session.lines import decode
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.storage import IndexedStorage
from pi_nb.testing import SessionStorageContract


class TestInMemory(SessionStorageContract):
    """A session in memory is made anew of its lines: they are all there is."""

    def create(self, header: Header, folder: Path) -> IndexedStorage:
        return InMemorySessionStorage(header)

    def reopen(self, storage: IndexedStorage) -> IndexedStorage:
        return InMemorySessionStorage(storage.header, [parse_entry(decode(line)) for line in storage.index.lines])

"""The storage under test: how the tests get one, what they put into it, and how they compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pi_nb.session import lines
from pi_nb.session.entries import Entry, Header, parse_entry
from pi_nb.session.storage import IndexedStorage
from pi_nb.session.tree import Session

__all__ = ["StorageSubject", "entry", "say", "written"]

STAMP = "2026-01-31T09:30:00.000Z"


def entry(id: str, parent: str | None, type: str, **fields: Any) -> Entry:
    """Return an entry with these fields, named as on disk."""
    return parse_entry({"type": type, "id": id, "parentId": parent, "timestamp": STAMP, **fields})


def say(id: str, parent: str | None = None, text: Any = "hello") -> Entry:
    """Return a user's message."""
    return entry(id, parent, "message", message={"role": "user", "content": text, "timestamp": 1})


def written(entries: Iterable[Entry]) -> list[bytes]:
    """Return entries as they are written, so that comparing them leaves nothing out."""
    return [lines.encode(item) for item in entries]


class StorageSubject:
    """How the tests get at a storage; :meth:`create` and :meth:`reopen` are for the subclass to write.

    Every test that reopens has said something before: a storage may keep a session in memory until then.
    """

    header: ClassVar[Header] = Header(
        version=3,
        id="0199aaaa-0000-7000-8000-000000000001",
        timestamp=STAMP,
        cwd="/home/ada",
        metadata={"a": [1, None]},
    )
    _open: list[IndexedStorage]

    def create(self, header: Header, folder: Path) -> IndexedStorage:
        """Return a new, empty storage.

        Args:
            header: Its first line.
            folder: A folder that is this test's alone.
        """
        raise NotImplementedError

    def reopen(self, storage: IndexedStorage) -> IndexedStorage:
        """Return a storage with what is kept of another one, which is closed; nothing may come from its memory."""
        raise NotImplementedError

    def look(self, storage: IndexedStorage) -> IndexedStorage | None:
        """Return a second storage that only reads the same session while the first one is open.

        None, the default, means that this cannot be; the tests that need it are skipped.
        """
        return None

    def kept(self, storage: IndexedStorage) -> list[Mapping[str, Any]] | None:
        """Return what is really kept, the JSON of each entry, got by another way than through the storage.

        None, the default, means that there is no such way; the tests that need it are skipped.
        """
        return None

    @pytest.fixture
    def storage(self, tmp_path: Path) -> Iterator[IndexedStorage]:
        """Give a new storage; whatever a test opens is closed after it."""
        self._open = []
        try:
            yield self._care_for(self.create(self.header, tmp_path))
        finally:
            self._close_all()

    def _close_all(self) -> None:
        for opened in reversed(self._open):
            opened.close()

    def _care_for(self, storage: IndexedStorage) -> IndexedStorage:
        self._open.append(storage)
        return storage

    def again(self, storage: IndexedStorage) -> IndexedStorage:
        """Close a storage and return what a later program finds."""
        storage.close()
        return self._care_for(self.reopen(storage))

    def beside(self, storage: IndexedStorage) -> IndexedStorage:
        """Return a second storage that only reads; skip if there cannot be one."""
        second = self.look(storage)
        if second is None:
            pytest.skip("nobody else can look at such a session")
        return self._care_for(second)

    def check_same(self, expected: IndexedStorage, found: IndexedStorage) -> None:
        """Assert that two storages say the same."""
        assert lines.encode(found.header) == lines.encode(expected.header)
        assert written(found.entries()) == written(expected.entries())
        assert found.leaf_id == expected.leaf_id
        one, two = Session(expected), Session(found)
        assert (two.name, dict(two.labels)) == (one.name, dict(one.labels))
        assert (two.roots(), two.branches()) == (one.roots(), one.branches())
        for item in {item.id for item in expected.entries()} | {None}:
            assert found.children(item) == expected.children(item)

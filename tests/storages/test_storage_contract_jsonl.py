"""The contract of a storage, held by the one in files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pi_nb.session.entries import Header
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.storage import IndexedStorage
from pi_nb.testing import SessionStorageContract


class TestJsonl(SessionStorageContract):
    """A session in a file."""

    def create(self, header: Header, folder: Path) -> IndexedStorage:
        return JsonlSessionStorage.create(folder / "sessions" / "session.jsonl", header)

    def reopen(self, storage: IndexedStorage) -> IndexedStorage:
        assert storage.file is not None
        return JsonlSessionStorage.open(storage.file)

    def look(self, storage: IndexedStorage) -> IndexedStorage | None:
        assert storage.file is not None
        return JsonlSessionStorage.open(storage.file, read_only=True)

    def kept(self, storage: IndexedStorage) -> list[Mapping[str, Any]] | None:
        assert storage.file is not None
        return [json.loads(line) for line in storage.file.read_bytes().split(b"\n")[1:-1]]

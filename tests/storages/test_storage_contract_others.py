"""The contract is of use to others: a storage of somebody else holds it, and one that breaks it is found out."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import SessionError
from pi_nb.session import lines
from pi_nb.session.entries import Entry, Header
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.storage import IndexedStorage, line_of
from pi_nb.testing import SessionStorageContract


class FolderStorage(IndexedStorage):
    """A session as somebody else may keep it: a folder with one file for each entry."""

    def __init__(self, folder: Path, header: Header | None = None) -> None:
        if header is not None:
            folder.mkdir()
            (folder / "header").write_bytes(lines.encode(header))
        super().__init__(header or Header.model_validate(lines.decode((folder / "header").read_bytes())))
        self.folder = folder
        self.closed = False
        for file in sorted(folder.glob("[0-9]*")):
            line = file.read_bytes()
            self._index.append(lines.decode(line), line)

    @property
    def read_only(self) -> bool:
        return self.closed

    def append_fields(self, fields: dict[str, Any]) -> None:
        line = line_of(fields)
        with self.lock:
            if self.closed:
                raise SessionError("The folder is closed.", code="storage")
            (self.folder / f"{len(self):08}").write_bytes(line)
            self._index.append(fields, line)

    def close(self) -> None:
        self.closed = True


class TestFolder(SessionStorageContract):
    """The whole contract, held by it."""

    def create(self, header: Header, folder: Path) -> IndexedStorage:
        return FolderStorage(folder / "session", header)

    def reopen(self, storage: IndexedStorage) -> IndexedStorage:
        assert isinstance(storage, FolderStorage)
        return FolderStorage(storage.folder)


class NoMoveToTheRoot(InMemorySessionStorage):
    """Takes a leaf entry without target for an ordinary one."""

    def append_fields(self, fields: dict[str, Any]) -> None:
        super().append_fields(fields)
        if fields["type"] == "leaf" and self._index.leaf_id is None:
            self._index.leaf_id = fields["id"]


class LiveEntries(InMemorySessionStorage):
    """Hands out a list that goes on growing."""

    def __init__(self, header: Header | None = None, entries: Iterable[Entry] = ()) -> None:
        self.all: list[Entry] = []
        super().__init__(header, entries)

    def append_fields(self, fields: dict[str, Any]) -> None:
        super().append_fields(fields)
        self.all.append(self.at(len(self) - 1))

    def entries(self, start: int = 0, stop: int | None = None) -> Any:
        return self.all if (start, stop) == (0, None) else super().entries(start, stop)


class FirstWins(InMemorySessionStorage):
    """Finds the first of two entries with one id."""

    def get(self, entry_id: str) -> Entry | None:
        return next((entry for entry in self.entries() if entry.id == entry_id), None)


class YoungestFirst(InMemorySessionStorage):
    """Returns children in the wrong order."""

    def children(self, entry_id: str | None) -> list[str]:
        return super().children(entry_id)[::-1]


class RecursivePath(InMemorySessionStorage):
    """Finds a path by recursion."""

    def path(self, entry_id: str | None) -> Any:
        def above(at: str | None) -> list[Entry]:
            entry = None if at is None else self.get(at)
            return [] if entry is None else [*above(entry.parent_id), entry]

        return above(entry_id)


class NullsAreNothing(InMemorySessionStorage):
    """Writes no nulls."""

    def append_fields(self, fields: dict[str, Any]) -> None:
        keep = ("parentId", "targetId")
        super().append_fields({key: value for key, value in fields.items() if value is not None or key in keep})


class NeverClosed(InMemorySessionStorage):
    """Goes on writing after closing."""

    def close(self) -> None:
        pass


class ClosesOnce(InMemorySessionStorage):
    """Fails at the second close."""

    def close(self) -> None:
        assert not self._closed, "closed already"
        super().close()


class Rounded(InMemorySessionStorage):
    """Keeps text in an encoding that cannot hold all of it."""

    def append_fields(self, fields: dict[str, Any]) -> None:
        super().append_fields(lines.decode(lines.encode(fields).decode().encode("latin-1", "replace")))


@pytest.mark.parametrize(
    ("broken", "test", "arguments"),
    [
        (NoMoveToTheRoot, "test_leaf_before_the_first_entry", ()),
        (LiveEntries, "test_result_stays_as_it_was", ()),
        (FirstWins, "test_duplicate_id", ()),
        (YoungestFirst, "test_children", ()),
        (RecursivePath, "test_long_path", ()),
        (RecursivePath, "test_cycle", (["1<1"],)),
        (NullsAreNothing, "test_unknown_fields", ("custom",)),
        (NeverClosed, "test_closed_storage_refuses_and_remembers", ()),
        (ClosesOnce, "test_closing_twice", ()),
        (Rounded, "test_text", ("astral",)),
    ],
)
def test_broken_storage_is_found_out(
    broken: type[InMemorySessionStorage], test: str, arguments: Sequence[Any], tmp_path: Path
) -> None:
    """A storage that does one thing wrong fails the test of just that, and a sound one passes it."""
    for kind in (InMemorySessionStorage, broken):

        class Subject(SessionStorageContract):
            made = kind

            def create(self, header: Header, folder: Path) -> IndexedStorage:
                return self.made(header)

            def reopen(self, storage: IndexedStorage) -> IndexedStorage:
                return self.made(storage.header, list(storage.entries()))

        subject = Subject()
        subject._open = []
        run = getattr(subject, test)
        if kind is not broken:
            run(subject.create(subject.header, tmp_path), *arguments)
            continue
        with pytest.raises((AssertionError, pytest.fail.Exception, RecursionError)):
            run(subject.create(subject.header, tmp_path), *arguments)


def test_package_needs_no_pytest() -> None:
    """The package of the contract can be imported where pytest is not; only its use needs it."""
    code = "import sys, pi_nb.testing as t; print('pytest' in sys.modules, dir(t) != [], t.__all__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False True ['SessionStorageContract']"


def test_unknown_name() -> None:
    """Another name is not there, and that is said as always."""
    import pi_nb.testing

    with pytest.raises(AttributeError, match="nonsense"):
        _ = pi_nb.testing.nonsense

"""The log: what is appended is there, in order, under its id."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pi_nb.errors import SessionError
from pi_nb.session.storage import IndexedStorage, SessionStorage
from pi_nb.testing.subject import StorageSubject, entry, say, written

__all__ = ["LogTests"]


class LogTests(StorageSubject):
    """What of the contract concerns the log."""

    def test_storage_has_all_its_parts(self, storage: IndexedStorage) -> None:
        """It is a storage by the protocol, too."""
        assert isinstance(storage, SessionStorage)

    def test_new_storage_is_empty(self, storage: IndexedStorage) -> None:
        """A new session has a header and nothing else."""
        assert storage.header == self.header
        assert (len(storage), list(storage.entries()), storage.leaf_id) == (0, [], None)
        assert (list(storage.path(None)), storage.children(None), storage.get("1")) == ([], [], None)
        assert storage.warnings == ()
        assert not storage.read_only

    def test_appended_entry_is_there(self, storage: IndexedStorage) -> None:
        """An entry is in the log, under its id, and is what was appended."""
        said = say("1")
        storage.append(said)
        assert (len(storage), storage.get("1"), list(storage.entries())) == (1, said, [said])

    def test_entries_come_in_the_order_of_writing(self, storage: IndexedStorage) -> None:
        """The log is in the order of appending, whatever hangs from what."""
        storage.append(say("1"))
        storage.append(say("2"))
        storage.append(say("3", "1"))
        assert [item.id for item in storage.entries()] == ["1", "2", "3"]

    @pytest.mark.parametrize(
        ("start", "stop", "ids"),
        [(0, None, "12345"), (2, None, "345"), (1, 3, "23"), (0, 0, ""), (5, None, ""), (9, 12, ""), (3, 99, "45")],
    )
    def test_part_of_the_log(self, storage: IndexedStorage, start: int, stop: int | None, ids: str) -> None:
        """A part of the log is what a list's slice would be."""
        for number in range(1, 6):
            storage.append(say(str(number)))
        assert "".join(item.id for item in storage.entries(start, stop)) == ids

    def test_result_stays_as_it_was(self, storage: IndexedStorage) -> None:
        """What was asked for does not change when the log grows."""
        storage.append(say("1"))
        entries, path, children = storage.entries(), storage.path("1"), storage.children(None)
        storage.append(say("2", "1"))
        storage.append(say("3"))
        assert ([item.id for item in entries], [item.id for item in path], children) == (["1"], ["1"], ["1"])

    def test_duplicate_id(self, storage: IndexedStorage) -> None:
        """If an id comes twice, the last one is found by it and both are in the log, also later."""
        storage.append(say("1", text="first"))
        storage.append(say("2", "1"))
        storage.append(say("1", text="second"))
        for found in (storage, self.again(storage)):
            assert [item.id for item in found.entries()] == ["1", "2", "1"]
            assert found.get("1") == say("1", text="second")
            assert [item.id for item in found.path("2")] == ["1", "2"]
            assert found.path("2")[0] == say("1", text="second")
            assert found.children(None) == ["1"]

    def test_new_ids(self, storage: IndexedStorage) -> None:
        """New ids are eight hexadecimal digits, and none is taken."""
        ids = [storage.new_id() for _ in range(1000)]
        assert len(set(ids)) == len(ids)
        assert all(re.fullmatch("[0-9a-f]{8}", id) for id in ids)

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
    def test_refused_entry_leaves_no_trace(self, storage: IndexedStorage, number: float) -> None:
        """What JSON cannot say is refused; the log is as before and goes on."""
        storage.append(say("1"))
        with pytest.raises(SessionError) as caught:
            storage.append(entry("2", "1", "custom", customType="x", data={"number": [number]}))
        assert caught.value.code == "invalid_entry"
        assert (len(storage), storage.get("2"), storage.leaf_id, storage.children("1")) == (1, None, "1", [])
        storage.append(say("3", "1"))
        assert written(self.again(storage).entries()) == written([say("1"), say("3", "1")])

    @pytest.mark.parametrize("fields", [{"id": ""}, {"timestamp": ""}, {"type": "leaf"}])
    def test_entry_that_could_not_be_read_back(self, storage: IndexedStorage, fields: dict[str, Any]) -> None:
        """An entry that is none on disk is refused, so that the session can be opened again."""
        storage.append(say("1"))
        odd = entry("2", "1", "odd").model_copy(update=fields)
        with pytest.raises(SessionError) as caught:
            storage.append(odd)
        assert caught.value.code == "invalid_entry"
        assert (len(storage), storage.leaf_id) == (1, "1")
        assert len(self.again(storage)) == 1

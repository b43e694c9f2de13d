"""The tree: leaf, path, children, and what is said of the whole session."""

from __future__ import annotations

import pytest

from pi_nb.errors import SessionError
from pi_nb.session.entries import Entry
from pi_nb.session.storage import IndexedStorage
from pi_nb.session.tree import Session
from pi_nb.testing.subject import StorageSubject, entry, say

__all__ = ["TreeTests"]


def leaf(id: str, parent: str | None, target: str | None) -> Entry:
    """Return a move of the leaf."""
    return entry(id, parent, "leaf", targetId=target)


class TreeTests(StorageSubject):
    """What of the contract concerns the tree."""

    def ids(self, storage: IndexedStorage, entry_id: str | None) -> list[str]:
        """Return the ids on the path to an entry."""
        return [item.id for item in storage.path(entry_id)]

    def refused(self, storage: IndexedStorage, entry_id: str) -> str:
        """Return the code of the error that a path to an entry ends in."""
        with pytest.raises(SessionError) as caught:
            list(storage.path(entry_id))
        return caught.value.code

    # ------------------------------------------------------------ leaf

    def test_leaf_is_the_last_entry(self, storage: IndexedStorage) -> None:
        """After an ordinary entry the leaf is that entry, of whatever kind and wherever it hangs."""
        for number, item in enumerate(
            [say("a"), entry("b", "a", "custom", customType="x"), entry("c", None, "from_the_future"), say("d", "a")]
        ):
            storage.append(item)
            assert (storage.leaf_id, len(storage)) == (item.id, number + 1)
        assert self.again(storage).leaf_id == "d"

    def test_leaf_entry_moves_the_leaf(self, storage: IndexedStorage) -> None:
        """After a leaf entry the leaf is its target; the leaf entry itself is never the leaf."""
        for item in (say("1"), say("2", "1"), leaf("3", "2", "1")):
            storage.append(item)
        for found in (storage, self.again(storage)):
            assert (found.leaf_id, len(found)) == ("1", 3)
            assert self.ids(found, found.leaf_id) == ["1"]

    def test_leaf_before_the_first_entry(self, storage: IndexedStorage) -> None:
        """A leaf entry without target puts the leaf before everything; the next entry may be a new root."""
        storage.append(say("1"))
        storage.append(leaf("2", "1", None))
        assert storage.leaf_id is None
        found = self.again(storage)
        assert (found.leaf_id, self.ids(found, found.leaf_id)) == (None, [])
        found.append(say("3"))
        assert (found.leaf_id, self.ids(found, "3")) == ("3", ["3"])
        assert found.children(None) == ["1", "3"]

    def test_leaf_that_is_unknown(self, storage: IndexedStorage) -> None:
        """An unknown target matters only while it is the leaf."""
        storage.append(say("1"))
        storage.append(leaf("2", "1", "nowhere"))
        found = self.again(storage)
        assert found.leaf_id == "nowhere"
        with pytest.raises(SessionError) as caught:
            Session(found).context()
        assert caught.value.code == "invalid_session"
        found.append(say("3", "1"))
        assert self.ids(found, found.leaf_id) == ["1", "3"]

    # ------------------------------------------------------------ path and children

    def test_path(self, storage: IndexedStorage) -> None:
        """A path leads from the root to the entry, and only there."""
        for item in (say("1"), say("2", "1"), say("3", "1"), say("4", "3")):
            storage.append(item)
        assert list(storage.path("4")) == [say("1"), say("3", "1"), say("4", "3")]
        assert (self.ids(storage, "2"), self.ids(storage, None)) == (["1", "2"], [])

    def test_path_of_an_unknown_entry(self, storage: IndexedStorage) -> None:
        """There is no path to what is not there."""
        storage.append(say("1"))
        assert self.refused(storage, "2") == "not_found"

    def test_parent_that_comes_later(self, storage: IndexedStorage) -> None:
        """An entry may stand before its parent in the log."""
        storage.append(say("2", "1"))
        assert self.refused(storage, "2") == "invalid_session"
        storage.append(say("1"))
        for found in (storage, self.again(storage)):
            assert self.ids(found, "2") == ["1", "2"]
            assert found.children("1") == ["2"]

    def test_orphan(self, storage: IndexedStorage) -> None:
        """A missing parent breaks the path that needs it and no other."""
        for item in (say("1"), say("2", "lost"), say("3", "2"), say("4", "1")):
            storage.append(item)
        for found in (storage, self.again(storage)):
            assert [self.refused(found, id) for id in ("2", "3")] == ["invalid_session"] * 2
            assert self.ids(found, "4") == ["1", "4"]
            assert (found.children(None), found.children("lost"), found.children("2")) == (["1"], ["2"], ["3"])

    @pytest.mark.parametrize(
        "links", [["1<1"], ["1<2", "2<1"], ["1<3", "2<1", "3<2", "4<3"], ["1", "2<1", "1<2", "3<2"]]
    )
    def test_cycle(self, storage: IndexedStorage, links: list[str]) -> None:
        """A path that goes in circles is refused at once, and breaks no other."""
        storage.append(say("good"))
        for link in links:
            id, _, parent = link.partition("<")
            storage.append(say(id, parent or None))
        storage.append(say("better", "good"))
        for found in (storage, self.again(storage)):
            assert {self.refused(found, link[0]) for link in links} == {"invalid_session"}
            assert self.ids(found, "better") == ["good", "better"]

    def test_children(self, storage: IndexedStorage) -> None:
        """Children come in the order of writing; None has the roots; an entry at the end, or unknown, has none."""
        storage.append(say("1"))
        assert storage.children("1") == []
        for item in (say("9", "1"), say("2"), say("3", "1"), say("4", "9")):
            storage.append(item)
        for found in (storage, self.again(storage)):
            assert (found.children(None), found.children("1")) == (["1", "2"], ["9", "3"])
            assert (found.children("9"), found.children("4"), found.children("nowhere")) == (["4"], [], [])

    def test_long_path(self, storage: IndexedStorage) -> None:
        """A path of more entries than Python's stack is deep is a path like any other."""
        storage.append(say("0"))
        for number in range(1, 1500):
            storage.append(entry(str(number), str(number - 1), "custom", customType="step"))
        found = self.again(storage)
        assert self.ids(found, "1499") == [str(number) for number in range(1500)]
        assert len(Session(found).context().messages) == 1

    # ------------------------------------------------------------ the whole session

    def test_labels_hold_everywhere(self, storage: IndexedStorage) -> None:
        """The last label of an entry counts on every branch; blank takes it away; its target need not be there."""
        storage.append(say("1"))
        storage.append(say("2"))
        for number, (target, label) in enumerate(
            [("1", "old"), ("2", "mine"), ("1", "  new "), ("lost", "dangling"), ("2", " ")]
        ):
            storage.append(entry(f"l{number}", "1", "label", targetId=target, label=label))
        assert Session(storage).labels == {"1": "new", "lost": "dangling"}
        storage.append(entry("l9", "2", "label", targetId="lost"))
        assert Session(self.again(storage)).labels == {"1": "new"}

    def test_name_holds_everywhere(self, storage: IndexedStorage) -> None:
        """The last name counts on every branch; it is one line; blank or nothing takes it away."""
        storage.append(say("1"))
        session = Session(storage)
        assert session.name is None
        for number, (name, expected) in enumerate(
            [("boat", "boat"), (" two\r\n lines\n", "two  lines"), (" ", None), ("tub", "tub")]
        ):
            storage.append(entry(f"n{number}", None, "session_info", name=name))
            assert session.name == expected
        found = self.again(storage)
        assert Session(found).name == "tub"
        found.append(entry("n9", "1", "session_info"))
        assert Session(self.again(found)).name is None

"""From opening to closing, and after."""

from __future__ import annotations

import pytest

from pi_nb.errors import SessionError
from pi_nb.session.storage import IndexedStorage
from pi_nb.session.tree import Session
from pi_nb.testing.subject import StorageSubject, entry, say

__all__ = ["LifetimeTests"]


class LifetimeTests(StorageSubject):
    """What of the contract concerns opening and closing."""

    def grow(self, storage: IndexedStorage) -> Session:
        """Append two branches, a compaction, labels, a name and moves; return the session."""
        session = Session(storage)
        session.append_model_change("lab", "mouse")
        first = session.append_message({"role": "user", "content": "My boat is green."})
        session.append_message({"role": "assistant", "content": "Nice.", "provider": "lab", "model": "cat"})
        session.append_label(first, "boat")
        session.move_to(first)
        session.append_thinking_level_change("high")
        session.append_active_tools_change(["ls"])
        kept = session.append_message({"role": "user", "content": "My boat is a bathtub."})
        session.append_session_info("boats")
        session.append_compaction("There are boats.", kept, 100)
        session.append_custom_message("note", "look", display=False)
        return session

    def test_reopened_session_is_the_same(self, storage: IndexedStorage) -> None:
        """Whoever opens the session later finds all of it: log, tree, leaf, labels, name, context."""
        session = self.grow(storage)
        found = self.again(storage)
        self.check_same(storage, found)
        assert Session(found).context() == session.context()
        assert list(found.path(found.leaf_id)) == list(storage.path(storage.leaf_id))
        assert not found.read_only

    def test_session_goes_on_after_reopening(self, storage: IndexedStorage) -> None:
        """Appending goes on where it ended, as often as one likes."""
        storage.append(say("0"))
        for number in range(1, 5):
            storage = self.again(storage)
            storage.append(say(str(number), storage.leaf_id))
        assert [item.id for item in self.again(storage).path("4")] == list("01234")

    def test_reading_writes_nothing(self, storage: IndexedStorage) -> None:
        """Looking at everything leaves no trace."""
        session = self.grow(storage)
        before = len(storage)
        for item in session.entries():
            session.context(item.id)
            session.children(item.id)
        assert (session.branches(), session.roots(), repr(session)) != ([], [], "")
        assert len(storage) == before == len(self.again(storage))

    def test_closing_twice(self, storage: IndexedStorage) -> None:
        """A second close does nothing, and neither does one of a session in which nothing was said."""
        storage.close()
        storage.close()
        assert storage.read_only

    def test_closed_storage_refuses_and_remembers(self, storage: IndexedStorage) -> None:
        """After closing, appends are refused and what is known can be read."""
        session = self.grow(storage)
        expected = list(session.entries())
        found = self.again(storage)
        found.close()
        for closed in (storage, found):
            with pytest.raises(SessionError) as caught:
                closed.append(say("9"))
            assert caught.value.code == "storage"
            assert list(closed.entries()) == expected
            assert list(closed.path(closed.leaf_id)) == list(session.path())
            assert closed.read_only

    def test_refresh_alone(self, storage: IndexedStorage) -> None:
        """Where nobody else wrote, there is nothing to take in and the leaf stays."""
        storage.append(say("1"))
        storage.append(entry("2", "1", "leaf", targetId=None))
        assert (storage.refresh(), len(storage), storage.leaf_id) == (0, 2, None)
        assert self.again(storage).refresh() == 0

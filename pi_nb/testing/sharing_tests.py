"""Several threads at one storage, and somebody who looks on."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from pi_nb.errors import SessionError
from pi_nb.session.storage import IndexedStorage
from pi_nb.session.tree import Session
from pi_nb.testing.subject import StorageSubject, say, written

__all__ = ["SharingTests"]

THREADS = 8
TURNS = 25


def run_together(work: Callable[[int], None]) -> None:
    """Run ``work(0)``, ``work(1)``, ... in threads that start at the same moment; raise what any of them raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(THREADS)

    def guarded(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class SharingTests(StorageSubject):
    """What of the contract concerns several at a time."""

    def test_threads_append_to_one_session(self, storage: IndexedStorage) -> None:
        """Nothing is lost, nothing comes twice, and each entry hangs from the one before it in the log."""
        session = Session(storage)

        def talk(number: int) -> None:
            for turn in range(TURNS):
                session.append_message({"role": "user", "content": f"{number}.{turn}"})

        run_together(talk)
        found = self.again(storage)
        self.check_same(storage, found)
        entries = list(found.entries())
        ids = [item.id for item in entries]
        assert [item.parent_id for item in entries] == [None, *ids[:-1]]
        texts = [getattr(getattr(item, "message", None), "content", "") for item in entries]
        assert sorted(texts) == sorted(f"{number}.{turn}" for number in range(THREADS) for turn in range(TURNS))

    def test_threads_append_to_one_storage(self, storage: IndexedStorage) -> None:
        """Each thread's own branch is whole, whatever the others write in between."""
        storage.append(say("root"))

        def grow(number: int) -> None:
            parent = "root"
            for turn in range(TURNS):
                storage.append(say(f"{number}.{turn}", parent))
                parent = f"{number}.{turn}"

        run_together(grow)
        found = self.again(storage)
        self.check_same(storage, found)
        assert len(found) == 1 + THREADS * TURNS
        for number in range(THREADS):
            ids = [item.id for item in found.path(f"{number}.{TURNS - 1}")]
            assert ids == ["root", *(f"{number}.{turn}" for turn in range(TURNS))]

    def test_threads_read_while_one_writes(self, storage: IndexedStorage) -> None:
        """What a reader sees is whole at every moment."""
        session = Session(storage)
        session.append_message({"role": "user", "content": "0"})

        def work(number: int) -> None:
            for turn in range(TURNS):
                if number == 0:
                    session.append_message({"role": "user", "content": f"{turn}"})
                    continue
                entries, leaf = session.entries(), session.leaf_id
                path = session.path(leaf)
                assert len(entries) <= len(session)
                assert [item.parent_id for item in path] == [None, *[item.id for item in path][:-1]]
                assert len(session.context(leaf).messages) == len(path)
                assert {item.id for item in entries} >= {item.id for item in path[: len(entries)]}

        run_together(work)
        assert len(session) == TURNS + 1

    # ------------------------------------------------------------ looking on

    def test_reader_refuses_to_write(self, storage: IndexedStorage) -> None:
        """Who only looks cannot append, is told so, and leaves no trace."""
        storage.append(say("1"))
        reader = self.beside(storage)
        assert (reader.read_only, storage.read_only) == (True, False)
        with pytest.raises(SessionError) as caught:
            reader.append(say("2", "1"))
        assert caught.value.code in ("storage", "locked")
        assert (len(reader), reader.leaf_id) == (1, "1")
        reader.close()
        storage.append(say("3", "1"))
        assert [item.id for item in self.again(storage).entries()] == ["1", "3"]

    def test_reader_follows_the_writer(self, storage: IndexedStorage) -> None:
        """Who looks on sees, when asking, what was written since, and is where the log's last line says."""
        storage.append(say("1"))
        reader = self.beside(storage)
        assert (reader.refresh(), len(reader)) == (0, 1)
        for item in (say("2", "1"), say("3", "1")):
            storage.append(item)
        assert (len(reader), reader.get("3")) == (1, None)
        assert (reader.refresh(), reader.refresh()) == (2, 0)
        assert written(reader.entries()) == written(storage.entries())
        assert (reader.leaf_id, reader.children("1")) == ("3", ["2", "3"])
        Session(storage).move_to("2")
        assert (reader.refresh(), reader.leaf_id) == (1, "2")
        self.check_same(storage, reader)

    def test_listener_of_a_reader(self, storage: IndexedStorage) -> None:
        """Who listens to a reading session hears each entry once, in the order of the log."""
        storage.append(say("1"))
        reader = Session(self.beside(storage))
        heard: list[tuple[str, int]] = []
        reader.subscribe(lambda item, position: heard.append((item.id, position)))
        for number in range(2, 5):
            storage.append(say(str(number), "1"))
            reader.refresh()
        assert heard == [("2", 1), ("3", 2), ("4", 3)]

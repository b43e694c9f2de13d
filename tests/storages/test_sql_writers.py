"""Several writers of one session in a database: whose leaf is where, and who hears what."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import sqlalchemy as sa

from pi_nb.errors import SessionError
from pi_nb.session.entries import Header, LeafEntry
from pi_nb.session.sql import SqlSessionStorage
from pi_nb.session.tree import Session
from pi_nb.testing.subject import say


class Desk:
    """A database with one session, at which any number of writers sit; each has connections of its own."""

    def __init__(self, url: str, stack: ExitStack) -> None:
        self.url = url
        self._stack = stack
        self._made = False

    def storage(self, *, read_only: bool = False) -> SqlSessionStorage:
        """Return the session, as a process of its own would have it."""
        if not self._made:
            self._made = True
            SqlSessionStorage.create(self.url, Header(id="shared", timestamp="t", cwd="/")).close()
        found = SqlSessionStorage.open(self.url, "shared", read_only=read_only)
        self._stack.callback(found.close)
        return found

    def session(self) -> Session:
        """Return the session, as a process of its own would have it."""
        return Session(self.storage())

    def run(self, statement: str) -> list[Any]:
        """Run SQL behind everybody's back."""
        engine = sa.create_engine(self.url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.begin() as connection:
            result = connection.execute(sa.text(statement))
            rows = list(result) if result.returns_rows else []
        engine.dispose()
        return rows


@pytest.fixture
def desk(database_url: str) -> Iterator[Desk]:
    """Give a desk in an empty database."""
    with ExitStack() as stack:
        yield Desk(database_url, stack)


def ask(session: Session, text: str) -> str:
    """Append a message; return its id."""
    return session.append_message({"role": "user", "content": text})


def test_answer_stays_under_its_question(desk: Desk) -> None:
    """What somebody else writes in between does not come between a question and its answer."""
    ada, bob = desk.session(), desk.session()
    question = ask(ada, "Ada asks")
    ask(bob, "Bob asks")
    ada.refresh()
    answer = ask(ada, "Ada's answer")
    assert [entry.id for entry in ada.path()] == [question, answer]
    assert len(ada.roots()) == 2


def test_append_takes_in_what_others_wrote(desk: Desk) -> None:
    """After an append the log is known up to it, in the order in which it was written."""
    ada, bob = desk.session(), desk.session()
    ids = [ask(bob, "1"), ask(bob, "2")]
    ids.append(ask(ada, "3"))
    assert [entry.id for entry in ada.entries()] == ids
    assert (ada.leaf_id, bob.leaf_id, len(bob)) == (ids[2], ids[1], 2)
    assert (bob.refresh(), bob.refresh(), bob.leaf_id) == (1, 0, ids[1])


def test_follow_goes_to_where_the_log_ends(desk: Desk) -> None:
    """Who follows continues from where the last line puts the leaf, as somebody who opens the session does."""
    ada, bob = desk.session(), desk.storage()
    first, second = ask(ada, "1"), ask(ada, "2")
    assert (bob.follow(), bob.leaf_id, bob.follow()) == (2, second, 0)
    ada.move_to(first)
    assert (bob.refresh(), bob.leaf_id, bob.log_leaf_id) == (1, second, first)
    assert (bob.follow(), bob.leaf_id, desk.session().leaf_id) == (0, first, first)
    ada.move_to(None)
    assert (bob.follow(), bob.leaf_id, desk.session().leaf_id) == (1, None, None)


def test_move_of_another_writer_moves_nobody_else(desk: Desk) -> None:
    """A leaf entry of another writer is in the log and leaves our leaf alone."""
    ada, bob = desk.session(), desk.session()
    ask(bob, "0")
    mine = ask(ada, "1")
    bob.refresh()
    bob.move_to(None)
    ada.refresh()
    assert (ada.leaf_id, bob.leaf_id, desk.session().leaf_id) == (mine, None, None)
    assert ada.entry(ask(ada, "2")).parent_id == mine


def test_labels_and_names_are_everybodys(desk: Desk) -> None:
    """The last label and the last name count, whoever gave them; the last in the log is the last."""
    ada, bob = desk.session(), desk.session()
    target = ask(ada, "1")
    bob.refresh()
    bob.append_label(target, "Bob's")
    ada.append_label(target, "Ada's")
    bob.append_session_info("boats")
    ada.refresh()
    assert (dict(ada.labels), ada.name) == (dict(bob.labels), bob.name) == ({target: "Ada's"}, "boats")


def test_listener_hears_everybody_in_order(desk: Desk) -> None:
    """Who listens hears each entry once, in the order of the log, whoever wrote it."""
    ada, bob = desk.session(), desk.session()
    heard: list[tuple[str, int]] = []
    ada.subscribe(lambda entry, position: heard.append((entry.id, position)))
    ids = [ask(bob, "1"), ask(ada, "2"), ask(bob, "3"), ask(bob, "4")]
    ada.refresh()
    ids.append(ask(ada, "5"))
    assert heard == list(zip(ids, range(5), strict=True))


def test_id_taken_meanwhile(desk: Desk) -> None:
    """Should two writers come to the same id, the second is told and nothing is replaced."""
    ada, bob = desk.storage(), desk.storage()
    ada.append(say("1", text="Ada's"))
    with pytest.raises(SessionError, match="taken meanwhile") as caught:
        bob.append(say("1", text="Bob's"))
    assert caught.value.code == "storage"
    assert (bob.refresh(), len(bob), bob.get("1")) == (1, 1, say("1", text="Ada's"))
    bob.append(say("1", text="Bob's, who knows now"))
    assert ada.refresh() == 1


def test_session_deleted_by_somebody_else(desk: Desk) -> None:
    """Who has a deleted session open is told, keeps what was read, and writes into no other of the same id."""
    ada = desk.session()
    ask(ada, "1")
    assert len(desk.run("SELECT * FROM pi_nb_entries")) == 1
    desk.run("DELETE FROM pi_nb_entries")
    desk.run("DELETE FROM pi_nb_sessions")
    SqlSessionStorage.create(desk.url, Header(id="shared", timestamp="t", cwd="/")).close()
    for attempt in (lambda: ask(ada, "2"), ada.refresh):
        with pytest.raises(SessionError, match="deleted") as caught:
            attempt()
        assert caught.value.code == "storage"
    assert len(list(ada.entries())) == 1
    assert len(desk.session()) == 0


@pytest.mark.parametrize("length", [1, 3])
def test_older_copy_put_back(desk: Desk, length: int) -> None:
    """If entries that were known, or that others wrote, are not there any more, nothing is written over the gap."""
    ada = desk.session()
    for number in range(2):
        ask(ada, str(number))
    desk.run("DELETE FROM pi_nb_entries WHERE position = 1")
    desk.run(f"UPDATE pi_nb_sessions SET length = {length}")
    for attempt in (lambda: ask(ada, "2"), ada.refresh):
        with pytest.raises(SessionError, match="lacks entries") as caught:
            attempt()
        assert caught.value.code == "storage"
    assert len(list(ada.entries())) == 2
    assert len(desk.run("SELECT * FROM pi_nb_entries")) == 1


def test_lines_that_are_not_there_any_more(desk: Desk) -> None:
    """A line that was never read and is gone is an error when it is looked at, no wrong answer."""
    ask(desk.session(), "1")
    late = desk.session()
    desk.run("DELETE FROM pi_nb_entries")
    with pytest.raises(SessionError, match="deleted"):
        list(late.entries())


def test_opening_reads_lines_when_they_are_looked_at(desk: Desk) -> None:
    """An index needs no line of a message; each is read once, and its neighbours with it."""
    ada = desk.session()
    for number in range(600):
        ask(ada, str(number))
    late = desk.storage()
    read: list[str] = []
    sa.event.listen(late.database.engine, "before_cursor_execute", lambda *args: read.append(args[2]))
    assert (len(late), late.leaf_id, len(late.walk(late.leaf_id))) == (600, ada.leaf_id, 600)
    assert late.children(ada.leaf_id) == []
    assert read == []
    assert [entry.id for entry in late.entries()] == [entry.id for entry in ada.entries()]
    assert [entry.id for entry in late.path(late.leaf_id)] == [entry.id for entry in ada.path()]
    assert len([statement for statement in read if "pi_nb_entries" in statement]) == 2


@pytest.fixture
def breaking(postgres: Any) -> Iterator[tuple[SqlSessionStorage, SqlSessionStorage]]:
    """Give two storages of one session on a server, the first with an entry."""
    with ExitStack() as stack:
        desk = Desk(postgres.new_database(), stack)
        ada = desk.storage()
        ada.append(say("1"))
        yield ada, desk.storage()


def test_commit_whose_answer_was_lost(
    breaking: tuple[SqlSessionStorage, SqlSessionStorage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the connection breaks after the commit, the entry is in the log, once, and that is no error."""
    ada, bob = breaking
    dialect = ada.database.engine.dialect
    commit = dialect.do_commit

    def commit_and_break(connection: Any) -> None:
        commit(connection)
        monkeypatch.undo()
        bob.append(say("3", "1"))
        connection.dbapi_connection.close()
        commit(connection)

    monkeypatch.setattr(dialect, "do_commit", commit_and_break)
    ada.append(say("2", "1"))
    assert ([entry.id for entry in ada.entries()], ada.leaf_id, ada.log_leaf_id) == (["1", "2", "3"], "2", "3")
    assert (bob.refresh(), ada.refresh()) == (0, 0)


def test_commit_that_was_lost(
    breaking: tuple[SqlSessionStorage, SqlSessionStorage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the connection breaks before the commit, the entry is nowhere, that is an error, and the next one is fine."""
    ada, bob = breaking
    dialect = ada.database.engine.dialect
    commit = dialect.do_commit

    def break_before(connection: Any) -> None:
        monkeypatch.undo()
        connection.dbapi_connection.close()
        commit(connection)

    monkeypatch.setattr(dialect, "do_commit", break_before)
    with pytest.raises(SessionError) as caught:
        ada.append(LeafEntry(id="2", parent_id="1", timestamp="t", target_id=None))
    assert caught.value.code == "storage"
    assert (len(ada), ada.leaf_id, ada.refresh(), bob.refresh()) == (1, "1", 0, 0)
    ada.append(say("2", "1"))
    assert (bob.refresh(), ada.leaf_id) == (1, "2")


def test_server_that_comes_and_goes(postgres: Any) -> None:
    """Without its server a session says so; when the server is back, so is the session, with all of it."""
    desk_url = postgres.new_database()
    storage = SqlSessionStorage.create(desk_url, Header(id="shared", timestamp="t", cwd="/"))
    storage.append(say("1"))
    postgres.stop("immediate")
    try:
        for attempt in (lambda: storage.append(say("2", "1")), storage.refresh):
            with pytest.raises(SessionError) as caught:
                attempt()
            assert caught.value.code == "storage"
        assert (len(storage), storage.leaf_id, storage.get("1")) == (1, "1", say("1"))
    finally:
        postgres.start()
    storage.append(say("2", "1"))
    storage.close()
    with Session(SqlSessionStorage.open(desk_url, "shared")) as later:
        assert [entry.id for entry in later.path()] == ["1", "2"]

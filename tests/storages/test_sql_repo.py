"""All sessions of one database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import SessionError
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.sql_repo import SqlSessionRepo
from pi_nb.session.tree import Session


@pytest.fixture
def repo(database_url: str) -> Iterator[SqlSessionRepo]:
    """Give the sessions of an empty database."""
    with SqlSessionRepo(database_url) as found:
        yield found


def talk(session: Session, *texts: str) -> list[str]:
    """Append messages; return their ids."""
    return [session.append_message({"role": "user", "content": text}) for text in texts]


def code_of(what: Any, *args: Any, **options: Any) -> str:
    """Return the code of the error that a call ends in."""
    with pytest.raises(SessionError) as caught:
        what(*args, **options)
    return caught.value.code


def test_created_session_can_be_opened(repo: SqlSessionRepo) -> None:
    """A new session is there at once, empty, with what its header says."""
    made = repo.create("/home/ada", metadata={"notebook": "a.ipynb"}, parent_session="before")
    with repo.open(made.id) as found:
        assert (found.id, found.cwd, len(found)) == (made.id, "/home/ada", 0)
        assert (found.metadata, found.header.parent_session) == ({"notebook": "a.ipynb"}, "before")
        talk(found, "hello")
    assert made.refresh() == 1


def test_session_by_id_name_and_piece(repo: SqlSessionRepo) -> None:
    """A session is named by its id, its name, or the beginning or end of its id; a name goes before a piece."""
    repo.create("/", id="abc-1")
    repo.create("/", id="abd-2").append_session_info("boats")
    repo.create("/", id="xyz").append_session_info("abc")
    assert [repo.resolve(ref) for ref in ("abc-1", "abc", "abd", "boats", "-2", "xyz")] == [
        "abc-1", "xyz", "abd-2", "abd-2", "abd-2", "xyz"
    ]  # fmt: skip
    assert code_of(repo.open, "ab") == "invalid_session"
    for ref in ("", "ABC", "%", "_bc-1", "abc-12", "0abc-1"):
        assert code_of(repo.open, ref) == "not_found"


def test_ids_that_will_not_do(repo: SqlSessionRepo) -> None:
    """An id is not empty and not taken."""
    repo.create("/", id="one")
    assert code_of(repo.create, "/", id="one") == code_of(repo.create, "/", id="") == "invalid_session"


def test_list(repo: SqlSessionRepo) -> None:
    """Sessions are listed from the newest to the oldest, with their names and sizes, all or those of a folder."""
    ids = [repo.create(cwd, metadata={"n": n}).id for n, cwd in enumerate(["/a", "/b", "/a"])]
    with repo.open(ids[1]) as session:
        talk(session, "1", "2")
        session.append_session_info(" two\nlines ")
    assert {info.id for info in repo.list()} == set(ids)
    assert {info.id for info in repo.list("/a")} == {ids[0], ids[2]}
    [info] = repo.list(Path("/b"))
    assert (info.id, info.cwd, info.name, info.entries, info.broken) == (ids[1], "/b", "two lines", 3, None)
    assert info.created is not None
    assert info.modified is not None
    assert info.modified >= info.created
    with repo.open(ids[1]) as session:
        session.append_session_info("")
    assert repo.list("/b")[0].name is None
    assert repo.find("n", 1) == repo.list("/b")[0]
    assert (repo.find("n", 9), repo.find("x", None)) == (None, None)


def test_newest_first(repo: SqlSessionRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """When it began decides, not when it was written last."""
    stamps = iter(["2026-01-01T00:00:00.000Z", "2026-01-03T00:00:00.000Z", "2026-01-02T00:00:00.000Z"])
    monkeypatch.setattr("pi_nb.session.sql_repo.now_iso", lambda: next(stamps))
    for id in ("1", "3", "2"):
        repo.create("/", id=id)
    with repo.open("1") as session:
        talk(session, "late")
    assert [info.id for info in repo.list()] == ["3", "2", "1"]


def test_database_that_is_not_there(tmp_path: Path) -> None:
    """A database that is not there has no sessions and is not made by looking."""
    with SqlSessionRepo(tmp_path / "no.db") as repo:
        assert (repo.list(), repo.search("x"), repo.find("a", 1)) == ([], [], None)
        assert code_of(repo.open, "x") == "not_found"
    assert list(tmp_path.iterdir()) == []


def test_broken_session_does_not_hide_the_others(repo: SqlSessionRepo) -> None:
    """A session of which the header cannot be read is listed when asked for, and cannot be opened."""
    repo.create("/", id="good")
    repo.create("/", id="bad")
    with repo.database.writing() as connection:
        connection.exec_driver_sql("UPDATE pi_nb_sessions SET header = '{}' WHERE id = 'bad'")
    assert [info.id for info in repo.list()] == ["good"]
    assert {info.id for info in repo.list(broken=True) if info.broken} == {"bad"}
    assert code_of(repo.open, "bad") == "invalid_session"


def test_search(repo: SqlSessionRepo) -> None:
    """A text is found in what was said, in whatever case, and not in ids, keys and kinds."""
    session = repo.create("/a", id="one")
    first, second = talk(session, 'My Boat is green.\nQuote: "x" \\ 50%', "Über Boote: ÄÖ")
    answer = session.append_message({"role": "assistant", "content": [{"type": "text", "text": "a boat!"}]})
    label = session.append_label(first, "boat label")
    other = repo.create("/b", id="two")
    summary = other.append_branch_summary(None, "the boat sank")
    other.append_custom("boat", {"boat": "boat"})

    def found(text: str, **options: Any) -> list[tuple[str, str]]:
        return [(hit.session.id, hit.entry_id) for hit in repo.search(text, **options)]

    assert set(found("BOAT")) == {("two", summary), ("one", first), ("one", answer), ("one", label)}
    assert found('green.\nquote: "X" \\ 50%') == [("one", first)]
    assert found("Boote: ÄÖ", cwd="/a") == [("one", second)]
    assert found("boat", cwd="/b") == [("two", summary)]
    assert len(found("boat", limit=2)) == 2
    for text in ("", "message", "role", "user", "customType", first, "5%%", "b_at"):
        assert found(text) == []
    [hit] = repo.search("green")
    assert (hit.text[:7], hit.at, hit.snippet()) == ("My Boat", 11, 'My Boat is green. Quote: "x" \\ 50%')


def test_fork(repo: SqlSessionRepo) -> None:
    """A fork has the entries of the other one, all or those of a path, and says where it comes from."""
    session = repo.create("/a", metadata={"x": 1})
    first, second = talk(session, "1", "2")
    session.move_to(first)
    (third,) = talk(session, "3")
    whole, at, before = repo.fork(session), repo.fork(session.id, at=second), repo.fork(session, before=third, cwd="/b")
    assert whole.entries() == session.entries()
    assert whole.leaf_id == third
    assert ([entry.id for entry in at.entries()], at.metadata) == ([first, second], {"x": 1})
    assert ([entry.id for entry in before.entries()], before.cwd) == ([first], "/b")
    assert {fork.header.parent_session for fork in (whole, at, before)} == {session.id}
    talk(at, "more")
    assert (session.refresh(), len(repo.open(at.id))) == (0, 3)
    assert code_of(repo.fork, session, at="nowhere") == "invalid_fork_target"


def test_sessions_move_between_files_and_databases(repo: SqlSessionRepo, tmp_path: Path) -> None:
    """A session in a file can be brought into a database, and back, and is the same."""
    files = SessionRepo(tmp_path / "sessions")
    with files.create("/a") as session:
        first, _ = talk(session, "1", "2")
        session.append_label(first, "start")
        session.append_session_info("boats")
        session.move_to(first)
        stored = repo.fork(session)
        assert (stored.header.parent_session, repo.resolve("boats")) == (str(session.file), stored.id)
        with files.fork(repo.open(stored.id, read_only=True)) as back:
            for copy in (stored, back):
                assert copy.entries() == session.entries()
                assert (copy.leaf_id, copy.labels, copy.name) == (first, {first: "start"}, "boats")


def test_odd_lines_are_brought_along(repo: SqlSessionRepo, tmp_path: Path) -> None:
    """Lines of a file that are not as we write them come into a database as they are read."""
    file = tmp_path / "odd.jsonl"
    entry = b'{"type":"message","id":"%s","parentId":null,"timestamp":"t","message":{"role":"user","content":"%s"}}'
    odd = [
        entry % (b"1", b"caf\xe9"),
        b"\xef\xbb\xbf" + entry % (b"2", b"bom"),
        b"  " + entry % (b"3", b"\\u0000\\ud800"),
    ]
    file.write_bytes(b"\r\n".join([b'{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}', *odd, b""]))
    with Session(JsonlSessionStorage.open(file)) as session:
        stored = repo.open(repo.fork(session).id)
        assert stored.entries() == session.entries()
        assert len(stored) == 3


def test_delete(repo: SqlSessionRepo) -> None:
    """A deleted session is gone with its entries; the others are as they were."""
    one, two = repo.create("/", id="one"), repo.create("/", id="two")
    talk(one, "1")
    talk(two, "2")
    repo.delete("one")
    assert [info.id for info in repo.list()] == ["two"]
    assert code_of(repo.open, "one") == code_of(repo.delete, "one") == "not_found"
    assert code_of(talk, one, "late") == "storage"
    assert [found.entry_id for found in repo.search("2")] == [two.leaf_id]
    repo.delete(two)
    assert (repo.list(), two.read_only) == ([], True)
    with repo.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM pi_nb_entries").scalar() == 0


def test_closed_repo_can_still_be_looked_at(repo: SqlSessionRepo) -> None:
    """What is open when the connections are let go of stays readable."""
    session = repo.create("/")
    talk(session, "1")
    found = repo.open(session.id)
    repo.close()
    repo.close()
    assert (found.entries(), repr(repo)) == (session.entries(), f"<SqlSessionRepo {repo.database.place}>")

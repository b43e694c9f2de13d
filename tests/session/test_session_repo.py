"""The folder of sessions: where they lie, what is listed, what is opened, forked and deleted."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import SessionError, SessionLockedError
from pi_nb.messages import UserMessage, text_of
from pi_nb.session.memory import InMemorySessionRepo
from pi_nb.session.repo import SessionRepo, default_root
from pi_nb.session.root import find_bound
from pi_nb.session.tree import Session

from .conftest import HEADER, entry, line, said

HI = UserMessage(content="hi")


def store(repo: SessionRepo, id: str, *rows: Any, cwd: str = "/demo", **header: Any) -> Path:
    """Write a session file where pi would, by hand."""
    file = repo.folder(cwd) / f"{id}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    parts = ({**HEADER, "id": id, "cwd": cwd, **header}, *rows)
    file.write_bytes(b"".join(part if isinstance(part, bytes) else line(part) for part in parts))
    return file


def spoken(repo: SessionRepo, **options: Any) -> Session:
    session = repo.create("/demo", **options)
    session.append_message(HI)
    session.close()
    return session


def ids(repo: SessionRepo, *cwd: str) -> list[str]:
    return [info.id for info in repo.list(*cwd)]


def refused(call: Any, *args: Any, **options: Any) -> SessionError:
    with pytest.raises(SessionError) as caught:
        call(*args, **options)
    return caught.value


# ---------------------------------------------------------------- where


def test_files_lie_where_pi_looks(tmp_path: Path) -> None:
    """The folder's name is the path with separators as dashes; the file's is time and id."""
    session = spoken(SessionRepo(tmp_path), id="my.id_1")
    assert session.file is not None
    assert session.file.parent == tmp_path / "--demo--"
    stamp = json.loads(session.file.read_text().splitlines()[0])["timestamp"]
    assert session.file.name == f"{stamp.replace(':', '-').replace('.', '-')}_my.id_1.jsonl"
    assert SessionRepo(tmp_path).folder(r"C:\work\x").name == "--C--work-x--"
    assert SessionRepo(tmp_path).folder("/a/b c/日").name == "--a-b c-日--"


@pytest.mark.parametrize(
    ("settings", "place"),
    [
        ({"PI_CODING_AGENT_SESSION_DIR": "/s", "PI_CODING_AGENT_DIR": "/a"}, Path("/s")),
        ({"PI_CODING_AGENT_DIR": "/a"}, Path("/a/sessions")),
        ({"PI_CODING_AGENT_SESSION_DIR": "~/s"}, Path.home() / "s"),
        ({}, Path.home() / ".pi/agent/sessions"),
    ],
)
def test_the_default_root_is_pis(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], place: Path) -> None:
    """The environment says where; otherwise it is pi's own folder."""
    for name in ("PI_CODING_AGENT_SESSION_DIR", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert default_root() == SessionRepo().root == place


def test_headers_say_what_they_were_told(repo: SessionRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder becomes absolute; metadata and origin are kept; without them nothing is written."""
    monkeypatch.chdir(tmp_path)
    with repo.create("sub", metadata={"notebook": "x.ipynb"}, parent_session="/p.jsonl") as session:
        assert session.cwd == str(tmp_path / "sub")
        assert session.metadata == {"notebook": "x.ipynb"}
        assert session.header.parent_session == "/p.jsonl"
    assert "metadata" not in repo.create("/demo").header.to_wire()


@pytest.mark.parametrize("id", ["../evil", "a/b", "a\\b", "..", "", ".hidden", "a b", "a\0b", "x/../../y", "-x"])
def test_ids_never_leave_the_root(repo: SessionRepo, id: str) -> None:
    """An id with parts of a path is refused."""
    assert refused(repo.create, "/demo", id=id).code == "invalid_session"
    assert not repo.root.exists()


@pytest.mark.parametrize("cwd", ["/a\0b", "/a\ud800"])
def test_folders_that_cannot_be(repo: SessionRepo, cwd: str) -> None:
    """A folder whose name no system has is refused at once."""
    assert refused(repo.create, cwd).code == "invalid_session"


@pytest.mark.parametrize(("cwd", "id"), [("/demo", "x" * 300), ("/" + "x" * 300, None)])
def test_names_that_are_too_long(repo: SessionRepo, cwd: str, id: str | None) -> None:
    """What the file system cannot hold is told at the first message; nothing is left in memory."""
    store(repo, "another")
    session = repo.create(cwd, id=id)
    assert refused(session.append_message, HI).code == "storage"
    assert len(session) == 0


def test_metadata_has_names(repo: SessionRepo) -> None:
    """Metadata that is no JSON object is refused."""
    assert refused(repo.create, "/demo", metadata={5: 1}).code == "invalid_session"


@pytest.mark.parametrize("ref", ["x" * 5000 + ".jsonl", "~nosuch/x.jsonl", "a\0b.jsonl", Path("a\0b")])
def test_references_that_no_file_can_have(repo: SessionRepo, ref: str | Path) -> None:
    """They name nothing."""
    assert refused(repo.open, ref).code == "not_found"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_pipes_and_devices_are_not_waited_for(repo: SessionRepo) -> None:
    """A pipe nobody writes to, or a device that never ends, is reported like any other file that is no session."""
    folder = store(repo, "good").parent
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "zero.jsonl").symlink_to("/dev/zero")
    assert ids(repo) == ["good"]
    assert [info.file.name for info in repo.list(broken=True) if info.broken] == ["zero.jsonl", "pipe.jsonl"]
    assert repo.search("x") == []
    assert find_bound(repo.root, "key", "value") == []
    for name in ("pipe.jsonl", "zero.jsonl"):
        assert refused(repo.open, folder / name).code == "storage"


def test_an_id_is_used_once_in_a_folder(repo: SessionRepo) -> None:
    """The second session with an id is refused when it is made, or when it is first written."""
    early, late = repo.create("/demo", id="dup"), repo.create("/demo", id="dup")
    with early, late:
        early.append_message(HI)
        assert "dup" in str(refused(late.append_message, HI))
        assert len(late) == 0
        assert "taken" in str(refused(repo.create, "/demo", id="dup"))
    assert len(repo.list()) == 1
    assert repo.create("/other", id="dup").id == "dup"


# ---------------------------------------------------------------- lists


def test_the_newest_comes_first(repo: SessionRepo) -> None:
    """By the header's time; files without a proper one come last and are no error."""
    store(repo, "old", timestamp="2026-01-01T00:00:00.000Z")
    store(repo, "new", timestamp="2026-02-01T00:00:00.000Z", cwd="/other")
    store(repo, "between", timestamp="2026-01-15T00:00:00.000+05:00")
    store(repo, "soon", timestamp="soon")
    assert ids(repo) == ["new", "between", "old", "soon"]
    assert ids(repo, "/demo") == ["between", "old", "soon"]
    assert repo.list()[-1].created is None


def test_what_is_no_session_is_not_listed(repo: SessionRepo, tmp_path: Path) -> None:
    """Broken, foreign, newer and dangling files and folders are left out, and told when asked for."""
    good = store(repo, "good")
    folder = good.parent
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "title.jsonl").write_bytes(b'{"type":"title"}\n' + line(HEADER))
    (folder / "newer.jsonl").write_bytes(line({**HEADER, "version": 9}))
    (folder / "binary.jsonl").write_bytes(bytes(range(256)) * 100)
    (folder / "dangling.jsonl").symlink_to(tmp_path / "nowhere")
    (folder / "folder.jsonl").mkdir()
    (folder / "notes.txt").write_text("x")
    (repo.root / "stray.txt").write_text("x")
    assert ids(repo) == ids(repo, "/demo") == ["good"]
    broken = {info.file.name: info.broken for info in repo.list(broken=True) if info.broken}
    assert broken.keys() == {"empty.jsonl", "title.jsonl", "newer.jsonl", "binary.jsonl", "dangling.jsonl"}
    assert "version" in (broken["newer.jsonl"] or "")


def test_an_empty_or_missing_root(tmp_path: Path) -> None:
    """Where nothing is, the list is empty."""
    assert SessionRepo(tmp_path / "none").list() == SessionRepo(tmp_path).list("/demo") == []


def test_folders_that_share_a_name(repo: SessionRepo) -> None:
    """``/a/b`` and ``/a-b`` lie in one folder; the header says which is which."""
    store(repo, "one", cwd="/a/b")
    store(repo, "two", cwd="/a-b")
    assert repo.folder("/a/b") == repo.folder("/a-b")
    assert (ids(repo, "/a/b"), ids(repo, "/a-b"), sorted(ids(repo))) == (["one"], ["two"], ["one", "two"])


def test_linked_folders_are_followed(repo: SessionRepo, tmp_path: Path) -> None:
    """A folder that is a link holds sessions like any other."""
    real = store(SessionRepo(tmp_path / "real"), "a").parent
    repo.root.mkdir()
    (repo.root / "--demo--").symlink_to(real)
    assert ids(repo) == ids(repo, "/demo") == ["a"]


def test_a_list_reads_little_of_long_files(repo: SessionRepo) -> None:
    """Names are found near both ends, the last one wins, and the file is not read whole."""
    filler = [said(f"{n:08x}", None, "x" * 1000) for n in range(500)]
    store(repo, "head", entry("session_info", "a", None, name="first\nname"), *filler)
    store(
        repo,
        "both",
        entry("session_info", "a", None, name="old"),
        *filler,
        entry("session_info", "b", None, name="new"),
    )
    store(repo, "cleared", entry("session_info", "a", None, name="old"), *filler, entry("session_info", "b", None))
    store(repo, "none", *filler)
    names = {info.id: info.name for info in repo.list()}
    assert names == {"head": "first name", "both": "new", "cleared": None, "none": None}


def test_long_headers_are_read_whole(repo: SessionRepo) -> None:
    """A header longer than what is read first is still a header."""
    store(repo, "long", metadata={"x": "y" * 300_000})
    assert ids(repo) == ["long"]


def test_what_a_list_says(repo: SessionRepo) -> None:
    """File, id, folder, name, times, metadata, origin."""
    with repo.create("/demo", metadata={"k": 1}, parent_session="/p") as session:
        session.append_message(HI)
        session.append_session_info("named")
    info = repo.list()[0]
    assert (info.file, info.id, info.cwd, info.name) == (session.file, session.id, "/demo", "named")
    assert (info.metadata, info.parent_session, info.broken) == ({"k": 1}, "/p", None)
    assert info.created is not None
    assert info.modified is not None


def test_old_sessions_and_separators_are_listed(repo: SessionRepo) -> None:
    """Version 1 and a line separator in a folder's name are no obstacle."""
    store(repo, "v1", version=1)
    store(repo, "sep", cwd="/x\u2028y")
    assert sorted(ids(repo)) == ["sep", "v1"]


def test_find_by_metadata(repo: SessionRepo) -> None:
    """The newest session whose metadata says so, or None."""
    store(repo, "a", metadata={"notebook": "n1"})
    store(repo, "b", metadata={"notebook": "n1"}, timestamp="2026-05-01T00:00:00.000Z")
    store(repo, "c", metadata={"notebook": None})
    found = repo.find("notebook", "n1")
    assert found is not None
    assert found.id == "b"
    assert repo.find("notebook", "n2") is None
    assert repo.find("other", None) is None


def test_search(repo: SessionRepo) -> None:
    """Text of any case and language is found in messages, summaries, labels and names, the newest session first."""
    store(
        repo,
        "old",
        said("a", None, 'The "Quick" fox'),
        b"junk\n",
        said("b", "a", "straße 日本", "assistant"),
        entry("compaction", "c", "b", summary="A quick summary", firstKeptEntryId="c"),
        entry("custom_message", "d", "c", customType="x", content="quick note"),
        entry("custom", "e", "d", customType="x", data="quick data"),
    )
    new = {"timestamp": "2026-06-01T00:00:00.000Z", "cwd": "/new"}
    store(repo, "new", entry("session_info", "n", None, name="Quick talk"), entry("label", "l", "n", label="q"), **new)
    (repo.folder("/new") / "broken.jsonl").write_bytes(b"quick")

    def hits(text: str, **options: Any) -> list[str]:
        return [f"{found.session.id}:{found.entry_id}" for found in repo.search(text, **options)]

    assert hits("qUICK") == ["new:n", "old:a", "old:c", "old:d"]
    assert hits('"quick"') == ["old:a"]
    assert hits("STRAßE") == hits("日本") == ["old:b"]
    assert hits("quick", cwd="/new") == ["new:n"]
    assert hits("quick", limit=2) == ["new:n", "old:a"]
    assert hits("") == hits("nowhere") == []
    assert repo.search("fox")[0].text == 'The "Quick" fox'


# ---------------------------------------------------------------- opening


def test_a_session_is_opened_by_whatever_names_it(repo: SessionRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """File, text of a file, id, beginning or end of an id, name."""
    file = store(repo, "0190-abc-tail", said("a", None), entry("session_info", "b", "a", name="my talk"))
    store(repo, "0190-xyz")
    monkeypatch.chdir(file.parent)
    for ref in (file, str(file), file.name, f"./{file.name}", "0190-abc-tail", "0190-a", "tail", "my talk"):
        with repo.open(ref) as session:
            assert session.id == "0190-abc-tail"


def test_an_exact_name_comes_before_a_beginning(repo: SessionRepo) -> None:
    """An id that is the beginning of another one can still be opened."""
    store(repo, "a")
    store(repo, "ab")
    with repo.open("a") as session:
        assert session.id == "a"


def test_what_names_several_or_none(repo: SessionRepo) -> None:
    """Both files are named; what is not there is ``not_found``."""
    first, second = store(repo, "dup", cwd="/one"), store(repo, "dup", cwd="/two")
    for ref in ("dup", "du"):
        error = refused(repo.open, ref)
        assert error.code == "invalid_session"
        assert str(first) in str(error)
        assert str(second) in str(error)
    for ref in ("nobody", "", "  ", repo.root / "none.jsonl", "none.jsonl", "../../etc/passwd"):
        assert refused(repo.open, ref).code == "not_found"


def test_names_are_never_paths(repo: SessionRepo, tmp_path: Path) -> None:
    """A name with parts of a path is looked for among the sessions, not on the disk."""
    outside = tmp_path / "secret"
    outside.write_bytes(line(HEADER))
    assert refused(repo.open, "../secret").code == "not_found"


# ---------------------------------------------------------------- forks


@pytest.fixture
def source(repo: SessionRepo) -> Path:
    return store(
        repo,
        "source",
        said("a1", None),
        said("a2", "a1", role="assistant"),
        entry("label", "a3", "a2", targetId="a1", label="keep"),
        said("a4", "a3"),
        said("a5", "a4", role="assistant"),
        entry("leaf", "a6", "a5", targetId="a2"),
        said("a7", "a2"),
        metadata={"m": 1},
    )


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ({}, ["a1", "a2", "a3", "a4", "a5", "a6", "a7"]),
        ({"at": "a5"}, ["a1", "a2", "a3", "a4", "a5"]),
        ({"at": "a3"}, ["a1", "a2", "a3"]),
        ({"before": "a4"}, ["a1", "a2", "a3"]),
        ({"before": "a7"}, ["a1", "a2"]),
        ({"before": "a1"}, []),
    ],
)
def test_forks(repo: SessionRepo, source: Path, where: dict[str, str], kept: list[str]) -> None:
    """All of it, the path to an entry, or the path before a question; ids, lines and metadata stay."""
    before = source.read_bytes()
    with repo.fork("source", **where) as fork:
        assert [e.id for e in fork.entries()] == kept
        assert fork.leaf_id == (kept[-1] if kept else None)
        assert (fork.header.parent_session, fork.metadata, fork.cwd) == (str(source), {"m": 1}, "/demo")
        assert dict(fork.labels) == ({"a1": "keep"} if "a3" in kept else {})
        with repo.open(fork.file, read_only=True) as seen:  # also if it is empty, or nothing is said in it yet
            assert ([e.id for e in seen.entries()], seen.id) == (kept, fork.id)
        fork.append_message(HI)
    assert source.read_bytes() == before
    wanted = [text for text in before.splitlines() if json.loads(text)["id"] in kept]
    assert fork.file.read_bytes().splitlines()[1:-1] == wanted
    with repo.open(fork.file) as again:
        assert [e.id for e in again.entries()][:-1] == kept


@pytest.mark.parametrize(
    "where", [{"at": "zz"}, {"before": "zz"}, {"before": "a2"}, {"before": "a3"}, {"at": "a1", "before": "a4"}]
)
def test_forks_that_cannot_be(repo: SessionRepo, source: Path, where: dict[str, str]) -> None:
    """An unknown entry, or one that is no question, is an ``invalid_fork_target``; nothing is written."""
    assert refused(repo.fork, source, **where).code == "invalid_fork_target"
    assert ids(repo) == ["source"]


def test_a_fork_of_a_session_in_use(repo: SessionRepo, source: Path) -> None:
    """What is being written, here or elsewhere, can be forked; then both go their own way."""
    with repo.open(source) as first, repo.open(source) as second, repo.fork(second, cwd="/else", id="f") as fork:
        assert (second.read_only, fork.read_only, fork.id, fork.cwd) == (True, False, "f", "/else")
        fork.append_message(HI)
        first.append_message(HI)
        assert (len(first), len(fork)) == (8, 8)
        assert first.leaf_id != fork.leaf_id


def test_folders_of_another_system_stay_what_they_are(repo: SessionRepo) -> None:
    """A session from Windows is listed, forked and made under the folder its header names."""
    folder = repo.root / "--C--Users-me--"
    with repo.create(r"C:\Users\me", id="made") as made:
        made.append_message(HI)
        assert (made.cwd, made.file.parent) == (r"C:\Users\me", folder)
        with repo.fork(made, id="forked") as fork:
            assert (fork.cwd, fork.file.parent) == (r"C:\Users\me", folder)
    assert sorted(info.id for info in repo.list(r"C:\Users\me")) == ["forked", "made"]
    assert repo.list("/C:/Users/me") == []


def test_a_fork_of_an_unwritten_session(repo: SessionRepo) -> None:
    """Settings that still wait in memory are forked, and wait on."""
    with repo.create("/demo") as session:
        session.append_model_change("p", "m")
        with repo.fork(session) as fork:
            assert len(fork) == 1
    assert not repo.root.exists()


def test_a_fork_under_a_name_that_is_too_long(repo: SessionRepo) -> None:
    """A session that no disk can take is forked in memory, as it was made, and says why when it is written."""
    with repo.create("/" + "x" * 300) as session, repo.fork(session) as fork:
        assert refused(fork.append_message, HI).code == "storage"
    with spoken(repo) as session:
        assert refused(repo.fork, session, cwd="/" + "x" * 300).code == "storage"


def test_a_fork_that_cannot_be_written_leaves_nothing(repo: SessionRepo, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk a fork is refused, and neither a file nor a lock stays behind while the error is known."""

    def full(*_args: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with spoken(repo) as session:
        monkeypatch.setattr("os.write", full)
        error = refused(repo.fork, session, cwd="/full")
        monkeypatch.undo()
    assert error.code == "storage"
    assert list(repo.folder("/full").iterdir()) == []


def test_a_fork_of_a_broken_session_is_sound(repo: SessionRepo) -> None:
    """After repair an orphan is a root in the fork, and the fork opens strictly."""
    file = store(repo, "broken", said("a", None), said("c", "lost"), said("d", "c"))
    assert refused(repo.fork, file, at="d").code == "invalid_session"
    with repo.open(file, repair=True) as session, repo.fork(session, at="d") as fork:
        target = fork.file
    with repo.open(target) as again:
        assert [text_of(m.content) for m in again.context().messages] == ["c", "d"]
        assert again.warnings == ()


def test_a_fork_of_an_old_version_is_of_the_new(repo: SessionRepo) -> None:
    """Forking is one way to go on with a file of version 1."""
    store(repo, "old", {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "x"}}, version=1)
    with repo.fork("old") as fork:
        fork.append_message(HI)
    with repo.open(fork.file) as again:
        assert (again.header.version, len(again), again.warnings) == (3, 2, ())


def test_forks_in_memory() -> None:
    """In memory too, a fork keeps ids and is independent."""
    repo = InMemorySessionRepo()
    source = repo.create("/x", id="s", metadata={"a": 1})
    source.append_message(HI)
    fork = repo.fork(source, id="f")
    assert [e.id for e in fork.entries()] == [e.id for e in source.entries()]
    fork.append_message(HI)
    assert (len(source), len(fork)) == (1, 2)
    assert (fork.header.parent_session, fork.metadata, fork.cwd) == ("s", {"a": 1}, "/x")
    assert repo.list() == [fork, source]
    assert repo.open("s") is source
    assert refused(repo.create, id="s").code == "invalid_session"
    repo.delete("s")
    assert refused(repo.open, "s").code == "not_found"
    assert repo.list() == [fork]


# ---------------------------------------------------------------- deleting


def test_delete(repo: SessionRepo) -> None:
    """A deleted session is gone, by id, file or as an object, and leaves no lock."""
    first, second, third = spoken(repo), spoken(repo), spoken(repo)
    repo.delete(first.id)
    repo.delete(second.file)
    with repo.open(third.file) as session:
        repo.delete(session)
    assert repo.list() == []
    assert list(repo.folder("/demo").iterdir()) == []
    assert refused(repo.delete, first.id).code == "not_found"
    assert refused(repo.delete, second.file).code == "not_found"


def test_what_somebody_writes_is_not_deleted(repo: SessionRepo) -> None:
    """A session in use stays."""
    session = spoken(repo)
    with repo.open(session.file):
        with pytest.raises(SessionLockedError) as caught:
            repo.delete(session.id)
        assert caught.value.holder["pid"] == os.getpid()
    assert ids(repo) == [session.id]

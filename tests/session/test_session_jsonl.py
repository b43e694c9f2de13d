"""Writing files: late, whole, one line at a time, and never into what is not ours."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pi_nb.errors import SessionError, SessionLockedError
from pi_nb.messages import UserMessage, text_of
from pi_nb.session import jsonl
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.loading import Loaded, load
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session

from .conftest import HEADER, line, said

Maker = Callable[..., Path]
ONE = said("aaaa0001", None, "one")
HI = UserMessage(content="hi")


def open_file(file: Path, **options: bool) -> Session:
    return Session(JsonlSessionStorage.open(file, **options))


def texts(session: Session) -> list[str]:
    return [text_of(message.content) for message in session.context().messages]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---------------------------------------------------------------- new files


def test_nothing_is_on_disk_before_something_is_said(repo: SessionRepo) -> None:
    """Settings of a new session wait in memory, where they can be read, and come with the first message."""
    with repo.create("/demo") as session:
        session.append_model_change("p", "m")
        session.append_thinking_level_change("high")
        session.append_session_info("a name")
        session.append_label(session.leaf_id, "here")
        session.append_custom("app", {"x": 1})
        session.move_to(None)
        assert not repo.root.exists()
        assert (len(session), session.name, session.file.exists()) == (6, "a name", False)
        first = session.append_message(HI)
        rows = [json.loads(text) for text in session.file.read_bytes().splitlines()]
        assert [row["type"] for row in rows] == [
            "session",
            "model_change",
            "thinking_level_change",
            "session_info",
            "label",
            "custom",
            "leaf",
            "message",
        ]
        assert rows[-1]["id"] == first
        assert rows[-1]["parentId"] is None


def test_a_session_in_which_nothing_is_said_leaves_nothing(repo: SessionRepo) -> None:
    """Closing such a session leaves no file, no folder and no lock."""
    with repo.create("/demo") as session:
        session.append_model_change("p", "m")
    assert not repo.root.exists()


@pytest.mark.parametrize("how", ["message", "custom_message", "compaction", "branch_summary"])
def test_what_counts_as_said(repo: SessionRepo, how: str) -> None:
    """Everything a model may see brings the file."""
    with repo.create("/demo") as session:
        {
            "message": lambda: session.append_message(HI),
            "custom_message": lambda: session.append_custom_message("c", "x"),
            "compaction": lambda: session.append_compaction("S", None, 1),
            "branch_summary": lambda: session.append_branch_summary(None, "S"),
        }[how]()
        assert session.file.exists()


def test_lines_are_as_pi_writes_them(repo: SessionRepo) -> None:
    """Compact JSON, the envelope first, optional fields left out, non-ASCII as it is, ids of 8 digits."""
    with repo.create("/demo") as session:
        session.append_message(UserMessage(content="naïve 日本 😀\n\u2028"))
        header, entry = session.file.read_text(encoding="utf-8").split("\n")[:2]
    assert list(json.loads(header)) == ["type", "version", "id", "timestamp", "cwd"]
    assert entry.startswith(f'{{"type":"message","id":"{session.leaf_id}","parentId":null,"timestamp":"2')
    assert entry.endswith('Z","message":{"role":"user","content":"naïve 日本 😀\\n\u2028"}}')


@pytest.mark.parametrize("metadata", [{"x": float("nan")}, {"x": object()}])
def test_headers_hold_json(repo: SessionRepo, metadata: dict[str, object]) -> None:
    """Metadata that JSON cannot hold is refused when the session is made."""
    with pytest.raises(SessionError) as caught:
        repo.create("/demo", metadata=metadata)
    assert caught.value.code == "invalid_session"


def test_a_file_in_the_way_is_not_overwritten(repo: SessionRepo) -> None:
    """If a file turns up where the new one will be, the first message is refused and the file stays."""
    with repo.create("/demo") as session:
        session.file.parent.mkdir(parents=True)
        session.file.write_text("mine")
        with pytest.raises(SessionError) as caught:
            session.append_message(HI)
        assert (caught.value.code, len(session)) == ("invalid_session", 0)
        assert session.file.read_text() == "mine"


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """Where no file can be, an append is a storage error, and adds nothing."""
    (tmp_path / "sessions").write_text("a file")
    with SessionRepo(tmp_path / "sessions").create("/demo") as session:
        with pytest.raises(SessionError) as caught:
            session.append_message(HI)
        assert (caught.value.code, len(session)) == ("storage", 0)


# ---------------------------------------------------------------- appending


def test_each_append_is_on_disk_when_it_returns(make_file: Maker) -> None:
    """Another reader sees every entry at once, whole."""
    file = make_file(ONE)
    with open_file(file) as session:
        for number in range(5):
            session.append_message(UserMessage(content=str(number)))
            assert file.read_bytes().endswith(b"\n")
            assert len(open_file(file, read_only=True)) == number + 2


@pytest.mark.parametrize("durability", ["flush", "fsync"])
def test_durability_is_a_choice(tmp_path: Path, durability: str) -> None:
    """Either way of writing gives the same file."""
    repo = SessionRepo(tmp_path, durability=durability)
    with repo.create("/demo") as session:
        session.append_message(HI)
        session.append_message(HI)
        session.move_to(None)
    with repo.open(session.id) as again:
        assert (len(again), again.leaf_id) == (3, None)


def test_what_json_does_not_have_is_refused(session: Session) -> None:
    """NaN and foreign objects are an ``invalid_entry``; nothing is added."""
    session.append_message(HI)
    for data in (float("nan"), {"x": object()}):
        with pytest.raises(SessionError) as caught:
            session.append_custom("c", data)
        assert caught.value.code == "invalid_entry"
    assert len(session) == 1


def test_appends_from_many_threads(session: Session) -> None:
    """Threads get in each other's way neither in memory nor on disk: one chain, all entries."""

    def talk() -> None:
        for _ in range(50):
            session.append_message(HI)

    threads = [threading.Thread(target=talk) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(session.path()) == len(session) == 400
    if session.file:
        assert len(open_file(session.file, read_only=True).path()) == 400


def test_after_close_reading_goes_on(session: Session) -> None:
    """A closed session can be read; an append is refused; closing again does nothing."""
    session.append_message(HI)
    session.close()
    session.close()
    assert texts(session) == ["hi"]
    assert session.read_only
    with pytest.raises(SessionError, match="closed"):
        session.append_message(HI)


# ---------------------------------------------------------------- torn ends


@pytest.mark.parametrize(
    "tail",
    [
        b'{"type":"message","id":"aaaa0002","par',
        b"\0" * 4096,
        b'{"type":"mess' + b"\0" * 100,
        line(said("aaaa0002", "aaaa0001"))[:-2],
        b"\0\0\n\0",
        b"\xf0\x9f",
    ],
    ids=["cut", "nul", "cut-nul", "one-byte-short", "nul-lines", "half-character"],
)
def test_a_torn_end_is_kept_aside_before_the_next_append(make_file: Maker, tail: bytes) -> None:
    """It opens with a warning and unchanged; the tail is cut when something is appended, and kept in a file."""
    file = make_file(ONE, tail)
    before = file.read_bytes()
    with open_file(file) as session:
        assert texts(session) == ["one"]
        assert any("torn" in warning for warning in session.warnings)
        assert file.read_bytes() == before
        session.append_message(UserMessage(content="two"))
    assert file.with_name("s.jsonl.torn").read_bytes() == tail
    with open_file(file) as session:
        assert texts(session) == ["one", "two"]
        assert session.warnings == ()


def test_nul_bytes_behind_a_complete_line(make_file: Maker) -> None:
    """An entry whose line feed became padding is an entry; only the padding is cut."""
    file = make_file(line(ONE)[:-1], b"\0" * 50)
    with open_file(file) as session:
        assert texts(session) == ["one"]
        session.append_message(UserMessage(content="two"))
    assert file.with_name("s.jsonl.torn").read_bytes() == b"\0" * 50
    assert file.read_bytes().startswith(line(HEADER) + line(ONE))
    with open_file(file) as session:
        assert texts(session) == ["one", "two"]


def test_a_second_torn_end_does_not_overwrite_the_first(make_file: Maker) -> None:
    """Each tail is kept in a file of its own."""
    file = make_file(ONE)
    for _ in range(2):
        with file.open("ab") as stream:
            stream.write(b'{"torn')
        with open_file(file) as session:
            session.append_message(HI)
    assert names(file.parent) == ["s.jsonl", "s.jsonl.torn", "s.jsonl.torn.1"]


# ---------------------------------------------------------------- files that others change


def test_a_deleted_file_is_written_anew_complete(make_file: Maker) -> None:
    """The next append notices, writes everything, and says so."""
    file = make_file(ONE)
    with open_file(file) as session:
        session.append_message(UserMessage(content="two"))
        file.unlink()
        session.append_message(UserMessage(content="three"))
        session.append_message(UserMessage(content="four"))
        assert any("deleted" in warning for warning in session.warnings)
    with open_file(file) as again:
        assert texts(again) == ["one", "two", "three", "four"]
        assert again.warnings == ()
    assert names(file.parent) == ["s.jsonl"]


def test_a_deleted_folder_comes_back(repo: SessionRepo) -> None:
    """The folder may go too, lock and all."""
    with repo.create("/demo") as session:
        session.append_message(HI)
        for path in session.file.parent.iterdir():
            path.unlink()
        session.file.parent.rmdir()
        session.append_message(HI)
        with repo.open(session.id) as second:
            assert second.read_only
    assert names(session.file.parent) == [session.file.name]


def test_a_file_moved_away_is_not_written_to(make_file: Maker) -> None:
    """After a move the old place gets a complete file, and the moved one stays as it was."""
    file = make_file(ONE)
    moved = file.with_name("moved.jsonl")
    with open_file(file) as session:
        session.append_message(HI)
        file.rename(moved)
        before = moved.read_bytes()
        session.append_message(HI)
    assert moved.read_bytes() == before
    assert len(open_file(file, read_only=True)) == 3


@pytest.mark.parametrize("how", ["other", "shorter", "empty"])
def test_a_replaced_or_shortened_file_is_left_alone(make_file: Maker, how: str) -> None:
    """It gets no line of ours: the append fails, memory stays as it was, and a fork saves it."""
    file = make_file(ONE)
    with open_file(file) as session:
        session.append_message(UserMessage(content="two"))
        if how == "other":
            make_file(said("zzzz", None), name="new").replace(file)
        else:
            file.write_bytes(line(HEADER) if how == "shorter" else b"")
        after = file.read_bytes()
        for _ in range(2):
            with pytest.raises(SessionError) as caught:
                session.append_message(UserMessage(content="three"))
            assert caught.value.code == "storage"
            assert "ork" in caught.value.hint
        assert texts(session) == ["one", "two"]
        assert file.read_bytes() == after
        with SessionRepo(file.parent).fork(session, cwd="/demo") as fork:
            assert texts(fork) == ["one", "two"]


def test_a_copy_in_the_place_of_the_file_is_ours(make_file: Maker, tmp_path: Path) -> None:
    """A program that writes a file by replacing it (sync, editors) does not end the session if all is still there."""
    file = make_file(ONE)
    with open_file(file) as session:
        session.append_message(UserMessage(content="two"))
        copy = tmp_path / "copy"
        copy.write_bytes(file.read_bytes() + line(said("bbbb", session.leaf_id, "theirs")))
        copy.replace(file)
        assert session.refresh() == 1
        session.append_message(UserMessage(content="three"))
        copy.write_bytes(file.read_bytes())
        copy.replace(file)
        session.append_message(UserMessage(content="four"))
        assert texts(session) == ["one", "two", "theirs", "three", "four"]
    assert texts(open_file(file, read_only=True)) == ["one", "two", "theirs", "three", "four"]


def test_lines_of_others_are_taken_in(make_file: Maker) -> None:
    """What pi itself appends meanwhile is part of the session before our next entry is."""
    file = make_file(ONE)
    heard: list[str] = []
    with open_file(file) as session:
        session.append_message(UserMessage(content="two"))
        session.subscribe(lambda entry, position: heard.append(f"{position}:{entry.id}"))
        with file.open("ab") as stream:
            stream.write(line(said("bbbb", "aaaa0001", "theirs")) + b"junk\n")
        mine = session.append_message(UserMessage(content="three"))
        assert [entry.id for entry in session.entries()][-2:] == ["bbbb", mine]
        assert heard == ["2:bbbb", f"3:{mine}"]
        assert any("not JSON" in warning for warning in session.warnings)


FORKED = """
import os, sys
from pathlib import Path
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.tree import Session

session = Session(JsonlSessionStorage.open(Path(sys.argv[1])))
children = []
for child in range(2):
    children.append(os.fork())
    if not children[-1]:
        for number in range(150):
            session.append_message({"role": "user", "content": f"{child} {number}"})
        os._exit(0)
for number in range(150):
    session.append_message({"role": "user", "content": f"parent {number}"})
for child in children:
    os.waitpid(child, 0)
session.refresh()
print(len(session), len(session.warnings), *[entry.id for entry in session.entries()])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_forked_children_write_at_the_same_moment(make_file: Maker) -> None:
    """A line that somebody puts between our look at the file and our append is taken in at its place, not misread."""
    file = make_file(said("a", None))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, str(file)], capture_output=True, text=True, check=True
    )
    count, warnings, *ids = done.stdout.split()
    assert (count, warnings) == ("451", "0")
    with open_file(file, read_only=True) as session:
        assert [entry.id for entry in session.entries()] == ids


def test_a_reader_follows_a_live_file(make_file: Maker) -> None:
    """A read-only session takes in what the writer adds, whole lines only, and hears of it."""
    file = make_file(ONE)
    heard: list[int] = []
    with open_file(file) as writer, open_file(file) as reader:
        reader.subscribe(lambda entry, position: heard.append(position))
        assert reader.refresh() == 0
        writer.append_message(UserMessage(content="two"))
        writer.move_to("aaaa0001")
        with file.open("ab") as stream:
            stream.write(b'{"half')
        assert reader.refresh() == 2
        assert (texts(reader), reader.leaf_id, heard) == (["one"], "aaaa0001", [1, 2])
        assert reader.refresh() == 0
        writer.append_message(UserMessage(content="three"))
        assert reader.refresh() == 1
        assert texts(reader) == ["one", "three"]
        file.unlink()
        with pytest.raises(SessionError) as caught:
            reader.refresh()
        assert caught.value.code == "storage"


def test_a_link_stays_a_link(make_file: Maker, tmp_path: Path) -> None:
    """A session opened through a link is locked, repaired and written where it really is."""
    file = make_file(ONE, b"junk\n")
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "l.jsonl"
    link.symlink_to(file)
    with open_file(link, repair=True) as session:
        assert open_file(file).read_only
        session.append_message(HI)
    assert link.is_symlink()
    assert len(open_file(file, read_only=True)) == 2


# ---------------------------------------------------------------- full disks

FULL_DISK = """
import json, os, resource, signal, sys
from pathlib import Path
from pi_nb.errors import SessionError
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
file = Path(sys.argv[1])

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

def fails(call):
    try:
        call()
    except SessionError as error:
        return error.code
    return "no error"

session = Session(JsonlSessionStorage.open(file))
before = file.read_bytes()
limit(len(before) + 40)
codes = [fails(lambda: session.append_message({"role": "user", "content": "x" * 100})) for _ in range(3)]
assert codes == ["storage"] * 3, codes
assert file.read_bytes() == before
assert len(session) == 1 and session.leaf_id == "aaaa0001"
limit(resource.RLIM_INFINITY)
session.append_message({"role": "user", "content": "two"})
session.close()

limit(60)
repo = SessionRepo(file.parent / "new")
fresh = repo.create("/demo")
assert fails(lambda: fresh.append_message({"role": "user", "content": "x"})) == "storage"
assert not fresh.file.exists() and len(fresh) == 0
limit(resource.RLIM_INFINITY)
fresh.append_message({"role": "user", "content": "x"})
fresh.close()
assert len(repo.open(fresh.id)) == 1
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a limit on the size of files")
def test_a_full_disk_adds_nothing(make_file: Maker) -> None:
    """What could not be written is neither in memory nor in the file; with room again, all goes on."""
    file = make_file(ONE)
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(file)], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
    assert texts(open_file(file, read_only=True)) == ["one", "two"]


@pytest.mark.skipif(sys.platform == "win32", reason="a folder cannot take the place of an open file")
def test_permission_lost(make_file: Maker) -> None:
    """If the file cannot be opened for writing any more, the append is a storage error, and can be tried again."""
    file = make_file(ONE)
    hidden = file.with_name("hidden")
    with open_file(file) as session:
        file.rename(hidden)
        file.mkdir()
        with pytest.raises(SessionError) as caught:
            session.append_message(HI)
        assert (caught.value.code, len(session)) == ("storage", 1)
        file.rmdir()
        hidden.rename(file)
        session.append_message(HI)
        assert len(session) == 2


# ---------------------------------------------------------------- two writers


def test_the_second_opener_is_told_who_writes(make_file: Maker) -> None:
    """It gets a read-only session with pid, host and time of the holder, and can write once the first has closed."""
    file = make_file(ONE)
    with open_file(file) as first:
        with open_file(file) as second:
            assert (first.read_only, second.read_only) == (False, True)
            assert str(os.getpid()) in second.warnings[0]
            with pytest.raises(SessionLockedError) as caught:
                second.append_message(HI)
            assert caught.value.holder["pid"] == os.getpid()
            assert caught.value.holder.keys() == {"pid", "host", "since"}
            assert "fork" in caught.value.hint
        assert names(file.parent) == ["s.jsonl", "s.jsonl.lock"]
        first.append_message(HI)
    assert names(file.parent) == ["s.jsonl"]
    with open_file(file) as third:
        assert not third.read_only


def test_what_the_last_writer_wrote_before_it_closed(make_file: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that come between our reading and our lock are taken in, so that we go on from the last of them."""
    file = make_file(ONE)

    def slow(path: Path, **options: bool) -> Loaded:
        found = load(path, **options)
        with path.open("ab") as stream:
            stream.write(line(said("b", "aaaa0001", "two")))
        return found

    monkeypatch.setattr(jsonl, "load", slow)
    with open_file(file) as session:
        session.append_message(HI)
        assert texts(session) == ["one", "two", "hi"]


def test_a_file_replaced_before_it_is_locked(make_file: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read is not what would be written: opening fails, and no lock is left."""
    file = make_file(ONE, said("b", "aaaa0001"))

    def slow(path: Path, **options: bool) -> Loaded:
        found = load(path, **options)
        path.write_bytes(line(HEADER))
        return found

    monkeypatch.setattr(jsonl, "load", slow)
    with pytest.raises(SessionError) as caught:
        open_file(file)
    assert caught.value.code == "storage"
    assert names(file.parent) == ["s.jsonl"]


def test_a_forgotten_session_lets_go(make_file: Maker) -> None:
    """Whoever forgets to close a session does not keep others, or himself, from writing for ever."""
    file = make_file(ONE)
    session = open_file(file)
    session.append_message(HI)
    del session
    gc.collect()
    assert names(file.parent) == ["s.jsonl"]


EXIT = """
import os, sys
from pathlib import Path
from pi_nb.session.jsonl import JsonlSessionStorage
file = Path(sys.argv[1])
storage = JsonlSessionStorage.open(file)
if hasattr(os, "fork") and os.fork() == 0:
    sys.exit()
if hasattr(os, "fork"):
    os.wait()
print([path.name for path in sorted(file.parent.iterdir())])
"""


def test_a_program_that_ends_leaves_no_lock(make_file: Maker) -> None:
    """The lock file goes with the program, and a forked child does not take it away before."""
    file = make_file(ONE)
    done = subprocess.run([sys.executable, "-c", EXIT, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "['s.jsonl', 's.jsonl.lock']\n"
    assert names(file.parent) == ["s.jsonl"]


def test_who_only_reads_takes_no_lock(make_file: Maker) -> None:
    """A session opened for reading leaves the right to write to others, and no trace."""
    file = make_file(ONE)
    with open_file(file, read_only=True) as reader:
        assert names(file.parent) == ["s.jsonl"]
        with open_file(file) as writer:
            assert not writer.read_only
        with pytest.raises(SessionError, match="for reading"):
            reader.append_message(HI)


HOLD = """
import sys
from pathlib import Path
from pi_nb.session.jsonl import JsonlSessionStorage
storage = JsonlSessionStorage.open(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_the_lock_of_a_dead_process_is_taken_over(make_file: Maker) -> None:
    """While another process writes, we read; once it is killed, we write, though its lock file is still there."""
    file = make_file(ONE)
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with open_file(file) as session:
            assert session.read_only
            assert str(child.pid) in session.warnings[0]
        child.kill()
        child.wait()
    assert names(file.parent) == ["s.jsonl", "s.jsonl.lock"]
    with open_file(file) as session:
        session.append_message(HI)
    assert names(file.parent) == ["s.jsonl"]


def test_a_lock_that_says_nothing(make_file: Maker) -> None:
    """An empty or foreign lock file that nobody holds is no obstacle."""
    file = make_file(ONE)
    file.with_name("s.jsonl.lock").write_text("???")
    with open_file(file) as session:
        assert not session.read_only


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="needs a folder that cannot be written")
def test_a_folder_that_cannot_be_written(make_file: Maker) -> None:
    """There the session is read-only, and says why."""
    file = make_file(ONE)
    file.parent.chmod(0o500)
    try:
        with open_file(file) as session:
            assert session.read_only
            assert "read-only" in session.warnings[0]
    finally:
        file.parent.chmod(0o700)

"""Several real processes at one session in a database."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pi_nb.session.entries import Header
from pi_nb.session.sql import SqlSessionStorage
from pi_nb.session.sql_repo import SqlSessionRepo
from pi_nb.session.tree import Session

WRITER = Path(__file__).with_name("writer.py")
PROCESSES = 8
TURNS = 40
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Give what starts a Python process; it is waited for at the end."""
    with ExitStack() as stack:

        def run(*command: str) -> subprocess.Popen[str]:
            process = subprocess.Popen(
                [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield run


def tell(process: subprocess.Popen[str]) -> None:
    """Let a process go on."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def read(process: subprocess.Popen[str], count: int = 1) -> list[str]:
    """Return the next lines a process prints."""
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(count)]


def text(session: Session, entry_id: str) -> Any:
    """Return what an entry says."""
    return getattr(getattr(session.entry(entry_id), "message", None), "content", None)


def test_eight_processes_append_to_one_session(database_url: str, start: Start) -> None:
    """Nothing is lost, every entry hangs from what its writer meant, and every process sees all of it."""
    session = Session(SqlSessionStorage.create(database_url, Header(id="shared", timestamp="t", cwd="/")))
    root = session.append_message({"role": "user", "content": "root"})
    writers = [start(str(WRITER), database_url, "shared", str(number), str(TURNS)) for number in range(PROCESSES)]
    assert [read(writer) for writer in writers] == [[f"ready {root}"]] * PROCESSES
    for writer in writers:
        tell(writer)
    written = [read(writer, TURNS) for writer in writers]
    for writer in writers:
        tell(writer)
    total = 1 + PROCESSES * TURNS
    assert [read(writer) for writer in writers] == [[f"{total} {ids[-1]}"] for ids in written]

    assert session.refresh() == total - 1
    assert session.leaf_id == root
    log = [entry.id for entry in session.entries()]
    assert sorted(log) == sorted([root, *(id for ids in written for id in ids)])
    for number, ids in enumerate(written):
        assert [entry.id for entry in session.path(ids[-1])] == [root, *ids]
        assert [text(session, id) for id in ids] == [f"{number}.{turn}" for turn in range(TURNS)]
    places = {id: place for place, id in enumerate(log)}
    assert all(places[entry.parent_id] < places[entry.id] for entry in session.entries(1) if entry.parent_id)
    with Session(SqlSessionStorage.open(database_url, "shared")) as later:
        assert later.entries() == session.entries()
        assert later.leaf_id == log[-1]
    session.close()


def test_killed_writer(database_url: str, start: Start) -> None:
    """What a process was told is written is there after it was killed, and nobody waits for it."""
    with Session(SqlSessionStorage.create(database_url, Header(id="shared", timestamp="t", cwd="/"))) as session:
        writer = start(str(WRITER), database_url, "shared", "0", "100000")
        read(writer)
        tell(writer)
        known = read(writer, 50)
        writer.kill()
        writer.wait()
        assert writer.stdout is not None
        known += [line for line in writer.stdout.read().split("\n")[:-1] if line]
        session.append_message({"role": "user", "content": "after"})
        ids = [entry.id for entry in session.entries()]
        assert ids[: len(known)] == known
        assert len(ids) - len(known) in (1, 2)  # ours, and one whose writer died before it could say so


def test_processes_make_the_tables_at_once(database_url: str, start: Start) -> None:
    """In an empty database, of several processes that make the same session one succeeds and all others are told."""
    script = (
        "import sys; from pi_nb.session.sql_repo import SqlSessionRepo; from pi_nb.errors import SessionError\n"
        "print('ready', flush=True); sys.stdin.readline(); repo = SqlSessionRepo(sys.argv[1])\n"
        "repo.create('/', id=sys.argv[2]).close()\n"
        "try: repo.create('/', id='same').close(); print('made')\n"
        "except SessionError as error: print('is taken' in str(error) or error)\n"
        "repo.close()"
    )
    makers = [start("-c", script, database_url, f"own-{number}") for number in range(PROCESSES)]
    for maker in makers:
        read(maker)
    for maker in makers:
        tell(maker)
    assert sorted(read(maker)[0] for maker in makers) == ["True"] * (PROCESSES - 1) + ["made"]
    with SqlSessionRepo(database_url) as repo:
        assert sorted(info.id for info in repo.list()) == sorted(["same", *(f"own-{n}" for n in range(PROCESSES))])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_forked_child(database_url: str, start: Start) -> None:
    """A child that is forked goes on with the session beside its parent; neither disturbs the other."""
    script = (
        "import os, sys; from pi_nb.session.sql import SqlSessionStorage; from pi_nb.session.tree import Session\n"
        "session = Session(SqlSessionStorage.create(sys.argv[1]))\n"
        "say = lambda text: session.append_message({'role': 'user', 'content': text})\n"
        "say('first'); child = os.fork()\n"
        "for turn in range(20): say('child' if child == 0 else 'parent')\n"
        "if child: assert os.waitpid(child, 0)[1] == 0; session.refresh(); print(len(session), len(session.path()))\n"
    )
    assert read(start("-W", "error", "-c", script, database_url)) == ["41 21"]


def test_session_that_nobody_closed(database_url: str, start: Start) -> None:
    """Who forgets to close leaves no connection behind."""
    script = (
        "import gc, sys; from pi_nb.session.sql import SqlSessionStorage; from pi_nb.session.tree import Session\n"
        "sys.unraisablehook = print\n"
        "for _ in range(2): Session(SqlSessionStorage.create(sys.argv[1])).move_to(None); gc.collect()\n"
        "kept = SqlSessionStorage.create(sys.argv[1]); print('done')"
    )
    forgetful = start("-X", "dev", "-W", "error", "-c", script, database_url)
    assert forgetful.communicate() == ("done\n", None)


def test_servers_end_with_the_tests(postgres: Any, start: Start) -> None:
    """The server that tests start is gone when they were killed, with its folder."""
    root = Path(__file__).parents[2]
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from tests.storages import postgres\n"
        "with postgres.running(Path(sys.argv[2])) as server: print(server.folder, flush=True); sys.stdin.read()"
    )
    tests = start("-c", script, str(root), str(postgres.programs))
    folder = Path(read(tests)[0])
    assert (folder / "data" / "postmaster.pid").exists()
    tests.kill()
    deadline = time.monotonic() + 60
    while folder.exists():
        assert time.monotonic() < deadline, "the server is still there"
        time.sleep(0.05)

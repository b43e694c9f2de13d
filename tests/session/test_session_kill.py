"""A writer that is killed at any moment loses nothing that was said to be written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pi_nb.session.repo import SessionRepo

NURSERY = """
import os, sys
from pi_nb.session.repo import SessionRepo

repo = SessionRepo(sys.argv[1])

def write(pipe):
    session = repo.open("s") if repo.list() else repo.create("/demo", id="s")
    size = 10
    while True:
        said = session.append_message({"role": "user", "content": "x" * size})
        moved = session.move_to(None)
        os.write(pipe, f"{said} {moved} ".encode())
        size = size * 7 % 9_973

for _ in sys.stdin:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        write(writing)
    os.close(writing)
    first = os.read(reading, 18)
    print(child, flush=True)
    rest = b""
    while piece := os.read(reading, 1 << 16):
        rest += piece
    os.waitpid(child, 0)
    os.close(reading)
    print((first + rest).decode(), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_killed_writers_lose_nothing(tmp_path: Path) -> None:
    """Three dozen writers of one session are killed; every announced entry is there, and the file opens strictly."""
    repo = SessionRepo(tmp_path)
    announced: list[str] = []
    command = [sys.executable, "-c", NURSERY, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for round_ in range(36):
            nursery.stdin.write("go\n")
            nursery.stdin.flush()
            pid = int(nursery.stdout.readline())
            time.sleep(0.0003 * (round_ % 12))
            os.kill(pid, signal.SIGKILL)
            announced += nursery.stdout.readline().split()
            with repo.open("s") as session:
                assert not session.read_only, session.warnings
                found = {entry.id for entry in session.entries()}
                assert [id for id in announced if len(id) == 8 and id not in found] == []
                session.append_message({"role": "user", "content": "between"})
        nursery.stdin.close()
    assert len(announced) >= 72


@pytest.mark.parametrize("cut", range(1, 120, 7))
def test_a_file_cut_anywhere_opens(tmp_path: Path, cut: int) -> None:
    """Whatever a crash leaves of the last line, everything before it is there, and the next append is sound."""
    repo = SessionRepo(tmp_path)
    with repo.create("/demo", id="s") as session:
        session.append_message({"role": "user", "content": "one"})
        session.append_message({"role": "user", "content": "two 日本"})
    content = session.file.read_bytes()
    session.file.write_bytes(content[:-cut])
    with repo.open("s") as session:
        assert len(session) == (2 if cut == 1 else 1)
        session.append_message({"role": "user", "content": "three"})
    with repo.open("s") as session:
        assert session.warnings == ()
        assert len(session) == (3 if cut == 1 else 2)

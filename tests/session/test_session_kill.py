"""A writer that is killed at any moment loses nothing that was said to be written."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pi_nb.session.repo import SessionRepo

ROUNDS = 300

NURSERY = """
import os, sys
from pi_nb.session.repo import SessionRepo

repo = SessionRepo(sys.argv[1])

def write(id, pipe):
    session = repo.open(id) if any(info.id == id for info in repo.list()) else repo.create("/demo", id=id)
    size = 10
    while True:
        said = session.append_message({"role": "user", "content": "x" * size})
        moved = session.move_to(None)
        os.write(pipe, f"{said} {moved} ".encode())
        size = size * 7 % 9_973

for id in sys.stdin:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        write(id.strip(), writing)
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
    """Three hundred writers of one session are killed at random moments; every announced entry is there each time."""
    moments, announced = random.Random(9), set[str]()
    repo = SessionRepo(tmp_path)
    count = 0
    command = [sys.executable, "-c", NURSERY, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for round_ in range(ROUNDS):
            id = f"s{round_ // 20}"
            announced = announced if round_ % 20 else set()
            nursery.stdin.write(f"{id}\n")
            nursery.stdin.flush()
            pid = int(nursery.stdout.readline())
            time.sleep(moments.uniform(0, 0.004))
            os.kill(pid, signal.SIGKILL)
            heard = {word for word in nursery.stdout.readline().split() if len(word) == 8}
            announced |= heard
            count += len(heard)
            with repo.open(id) as session:
                assert not session.read_only, session.warnings
                assert announced <= set(session.storage.index.ids)
                session.append_message({"role": "user", "content": "between"})
        nursery.stdin.close()
    assert count >= 2 * ROUNDS


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

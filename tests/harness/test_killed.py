import asyncio
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import pytest

from pi_nb.models import Model
from pi_nb.providers.transform import acceptable
from pi_nb.session.repo import SessionRepo
from tests.harness.bench import bench, refusals
from tests.harness.test_abort_anywhere import MARK, alive

CHILD = Path(__file__).with_name("killed_child.py")
pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")


def start(folder, *args, **environment):
    command = [sys.executable, str(CHILD), str(folder), *args]
    env = {**os.environ, **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=CHILD.parents[2], env=env)


def test_a_session_outlives_a_killed_process(tmp_path):
    """After kill -9 in the middle of two tool calls the session opens, and a new prompt continues it validly."""
    with start(tmp_path) as child:
        assert child.stdout.readline() == "running\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait(10)
    repo = SessionRepo(tmp_path)
    (info,) = repo.list()
    with opened(repo, info.file) as session:
        made = bench("I was interrupted.", session=session)
        assert made.kinds() == ["thinking_level_change", "user", "assistant"]
        assert made.harness.thinking_level == "low"
        assert refusals(session) == []
        answer = asyncio.run(made.harness.prompt("still there?"))
        assert answer.text == "I was interrupted."
        sent = made.provider.requests[0].messages
        assert [message.role for message in sent] == ["user", "assistant", "user"]
        results = acceptable(sent, Model("anthropic", "m", api="anthropic-messages"))[2:4]
        assert [(m.role, m.tool_call_id, m.is_error) for m in results] == [
            ("toolResult", "c1", True),
            ("toolResult", "c2", True),
        ]
        assert refusals(session) == []
        assert not session.read_only


def end_all(mark):
    """End what the killed process has left, for which nobody else does; one just forked still holds its lock."""
    until = time.monotonic() + 10
    while (left := alive(mark)) and time.monotonic() < until:
        for pid, _command in left:
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.01)


def opened(repo, file):
    """Open a session once killed processes have let go of it, for which a busy system takes a moment."""
    until = time.monotonic() + 10
    while (session := repo.open(file)).read_only and time.monotonic() < until:
        session.close()
        time.sleep(0.01)
    return session


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("seed", range(8))
def test_killed_between_any_two_steps(seed, tmp_path):
    """Wherever kill -9 strikes a run that does everything, the file opens, and a new prompt continues it validly."""
    source, mark = random.Random(seed), uuid.uuid4().hex
    event = source.randrange(1, 150)
    try:
        with start(tmp_path, "everything", **{MARK: mark}) as child:
            for line in child.stdout:
                if line == "over\n" or int(line) >= event:
                    break
            time.sleep(source.uniform(0, 0.02))
            os.kill(child.pid, signal.SIGKILL)
            child.wait(10)
    finally:
        end_all(mark)
    repo = SessionRepo(tmp_path)
    (info,) = repo.list()
    with opened(repo, info.file) as session:
        assert session.warnings == ()
        assert refusals(session) == []
        made = bench("I was interrupted.", session=session, model="scripted:one")
        before = len(session)
        assert asyncio.run(made.harness.prompt("still there?")).text == "I was interrupted."
        assert len(session) == before + 2
        assert refusals(session) == []

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pi_nb.session.repo import SessionRepo
from tests.harness.bench import bench, refusals

CHILD = Path(__file__).with_name("killed_child.py")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_a_session_outlives_a_killed_process(tmp_path):
    """After kill -9 in the middle of two tool calls the session opens, and a new prompt continues it validly."""
    command = [sys.executable, str(CHILD), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=CHILD.parents[2]) as child:
        assert child.stdout.readline() == "running\n"
        os.kill(child.pid, signal.SIGKILL)
        child.wait(10)
    repo = SessionRepo(tmp_path)
    (info,) = repo.list()
    with repo.open(info.file) as session:
        made = bench("I was interrupted.", session=session)
        assert made.kinds() == ["thinking_level_change", "user", "assistant"]
        assert made.harness.thinking_level == "low"
        assert refusals(session) == []
        answer = asyncio.run(made.harness.prompt("still there?"))
        assert answer.text == "I was interrupted."
        assert refusals(session) == []
        assert not session.read_only

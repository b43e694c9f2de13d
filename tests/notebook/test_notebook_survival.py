"""What happens to a run when its kernel dies, is another one, or is no kernel at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.browser.kernels import install_kernel
from tests.conftest import must
from tests.notebook.conftest import SCRIPT
from tests.notebook.reading import entries, roles

DEADLY = """
import os, signal
from pi_nb.messages import ToolCall
@pi_nb.tool
def deadly() -> str:
    "Kill the kernel."
    os.kill(os.getpid(), signal.SIGKILL)
script(Reply([ToolCall(id='1', name='deadly', arguments={})]))
"""


def test_a_kernel_killed_in_a_tool(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """The call is on disk without a result; the next kernel is told where it is and goes on with valid history."""
    kernel = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    kernel.run("%load_ext pi_nb\n" + SCRIPT)
    kernel.run(DEADLY)
    kernel.start("%pi --tools deadly go")
    kernel.wait_dead()
    kernel.restart()
    told = kernel.run("%load_ext pi_nb\n" + SCRIPT).stream
    assert "Back in session" in told
    assert "variables made before are gone" in told
    assert roles(kernel)[-2:] == ["user", "assistant"]
    kernel.run("provider = script(Reply('still here'))")
    result = kernel.run("%pi and now?")
    assert "still here" in result.answer["text/plain"]
    assert "tools that are not available here: deadly" in result.answer["text/plain"]


def test_a_second_kernel_is_told_at_once(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """Loading says who writes the session, and offers a copy; the first one notices nothing."""
    first = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    first.run("%load_ext pi_nb\n" + SCRIPT)
    first.run("script(Reply('a'), Reply('b'))\n%pi hi")
    process = first.run("import os; print(os.getpid())").stream.strip()
    second = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    told = second.run("%load_ext pi_nb\n" + SCRIPT).stream
    assert process in told
    assert "%pi_session fork goes on in a copy" in told
    second.run("script(Reply('mine'))")
    assert "a copy of" in second.run("%pi_session fork").stream
    assert "mine" in second.run("%pi hello").answer["text/plain"]
    assert "b" in first.run("%pi again").answer["text/plain"]
    assert [e["message"]["content"][0]["text"] for e in entries(first) if e["type"] == "message"][-2:] == ["again", "b"]


COUNT = """
import gc, os, threading, comm, ipywidgets, psutil
from pi_nb.notebook.runtime import Runtime
def _socket(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith("socket")
    except OSError:
        return False
gc.collect()
_ip = get_ipython()
_hooks = [len(v) for v in _ip.events.callbacks.values()]
_counts = [len(comm.get_comm_manager().comms), len(ipywidgets.widget._instances), len(threading.enumerate()),
    len(_ip.Completer.custom_matchers), len(_ip.configurables), len(_ip.input_transformers_cleanup), *_hooks,
    sum(type(o) is Runtime for o in gc.get_objects()), len([fd for fd in os.listdir("/proc/self/fd") if _socket(fd)])]
print(*_counts, psutil.Process().memory_info().rss // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_ten_reloads_of_a_used_kernel(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """Tree, run, settings and all: after ten reloads there is as much of everything as after one; memory too."""
    kernel = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    kernel.run(SCRIPT)

    def use() -> list[int]:
        loaded = kernel.run("%reload_ext pi_nb\nprovider = script(Reply('a **b**'), Reply('c'), Reply('d'))")
        assert loaded.status == "ok", loaded.error
        for cell in ("%pi hello", "%pi --n 2 again", "%pi_tree", "%pi --bg --out run x", "run.wait(20)"):
            assert kernel.run(cell).status == "ok"
        assert kernel.run("%reload_ext pi_nb").status == "ok"
        return [int(word) for word in kernel.run(COUNT).stream.split()]

    once = [use() for _ in range(3)][-1]
    after = [use() for _ in range(10)][-1]
    assert after[:-1] == once[:-1]
    assert after[-1] - once[-1] < 10_000, "kilobytes"
    kernel.run("%unload_ext pi_nb")
    left = kernel.run("import threading\nprint([t.name for t in threading.enumerate() if 'pi_nb' in t.name])").stream
    assert left == "[]\n"
    assert "%pi_tools" not in kernel.run("%lsmagic").everything
    assert kernel.run("%pi hello").status == "error"


@pytest.fixture(scope="module", params=["6.31.0", "7.3.0"])
def older(
    request: pytest.FixtureRequest, make_kernel: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Any:
    """Return a kernel of another ipykernel version, with the extension loaded."""
    root = tmp_path_factory.mktemp("older")
    try:
        install_kernel(root, request.param, root / "packages")
    except subprocess.CalledProcessError as error:
        must(f"ipykernel {request.param} cannot be installed: {error.stderr.strip()[-300:]}")
    path = root / "packages" / f"ipykernel-{request.param}"
    kernel = make_kernel(PYTHONPATH=str(path), JPY_SESSION_NAME=f"/notebooks/{request.param}.ipynb")
    assert kernel.run("import ipykernel; print(ipykernel.__version__)").stream == f"{request.param}\n"
    kernel.run("%load_ext pi_nb\n" + SCRIPT)
    return kernel


def test_a_background_run_in_older_kernels(older: Any) -> None:
    """The answer reaches its own output by display id; where clicks must wait, that is said once."""
    older.run("script(Reply('word ' * 60), Reply('again'), tokens_per_second=60)")
    first = older.run("%%pi --bg --out ans\ngo", cell="c1")
    assert first.status == "ok"
    second = older.run("print(ans.wait(20).text[:9])")
    assert second.stream == "word word\n"
    assert len(first.shown) == 1
    six = older.run("import ipykernel; print(ipykernel.__version__[0])").stream == "6\n"
    assert ("this kernel has no subshells" in first.stream) == six
    assert ("%%pi --bg leaves the kernel free" in first.stream) == six
    again = older.run("%%pi --bg\ngo on", cell="c2")
    assert again.stream == ""
    older.run("_nb.current().background.wait(20)")


def test_side_by_side_in_older_kernels(older: Any) -> None:
    """Columns, trace and comparison are the same."""
    older.run("%pi_session new\nscript(*[Reply('word ' * 20)] * 3, tokens_per_second=200)\n%pi_trace on")
    result = older.run("%%pi --n 2 --label v\ngo", cell="c3")
    columns, trace = result.shown
    assert columns["text/html"].count("<section") == 2
    assert trace["text/plain"].count("agent_start") == 2
    assert older.run("%pi_diff v-1 v-2").answer["text/plain"].startswith("Nothing in common.")
    older.run("%pi_trace off")


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal")
def test_the_terminal_has_it_too(tmp_path: Path) -> None:
    """Background runs print when they are complete; columns follow each other; the trace comes after the answer."""
    env = {
        **os.environ,
        "PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "s"),
        "PI_NB_MODEL": "scripted:demo",
        "PI_NB_DEMO_PACE": "200",
        "TERM": "dumb",
    }
    args = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor", "--no-confirm-exit"]
    terminal = pexpect.spawn(sys.executable, args, env=env, cwd=str(tmp_path), encoding="utf-8", timeout=40)

    def say(number: int, line: str, *expected: str) -> None:
        terminal.expect(rf"In \[{number}\]: ")
        terminal.sendline(line)
        for text in expected:
            terminal.expect(text)
        assert "Traceback" not in (terminal.before or "")

    try:
        say(1, "%load_ext pi_nb")
        say(2, "%pi --bg --out run my name is Ada")
        say(3, "print(run.wait(20).stop_reason)", r"\[scripted:demo · .* s", "stop")
        say(4, "%pi_trace on", "Runs are traced")
        say(5, "%pi what do you know about me?", "agent_start", "  save_point", "settled")
        say(6, "%pi --n 2 --label v and now?", "── 1 ──", "── 2 ──", "before the prompt")
        say(7, "%pi_diff v-1 v-2 --text", "in common")
        say(8, "%pi_config", "PiMagics.max_turns")
        terminal.expect(r"In \[9\]: ")
        terminal.sendline("exit")
        terminal.expect(pexpect.EOF)
    finally:
        terminal.close(force=True)
    (file,) = (tmp_path / "s").rglob("*.jsonl")
    said = [json.loads(line).get("message", {}).get("role") for line in file.read_text().splitlines()[1:]]
    assert said.count("assistant") == 4

"""Real kernels for the notebook tests, with the front end's part played by the test."""

from __future__ import annotations

import itertools
import os
import queue
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from tests import canaries

SCRIPT = """
import pi_nb, pi_nb.notebook as _nb
from pi_nb import Registry, Reply, ScriptedProvider
def script(*replies, **options):
    "Let these replies answer from here on."
    provider = ScriptedProvider(replies, **options)
    _nb.current().registry = Registry([provider])
    return provider
"""


@dataclass
class Result:
    """What a front end saw of one execution."""

    status: str = "?"
    stream: str = ""
    error: str = ""
    shown: list[dict[str, Any]] = field(default_factory=list)
    metadata: list[dict[str, Any]] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    payload: list[dict[str, Any]] = field(default_factory=list)

    @property
    def answer(self) -> dict[str, Any]:
        """The only rich output, as it stood at the end."""
        assert len(self.shown) == 1, self
        return self.shown[0]

    @property
    def everything(self) -> str:
        """All that was seen at any time, as text."""
        return repr((self.stream, self.error, self.history, self.metadata, self.payload))


class Kernel:
    """A kernel of its own process; ``run`` is what pressing Shift+Enter is."""

    def __init__(self, cwd: Path, **env: str) -> None:
        self.manager = KernelManager(kernel_name="python3")
        self.manager.kernel_spec.argv[0] = sys.executable
        self.manager.start_kernel(cwd=str(cwd), env={**os.environ, **env})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)

    def start(self, code: str, *, cell: str | None = None, stdin: bool = True) -> str:
        """Send a cell and do not wait; return the request's id."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": stdin,
            "stop_on_error": False,  # else the kernel answers "aborted" to what comes too soon after an error
        }
        message = self.client.session.msg("execute_request", content, metadata={"cellId": cell} if cell else {})
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def run(self, code: str, *, cell: str | None = None, stdin: bool = True, timeout: float = 60) -> Result:
        """Run a cell to its end."""
        return self.finish(self.start(code, cell=cell, stdin=stdin), timeout=timeout)

    def finish(self, request: str, *, timeout: float = 60, until: Callable[[Result], bool] = lambda _: False) -> Result:
        """Read what the kernel says of a request until it is idle again, or until enough was seen."""
        result, places, deadline = Result(), {}, time.monotonic() + timeout
        while not until(result):
            message = self.client.get_iopub_msg(timeout=max(0.1, deadline - time.monotonic()))
            canaries.look_through(repr(message["content"]), "a message of the kernel")
            if message["parent_header"].get("msg_id") != request:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return self._reply(request, result)
            _take(result, places, kind, content)
        return result

    def _reply(self, request: str, result: Result) -> Result:
        while True:
            reply = self.client.get_shell_msg(timeout=10)
            if reply["parent_header"].get("msg_id") == request:
                result.status = reply["content"]["status"]
                result.payload = reply["content"].get("payload", [])
                return result

    def complete(self, code: str) -> list[dict[str, Any]]:
        """Return what Tab offers at the end of ``code``."""
        request = self.client.complete(code, len(code))
        while True:
            reply = self.client.get_shell_msg(timeout=20)
            if reply["parent_header"].get("msg_id") == request:
                return list(reply["content"]["metadata"]["_jupyter_types_experimental"])

    def interrupt(self) -> None:
        """Press the stop button."""
        self.manager.interrupt_kernel()

    def restart(self) -> None:
        """Kill the kernel and start it anew."""
        self.manager.restart_kernel(now=True)
        self.client.wait_for_ready(timeout=60)

    def wait_dead(self, timeout: float = 20) -> None:
        """Wait until it has died."""
        deadline = time.monotonic() + timeout
        while self.manager.is_alive() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not self.manager.is_alive()

    def kill(self) -> None:
        """Let it die in mid-sentence, as a crash does, and start another."""
        os.kill(self.manager.provisioner.pid, signal.SIGKILL)
        self.restart()

    def close(self) -> None:
        """End it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()


def _take(result: Result, places: dict[str, int], kind: str, content: dict[str, Any]) -> None:
    if kind == "stream":
        result.stream += content["text"]
    elif kind == "error":
        result.error = "\n".join(content["traceback"])
    elif kind in ("display_data", "update_display_data", "execute_result"):
        result.history.append(content["data"])
        display_id = content.get("transient", {}).get("display_id")
        if kind == "update_display_data" and display_id in places:
            result.shown[places[display_id]], result.metadata[places[display_id]] = content["data"], content["metadata"]
            return
        places[display_id] = len(result.shown)
        result.shown.append(content["data"])
        result.metadata.append(content["metadata"])


@pytest.fixture(scope="module")
def make_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Kernel]]:
    """Return a function that starts kernels in a folder; each is ended with the module."""
    kernels: list[Kernel] = []

    def make(cwd: Path | None = None, **env: str) -> Kernel:
        folder = cwd or tmp_path_factory.mktemp("work")
        env.setdefault("PI_CODING_AGENT_SESSION_DIR", str(folder / ".sessions"))
        env.setdefault("PI_NB_MODEL", "scripted:any")
        env.setdefault("PI_NB_CONFIG_DIR", str(folder / ".config"))
        kernels.append(Kernel(folder, **env))
        return kernels[-1]

    yield make
    for kernel in kernels:
        kernel.close()


@pytest.fixture(scope="module")
def shared_kernel(make_kernel: Callable[..., Kernel]) -> Kernel:
    """Return one kernel in a notebook, with the extension loaded and ``script(...)`` defined."""
    kernel = make_kernel(JPY_SESSION_NAME="/notebooks/shared.ipynb")
    assert kernel.run("%load_ext pi_nb\n" + SCRIPT).status == "ok"
    return kernel


_names = itertools.count(1)


@pytest.fixture
def kernel(shared_kernel: Kernel) -> Kernel:
    """Return the shared kernel in a session of its own."""
    while True:
        try:
            shared_kernel.client.get_iopub_msg(timeout=0.01)
        except queue.Empty:
            break
    assert shared_kernel.run(f"%pi_session new test-{next(_names)}").status == "ok"
    return shared_kernel

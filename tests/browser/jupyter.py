"""A real JupyterLab or Notebook 7 server and a real Chromium, for tests and for the README's picture.

Two things to know (seen with JupyterLab 4.6 and Notebook 7.6): the execution indicator says idle before the kernel
is connected, and a Ctrl+Enter is then lost, so :func:`open_notebook` asks the application itself; and with
``notebook`` installed both ``expose_app_in_browser`` flags are needed for that.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-dev-shm-usage",
]
READY = """() => { const a = window.jupyterapp, w = a && a.shell.currentWidget;
  const k = w && w.sessionContext && w.sessionContext.session && w.sessionContext.session.kernel;
  return w && w.sessionContext.isReady && k && k.connectionStatus === 'connected' && k.status === 'idle'; }"""


def chromium() -> str | None:
    """Return the path of a Chromium, or None: ``CHROMIUM`` names one, else the usual names are looked up."""
    named = os.environ.get("CHROMIUM")
    return named or next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)


@dataclass(frozen=True)
class Server:
    """A running Jupyter server: its address, its token, its folder and which front end it shows."""

    base: str
    token: str
    root: Path
    app: str

    def url(self, path: str) -> str:
        """Return the address of a notebook in this server's front end."""
        if self.app == "lab":
            return f"{self.base}/lab/tree/{path}?token={self.token}&reset"
        return f"{self.base}/notebooks/{path}?token={self.token}"


@contextlib.contextmanager
def serve(root: Path, *, app: str = "lab", env: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run a Jupyter server in ``root`` with settings of its own, and end it and its kernels afterwards."""
    port, token = _free_port(), secrets.token_hex(8)
    with (root / "server.log").open("w") as log:
        process = subprocess.Popen(
            _command(app, port, token, root),
            env={**os.environ, **_private(root), **(env or {})},
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=root,
            start_new_session=True,
        )
        try:
            _wait_up(process, f"http://127.0.0.1:{port}", token, root / "server.log")
            yield Server(f"http://127.0.0.1:{port}", token, root, app)
        finally:
            _end(process)


def _command(app: str, port: int, token: str, root: Path) -> list[str]:
    flags = [f"--port={port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={token}"]
    flags += [
        f"--ServerApp.root_dir={root}",
        "--LabApp.news_url=None",
        "--JupyterNotebookApp.expose_app_in_browser=True",
    ]
    if app == "lab":
        flags += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
        flags += ["--LabApp.expose_app_in_browser=True"]
    return [sys.executable, "-m", "jupyter", app, "--no-browser", "--allow-root", *flags]


def _private(root: Path) -> dict[str, str]:
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR", "JUPYTERLAB_SETTINGS_DIR")
    names += ("JUPYTERLAB_WORKSPACES_DIR", "PI_CODING_AGENT_SESSION_DIR")
    return {name: str(root / f".{name.lower()}") for name in names} | {"JUPYTER_DATA_DIR": str(root / ".data")}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_up(process: subprocess.Popen[bytes], base: str, token: str, log: Path) -> None:
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{base}/api/status?token={token}", timeout=2):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the Jupyter server did not come up:\n{log.read_text()}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(5)


def write_notebook(path: Path, cells: Sequence[str], *, kernel: str = "python3") -> Path:
    """Write a notebook with these code cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    notebook.metadata["kernelspec"] = {"name": kernel, "display_name": kernel, "language": "python"}
    nbformat.write(notebook, path)
    return path


class Notebook:
    """A notebook open in a browser page: run cells, read what they show."""

    def __init__(self, page: Any, server: Server, path: str) -> None:
        self.page, self.server, self.path = page, server, path
        page.goto(server.url(path))
        page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
        page.wait_for_function(READY, timeout=60_000)

    def cell(self, index: int) -> Any:
        """Return the locator of a code cell."""
        return self.page.locator(".jp-Notebook .jp-CodeCell").nth(index)

    def start(self, index: int) -> None:
        """Run a cell and do not wait for it."""
        self.cell(index).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")

    def run(self, index: int, timeout: float = 60) -> str:
        """Run a cell, wait until it has ended, and return the text of its output."""
        self.cell(index).locator(".cm-content").click()
        self.page.set_default_timeout(timeout * 1000)
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-cell')")
        self.wait_idle(index, timeout)
        return self.output(index)

    def prompt(self, index: int) -> str:
        """Return what stands in front of a cell, such as ``[3]:`` or ``[*]:``."""
        return str(self.cell(index).locator(".jp-InputArea-prompt").inner_text())

    def running(self, index: int) -> bool:
        """Return whether a cell is still running."""
        return "*" in self.prompt(index)

    def wait_idle(self, index: int, timeout: float = 60) -> None:
        """Wait until a started cell has ended."""
        self.page.wait_for_function(
            r"""i => /\[\d+\]/.test(document.querySelectorAll('.jp-Notebook .jp-CodeCell')[i]
              .querySelector('.jp-InputArea-prompt').innerText)""",
            arg=index,
            timeout=timeout * 1000,
        )

    def output(self, index: int) -> str:
        """Return the text of a cell's output."""
        return str(self.cell(index).locator(".jp-OutputArea").first.inner_text())

    def interrupt(self) -> None:
        """Press the stop button."""
        selector = "[data-jp-item-name='interrupt'] jp-button"
        if self.server.app != "lab":
            selector = "[data-command='notebook:interrupt-kernel']"
        self.page.locator(selector).first.click()

    def kernel(self, action: str) -> None:
        """Ask the page's own kernel connection to ``restart`` and wait until it is ready again."""
        self.page.evaluate(f"() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.{action}()")
        self.page.wait_for_timeout(500)
        self.page.wait_for_function(READY, timeout=60_000)

    def save(self) -> nbformat.NotebookNode:
        """Save the notebook and return what is in the file."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.save()")
        return nbformat.read(self.server.root / self.path, as_version=4)


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Give a headless Chromium driven by Playwright."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chrome = driver.chromium.launch(executable_path=chromium(), headless=True, args=FLAGS)
        try:
            yield chrome
        finally:
            chrome.close()

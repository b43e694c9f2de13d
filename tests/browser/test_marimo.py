"""The tree in marimo: not Jupyter, so no comm, no subshell and another page around the widget."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import must

pytestmark = pytest.mark.browser

APP = Path(__file__).with_name("marimo_app.py")
PYTHONPATH = str(Path(__file__).parents[2])


@pytest.fixture(scope="module")
def marimo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give the address of a running marimo app with a tree of two branches."""
    try:
        import marimo as _installed  # noqa: F401
    except ImportError:
        must("marimo is not installed")
    home = tmp_path_factory.mktemp("marimo")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [sys.executable, "-m", "marimo", "--yes", "run", str(APP), "--headless", "--no-token", f"--port={port}"]
    env = {**os.environ, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "PYTHONPATH": PYTHONPATH}
    with (home / "log").open("w") as log:
        process = subprocess.Popen(command, env=env, cwd=home, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            base = f"http://127.0.0.1:{port}"
            _wait_up(process, base, home / "log")
            yield base
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)


def _wait_up(process: subprocess.Popen[bytes], base: str, log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{base}/health", timeout=2):
            return
        time.sleep(0.2)
    raise RuntimeError(f"marimo did not come up:\n{log.read_text()}")


def test_a_click_moves_the_leaf_in_marimo(marimo: str, page: Any) -> None:
    """The tree is drawn with its style, a click is answered and moves the leaf, and an append appears."""
    page.goto(marimo)
    page.locator(".pi-tree .pt-row.pt-leaf", has_text="Then see the Opera.").wait_for(timeout=60_000)
    assert page.locator(".pi-tree .pt-row").count() == 7
    assert page.locator(".pi-tree").evaluate("el => getComputedStyle(el).borderRadius") == "10px"
    page.locator(".pt-row", has_text="Then see the Forum.").locator(".pt-text").click()
    page.locator(".pi-tree .pt-row.pt-leaf", has_text="Then see the Forum.").wait_for(timeout=10_000)
    assert "Checked out" in page.locator(".pt-said").inner_text()
    assert page.locator(".pt-link").inner_text() == ""
    assert page.locator(".pt-pbody").get_by_text("Rome it is").is_visible()
    page.get_by_role("button", name="Append").click()
    page.locator(".pi-tree .pt-row.pt-leaf", has_text="One more.").wait_for(timeout=10_000)
    page.get_by_text("LEAF One more. REV 9").wait_for(timeout=10_000)


def test_two_pages_of_a_marimo_app_do_not_meet(marimo: str, page: Any) -> None:
    """Every page has a session of its own; keys work, and do not reach the page."""
    page.goto(marimo)
    page.locator(".pi-tree .pt-row.pt-leaf", has_text="Then see the Opera.").wait_for(timeout=60_000)
    page.locator(".pt-rows").focus()
    for key in ("ArrowUp", "ArrowUp", "Enter"):
        page.keyboard.press(key)
    page.locator(".pi-tree .pt-row.pt-leaf", has_text="Rome or Oslo?").wait_for(timeout=10_000)
    page.keyboard.press("u")
    page.locator(".pi-tree .pt-row.pt-leaf", has_text="Then see the Opera.").wait_for(timeout=10_000)

"""One Jupyter server with three kernels, and one Chromium, for all browser tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import canaries
from tests.browser.jupyter import Notebook, Server, browser, chromium, serve, write_notebook
from tests.browser.kernels import install_kernel
from tests.conftest import must

KERNELS = ("7.3.0", "6.31.0")


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    """Give a headless Chromium, or skip where there is none.

    Its driver occupies the thread's event loop, so it ends with the module: other tests need the loop.
    """
    if chromium() is None:
        must("no Chromium found (install one, or name it in CHROMIUM)")
    with browser() as found:
        yield found


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Give a running JupyterLab with the installed ipykernel and some other versions of it."""
    root = tmp_path_factory.mktemp("lab")
    for version in KERNELS:
        try:
            install_kernel(root / ".data", version, root / ".kernels")
        except subprocess.CalledProcessError as error:
            must(f"ipykernel {version} cannot be installed: {error.stderr.strip()[-300:]}")
    with serve(root) as server:
        yield server


@pytest.fixture(scope="session")
def classic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Give a running Notebook 7."""
    with serve(tmp_path_factory.mktemp("notebook"), app="notebook") as server:
        yield server


@pytest.fixture
def page(chrome: Any, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give a fresh page, and note every dialogue and every script error of ours in it; none is allowed."""
    context = chrome.new_context(viewport={"width": 1500, "height": 1100})
    fresh = context.new_page()
    wrong: list[str] = []
    fresh.on("dialog", lambda dialog: _answer(dialog, wrong))
    fresh.on("websocket", _look_through)
    fresh.on("console", lambda said: canaries.look_through(said.text, "the browser's console"))
    fresh.on("pageerror", lambda error: _is_ours(error) and wrong.append(f"script error: {error}"))
    yield fresh
    context.close()
    assert not wrong, wrong


def _look_through(socket: Any) -> None:
    """Search all that passes between a page and its kernels for a key: outputs, widgets' state, errors."""
    for event in ("framesent", "framereceived"):
        socket.on(event, lambda frame: canaries.look_through(frame, "a frame between a page and its kernel"))


def _answer(dialog: Any, wrong: list[str]) -> None:
    """Let a page be left whose notebook is not saved; any other dialogue is wrong."""
    if dialog.type == "beforeunload":
        dialog.accept()
        return
    wrong.append(f"dialogue: {dialog.message}")
    dialog.dismiss()


def _is_ours(error: Any) -> bool:
    """Return whether a script error came out of a widget's module, not out of the front end's own bundles."""
    return "/static/" not in (error.stack or "").partition("\n")[2].partition("\n")[0]


@pytest.fixture
def open_notebook(page: Any, request: pytest.FixtureRequest) -> Callable[..., Notebook]:
    """Give a function that writes a notebook with some cells and opens it."""

    def opener(server: Server, cells: list[str], *, kernel: str = "python3", name: str | None = None) -> Notebook:
        path = f"{name or request.node.name.replace('[', '-').rstrip(']')}.ipynb"
        write_notebook(server.root / path, cells, kernel=kernel)
        return Notebook(page, server, path)

    return opener

"""A page with the built widget in it, and the real Python side behind it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = str(Path(__file__).parents[2])
FRONTEND = Path(ROOT) / "pi_nb" / "views" / "frontend"
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from pi_nb.session.memory import InMemorySessionStorage  # noqa: E402
from pi_nb.session.repo import SessionRepo  # noqa: E402
from pi_nb.session.tree import Session  # noqa: E402
from tests.browser.jupyter import browser, chromium  # noqa: E402
from tests.conftest import must  # noqa: E402
from tests.tree_view.widget_page import RecordingComm, WidgetPage  # noqa: E402


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    """Give a headless Chromium, or skip where there is none.

    Not for longer than a module: Playwright keeps an event loop running in this thread, and other tests want their own.
    """
    if chromium() is None:
        must("no Chromium found (install one, or name it in CHROMIUM)")
    with browser() as found:
        yield found


@pytest.fixture
def comms(monkeypatch: pytest.MonkeyPatch) -> dict[str, RecordingComm]:
    """Give every widget made in this test a comm that keeps what is sent; by comm id."""
    made: dict[str, RecordingComm] = {}

    def create(**options: Any) -> RecordingComm:
        comm = RecordingComm(**options)
        made[comm.comm_id] = comm
        return comm

    monkeypatch.setattr("comm.create_comm", create)
    return made


@pytest.fixture
def show(chrome: Any, comms: dict[str, RecordingComm]) -> Iterator[Callable[..., WidgetPage]]:
    """Show a view in a fresh page; no script error, dialogue or request elsewhere is allowed in it."""
    pages: list[WidgetPage] = []

    def open_page(view: Any, **options: Any) -> WidgetPage:
        page = WidgetPage(chrome, view, comms[view.model_id], **options)
        pages.append(page)
        page.pump()
        return page

    yield open_page
    for page in pages:
        page.close()
    assert [fault for page in pages for fault in page.faults] == []


@pytest.fixture(params=["memory", "jsonl"])
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """Give an empty session, once in memory and once in a file."""
    in_memory = request.param == "memory"
    with Session(InMemorySessionStorage()) if in_memory else SessionRepo(tmp_path).create(str(tmp_path)) as fresh:
        yield fresh


@pytest.fixture
def memory() -> Iterator[Session]:
    """Give an empty session in memory."""
    with Session(InMemorySessionStorage()) as fresh:
        yield fresh


@pytest.fixture(scope="session")
def node() -> str:
    """Return the path of node, or skip where there is none."""
    found = shutil.which("node")
    if found is None:
        must("no node found (needed for the widget's own tests)")
    return str(found)


@pytest.fixture(scope="session")
def workshop(tmp_path_factory: pytest.TempPathFactory, node: str) -> Path:
    """Return a copy of the front end with the tools its lock file names, or skip where npm cannot give them."""
    npm = shutil.which("npm")
    if npm is None:
        must("no npm found (needed to build the widget)")
    place = tmp_path_factory.mktemp("workshop") / "views" / "frontend"
    shutil.copytree(FRONTEND, place, ignore=shutil.ignore_patterns("node_modules"))
    command = [str(npm), "ci", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=240, check=False)
    if done.returncode:
        must(f"npm ci failed: {done.stderr.strip()[-300:]}")
    return place

"""Taking moves back and going through time in real front ends: with a harness, a file, and the notebook's own keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.jupyter import READY, Notebook

pytestmark = pytest.mark.browser

Opener = Callable[..., Notebook]
CELLS = [
    "%load_ext pi_nb",
    "%%pi\nMy name is Ada.",
    "%%pi\nRemember: tea.",
    "%pi_checkout @~1",
    "%%pi\nRemember: cake.",
]


def leaf(page: Any, text: str) -> None:
    """Wait until the leaf is the row with this text."""
    page.locator(".pi-tree .pt-row.pt-leaf", has_text=text).wait_for(timeout=15_000)


@pytest.mark.parametrize("server", ["lab", "classic"])
def test_moves_are_taken_back_and_time_is_gone_through(
    server: str, request: pytest.FixtureRequest, open_notebook: Opener, page: Any
) -> None:
    """u and U move the leaf back and forth, also in a reloaded page; keys on the slider are not the notebook's."""
    nb = open_notebook(request.getfixturevalue(server), [*CELLS, "%pi_tree"])
    for index in range(len(CELLS) + 1):
        nb.run(index)
    leaf(page, "cake")
    tree = page.locator(".pi-tree .pt-rows")
    page.locator(".pi-tree .pt-row", has_text="tea").last.click()
    leaf(page, "tea")
    tree.press("u")
    leaf(page, "cake")
    assert "Checkout undone" in page.locator(".pt-said").inner_text()
    tree.press("U")
    leaf(page, "tea")
    tree.press("t")
    cells = page.locator(".jp-Cell").count()
    page.locator(".pt-range").press("Home")
    page.locator(".pt-when", has_text="Entry 0 of").wait_for()
    for key in ("d", "d", "a", "b", "x"):  # they would delete, add and cut cells
        page.keyboard.press(key)
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    page.locator(".pt-when", has_text="Entry 2 of").wait_for()
    leaf(page, "leaf then")
    assert page.locator(".pi-tree .pt-row").count() == 3
    page.keyboard.press("End")
    page.locator(".pt-when", has_text="Now").wait_for()
    leaf(page, "tea")
    assert page.locator(".jp-Cell").count() == cells
    marks = [json.loads(line) for line in _log(nb) if '"type":"leaf"' in line]
    assert [next((name for name in ("undoes", "redoes") if name in mark), "") for mark in marks[-3:]] == [
        "",
        "undoes",
        "redoes",
    ]
    assert marks[-2]["undoes"] == marks[-3]["id"]
    assert marks[-1]["redoes"] == marks[-2]["id"]
    page.reload()
    page.wait_for_function(READY, timeout=60_000)
    nb.run(len(CELLS))
    leaf(page, "tea")
    tree.press("u")
    leaf(page, "cake")


def _log(nb: Notebook) -> list[str]:
    """Return the lines of the newest session below the server's folder."""
    files = sorted(Path(nb.server.root).rglob("*.jsonl"), key=lambda file: file.stat().st_mtime)
    return files[-1].read_text("utf-8").splitlines()

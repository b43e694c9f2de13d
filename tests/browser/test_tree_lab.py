"""The tree in JupyterLab when things go wrong, or several things go on at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.jupyter import READY, Notebook, Server

pytestmark = pytest.mark.browser

Opener = Callable[..., Notebook]
SLOW = "import os; os.environ['PI_NB_DEMO_PACE'] = '12'"
LOAD = "%load_ext pi_nb"
ADA, TEA = "%%pi\nMy name is Ada.", "%%pi\nRemember: tea."
ROWS = "nth => [...document.querySelectorAll('.pi-tree')[nth].querySelectorAll('.pt-row')].length"
LEAF = """([nth, text]) => document.querySelectorAll('.pi-tree')[nth]
  ?.querySelector('.pt-row.pt-leaf')?.innerText.includes(text)"""


def wait_leaf(page: Any, text: str, nth: int = 0, timeout: float = 30) -> None:
    """Wait until the leaf of a view is the row with this text."""
    page.wait_for_function(LEAF, arg=[nth, text], timeout=timeout * 1000)


@pytest.mark.parametrize("server", ["lab", "classic"])
def test_a_kernel_that_is_shut_down_is_noticed(
    server: str, request: pytest.FixtureRequest, open_notebook: Opener, page: Any
) -> None:
    """The view says so by itself, stays, and can be looked around in: rows, search, what is known of contexts."""
    nb = open_notebook(request.getfixturevalue(server), [LOAD, ADA, TEA, "%pi_tree"])
    for index in range(4):
        nb.run(index)
    wait_leaf(page, "tea")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    lost = "() => document.querySelector('.pt-link')?.textContent.includes('Not connected')"
    page.wait_for_function(lost, timeout=10_000)
    tree = page.locator(".pi-tree")
    assert tree.is_visible()
    tree.locator(".pt-row", has_text="Nice to meet").first.click()
    page.wait_for_function("() => !document.querySelector('.pt-pbody').innerText.includes('Remember: tea.')")
    assert "My name is Ada" in page.locator(".pt-pbody").inner_text()
    tree.locator(".pt-search").fill("tea")
    assert page.locator(".pt-found").count() >= 1
    assert page.locator(".pi-nb-still").is_hidden()


def test_answers_of_a_fan_out_grow_side_by_side(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Three runs at once are three growing rows, each below its own prompt; then they are three answers."""
    nb = open_notebook(lab, [SLOW, LOAD, "%pi_tree", "%%pi --n 3\nMy name is Ada. I keep a list of boats."])
    for index in range(3):
        nb.run(index)
    page.locator(".pi-tree").wait_for()
    nb.start(3)
    page.wait_for_function("() => document.querySelectorAll('.pi-tree .pt-row.pt-live').length === 3", timeout=20_000)
    assert nb.running(3)
    first = page.locator(".pi-tree .pt-live .pt-text").all_inner_texts()
    page.wait_for_timeout(400)
    later = page.locator(".pi-tree .pt-live .pt-text").all_inner_texts()
    assert len(later) == 3
    assert all(new != old for new, old in zip(later, first, strict=True))
    nb.wait_idle(3)
    page.wait_for_function("() => document.querySelectorAll('.pi-tree .pt-row.pt-live').length === 0", timeout=10_000)
    assert page.locator(".pi-tree .pt-row.pt-t-assistant", has_text="Nice to meet you").count() == 3


LOSE = """import pi_nb.notebook as n, random
view, dice = n.current().tree_view, random.Random(7)
publish = view.comm.publish_msg
def lossy(*args, **keys):
    if dice.random() > 0.3:
        publish(*args, **keys)
view.comm.publish_msg = lossy"""


def test_lost_messages_are_made_good(lab: Server, open_notebook: Opener, page: Any) -> None:
    """With three of ten of the kernel's messages lost, the tree still ends up as the log is, and clicks still work."""
    nb = open_notebook(lab, [LOAD, ADA, "%pi_tree", LOSE, TEA, "%%pi\nRemember: boats.", "%pi_log"])
    for index in range(6):
        nb.run(index)
    wait_leaf(page, "boats", timeout=60)
    assert "boats" in nb.run(6)
    page.wait_for_function("() => document.querySelector('.pt-status').textContent === ''", timeout=60_000)
    for _ in range(4):  # one of the answers may be among the lost
        page.locator(".pi-tree .pt-row", has_text="Nice to meet").first.click()
        page.wait_for_timeout(1500)
        if page.evaluate(LEAF, [0, "Nice to meet"]):
            break
    wait_leaf(page, "Nice to meet", timeout=60)


def test_two_views_and_a_refreshed_page(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Two cells show one session and agree after each click; after a refresh the tree is there again when asked for."""
    nb = open_notebook(lab, [LOAD, ADA, TEA, "%pi_tree", "%pi_tree"])
    for index in range(5):
        nb.run(index)
    wait_leaf(page, "tea", 0)
    wait_leaf(page, "tea", 1)
    page.locator(".pi-tree").nth(1).locator(".pt-row", has_text="Nice to meet").first.click()
    wait_leaf(page, "Nice to meet", 0)
    wait_leaf(page, "Nice to meet", 1)
    page.locator(".pi-tree").nth(0).locator(".pt-row", has_text="tea").last.click()
    wait_leaf(page, "tea", 1)
    nb.save()
    page.reload()
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.wait_for_function(READY, timeout=60_000)
    page.wait_for_function("() => document.querySelector('.pi-tree, .pi-nb-still')?.innerText.includes('tea')")
    nb.run(4)
    wait_leaf(page, "tea", page.locator(".pi-tree").count() - 1)
    page.locator(".pi-tree").last.locator(".pt-row", has_text="Nice to meet").first.click()
    wait_leaf(page, "Nice to meet", page.locator(".pi-tree").count() - 1)


COMMS = "import comm; print('COMMS', len(comm.get_comm_manager().comms))"


def test_the_cell_run_fifty_times(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Fifty runs of ``%pi_tree`` make no comm and no second view, and the views they replace leave the page."""
    nb = open_notebook(lab, [LOAD, ADA, "%pi_tree", COMMS])
    for index in range(3):
        nb.run(index)
    wait_leaf(page, "Nice to meet")
    before = nb.run(3)
    page.evaluate(
        """() => { window.seen = []; new MutationObserver(() => { const el = document.querySelector('.pi-tree');
          if (el && seen.at(-1)?.deref() !== el) seen.push(new WeakRef(el)); })
          .observe(document.body, { childList: true, subtree: true }); }"""
    )
    nb.run(2)
    page.wait_for_timeout(500)
    elements = page.evaluate("() => document.querySelectorAll('*').length")
    for _ in range(50):
        nb.run(2)
    wait_leaf(page, "Nice to meet")
    assert nb.run(3) == before
    page.wait_for_timeout(1000)
    client = page.context.new_cdp_session(page)
    client.send("HeapProfiler.collectGarbage")
    alive, all_seen = page.evaluate("() => [seen.filter((one) => one.deref()).length, seen.length]")
    assert page.locator(".pi-tree").count() == 1
    assert page.evaluate("() => document.querySelectorAll('*').length") <= elements + 20
    assert all_seen > 10
    assert alive <= 3, f"{alive} of {all_seen} views are still in memory"

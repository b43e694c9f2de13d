"""Running cells again in JupyterLab: what a cell does to the tree is the obvious thing, however it is run."""

from __future__ import annotations

import json
import os
import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.jupyter import READY, Notebook, Server

pytestmark = pytest.mark.browser

Opener = Callable[..., Notebook]
CELLS = ["%load_ext pi_nb", "%%pi\none", "%%pi\ntwo", "%%pi\nthree"]
SET = """([index, text]) => window.jupyterapp.shell.currentWidget.content.widgets[index]
  .model.sharedModel.setSource(text)"""
CURSOR = """([index, line]) => { const c = window.jupyterapp.shell.currentWidget.content;
  c.activeCellIndex = index; c.mode = 'edit'; c.activeCell.editor.setCursorPosition({line, column: 0}); }"""
SELECT = "index => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = index; }"
IDLE = """() => { const w = window.jupyterapp.shell.currentWidget;
  return w.sessionContext.session.kernel.status === 'idle' &&
    [...document.querySelectorAll('.jp-Notebook .jp-InputArea-prompt')].every(p => !p.innerText.includes('*')); }"""


def edit(nb: Notebook, index: int, text: str) -> None:
    """Write into a cell."""
    nb.page.evaluate(SET, [index, text])


def snap(page: Any, name: str) -> None:
    """Keep a picture where the environment asks for some."""
    folder = os.environ.get("PI_NB_SHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def do(nb: Notebook, command: str) -> None:
    """Carry out a command of JupyterLab and wait until the kernel is idle."""
    nb.page.evaluate("name => window.jupyterapp.commands.execute(name)", f"notebook:{command}")
    nb.page.wait_for_timeout(400)
    nb.page.wait_for_function(IDLE, timeout=60_000)


def select(nb: Notebook, index: int) -> None:
    """Make a cell the active one."""
    nb.page.evaluate(SELECT, index)


def file_of(nb: Notebook) -> Path:
    """Return the newest session file that is bound to the notebook."""
    name = json.dumps(str(nb.server.root / nb.path))
    files = (nb.server.root / ".pi_coding_agent_session_dir").rglob("*.jsonl")
    return max((f for f in files if name in f.read_text().splitlines()[0]), key=lambda f: f.stat().st_mtime)


def tree(file: Path) -> dict[str, list[str]]:
    """Return for each prompt, written as the prompts before it and itself, how often it is there; in order."""
    entries = {e["id"]: e for e in map(json.loads, file.read_text().splitlines()[1:])}

    def line(entry: Any) -> str:
        before = line(entries[entry["parentId"]]) if entry["parentId"] else ""
        said = entry["message"]["content"][0]["text"] if entry.get("message", {}).get("role") == "user" else ""
        return f"{before}/{said}" if said else before

    return [line(e) for e in entries.values() if e.get("message", {}).get("role") == "user"]


def opened(lab: Server, open_notebook: Opener, cells: list[str] | None = None) -> Notebook:
    """Open a notebook and run all of it."""
    nb = open_notebook(lab, cells or CELLS)
    do(nb, "run-all-cells")
    return nb


def test_edit_and_run_again(lab: Server, open_notebook: Opener, page: Any) -> None:
    """The new answer is a sibling; what was below stays; the cells below, run again, follow the new one."""
    nb = opened(lab, open_notebook)
    assert tree(file_of(nb)) == ["/one", "/one/two", "/one/two/three"]
    edit(nb, 2, "%%pi\ntwo, better")
    assert "a new branch beside the earlier answer" in nb.run(2)
    assert "‹2/2›" in nb.output(2)
    nb.run(3)
    assert tree(file_of(nb))[3:] == ["/one/two, better", "/one/two, better/three"]


def test_run_all_again(lab: Server, open_notebook: Opener, page: Any) -> None:
    """The first cell branches at its place; the others follow it, in order: a second line of the same shape."""
    nb = opened(lab, open_notebook)
    do(nb, "run-all-cells")
    assert tree(file_of(nb)) == ["/one", "/one/two", "/one/two/three"] * 2


def test_run_all_below(lab: Server, open_notebook: Opener, page: Any) -> None:
    """From the second cell on: one new branch under the first prompt."""
    nb = opened(lab, open_notebook)
    select(nb, 2)
    do(nb, "run-all-below")
    assert tree(file_of(nb))[3:] == ["/one/two", "/one/two/three"]


def test_a_cell_that_was_moved_is_the_same_cell(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Moved up and run, it branches where it was asked before: its place on the page says nothing."""
    nb = opened(lab, open_notebook)
    select(nb, 3)
    do(nb, "move-cell-up")
    nb.run(2)
    assert "three" in nb.cell(2).locator(".cm-content").inner_text()
    assert tree(file_of(nb))[3:] == ["/one/two/three"]


def test_a_copied_cell_is_another_cell(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Pasted below and run, it goes on from the leaf."""
    nb = opened(lab, open_notebook)
    select(nb, 1)
    do(nb, "copy-cell")
    select(nb, 3)
    do(nb, "paste-cell-below")
    nb.run(4)
    assert tree(file_of(nb))[3:] == ["/one/two/three/one"]


def test_a_split_cell(lab: Server, open_notebook: Opener, page: Any) -> None:
    """The half that keeps the cell's identity is a sibling, the other one goes on from it."""
    nb = opened(lab, open_notebook, ["%load_ext pi_nb", "%%pi\none", "%%pi\ntwo\n%%pi\nthree"])
    page.evaluate(CURSOR, [2, 2])
    do(nb, "split-cell-at-cursor")
    nb.run(2)
    nb.run(3)
    lines = tree(file_of(nb))
    assert lines[:2] == ["/one", "/one/two\n%%pi\nthree"]
    assert sorted(lines[2:]) in (
        ["/one/two", "/one/two/three"],
        ["/one/three", "/one/two\n%%pi\nthree/two"],
    )


def test_replay_all(lab: Server, open_notebook: Opener, page: Any) -> None:
    """With the setting, Run All after a restart shows every answer again and asks nobody but for a changed cell."""
    cells = [CELLS[0] + "\n%config PiMagics.replay = True", *CELLS[1:]]
    nb = opened(lab, open_notebook, cells)
    nb.kernel("restart")
    do(nb, "run-all-cells")
    assert all("Replayed" in nb.output(index) for index in (1, 2, 3))
    assert tree(file_of(nb)) == ["/one", "/one/two", "/one/two/three"]
    edit(nb, 2, "%%pi\ntwo, better")
    do(nb, "run-all-cells")
    assert "Replayed" in nb.output(1)
    assert "Replayed" not in nb.output(2)
    assert tree(file_of(nb))[3:] == ["/one/two, better", "/one/two, better/three"]


def test_a_renamed_notebook_keeps_its_session(lab: Server, open_notebook: Opener, page: Any) -> None:
    """While the kernel runs, after its restart, and with a new kernel under the new name."""
    nb = opened(lab, open_notebook)
    before = file_of(nb)
    page.evaluate("name => window.jupyterapp.shell.currentWidget.context.rename(name)", "renamed-now.ipynb")
    page.wait_for_timeout(1000)
    edit(nb, 3, "%%pi\nfour")
    nb.run(3)
    assert tree(before)[3:] == ["/one/two/four"]
    page.evaluate("() => window.jupyterapp.shell.currentWidget.context.save()")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    page.wait_for_timeout(1000)
    again = Notebook(page, lab, "renamed-now.ipynb")
    shown = again.run(0)
    assert "Back in session" in shown
    assert "renamed" in shown
    edit(again, 3, "%%pi\nfive")
    again.run(3)
    assert tree(before)[4:] == ["/one/two/five"]


def test_a_copied_notebook_on_the_same_session(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Its cells have the same ids and are other cells: what they ask is added, edited and run again beside itself."""
    nb = opened(lab, open_notebook)
    nb.save()
    file = file_of(nb)
    copy = "copied-on-one-session.ipynb"
    shutil.copy(lab.root / nb.path, lab.root / copy)
    guest = Notebook(page, lab, copy)
    edit(guest, 0, f"%load_ext pi_nb\n%pi_session open {file}")
    told = guest.run(0)
    assert f"It belongs to {nb.path}." in told
    assert "read-only" in told
    assert "%pi_session fork goes on in a copy" in told
    assert "is being written by" in guest.run(1)
    snap(page, "guest-reads")
    shut_down(lab, nb.path)
    assert "beside the earlier answer" not in guest.run(1)
    assert tree(file)[3:] == ["/one/two/three/one"]
    edit(guest, 1, "%%pi\none, edited")
    assert "a new branch beside the earlier answer" in guest.run(1)
    assert tree(file)[4:] == ["/one/two/three/one, edited"]
    snap(page, "guest-writes")
    home = Notebook(page, lab, nb.path)
    told = home.run(0)
    assert "is being written by" in told
    assert "%pi_session fork goes on in a copy" in told
    shut_down(lab, copy)
    edit(home, 2, "%%pi\ntwo, edited")
    assert "a new branch beside the earlier answer" in home.run(2)
    assert tree(file)[5:] == ["/one/two, edited"]


def shut_down(server: Server, path: str) -> None:
    """End the kernel of a notebook, and wait until it is gone."""

    def ask(method: str, what: str) -> Any:
        headers = {"Authorization": f"token {server.token}"}
        request = urllib.request.Request(f"{server.base}/api/{what}", method=method, headers=headers)
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.loads(answer.read() or "null")

    (session,) = [found for found in ask("GET", "sessions") if found["path"] == path]
    ask("DELETE", f"kernels/{session['kernel']['id']}")


def test_a_refresh_during_a_run(lab: Server, open_notebook: Opener, page: Any) -> None:
    """The run goes on without its page; afterwards tree, status and file have all of it."""
    nb = open_notebook(
        lab,
        [
            "import os; os.environ['PI_NB_DEMO_PACE'] = '12'",
            "%load_ext pi_nb",
            "%%pi --bg\nMy name is Ada.",
            "%pi_tree",
        ],
    )
    for index in (0, 1, 2):
        nb.run(index)
    nb.save()
    page.reload()
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.wait_for_function(READY, timeout=60_000)
    nb.run(3)
    page.locator(".pi-tree .pt-row", has_text="My name is Ada").first.wait_for()
    page.wait_for_function(
        "() => document.querySelector('.pi-tree .pt-row.pt-leaf')?.innerText.includes('Nice to meet')", timeout=60_000
    )
    last = json.loads(file_of(nb).read_text().splitlines()[-1])["message"]
    assert (last["role"], last["stopReason"]) == ("assistant", "stop")


def test_a_blocking_cell_during_a_background_run(lab: Server, open_notebook: Opener, page: Any) -> None:
    """The answer goes on coming into its own cell and into the tree while a cell of the user sleeps."""
    nb = open_notebook(
        lab,
        [
            "import os; os.environ['PI_NB_DEMO_PACE'] = '12'",
            "%load_ext pi_nb",
            "%pi_tree",
            "%%pi --bg\nMy name is Ada. I keep a list of boats.",
            "import time; time.sleep(30)",
        ],
    )
    for index in (0, 1, 2, 3):
        nb.run(index)
    nb.start(4)
    page.wait_for_function(
        """() => document.querySelectorAll('.jp-Notebook .jp-CodeCell')[3].innerText.includes('scripted:demo ·') ||
          /tokens|in, /.test(document.querySelectorAll('.jp-Notebook .jp-CodeCell')[3].innerText)""",
        timeout=14_000,
    )
    page.wait_for_function(
        "() => document.querySelector('.pi-tree .pt-row.pt-leaf')?.innerText.includes('Nice to meet')", timeout=10_000
    )
    assert nb.running(4)
    nb.interrupt()
    nb.wait_idle(4)


def test_a_click_says_which_model_counts_there(lab: Server, open_notebook: Opener, page: Any) -> None:
    """A branch has its own model: the line about the move says which it is there, as %pi_checkout does."""
    script = "import pi_nb, pi_nb.notebook as n\nfrom pi_nb import Registry, Reply, ScriptedProvider\n"
    script += "n.current().registry = Registry([ScriptedProvider([Reply('Nice to meet you')])])"
    cells = [f"%load_ext pi_nb\n{script}\n%pi_model scripted:one", "%%pi\nMy name is Ada.", "%pi_model scripted:other"]
    nb = opened(lab, open_notebook, [*cells, "%pi_tree"])
    page.locator(".pi-tree .pt-row", has_text="Nice to meet").first.click()
    page.wait_for_function(
        "() => document.querySelector('.pi-tree .pt-said')?.innerText.includes('Model is scripted:one here.')"
    )
    snap(page, "click-model")
    assert nb.prompt(3)


def test_columns_scroll_on_a_narrow_page(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Several answers side by side keep their width; the page scrolls them and does not overflow itself."""
    nb = open_notebook(lab, ["%load_ext pi_nb", "%%pi --n 5\nMy name is Ada.", "%pi_checkout cell:2.3", "%pi"])
    for index in (0, 1, 2, 3):
        nb.run(index)
    wide = page.evaluate(
        "() => { const c = document.querySelector('.pi-columns'); return [c.scrollWidth, c.clientWidth]; }"
    )
    assert wide[0] > wide[1]
    assert page.locator(".pi-columns > section").count() == 5
    assert "Nice to meet" in nb.output(3)

"""The product in JupyterLab, as its user meets it: prompt, watch, click, stop, restart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.jupyter import Notebook, Server

pytestmark = pytest.mark.browser

Opener = Callable[..., Notebook]
SLOW = "import os; os.environ['PI_NB_DEMO_PACE'] = '12'"
LOAD = "%load_ext pi_nb"
WHERE = "import pi_nb.notebook as n; s = n.current().session; print('LEAF', s.leaf_id, 'ENTRIES', len(s))"


def rows(page: Any, *, live: bool = True) -> Any:
    """Return the locator of the tree's rows that stand for messages."""
    return page.locator(".pi-tree .pt-row:has(.pt-who)" + ("" if live else ":not(.pt-live)"))


def row(page: Any, text: str) -> Any:
    """Return the locator of the tree's row that holds this text."""
    return page.locator(".pi-tree .pt-row", has_text=text).first


def wait_leaf(page: Any, text: str, timeout: float = 10) -> None:
    """Wait until the leaf is the row with this text."""
    page.wait_for_function(
        "text => document.querySelector('.pi-tree .pt-row.pt-leaf')?.innerText.includes(text)",
        arg=text,
        timeout=timeout * 1000,
    )


def shape(file: Path) -> list[tuple[str, str | None, int | None]]:
    """Return a session file's tree without ids: kind, role and the place of the parent of each entry."""
    entries = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    at = {entry["id"]: place for place, entry in enumerate(entries)}
    return [(e["type"], e.get("message", {}).get("role"), at.get(e["parentId"])) for e in entries]


def sessions(server: Server) -> list[Path]:
    """Return the session files below the server's folder, oldest first."""
    return sorted((server.root / ".pi_coding_agent_session_dir").rglob("*.jsonl"), key=lambda f: f.name)


def test_an_answer_streams_and_the_tree_grows(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Text is in the cell and in the tree while the cell still runs, and more of both afterwards."""
    nb = open_notebook(lab, [SLOW, LOAD, "%pi_tree", "%%pi\nMy name is Ada. I keep a list of boats."])
    for index in range(3):
        nb.run(index)
    page.locator(".pi-tree").wait_for()
    nb.start(3)
    page.wait_for_function(
        """() => { const o = document.querySelectorAll('.jp-Notebook .jp-CodeCell')[3].querySelector('.jp-OutputArea');
          return o && o.innerText.includes('Nice to meet'); }""",
        timeout=20_000,
    )
    page.locator(".pi-tree .pt-row.pt-live").wait_for(timeout=5_000)
    assert nb.running(3)
    early = nb.output(3)
    nb.wait_idle(3)
    assert len(nb.output(3)) > len(early) + 50
    page.wait_for_function("() => document.querySelectorAll('.pi-tree .pt-row.pt-live').length === 0")
    wait_leaf(page, "Nice to meet you")


def test_a_click_branches_and_the_panel_shows_the_active_path_only(
    lab: Server, open_notebook: Opener, page: Any
) -> None:
    """Clicking an earlier answer moves the leaf; the panel forgets what lies below; the next prompt is a sibling."""
    prompts = ["%%pi\nMy name is Ada.", "%%pi\nRemember: the boat is green.", "%%pi\nRemember: the boat is a bathtub."]
    nb = open_notebook(lab, [LOAD, *prompts, "%pi_tree", WHERE])
    for index in (0, 1, 2, 4):
        nb.run(index)
    panel = page.locator(".pi-tree .pt-panel")
    page.wait_for_function("() => document.querySelector('.pi-tree .pt-panel').innerText.includes('boat is green')")
    row(page, "Nice to meet").click()
    page.wait_for_function("() => !document.querySelector('.pi-tree .pt-panel').innerText.includes('boat is green')")
    assert "My name is Ada" in panel.inner_text()
    wait_leaf(page, "Nice to meet")
    nb.run(3)
    page.wait_for_function("() => document.querySelector('.pi-tree .pt-panel').innerText.includes('bathtub')")
    assert "green" not in panel.inner_text()
    tree = shape(sessions(lab)[-1])
    users = [parent for kind, role, parent in tree if role == "user"]
    assert users == [None, 1, 1]
    assert [kind for kind, *_ in tree].count("leaf") == 1


def test_looking_moves_nothing(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Alt-click and the arrow keys show another context and write nothing; Enter moves the leaf."""
    nb = open_notebook(lab, [LOAD, "%%pi\nMy name is Ada.", "%%pi\nRemember: tea.", "%pi_tree", WHERE])
    for index in range(4):
        nb.run(index)
    before = nb.run(4)
    row(page, "Nice to meet").click(modifiers=["Alt"])
    page.wait_for_function("() => !document.querySelector('.pi-tree .pt-panel').innerText.includes('tea')")
    page.keyboard.press("ArrowUp")
    assert nb.run(4) == before
    row(page, "Nice to meet").click(modifiers=["Alt"])
    page.keyboard.press("Enter")
    wait_leaf(page, "Nice to meet")
    assert nb.run(4) != before


@pytest.mark.parametrize("kernel", ["python3", "ipykernel-7.3.0"])
def test_a_click_is_handled_while_a_cell_runs(lab: Server, open_notebook: Opener, page: Any, kernel: str) -> None:
    """The leaf moves while another cell keeps the kernel busy."""
    busy = "import time\nfor _ in range(100): time.sleep(0.1)"
    nb = open_notebook(lab, [LOAD, "%%pi\nMy name is Ada.", "%%pi\nRemember: tea.", "%pi_tree", busy], kernel=kernel)
    for index in range(4):
        nb.run(index)
    nb.start(4)
    page.wait_for_timeout(700)
    row(page, "Nice to meet").click()
    wait_leaf(page, "Nice to meet", timeout=6)
    assert nb.running(4)
    assert shape(sessions(lab)[-1])[-1][0] == "leaf"
    nb.interrupt()
    nb.wait_idle(4)


@pytest.mark.parametrize("kernel", ["python3", "ipykernel-7.3.0"])
def test_a_click_during_a_run_only_looks_and_says_why(
    lab: Server, open_notebook: Opener, page: Any, kernel: str
) -> None:
    """While an answer streams, a click shows the other context and leaves the leaf alone."""
    nb = open_notebook(
        lab,
        [SLOW, LOAD, "%%pi\nMy name is Ada.", "%pi_tree", "%%pi\nRemember: the boat is green. What do you know?"],
        kernel=kernel,
    )
    for index in range(4):
        nb.run(index)
    nb.start(4)
    page.locator(".pi-tree .pt-row.pt-live").wait_for(timeout=20_000)
    row(page, "My name is Ada").click()
    page.wait_for_function(
        "() => document.querySelector('.pi-tree .pt-row.pt-focus').innerText.includes('My name is Ada')", timeout=4_000
    )
    assert nb.running(4)
    assert "run" in page.locator(".pi-tree .pt-notice").inner_text().lower()
    nb.wait_idle(4)
    assert "leaf" not in [kind for kind, *_ in shape(sessions(lab)[-1])]


def test_a_kernel_without_subshells_says_so_and_catches_up(lab: Server, open_notebook: Opener, page: Any) -> None:
    """With ipykernel 6 a click waits for the cell; the view says that the kernel is busy, and then moves."""
    cells = [LOAD, "%%pi\nMy name is Ada.", "%%pi\nRemember: tea.", "%pi_tree", "import time; time.sleep(4)"]
    nb = open_notebook(lab, cells, kernel="ipykernel-6.31.0")
    for index in range(4):
        nb.run(index)
    nb.start(4)
    page.wait_for_timeout(500)
    row(page, "Nice to meet").click()
    page.wait_for_function("() => /busy/i.test(document.querySelector('.pi-tree').innerText)", timeout=3_000)
    nb.wait_idle(4)
    wait_leaf(page, "Nice to meet")


def test_the_stop_button_keeps_what_was_said(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Stopping ends the run at once; the partial answer is in the file, and the next prompt works."""
    nb = open_notebook(lab, [SLOW.replace("12", "8"), LOAD, "%%pi\nMy name is Ada.", "%%pi\nWhat do you know?"])
    nb.run(0)
    nb.run(1)
    nb.start(2)
    page.wait_for_function(
        "() => document.querySelectorAll('.jp-Notebook .jp-CodeCell')[2].innerText.includes('Nice to')", timeout=20_000
    )
    nb.interrupt()
    nb.wait_idle(2, timeout=5)
    answer = json.loads(sessions(lab)[-1].read_text().splitlines()[-1])["message"]
    assert answer["role"] == "assistant"
    assert answer["stopReason"] == "aborted"
    assert answer["content"][0]["text"].startswith("Nice to")
    assert "Traceback" not in nb.output(2)
    assert "Ada" in nb.run(3)


def test_a_restarted_kernel_returns_to_its_session_and_leaf(lab: Server, open_notebook: Opener, page: Any) -> None:
    """After a restart the same file is open at the same leaf, and the next prompt goes on there."""
    nb = open_notebook(lab, [LOAD, "%%pi\nMy name is Ada.", "%%pi\nRemember: tea.", "%pi_checkout @~1", WHERE, "%pi"])
    for index in range(4):
        nb.run(index)
    before = nb.run(4)
    nb.kernel("restart")
    assert "session" in nb.run(0).lower()
    assert nb.run(4) == before
    assert "scripted:demo" in nb.run(5)
    assert len([f for f in sessions(lab) if "restarted" in f.read_text().splitlines()[0]]) == 1


@pytest.mark.parametrize("server", ["lab", "classic"])
def test_a_saved_tree_is_seen_without_its_kernel(
    server: str, request: pytest.FixtureRequest, open_notebook: Opener, page: Any
) -> None:
    """Live there is one tree, the widget; a lost kernel is said at once; reopened there is one tree, the picture."""
    place: Server = request.getfixturevalue(server)
    nb = open_notebook(place, [LOAD, "%%pi\nMy name is Ada.", "%pi_tree", "%%pi\nRemember: tea."])
    for index in range(4):
        nb.run(index)
    page.wait_for_function("() => document.querySelector('.pi-tree').innerText.includes('Remember: tea')")
    still, live = page.locator(".pi-nb-still"), page.locator(".pi-tree")
    assert (still.is_visible(), live.is_visible()) == (False, True)
    page.wait_for_function("() => document.querySelector('.pi-nb-still').textContent.includes('Remember: tea')")
    nb.kernel("restart")
    page.wait_for_function(
        "() => document.querySelector('.pt-link').textContent.includes('Run %pi_tree again')", timeout=5_000
    )
    assert "Remember: tea" in str(nb.save().cells[2].outputs[0].data)
    Notebook(page, place, nb.path)
    page.wait_for_timeout(3000)  # as long as ipywidgets looks for the model
    assert still.is_visible()
    assert "Remember: tea" in still.inner_text()
    assert live.count() == 0
    assert not page.get_by_text("model not found").is_visible()


EVIL = "<img src=x onerror=alert(1)>"
HOSTILE = f"""
import pi_nb, pi_nb.notebook as n
n.current().registry.register(pi_nb.ScriptedProvider([pi_nb.Reply({EVIL!r} + " **bold** `{EVIL}`")], name="evil"))
"""


def test_hostile_text_is_text_everywhere(lab: Server, open_notebook: Opener, page: Any) -> None:
    """HTML in an answer, a label and a session name is shown, not run: in cells, tree, panel, log and after reload."""
    cells = [
        LOAD,
        HOSTILE,
        "%pi_model evil:x",
        f"%%pi\nSay {EVIL}",
        f'%pi_label "{EVIL}"',
        f'%pi_session name "{EVIL}"',
    ]
    nb = open_notebook(lab, [*cells, "%pi_tree", "%pi_context", "%pi_log", "%pi", "%pi_tree --svg", "%pi_session list"])
    for index in range(12):
        nb.run(index)
    page.wait_for_timeout(1000)
    for index in (3, 6, 7, 8):
        assert EVIL in nb.output(index), index
    assert page.evaluate("() => document.querySelectorAll('img[src=\"x\"], [onerror]').length") == 0
    assert "bold" in nb.cell(3).locator("strong").first.inner_text()
    page.locator(".pi-tree .pt-row.pt-leaf").first.click()
    saved = nb.save()
    assert not [o for c in saved.cells for o in c.outputs if "<img" in str(o.get("data", {}).get("text/html", ""))]


def test_headless_and_browser_grow_the_same_tree(lab: Server, open_notebook: Opener, tmp_path: Path) -> None:
    """The quickstart notebook, run in JupyterLab and without any front end, leaves trees of one shape."""
    import nbformat

    from pi_nb.cli import main

    quickstart = nbformat.read(Path(__file__).parents[2] / "notebooks" / "01_quickstart.ipynb", as_version=4)
    nb = open_notebook(lab, [cell.source for cell in quickstart.cells if cell.cell_type == "code"])
    for index in range(sum(cell.cell_type == "code" for cell in quickstart.cells)):
        nb.run(index)
    assert main(["demo", "--dir", str(tmp_path / "demo")]) == 0
    (headless,) = (tmp_path / "demo").rglob("*.jsonl")
    assert shape(sessions(lab)[-1]) == shape(headless)

"""Prompting from the tree in JupyterLab, and once in Notebook 7: the whole way from the box to the model and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.jupyter import Notebook, Server

pytestmark = pytest.mark.browser

Opener = Callable[..., Notebook]
SLOW = "import os; os.environ['PI_NB_DEMO_PACE'] = '12'\n%load_ext pi_nb"
SCRIPT = """
import pi_nb, pi_nb.notebook as _nb
from pi_nb import Registry, Reply, ScriptedProvider
from pi_nb.messages import ToolCall
provider = ScriptedProvider([
    Reply((ToolCall(id="c1", name="python", arguments={"code": "answer = 6 * 7\\nanswer"}),), stop_reason="toolUse"),
    Reply("It is 42."),
])
_nb.current().registry = Registry([provider])
%pi_model scripted:any
%pi_tools python
"""


class Tree:
    """The tree in a notebook's page."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.root = page.locator(".pi-tree")
        self.box = self.root.locator(".pt-ask")
        self.box.wait_for()

    def ask(self, text: str, key: str = "Enter") -> None:
        """Write into the box and send it."""
        self.box.click()
        self.page.keyboard.insert_text(text)
        self.page.keyboard.press(key)

    def row(self, text: str) -> Any:
        return self.root.locator(".pt-row", has_text=text).first

    def wait(self, script: str, timeout: float = 20) -> None:
        """Wait until something is true of the tree ``t``."""
        self.page.wait_for_function(
            f"() => {{ const t = document.querySelector('.pi-tree'); return {script}; }}", timeout=timeout * 1000
        )

    def wait_leaf(self, text: str) -> None:
        self.wait(f"t.querySelector('.pt-row.pt-leaf')?.innerText.includes({json.dumps(text)})")

    def wait_idle(self) -> None:
        """Wait until the kernel has all that was sent, and nothing goes on."""
        here = "t.querySelector('.pt-compose').dataset.mode === 'ask'"
        self.wait(f"{here} && !t.querySelector('[data-when=sending]')")

    def choose(self, row: str, item: str) -> None:
        """Choose from a row's menu."""
        self.row(row).hover()
        self.row(row).locator("[data-part=menu]").click()
        self.page.get_by_role("menuitem", name=item).click()

    @property
    def said(self) -> str:
        return str(self.root.locator(".pt-said").inner_text())


def opened(server: Server, open_notebook: Opener, page: Any, cells: list[str], count: int) -> tuple[Notebook, Tree]:
    """Open a notebook, run its first cells, and return it with its tree."""
    nb = open_notebook(server, cells)
    for index in range(count):
        nb.run(index)
    return nb, Tree(page)


def entries(server: Server, nb: Notebook) -> list[dict[str, Any]]:
    """Return the entries of the newest session that is bound to the notebook."""
    name = json.dumps(str(server.root / nb.path))
    files = (server.root / ".pi_coding_agent_session_dir").rglob("*.jsonl")
    file = max((f for f in files if name in f.read_text().splitlines()[0]), key=lambda f: f.stat().st_mtime)
    return [json.loads(line) for line in file.read_text().splitlines()[1:]]


def texts(found: list[dict[str, Any]], role: str) -> list[str]:
    """Return what one role said, in the order of writing."""
    messages = [e["message"] for e in found if e["type"] == "message" and e["message"]["role"] == role]
    return ["".join(b.get("text", "") for b in m["content"]) for m in messages]


def test_a_prompt_from_the_box(lab: Server, open_notebook: Opener, page: Any) -> None:
    """It needs no cell: it streams into the tree, another cell runs meanwhile, a click on it brings its text back."""
    nb, tree = opened(lab, open_notebook, page, [SLOW, "%pi_tree", "print(1 + 1)"], 2)
    tree.ask("My name is Ada. I keep a list of boats.")
    tree.root.locator(".pt-row.pt-live").wait_for(timeout=20_000)
    assert tree.box.input_value() == ""
    assert tree.root.locator(".pt-compose").get_attribute("data-mode") == "run"
    assert "2" in nb.run(2)
    assert tree.root.locator(".pt-compose").get_attribute("data-mode") == "run"
    tree.wait_leaf("Nice to meet you")
    tree.wait_idle()
    assert texts(entries(lab, nb), "user") == ["My name is Ada. I keep a list of boats."]
    tree.row("My name is Ada").locator(".pt-text").click()
    tree.wait("t.querySelector('.pt-ask').value === 'My name is Ada. I keep a list of boats.'")
    tree.box.fill("My name is Bob.")
    page.keyboard.press("Enter")
    tree.wait_idle()
    tree.wait_leaf("Bob")
    found = entries(lab, nb)
    assert texts(found, "user")[1] == "My name is Bob."
    assert [e["parentId"] for e in found if e["type"] == "message" and e["message"]["role"] == "user"] == [None, None]


@pytest.mark.parametrize("kernel", ["python3", "ipykernel-7.3.0"])
def test_steering_a_cells_run(lab: Server, open_notebook: Opener, page: Any, kernel: str) -> None:
    """While a %%pi cell runs, Enter steers it and Alt+Enter follows up; what waits is shown; both are answered."""
    nb = open_notebook(lab, [SLOW, "%pi_tree", "%%pi\nMy name is Ada. I keep a list of boats."], kernel=kernel)
    nb.run(0)
    nb.run(1)
    tree = Tree(page)
    nb.start(2)
    tree.wait("t.querySelector('.pt-compose').dataset.mode === 'run'")
    tree.root.locator(".pt-row.pt-live").wait_for(timeout=20_000)
    tree.ask("Remember: they are green.")
    tree.ask("What do you know?", "Alt+Enter")
    tree.wait("t.querySelectorAll('.pt-queue li').length > 0")
    assert nb.running(2)
    nb.wait_idle(2)
    said = ["My name is Ada. I keep a list of boats.", "Remember: they are green.", "What do you know?"]
    assert texts(entries(lab, nb), "user") == said
    assert "green" in nb.output(2)
    tree.wait_idle()


def test_a_kernel_without_subshells_takes_the_words_later(lab: Server, open_notebook: Opener, page: Any) -> None:
    """With ipykernel 6 the view says that the kernel is busy; the text stays in sight and is heard after the cell."""
    cells = ["%load_ext pi_nb", "%pi_tree", "import time; time.sleep(4)"]
    nb = open_notebook(lab, cells, kernel="ipykernel-6.31.0")
    nb.run(0)
    nb.run(1)
    tree = Tree(page)
    nb.start(2)
    page.wait_for_timeout(500)
    tree.ask("My name is Ada.")
    tree.wait("/busy/i.test(t.querySelector('.pt-link').textContent)", 5)
    assert "My name is Ada." in tree.root.locator(".pt-queue").inner_text()
    nb.wait_idle(2)
    tree.wait_leaf("Nice to meet you")


def test_stopping_from_the_tree_keeps_what_was_said(lab: Server, open_notebook: Opener, page: Any) -> None:
    """A run of the tree and one of a cell: what had arrived is in the file; what waited is back in the box."""
    nb, tree = opened(lab, open_notebook, page, [SLOW.replace("12", "8"), "%pi_tree", "%%pi\nAnd more"], 2)
    tree.ask("My name is Ada.")
    tree.root.locator(".pt-row.pt-live", has_text="Nice").wait_for(timeout=20_000)
    tree.ask("never said", "Alt+Enter")
    tree.wait("t.querySelectorAll('.pt-queue li').length === 1")
    tree.root.get_by_role("button", name="Stop").click()
    tree.wait_idle()
    tree.wait("t.querySelector('.pt-ask').value === 'never said'")
    answer = entries(lab, nb)[-1]["message"]
    assert (answer["stopReason"], answer["content"][0]["text"][:4]) == ("aborted", "Nice")
    nb.start(2)
    tree.wait("t.querySelector('.pt-compose').dataset.mode === 'run'")
    page.wait_for_timeout(1000)
    tree.root.get_by_role("button", name="Stop").click()
    nb.wait_idle(2, timeout=10)
    assert "stopped" in nb.output(2)
    assert tree.box.input_value() == "never said"


def test_a_summary_of_what_was_left(lab: Server, open_notebook: Opener, page: Any) -> None:
    """The click moves the leaf at once; the offer below takes a summary along, with instructions typed in place."""
    cells = ["%load_ext pi_nb", "%%pi\nMy name is Ada.", "%%pi\nRemember: the boat is green.", "%pi_tree"]
    nb, tree = opened(lab, open_notebook, page, cells, 4)
    tree.row("Nice to meet").locator(".pt-text").click()
    tree.wait_leaf("Nice to meet")
    assert "Left behind: 2 messages" in tree.root.locator(".pt-lefttext").inner_text()
    tree.root.get_by_role("button", name="with instructions").click()
    page.keyboard.insert_text("the colour")
    page.keyboard.press("Enter")
    tree.wait_leaf("summary")
    found = entries(lab, nb)
    assert found[-1]["type"] == "branch_summary"
    assert "green" in found[-1]["summary"]
    tree.wait("t.querySelector('.pt-pbody').innerText.includes('green')")
    tree.wait_idle()
    tree.ask("What do you know?")
    tree.wait_idle()
    tree.wait("/green/.test(t.querySelector('.pt-pbody').innerText)")


def test_the_kernel_tool_is_allowed_in_the_tree(lab: Server, open_notebook: Opener, page: Any) -> None:
    """The question stands in the tree, no cell runs, and the variable is in the notebook afterwards."""
    nb, tree = opened(lab, open_notebook, page, ["%load_ext pi_nb", SCRIPT, "%pi_tree", "print(answer)"], 3)
    tree.ask("What is 6 * 7?")
    question = tree.root.get_by_role("alertdialog")
    question.wait_for(timeout=20_000)
    assert "answer = 6 * 7" in question.inner_text()
    question.get_by_role("button", name="Allow once").click()
    tree.wait_leaf("It is 42.")
    assert not question.is_visible()
    assert nb.run(3).strip() == "42"


def test_a_cells_question_can_be_answered_in_the_tree(lab: Server, open_notebook: Opener, page: Any) -> None:
    """It stands in the cell and in the tree; an answer in the tree takes it away in both, and the cell goes on."""
    cells = ["%load_ext pi_nb", SCRIPT, "%pi_tree", "%%pi\nWhat is 6 * 7?", "print(answer)"]
    nb, tree = opened(lab, open_notebook, page, cells, 3)
    nb.start(3)
    question = tree.root.get_by_role("alertdialog")
    question.wait_for(timeout=20_000)
    nb.cell(3).get_by_role("alertdialog").wait_for()
    question.get_by_role("button", name="Allow once").click()
    nb.wait_idle(3)
    assert "It is 42." in nb.output(3)
    assert not question.is_visible()
    assert nb.cell(3).get_by_role("alertdialog").count() == 0
    assert nb.run(4).strip() == "42"


def test_a_badge_goes_to_its_cell(lab: Server, open_notebook: Opener, page: Any) -> None:
    """A click on [2] brings that cell into view, also when it was run again since; a deleted one is said to be gone."""
    filler = ["\n".join(f"# line {n}" for n in range(40))] * 2
    nb, tree = opened(lab, open_notebook, page, ["%load_ext pi_nb", "%%pi\nMy name is Ada.", *filler, "%pi_tree"], 5)
    nb.run(1)
    tree.wait("t.querySelectorAll('.pt-tag-cell').length === 2")
    tree.row("My name is Ada").hover()
    for badge in tree.root.locator(".pt-tag-cell").all():
        tree.root.scroll_into_view_if_needed()
        badge.click()
        page.wait_for_function(
            "() => { const r = document.querySelectorAll('.jp-Notebook .jp-CodeCell')[1].getBoundingClientRect();"
            " return r.top > 0 && r.bottom < innerHeight; }"
        )
        assert "wrote" in tree.said
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }")
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:delete-cell')")
    tree.root.scroll_into_view_if_needed()
    tree.root.locator(".pt-tag-cell").first.click()
    assert "not in this notebook" in tree.said


def test_a_prompt_is_copied_and_pasted_as_a_cell(lab: Server, open_notebook: Opener, page: Any) -> None:
    """What is in the clipboard is a cell that asks the same, byte for byte."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    nb, tree = opened(lab, open_notebook, page, ["%load_ext pi_nb", "%pi_tree", "# here"], 2)
    prompt = "Braces {x}, $HOME, `ticks` and\n  a second line"
    tree.ask(prompt)
    tree.wait_idle()
    tree.choose("Braces", "Copy as %%pi cell")
    tree.wait("/Copied/.test(t.querySelector('.pt-said').textContent)")
    nb.cell(2).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Control+v")
    nb.cell(2).locator(".cm-line", has_text="a second line").wait_for()
    assert nb.cell(2).locator(".cm-line").all_inner_texts() == ["%%pi", *prompt.split("\n")]
    nb.run(2)
    assert texts(entries(lab, nb), "user") == [prompt, prompt]


def test_forks_and_pages(lab: Server, open_notebook: Opener, page: Any, tmp_path: Path) -> None:
    """A fork is told with what opens it; the downloaded page opens; the written one is beside the notebook."""
    cells = ["%load_ext pi_nb", "%%pi\nMy name is Ada.", "%%pi\nRemember: tea.", "%pi_tree", "#"]
    nb, tree = opened(lab, open_notebook, page, cells, 4)
    tree.choose("Nice to meet", "Fork: the path to here")
    tree.wait("/%pi_session open/.test(t.querySelector('.pt-said').textContent)")
    command = tree.said.rpartition("To go there: ")[2]
    with page.expect_download() as waited:
        tree.choose("session", "Download as a page")
    file = tmp_path / "tree.html"
    waited.value.save_as(file)
    tree.choose("session", "Write the page beside the notebook")
    tree.wait("/Written/.test(t.querySelector('.pt-said').textContent)")
    assert (lab.root / tree.said.rpartition(": ")[2]).read_text().startswith("<!doctype html>")
    other = page.context.new_page()
    other.goto(file.as_uri())
    other.locator(".pi-tree .pt-row", has_text="Remember: tea").first.wait_for()
    assert other.locator(".pt-compose").is_hidden()
    assert other.locator(".pt-tag-cell").first.get_attribute("data-part") is None
    other.close()
    page.evaluate(
        "text => window.jupyterapp.shell.currentWidget.content.widgets[4].model.sharedModel.setSource(text)",
        f"{command}\n%pi_log",
    )
    log = nb.run(4)
    assert "Ada" in log
    assert "tea" not in log


def test_a_draft_outlives_the_page_and_the_kernel(lab: Server, open_notebook: Opener, page: Any) -> None:
    """Reloaded, restarted, shown again: what was typed is in the box; without a kernel it can be edited, not sent."""
    nb, tree = opened(lab, open_notebook, page, ["%load_ext pi_nb", "%%pi\nMy name is Ada.", "%pi_tree"], 3)
    tree.box.fill("half a thought")
    nb.save()
    nb.kernel("restart")
    tree.wait("t.querySelector('.pt-compose').dataset.mode === 'off'")
    assert tree.box.input_value() == "half a thought"
    assert tree.root.get_by_role("button", name="Ask", exact=True).is_disabled()
    again = Notebook(page, lab, nb.path)
    again.run(0)
    again.run(2)
    tree = Tree(page)
    tree.wait("t.querySelector('.pt-ask').value === 'half a thought'")
    tree.box.press("Enter")
    tree.wait("t.querySelector('.pt-ask').value === ''")
    tree.wait_idle()
    assert texts(entries(lab, nb), "user") == ["My name is Ada.", "half a thought"]


def test_notebook_7_prompts_steers_and_finds_cells(classic: Server, open_notebook: Opener, page: Any) -> None:
    """The same box in Notebook 7: ask, steer, stop, and a badge that goes to its cell."""
    nb, tree = opened(classic, open_notebook, page, [SLOW, "%%pi\nMy name is Ada.", "%pi_tree"], 3)
    tree.ask("Remember: tea. What do you know about it, and about me?")
    tree.root.locator(".pt-row.pt-live").wait_for(timeout=20_000)
    tree.ask("Remember: and milk.")
    tree.wait_idle()
    assert texts(entries(classic, nb), "user")[1:] == [
        "Remember: tea. What do you know about it, and about me?",
        "Remember: and milk.",
    ]
    tree.ask("What do you know?")
    tree.root.locator(".pt-row.pt-live").wait_for(timeout=20_000)
    tree.root.get_by_role("button", name="Stop").click()
    tree.wait_idle()
    assert entries(classic, nb)[-1]["message"]["stopReason"] == "aborted"
    tree.root.locator(".pt-tag-cell").first.click()
    assert "Cell [2] wrote" in tree.said

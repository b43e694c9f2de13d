"""Questions about tool calls in JupyterLab: buttons that work while the cell runs, and a line where they cannot."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.jupyter import READY, Notebook, Server

pytestmark = pytest.mark.browser

Opener = Callable[..., Notebook]
SCRIPT = """
%load_ext pi_nb
import pi_nb, pi_nb.notebook as n
from pi_nb import Reply
from pi_nb.messages import ToolCall
def script(*calls):
    "Let the model make these calls, one after the other, and then say that it is done."
    replies = [Reply([ToolCall(id=f"c{i}", name=name, arguments=args)]) for i, (name, args) in enumerate(calls)]
    n.current().registry = pi_nb.Registry([pi_nb.ScriptedProvider([*replies, Reply("All done.")])])
n.current().settings.model = "scripted:x"
"""
SET = """([index, text]) => window.jupyterapp.shell.currentWidget.content.widgets[index]
  .model.sharedModel.setSource(text)"""
KERNELS = ["python3", "ipykernel-7.3.0"]


def snap(page: Any, name: str) -> None:
    """Keep a picture where the environment asks for some."""
    folder = os.environ.get("PI_NB_SHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def dark(page: Any) -> None:
    """Switch JupyterLab to its dark theme."""
    page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})")
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    page.wait_for_timeout(1500)  # for the splash to fade


def opened(opener: Opener, server: Server, calls: str, *, tools: str, kernel: str = "python3") -> Notebook:
    """Open a notebook with a scripted model and start its prompt, in the fourth cell."""
    nb = opener(
        server, [SCRIPT, f"script({calls})", f"%pi_tools {tools}", "%%pi\nDo it.", "print(6 * 7)"], kernel=kernel
    )
    for index in range(3):
        nb.run(index)
    nb.start(3)
    return nb


def edit(nb: Notebook, index: int, text: str) -> None:
    """Write into a cell."""
    nb.page.evaluate(SET, [index, text])


def card(page: Any) -> Any:
    """Return the locator of the question."""
    return page.locator(".pi-ask-card")


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_call_is_allowed_with_a_button_while_its_cell_runs(
    lab: Server, open_notebook: Opener, page: Any, kernel: str
) -> None:
    """The question shows the whole command; a click lets it run; a line remains and the question goes."""
    command = "echo first; echo '<b>second</b>'"
    nb = opened(open_notebook, lab, f'("bash", {{"command": {command!r}}})', tools="bash", kernel=kernel)
    card(page).wait_for()
    page.get_by_role("button", name="Allow once").wait_for()
    assert command in card(page).inner_text()
    assert "may it run?" in nb.output(3)
    assert nb.running(3)
    page.wait_for_timeout(500)
    assert page.locator(".jp-Stdin-input").count() == 0
    snap(page, f"ask-{kernel}-light")
    page.get_by_role("button", name="Allow once").click()
    nb.wait_idle(3)
    assert "All done." in nb.output(3)
    assert "✓ you allowed bash" in nb.output(3)
    assert card(page).count() == 0
    assert nb.run(4).strip() == "42"
    saved = nb.save().cells[3].outputs
    assert [sorted(o["data"]) for o in saved] == [
        ["text/html", "text/markdown", "text/plain"],
        ["text/html", "text/plain"],
    ]


@pytest.mark.parametrize("kernel", KERNELS)
def test_always_asks_once_and_deny_tells_the_model_why(
    lab: Server, open_notebook: Opener, page: Any, kernel: str
) -> None:
    """Always answers the calls that follow; a denial with its reason is a result, and the run goes on."""
    one, two = '("bash", {"command": "echo one"})', '("bash", {"command": "echo two"})'
    write = '("write", {"path": "notes.md", "content": "# Notes\\nnew\\n"})'
    (lab.root / "notes.md").write_text("# Notes\nold\n")
    nb = opened(open_notebook, lab, f"{one}, {two}, {write}", tools="bash,write", kernel=kernel)
    page.get_by_role("button", name="Always in this session").click()
    page.locator(".pi-ask-card .pa-removed", has_text="old").wait_for()
    assert "new" in page.locator(".pi-ask-card .pa-added").inner_text()
    snap(page, f"diff-{kernel}-light")
    page.locator(".pi-ask-card .pa-reason").fill("not that file")
    page.keyboard.press("Enter")
    nb.wait_idle(3)
    assert "Not run: the user said no: not that file" in nb.output(3)
    assert (lab.root / "notes.md").read_text() == "# Notes\nold\n"
    page.locator(".pi-nb details summary").first.click()
    snap(page, f"done-{kernel}-light")


def test_the_keyboard_is_enough(lab: Server, open_notebook: Opener, page: Any) -> None:
    """The question takes the keyboard, Tab leads to the buttons, and JupyterLab hears none of it."""
    nb = opened(open_notebook, lab, '("python", {"code": "x = 6\\nx * 7"})', tools="python")
    page.wait_for_function("() => document.activeElement.classList.contains('pi-ask-card')")
    page.keyboard.press("d")
    page.keyboard.press("d")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.innerText") == "Allow once"
    page.keyboard.press("Enter")
    nb.wait_idle(3)
    assert page.locator(".jp-Notebook .jp-CodeCell").count() == 5
    assert "python" in nb.output(3)
    assert "All done." in nb.output(3)


def test_a_kernel_without_subshells_asks_with_a_line(lab: Server, open_notebook: Opener, page: Any) -> None:
    """With ipykernel 6 no click is heard while a cell runs: the question is static, the answer is typed."""
    nb = opened(open_notebook, lab, '("bash", {"command": "echo typed"})', tools="bash", kernel="ipykernel-6.31.0")
    box = page.locator(".jp-Stdin-input")
    box.wait_for()
    assert "May bash run?" in nb.output(3)
    snap(page, "line-light")
    box.fill("y")
    page.keyboard.press("Enter")
    nb.wait_idle(3)
    assert "All done." in nb.output(3)
    assert "✓ you allowed bash" in nb.output(3)


def test_the_stop_button_ends_a_question(lab: Server, open_notebook: Opener, page: Any) -> None:
    """An interrupt while asking stops the run, runs nothing, and takes the question away."""
    nb = opened(open_notebook, lab, '("bash", {"command": "touch ran.txt"})', tools="bash")
    page.get_by_role("button", name="Allow once").wait_for()
    nb.interrupt()
    nb.wait_idle(3, timeout=10)
    assert "Stopped." in nb.output(3)
    assert card(page).count() == 0
    assert not (lab.root / "ran.txt").exists()
    assert nb.run(4).strip() == "42"


def test_a_run_in_the_background_asks_in_its_own_cell(lab: Server, open_notebook: Opener, page: Any) -> None:
    """The question comes into the cell that was left, and is answered while another one computes."""
    cells = [SCRIPT, 'script(("bash", {"command": "touch later.txt"}))', "%pi_tools bash"]
    nb = open_notebook(lab, [*cells, "%%pi --bg\nDo it.", "import time; time.sleep(4)"])
    for index in range(4):
        nb.run(index)
    nb.start(4)
    nb.cell(3).get_by_role("button", name="Allow once").click()
    page.wait_for_function(
        "() => document.querySelectorAll('.jp-Notebook .jp-CodeCell')[3].innerText.includes('All done.')",
        timeout=10_000,
    )
    assert (lab.root / "later.txt").exists()
    assert "you allowed bash" in nb.output(3)
    nb.wait_idle(4)


def reload(nb: Notebook) -> None:
    """Reload the page, as its user would, and wait until its kernel can be talked to."""
    nb.page.reload()
    nb.page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    nb.page.wait_for_function(READY, timeout=60_000)


def wait_file(path: Path) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + 20
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert path.exists()


@pytest.mark.parametrize("app", ["lab", "classic"])
@pytest.mark.parametrize("saved", [True, False], ids=["saved", "unsaved"])
def test_a_reload_while_a_question_is_open(
    request: pytest.FixtureRequest, open_notebook: Opener, page: Any, app: str, saved: bool
) -> None:
    """The page that comes back has the question with its buttons where it was saved, else %pi_approve shows it."""
    server: Server = request.getfixturevalue(app)
    file = server.root / f"reloaded-{saved}.txt"
    nb = opened(open_notebook, server, f'("bash", {{"command": "touch {file.name}"}})', tools="bash")
    page.get_by_role("button", name="Allow once").wait_for()
    page.wait_for_timeout(500)
    if saved:
        nb.save()
    reload(nb)
    if not saved:
        assert card(page).count() == 0
        edit(nb, 4, "%pi")
        assert "May bash run? %pi_approve shows all of it" in nb.run(4)
        edit(nb, 4, "%pi_approve")
        nb.run(4)
    button = page.get_by_role("button", name="Allow once")
    button.wait_for()
    assert file.name in card(page).inner_text()
    snap(page, f"reloaded-{app}-{'saved' if saved else 'unsaved'}")
    button.click()
    wait_file(file)
    page.wait_for_function("() => document.querySelectorAll('.pi-ask-card').length === 0")
    if not saved:
        assert f"✓ you allowed bash touch {file.name}" in nb.output(4)
    edit(nb, 4, "import pi_nb.notebook as n\nprint(n.current().background.wait(20).text)")
    assert "All done." in nb.run(4)


def test_all_tools_are_listed(lab: Server, open_notebook: Opener, page: Any) -> None:
    """What there is, what is active and what is asked about, as a table."""
    nb = open_notebook(lab, ["%load_ext pi_nb", "%pi_tools", "%pi_tools read,python --allow write:out", "%pi_tools"])
    for index in range(4):
        nb.run(index)
    assert "No tool is active" in nb.output(1)
    assert "● active" in nb.output(3)
    snap(page, "tools-light")


def test_plots_appear_in_the_cell(lab: Server, open_notebook: Opener, page: Any) -> None:
    """What the model draws in the kernel is in the answer's card, in light and dark; its variables stay."""
    code = "import matplotlib.pyplot as plt\nvalues = [1, 4, 9]\nplt.plot(values)\nprint('drawn')\nlen(values)"
    nb = opened(open_notebook, lab, f'("python", {{"code": {code!r}}})', tools="python --allow python")
    nb.wait_idle(3)
    picture = nb.cell(3).locator(".pi-nb img")
    assert picture.evaluate("image => image.naturalWidth") > 100
    page.locator(".pi-nb details summary").first.click()
    snap(page, "plot-light")
    dark(page)
    snap(page, "plot-dark")


def test_questions_in_the_dark(lab: Server, open_notebook: Opener, page: Any) -> None:
    """A question follows the theme, also one that is open when the theme changes."""
    edit = '("edit", {"path": "poem.txt", "edits": [{"oldText": "two", "newText": "deux\\ntrois"}]})'
    (lab.root / "poem.txt").write_text("one\ntwo\nthree\nfour\n")
    nb = opened(open_notebook, lab, edit, tools="edit")
    page.get_by_role("button", name="Allow once").wait_for()
    snap(page, "edit-light")
    dark(page)
    page.locator(".pi-ask-card.pt-night").wait_for()
    snap(page, "edit-dark")
    page.get_by_role("button", name="Allow once").click()
    nb.wait_idle(3)
    assert (lab.root / "poem.txt").read_text() == "one\ndeux\ntrois\nthree\nfour\n"
    page.locator(".pi-nb details summary").first.click()
    snap(page, "edited-dark")

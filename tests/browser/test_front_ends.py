"""What a notebook's user does, in JupyterLab and in Notebook 7: run again, restart, draw, allow, stop, steer."""

from __future__ import annotations

import json
import os
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
n.current().settings.model = "scripted:x"
def script(*replies, **options):
    n.current().registry = pi_nb.Registry([pi_nb.ScriptedProvider(replies, **options)])
def call(name, **arguments):
    return Reply([ToolCall(id=f"c{id(arguments)}", name=name, arguments=arguments)])
"""
SET = """([index, text]) => window.jupyterapp.shell.currentWidget.content.widgets[index]
  .model.sharedModel.setSource(text)"""
SAYS = """([index, text]) => document.querySelectorAll('.jp-Notebook .jp-CodeCell')[index]
  .querySelector('.jp-OutputArea')?.innerText.includes(text)"""
LEAF = "text => document.querySelector('.pi-tree .pt-row.pt-leaf')?.innerText.includes(text)"
RESTS = """() => document.querySelector('.pi-tree .pt-compose').dataset.mode === 'ask' &&
  !document.querySelector('.pi-tree .pt-row.pt-live')"""
IDLE = """() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle' &&
  [...document.querySelectorAll('.jp-Notebook .jp-InputArea-prompt')].every(p => !p.innerText.includes('*'))"""


@pytest.fixture(params=["lab", "classic"])
def front(request: pytest.FixtureRequest) -> Server:
    """Give a running JupyterLab, and then a running Notebook 7."""
    server: Server = request.getfixturevalue(request.param)
    return server


def snap(page: Any, name: str) -> None:
    """Keep a picture where the environment asks for some."""
    folder = os.environ.get("PI_NB_SHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def edit(nb: Notebook, index: int, text: str) -> None:
    """Write into a cell."""
    nb.page.evaluate(SET, [index, text])


def says(nb: Notebook, index: int, text: str, timeout: float = 30) -> None:
    """Wait until a cell's output holds a text."""
    nb.page.wait_for_function(SAYS, arg=[index, text], timeout=timeout * 1000)


def run_all(nb: Notebook) -> None:
    """Run all cells and wait until the kernel is idle."""
    nb.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    nb.page.wait_for_timeout(400)
    nb.page.wait_for_function(IDLE, timeout=60_000)


def lines(nb: Notebook) -> list[Any]:
    """Return the lines of the session that is bound to the notebook."""
    name = json.dumps(str(nb.server.root / nb.path))
    files = (nb.server.root / ".pi_coding_agent_session_dir").rglob("*.jsonl")
    found = max((f for f in files if name in f.read_text().splitlines()[0]), key=lambda f: f.stat().st_mtime)
    return [json.loads(line) for line in found.read_text().splitlines()]


def prompts(nb: Notebook) -> list[str]:
    """Return each prompt in order, written as the prompts before it and itself."""
    entries = {line["id"]: line for line in lines(nb)[1:]}

    def said(entry: Any) -> str:
        before = said(entries[entry["parentId"]]) if entry["parentId"] else ""
        user = entry.get("message", {}).get("role") == "user"
        return f"{before}/{entry['message']['content'][0]['text']}" if user else before

    return [said(line) for line in entries.values() if line.get("message", {}).get("role") == "user"]


def messages(nb: Notebook) -> list[Any]:
    """Return the session's messages."""
    return [line["message"] for line in lines(nb) if line["type"] == "message"]


def test_cells_run_again(front: Server, open_notebook: Opener, page: Any) -> None:
    """Edited and run again a cell gives a sibling; Run All makes a second line; a cell below follows."""
    nb = open_notebook(front, ["%load_ext pi_nb", "%%pi\none", "%%pi\ntwo"])
    run_all(nb)
    edit(nb, 1, "%%pi\none, edited")
    assert "a new branch beside the earlier answer" in nb.run(1)
    assert "‹2/2›" in nb.output(1)
    snap(page, f"again-{front.app}")
    nb.run(2)
    assert prompts(nb) == ["/one", "/one/two", "/one, edited", "/one, edited/two"]
    run_all(nb)
    assert prompts(nb)[4:] == ["/one, edited", "/one, edited/two"]


def test_a_kernel_that_is_killed_in_a_tool(front: Server, open_notebook: Opener, page: Any) -> None:
    """The front end starts another; the session is back, says that variables are gone, and goes on."""
    deadly = "import os\n@pi_nb.tool\ndef deadly() -> str:\n    'Die.'\n    os.kill(os.getpid(), 9)"
    cells = [SCRIPT, f"{deadly}\nscript(call('deadly'))", "%%pi --tools deadly\ngo", "script(Reply('still here'))"]
    nb = open_notebook(front, [*cells, "%%pi\nand now?", "%pi_tree"])
    nb.run(0)
    nb.run(1)
    nb.start(2)
    page.locator(".jp-Dialog button.jp-mod-accept, .jp-Dialog-footer button").first.click(timeout=60_000)
    page.wait_for_function(READY, timeout=60_000)
    told = nb.run(0)
    assert "Back in session" in told
    assert "variables made before are gone" in told
    nb.run(3)
    assert "still here" in nb.run(4)
    nb.run(5)
    page.locator(".pi-tree .pt-row", has_text="still here").first.wait_for()
    snap(page, f"killed-{front.app}")
    roles = [message["role"] for message in messages(nb)]
    assert roles == ["user", "assistant", "user", "assistant"]


def test_a_restart_and_a_refresh(front: Server, open_notebook: Opener, page: Any) -> None:
    """After a restart the leaf is where it was; a page that is reloaded during a run finds all of it in the tree."""
    cells = ["import os; os.environ['PI_NB_DEMO_PACE'] = '15'\n%load_ext pi_nb", "%%pi\nMy name is Ada."]
    nb = open_notebook(front, [*cells, "%%pi --bg\nRemember: tea.", "%pi_tree"])
    nb.run(0)
    nb.run(1)
    nb.kernel("restart")
    assert "Leaf: " in nb.run(0)
    nb.run(2)
    nb.save()
    page.reload()
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    page.wait_for_function(READY, timeout=60_000)
    assert "Nice to meet" in nb.output(1)
    nb.run(3)
    page.locator(".pi-tree .pt-row", has_text="Remember: tea").first.wait_for()
    page.wait_for_function(RESTS, timeout=60_000)
    assert prompts(nb) == ["/My name is Ada.", "/My name is Ada./Remember: tea."]
    assert [m.get("stopReason") for m in messages(nb)] == [None, "stop", None, "stop"]


def test_the_model_draws_and_computes_here(front: Server, open_notebook: Opener, page: Any) -> None:
    """Its plot is in the card, its variable in the namespace; the stop button ends its loop and the run."""
    code = "import matplotlib.pyplot as plt\nvalues = [1, 4, 9]\nplt.plot(values)\nprint('drawn')\nlen(values)"
    cells = [SCRIPT, f"script(call('python', code={code!r}), Reply('done'), call('python', code='while True: pass'))"]
    nb = open_notebook(front, [*cells, "%pi_tools python --allow python", "%%pi\ndraw", "print(values)", "%%pi\nloop"])
    for index in range(4):
        nb.run(index)
    assert nb.cell(3).locator(".pi-nb img").evaluate("image => image.naturalWidth") > 100
    page.locator(".pi-nb details summary").first.click()
    page.wait_for_timeout(300)
    snap(page, f"plot-{front.app}")
    assert nb.run(4).strip() == "[1, 4, 9]"
    nb.start(5)
    says(nb, 5, "python")
    page.wait_for_timeout(1000)
    nb.interrupt()
    nb.wait_idle(5, timeout=15)
    assert "Stopped." in nb.output(5)
    assert nb.run(4).strip() == "[1, 4, 9]"


def test_questions_with_all_their_answers(front: Server, open_notebook: Opener, page: Any) -> None:
    """Once, always, and no with its reason; each of several columns asks for itself."""
    calls = ", ".join(f"call('bash', command='echo {word}')" for word in ("one", "two", "three"))
    denied = "call('write', path='never.txt', content='x')"
    asked = (
        "lambda request: Reply('fine') if request.messages[-1].role == 'toolResult' else call('bash', command='date')"
    )
    cells = [SCRIPT, f"script({calls}, {denied}, Reply('All done.'))", "%pi_tools bash,write", "%%pi\ngo"]
    nb = open_notebook(front, [*cells, f"script(*[{asked}] * 4)\n%pi_tools --ask bash", "%%pi --n 2\ngo"])
    for index in range(3):
        nb.run(index)
    nb.start(3)
    page.get_by_role("button", name="Allow once").click()
    page.locator(".pi-ask-card", has_text="echo two").wait_for()
    page.get_by_role("button", name="Always in this session").click()
    page.locator(".pi-ask-card .pa-reason").fill("not that file")
    snap(page, f"deny-{front.app}")
    page.keyboard.press("Enter")
    nb.wait_idle(3)
    assert "Not run: the user said no: not that file" in nb.output(3)
    assert "All done." in nb.output(3)
    assert not (front.root / "never.txt").exists()
    nb.run(4)
    nb.start(5)
    names = []
    for _ in range(2):
        card = page.locator(".pi-ask-card", has_not_text=names[0] if names else "never")
        card.wait_for()
        names.append(card.locator("h4").inner_text().removeprefix("May bash run for "))
        snap(page, f"column-{front.app}-{len(names)}")
        page.get_by_role("button", name="Allow once").click()
    nb.wait_idle(5)
    assert sorted(names) == ["answer 1?", "answer 2?"]
    assert nb.output(5).count("fine") == 2


def test_stop_steer_and_a_blocking_cell(front: Server, open_notebook: Opener, page: Any) -> None:
    """A run that was left goes on through a cell that blocks; another cell speaks to it and stops it."""
    tool = "async def pause() -> str:\n    'Wait.'\n    await asyncio.sleep(2)\n    return 'waited'"
    pause = f"import asyncio\n@pi_nb.tool\n{tool}"
    answer = "Reply('word ' * 60)"
    script = f"script(call('pause'), {answer}, Reply('more ' * 400), tokens_per_second=20)"
    nb = open_notebook(
        front,
        [
            f"{SCRIPT}{pause}\n{script}",
            "%pi_tree",
            "%%pi --bg --tools pause\ngo",
            "%pi_steer and be brief",
            "import time; time.sleep(30)",
            "%%pi\nand on",
            "%pi_abort",
        ],
    )
    for index in range(4):
        nb.run(index)
    assert "It will be told before its next answer." in nb.output(3)
    nb.start(4)
    says(nb, 2, "word word")
    says(nb, 2, "and be brief")
    page.wait_for_function(LEAF, arg="word word", timeout=30_000)
    page.wait_for_function(RESTS, timeout=30_000)
    assert nb.running(4)
    assert [m["role"] for m in messages(nb)] == ["user", "assistant", "toolResult", "user", "assistant"]
    assert messages(nb)[-1]["content"][0]["text"] == "word " * 60
    snap(page, f"blocked-{front.app}")
    nb.interrupt()
    nb.wait_idle(4)
    nb.start(5)
    says(nb, 5, "more more")
    nb.interrupt()
    nb.wait_idle(5, timeout=10)
    assert "Stopped." in nb.output(5)
    edit(nb, 5, "%%pi --bg\nand on")
    edit(nb, 0, "script(Reply('more ' * 400), tokens_per_second=20)")
    nb.run(0)
    nb.run(5)
    says(nb, 5, "more more")
    assert "Stopped." in nb.run(6)
    says(nb, 5, "stopped; what had arrived is kept")
    assert messages(nb)[-1]["stopReason"] == "aborted"


def test_formulas_are_set_in_answers_only(front: Server, open_notebook: Opener, page: Any) -> None:
    """What people typed and what is compared is shown as it stands; a model's formula is typeset."""
    asked = "%%pi --label {}\nIs $a$ or \\(b\\) more than $5 and {}?"
    looks = ["%pi", "%pi_diff one two", "%pi_diff one two --text", "%pi_context", "%pi_log", "%pi_session list"]
    cells = [SCRIPT, "script(*[Reply('It is $x^2$, from $5 to $6.')] * 5)", asked.format("one", "$6")]
    nb = open_notebook(front, [*cells, "%pi_checkout root", asked.format("two", "$7"), *looks, "%%pi --n 2\nAnd $c$?"])
    for index in range(len(cells) + 2 + len(looks) + 1):
        nb.run(index)
    snap(page, f"formulas-{front.app}")
    set_in = [nb.cell(index).locator("mjx-container, .MathJax").count() for index in range(12)]
    assert set_in == [0, 0, 1, 0, 1, *[0] * len(looks), 2]
    assert "Is $a$ or \\(b\\) more than $5 and $7?" in nb.output(6)
    assert "from $5 to $6." in nb.output(2)

"""The prompt box and what goes with it, in Chromium, with a stand-in for the agent that a notebook has."""

from __future__ import annotations

import asyncio
import base64
import gzip
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import UserError
from pi_nb.session.tree import Session
from pi_nb.views.tree_agent import AgentState
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import HOSTILE, Talk, talk

Show = Callable[..., Any]


class Stand:
    """An agent that keeps what it is asked for, and says no when told to."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.asked: list[tuple[Any, ...]] = []
        self.no = ""
        self.now = AgentState()
        self.view: TreeView | None = None

    def state(self) -> AgentState:
        return self.now

    def become(self, **changes: Any) -> None:
        """Show another state."""
        self.now = replace(self.now, **changes)
        assert self.view is not None
        self.view.set_agent(self.now)

    def _note(self, *what: Any) -> None:
        self.asked.append(what)
        if self.no:
            raise UserError(self.no, hint="Do it otherwise.")

    async def prompt(self, text: str) -> Mapping[str, Any]:
        self._note("prompt", text)
        return {"leaf": self.session.append_message({"role": "user", "content": text})}

    async def steer(self, text: str) -> None:
        self._note("steer", text)

    async def follow_up(self, text: str) -> None:
        self._note("follow_up", text)

    async def next_turn(self, text: str) -> None:
        self._note("next_turn", text)

    async def take_back(self) -> None:
        self._note("take_back")

    async def abort(self) -> None:
        self._note("abort")

    async def summarise(self, left: str, at: str | None, instructions: str | None) -> Mapping[str, Any]:
        self._note("summarise", left, at, instructions)
        before = len(self.session)
        return {"entry": self.session.append_branch_summary(left, "They spoke of boats."), "before": before}

    async def fork(self, entry: str | None, where: str) -> Mapping[str, Any]:
        self._note("fork", entry, where)
        return {"session": "0f-12345678", "entries": 3, "name": None, "file": "/f.jsonl", "open": "%pi_session open X"}

    async def export(self) -> Mapping[str, Any]:
        self._note("export")
        return {"file": "/home/a/boats.html", "name": "boats.html"}

    def answer(self, call: str, *, allowed: bool, always: bool, reason: str) -> None:
        self._note("answer", call, allowed, always, reason)

    def taken(self, number: int) -> None:
        self._note("taken", number)


class Scene:
    """A page with a tree, a conversation of two branches in it, and an agent behind it."""

    def __init__(self, session: Session, show: Show, **options: Any) -> None:
        self.parts: Talk = talk(session)
        self.session = session
        self.agent = Stand(session)
        self.view = TreeView(session, agent=self.agent)
        self.agent.view = self.view
        self.page = show(self.view, **options)
        self.web = self.page.page
        self.box = self.web.locator(".pt-ask")

    def become(self, **changes: Any) -> None:
        self.agent.become(**changes)
        self.page.pump()

    def type(self, text: str, *keys: str) -> None:
        """Write into the box and press keys."""
        self.box.focus()
        self.web.keyboard.insert_text(text)
        for key in keys:
            self.web.keyboard.press(key)
        self.page.pump()

    def choose(self, row: str, text: str) -> None:
        """Choose something from a row's menu."""
        self.page.row(row).hover()
        self.page.row(row).locator("[data-part=menu]").click()
        self.web.get_by_role("menuitem", name=text).click()
        self.page.pump()

    def hear(self, beginning: str) -> None:
        """Carry messages until the view says something."""
        end = time.monotonic() + 30
        while not self.said.startswith(beginning) and time.monotonic() < end:
            self.page.pump()
        assert self.said.startswith(beginning)

    @property
    def said(self) -> str:
        return str(self.page.text(".pt-said"))


@pytest.fixture
def scene(memory: Session, show: Show) -> Scene:
    """Give a conversation in a page, with an agent."""
    return Scene(memory, show)


def test_a_prompt_is_in_sight_until_it_is_written(scene: Scene) -> None:
    """Enter sends, Shift+Enter is a new line; the text is on its way until the kernel says that it has it."""
    scene.type("Where", "Shift+Enter")
    scene.web.keyboard.insert_text("now?")
    scene.web.keyboard.press("Enter")
    assert scene.page.text(".pt-queue") == "sending\n“Where now?”"
    scene.web.keyboard.insert_text("the next")
    scene.page.pump()
    assert scene.agent.asked == [("prompt", "Where\nnow?")]
    assert (scene.box.input_value(), scene.web.locator(".pt-queue").is_visible()) == ("the next", False)
    assert scene.page.text(".pt-leaf .pt-text") == "Where now?"
    assert scene.box.evaluate("el => el === document.activeElement")


@pytest.mark.parametrize("text", HOSTILE)
def test_what_is_typed_arrives_as_it_was(text: str, scene: Scene) -> None:
    """No character of a prompt is changed, and none of it is markup anywhere."""
    scene.type(text, "Enter")
    assert scene.agent.asked == [("prompt", text)]
    scene.become(
        phase="run",
        steer=(text,),
        follow_up=(text,),
        problem=text,
        doing=text,
        question=question(text),
        returned=(text,),
    )
    elements = "() => document.querySelectorAll('.pi-tree :is(img, script, iframe, svg[onload], a)').length"
    assert scene.web.evaluate(elements) == 0
    assert text.replace("\0", "\ufffd") in str(scene.web.locator(".pt-question").text_content()).replace("\0", "\ufffd")


def test_what_is_refused_stays_in_the_box(scene: Scene) -> None:
    """The reason and what to do about it are one line below it; the next try takes the line away."""
    scene.agent.no = "There is no model."
    scene.type("Hello", "Enter")
    assert scene.box.input_value() == "Hello"
    assert scene.page.text(".pt-wrong") == "Not asked: There is no model. Do it otherwise."
    scene.agent.no = ""
    scene.web.get_by_role("button", name="Ask", exact=True).click()
    scene.page.pump()
    assert (scene.box.input_value(), scene.web.locator(".pt-wrong").is_visible()) == ("", False)


def test_a_click_on_a_prompt_puts_its_text_into_the_box(scene: Scene) -> None:
    """As long as it is not touched the next click takes it away; what somebody wrote stays."""
    scene.page.click("Rome it is")
    assert (scene.session.leaf_id, scene.box.input_value()) == (scene.parts.answer, "Rome it is")
    assert not scene.web.locator(".pt-edit").is_visible()
    scene.page.click("Then see the Forum.")
    assert scene.box.input_value() == ""
    scene.type("My own words")
    scene.page.click("Rome it is")
    assert scene.box.input_value() == "My own words"
    scene.web.get_by_role("button", name="Use “Rome it is” instead").click()
    assert scene.box.input_value() == "Rome it is"
    scene.web.get_by_role("button", name="Use “My own words” instead").click()
    assert scene.box.input_value() == "My own words"


def test_during_a_run_the_box_steers_and_stops(scene: Scene) -> None:
    """Enter steers, Alt+Enter follows up, both are buttons too, what waits is shown; stopping is one click."""
    scene.view.set_status("running")
    scene.become(phase="run", doing="waiting to try again")
    assert not scene.web.get_by_role("button", name="Ask", exact=True).is_visible()
    assert "waiting to try again" in scene.page.text(".pt-compose")
    scene.type("sooner", "Enter")
    scene.type("later", "Alt+Enter")
    scene.box.fill("by mouse")
    scene.web.get_by_role("button", name="Follow up").click()
    scene.page.pump()
    scene.box.fill("another time")
    scene.web.get_by_role("button", name="Next").click()
    scene.page.pump()
    said = [("steer", "sooner"), ("follow_up", "later"), ("follow_up", "by mouse"), ("next_turn", "another time")]
    assert scene.agent.asked == said
    scene.become(steer=("sooner",), follow_up=("later", "by mouse"), next_turn=("another time",))
    whens = ["steer", "then", "then", "with the next prompt"]
    assert scene.web.locator(".pt-queue li b").all_inner_texts() == whens
    scene.web.get_by_role("button", name="take back").click()
    scene.web.get_by_role("button", name="Stop").click()
    scene.page.pump()
    assert scene.agent.asked[4:] == [("take_back",), ("abort",)]


def test_what_was_not_said_is_back_in_the_box(scene: Scene) -> None:
    """In front of what is being written, once, and the kernel is told; also in a page that comes only then."""
    scene.box.fill("being written")
    scene.become(returned=("first", "second"), returned_number=1)
    assert scene.box.input_value() == "first\n\nsecond\n\nbeing written"
    assert scene.agent.asked == [("taken", 1)]
    scene.become(problem="No answer: out of money.")
    assert scene.box.input_value() == "first\n\nsecond\n\nbeing written"
    assert scene.page.text(".pt-wrong") == "No answer: out of money."


def test_two_views_have_one_draft(scene: Scene) -> None:
    """What is typed in one is in the other."""
    scene.page.render(into="there")
    scene.page.pump()
    scene.web.locator("#here .pt-ask").fill("shared")
    assert scene.web.locator("#there .pt-ask").input_value() == "shared"
    scene.web.evaluate("() => views.here.abort()")
    scene.page.render(into="here")
    scene.page.pump()
    assert scene.web.locator("#here .pt-ask").input_value() == "shared"


def test_a_draft_survives_a_reload(scene: Scene) -> None:
    """The page is loaded anew: what was typed is in the box."""
    scene.type("half a thought")
    scene.page._serve(False, {})
    scene.page.render()
    scene.page.pump()
    assert scene.box.input_value() == "half a thought"


def test_the_box_says_why_nothing_can_be_asked(scene: Scene) -> None:
    """A lost kernel, a read-only session, a summary under way: the reason is there and the text stays."""
    scene.type("kept")
    scene.view.set_status("running")
    scene.become(phase="summary", doing="summarising the branch that is left")
    scene.type("", "Enter")
    assert "the text stays here" in scene.page.text(".pt-wrong")
    assert "summarising the branch that is left" in scene.page.text(".pt-doing")
    assert scene.agent.asked == []
    scene.view.set_status("read-only")
    scene.become(phase="", doing="")
    assert scene.box.is_disabled()
    assert "%pi_session fork" in scene.page.text(".pt-doing")
    scene.view.set_status("idle")
    scene.page.pump()
    scene.web.evaluate("() => { model.broken = true; model.fire('comm:close'); }")
    assert "No kernel" in scene.page.text(".pt-doing")
    assert scene.box.input_value() == "kept"
    assert scene.web.get_by_role("button", name="Ask", exact=True).is_disabled()


def test_a_busy_kernel_gets_the_prompt_later(scene: Scene) -> None:
    """Until then the text is in sight and the view says that it is queued; the next can be written."""
    scene.box.fill("patience")
    scene.web.keyboard.press("Enter")
    scene.web.wait_for_function("() => document.querySelector('.pt-link').textContent.includes('busy')")
    assert "patience" in scene.page.text(".pt-queue")
    scene.page.pump()
    assert scene.agent.asked == [("prompt", "patience")]
    assert not scene.web.locator(".pt-queue").is_visible()


def test_a_kernel_that_goes_away_leaves_the_text(scene: Scene) -> None:
    """Sent, never acknowledged: it is still in the box, and can be edited."""
    scene.box.fill("on its way")
    scene.web.keyboard.press("Enter")
    scene.web.evaluate("() => model.fire('comm:close')")
    assert scene.box.input_value() == "on its way"
    assert "no connection to a kernel" in scene.page.text(".pt-wrong")
    assert scene.box.is_editable()


def test_a_view_without_an_agent_has_no_box(memory: Session, show: Show) -> None:
    """A plain view offers a clicked prompt's text beside the tree as before; forks and pages say why not."""
    talk(memory)
    page = show(TreeView(memory))
    assert not page.page.locator(".pt-compose").is_visible()
    page.press("p")
    assert "no agent" in page.text(".pt-said")
    page.row("Rome it is").hover()
    page.row("Rome it is").locator("[data-part=menu]").click()
    fork = page.page.get_by_role("menuitem", name="Fork: the path to here")
    assert fork.get_attribute("aria-disabled") == "true"
    assert "no agent" in str(fork.get_attribute("title"))


def test_nothing_needs_a_mouse(scene: Scene) -> None:
    """From the tree into the box, out of it, to a prompt, its text edited and asked again, all with keys."""
    scene.page.press("p")
    scene.web.keyboard.insert_text("By keys")
    scene.web.keyboard.press("Enter")
    scene.page.pump()
    scene.web.keyboard.press("Escape")
    scene.page.press("ArrowUp", "Home", "ArrowDown", "ArrowDown", "Enter")
    assert (scene.session.leaf_id, scene.box.input_value()) == (
        scene.session.path(scene.parts.question)[0].id,
        "Where to?",
    )
    scene.page.press("s", "Escape", "p")
    scene.web.keyboard.insert_text(" Again")
    scene.web.keyboard.press("Enter")
    scene.page.pump()
    assert scene.agent.asked == [("prompt", "By keys"), ("prompt", "Where to? Again")]
    scene.view.set_status("running")
    scene.become(phase="run")
    scene.web.keyboard.insert_text("x")
    for _ in range(5):
        scene.web.keyboard.press("Tab")
    scene.web.keyboard.press("Enter")
    scene.page.pump()
    assert scene.agent.asked[2:] == [("abort",)]


# ---------------------------------------------------------------- what a move leaves


def test_a_move_offers_a_summary_of_what_it_leaves(scene: Scene) -> None:
    """The leaf moves at once; what was left is counted, and one click takes a summary of it along."""
    scene.page.click("Rome or Oslo?")
    assert scene.session.leaf_id == scene.parts.answer
    assert scene.page.text(".pt-lefttext") == "Left behind: 4 messages, about 25 tokens."
    scene.web.get_by_role("button", name="Summarise here").click()
    scene.page.pump()
    assert scene.agent.asked == [("summarise", scene.parts.oslo_said, scene.parts.answer, None)]
    assert not scene.web.locator(".pt-leave").is_visible()
    assert scene.page.text(".pt-leaf .pt-text") == "They spoke of boats."
    assert scene.said.startswith("Summary written")
    assert "branch_summary" in str(scene.web.locator(".pt-written").text_content())


def test_a_summary_may_have_instructions(scene: Scene) -> None:
    """By keyboard alone: s goes to the offer, the words are typed, Enter sums up; a failure can be tried again."""
    scene.page.click("Rome or Oslo?")
    scene.page.press("s")
    scene.web.keyboard.press("Tab")
    scene.web.keyboard.press("Enter")
    scene.web.keyboard.insert_text("the boats")
    scene.agent.no = "The model is away."
    scene.web.keyboard.press("Enter")
    scene.page.pump()
    assert "The model is away." in scene.page.text(".pt-lefttext")
    scene.agent.no = ""
    scene.web.locator(".pt-instruct").press("Enter")
    scene.page.pump()
    assert [what[3] for what in scene.agent.asked] == ["the boats", "the boats"]
    assert not scene.web.locator(".pt-leave").is_visible()


def test_nobody_has_to_answer_the_offer(scene: Scene) -> None:
    """It goes with the next move, with a prompt, with Escape; a move that leaves nothing makes none; never is never."""
    scene.page.click("Rome or Oslo?")
    scene.page.click("Then see the Opera.")
    assert not scene.web.locator(".pt-leave").is_visible()
    scene.page.click("Rome or Oslo?")
    scene.type("On we go", "Enter")
    assert not scene.web.locator(".pt-leave").is_visible()
    scene.page.click("Then see the Opera.")
    scene.page.press("s")
    scene.web.keyboard.press("Escape")
    assert not scene.web.locator(".pt-leave").is_visible()
    scene.page.click("Then see the Forum.")
    scene.web.get_by_role("button", name="Never ask").click()
    scene.page.click("Then see the Opera.")
    assert not scene.web.locator(".pt-leave").is_visible()
    scene.page.press("s")
    assert scene.web.get_by_role("button", name="Summarise here").evaluate("el => el === document.activeElement")
    assert [what for what in scene.agent.asked if what[0] == "summarise"] == []


# ---------------------------------------------------------------- questions


def question(text: str = "rm -r build") -> dict[str, Any]:
    """Return a question about a tool call, as a page is told of it."""
    blocks = [{"label": "command", "kind": "code", "text": text}]
    return {"call": "c7", "tool": "bash", "by": "", "why": "It asks.", "always": "bash", "blocks": blocks}


def test_a_tool_call_is_asked_about_in_the_tree(scene: Scene) -> None:
    """All of the call is shown; the answer goes to the agent, and the question goes when the agent says so."""
    scene.become(phase="run", question=question())
    card = scene.web.get_by_role("alertdialog")
    assert "rm -r build" in card.inner_text()
    assert scene.said == "bash waits for your consent."
    scene.web.get_by_label("Why not?").fill("not that")
    scene.web.get_by_role("button", name="Deny").click()
    scene.page.pump()
    assert scene.agent.asked == [("answer", "c7", False, False, "not that")]
    scene.become(question=None)
    assert (card.is_visible(), scene.said) == (False, "")
    scene.become(question=question("make"))
    scene.agent.no = "That question is not open any more."
    scene.web.get_by_role("button", name="Allow once").click()
    scene.page.pump()
    assert "not open any more" in card.inner_text()
    assert scene.web.get_by_role("button", name="Allow once").is_enabled()


# ---------------------------------------------------------------- menu, forks, pages, cells


def test_the_menu_is_used_with_keys_alone(scene: Scene) -> None:
    """It opens on the focused row, arrows and letters go through it, Escape gives the keyboard back."""
    scene.page.click("Rome it is", modifiers=["Alt"])
    scene.page.press("a")
    items = scene.web.get_by_role("menuitem")
    assert items.first.evaluate("el => el === document.activeElement")
    scene.web.keyboard.press("End")
    assert items.last.evaluate("el => el === document.activeElement")
    scene.web.keyboard.press("Escape")
    assert scene.web.locator(".pt-rows").evaluate("el => el === document.activeElement")
    scene.page.press("a")
    scene.web.keyboard.press("f")
    scene.web.keyboard.press("Enter")
    scene.page.pump()
    assert scene.agent.asked == [("fork", scene.parts.rome, "at")]
    assert scene.session.leaf_id == scene.parts.oslo_said


def test_forks_say_where_they_are(scene: Scene) -> None:
    """At an entry, before a prompt, whole: the new session's id, its size, its file and how to open it."""
    scene.choose("Rome it is", "Fork: the path to before this prompt")
    scene.choose("Then see the Forum.", "Fork: the path to here")
    scene.choose("session", "Fork: the whole session")
    assert scene.agent.asked == [
        ("fork", scene.parts.rome, "before"),
        ("fork", scene.parts.rome_said, "at"),
        ("fork", None, "whole"),
    ]
    assert "Forked into session 12345678, 3 entries" in scene.said
    assert "%pi_session open X" in scene.said
    assert scene.web.locator(".pt-written").text_content() == "/f.jsonl"
    scene.agent.no = "The disk is full."
    scene.choose("session", "Fork: the whole session")
    assert scene.said == "Not forked: The disk is full. Do it otherwise."


def test_the_page_can_be_downloaded(scene: Scene, tmp_path: Path) -> None:
    """It comes in compressed parts; the file is the page, with the session in it."""
    with scene.web.expect_download() as waited:
        scene.choose("session", "Download as a page")
        scene.hear("Downloaded")  # the page is made on another thread
    file = tmp_path / waited.value.suggested_filename
    waited.value.save_as(file)
    assert file.suffix == ".html"
    text = file.read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert "Then see the Forum." in text
    assert scene.said == f"Downloaded as {file.name}."
    scene.choose("session", "Write the page beside the notebook")
    assert scene.said == "Written beside the notebook: boats.html"
    assert scene.web.locator(".pt-written").text_content() == "/home/a/boats.html"


def test_a_long_page_comes_in_parts(memory: Session) -> None:
    """No message is longer than Jupyter lets through, and together they are the page."""
    import random

    from pi_nb.views.tree_agent import AgentDesk

    dice = random.Random(1)
    for _ in range(60):
        memory.append_message({"role": "user", "content": dice.randbytes(4000).hex()})
    desk = AgentDesk(Stand(memory), memory)

    async def fetch() -> list[dict[str, Any]]:
        parts = [dict(await desk.do({"op": "page", "part": 0}))]
        which = {"op": "page", "token": parts[0]["token"]}
        parts += [dict(await desk.do({**which, "part": n})) for n in range(1, parts[0]["parts"])]
        return parts

    with ThreadPoolExecutor() as pool:  # this thread has the browser's loop
        parts = pool.submit(lambda: asyncio.run(fetch())).result()
    assert len(parts) > 1
    assert max(len(part["data"]) for part in parts) < 250_000
    page = gzip.decompress(b"".join(base64.b64decode(part["data"]) for part in parts)).decode()
    assert page.rstrip().endswith("</html>")


@pytest.mark.parametrize("allowed", [True, False])
def test_a_prompt_is_copied_as_a_cell(allowed: bool, memory: Session, show: Show) -> None:
    """All of it, not the row's beginning; where the browser forbids that, it stands there selected."""
    scene = Scene(memory, show)  # a page without a safe address: the clipboard is reached in the old way
    long = memory.append_message({"role": "user", "content": "word " * 100 + "$`x` end"})
    scene.page.pump()
    if not allowed:
        scene.web.evaluate("() => { document.execCommand = () => false; }")
    scene.page.click("word word", modifiers=["Alt"])
    scene.page.press("y")
    wanted = "%%pi --raw\n" + "word " * 100 + "$`x` end"
    if allowed:
        assert scene.said == "Copied. Paste it into a cell."
        scene.box.focus()
        scene.web.keyboard.press("ControlOrMeta+v")
        assert scene.box.input_value() == wanted
    else:
        paper = scene.web.locator(".pt-paper textarea")
        assert paper.input_value() == wanted
        assert scene.web.evaluate("() => getSelection().toString()") in (wanted, "")
        assert paper.evaluate("el => [el.selectionStart, el.selectionEnd]") == [0, len(wanted)]
        scene.web.keyboard.press("Escape")
        assert not paper.is_visible()
    assert memory.leaf_id == long


NOTEBOOK = """() => { const book = document.createElement('div');
  book.className = 'jp-Notebook'; document.body.append(book);
  for (const [number, text] of [['1', '%load_ext pi_nb'], ['4', '%%pi\\nBergen, then']]) {
    const cell = document.createElement('div'); cell.className = 'jp-CodeCell'; cell.tabIndex = -1;
    const area = document.createElement('div'); area.className = 'jp-InputArea';
    const prompt = document.createElement('div'); prompt.className = 'jp-InputArea-prompt';
    prompt.textContent = `[${number}]:`;
    const line = document.createElement('div'); line.className = 'cm-line'; line.textContent = text;
    cell.style.marginTop = '1500px'; area.append(prompt, line); cell.append(area); book.append(cell); } }"""


def test_the_badge_goes_to_its_cell(scene: Scene) -> None:
    """A click on the badge, or g, brings the cell into view and moves nothing; a cell that is gone is said to be."""
    scene.session.append_message({"role": "user", "content": "Bergen, then"}, extra={"cell": {"id": "x9", "n": 4}})
    scene.page.pump()
    leaf = scene.session.leaf_id
    badge = scene.page.row("Bergen").locator(".pt-tag-cell")
    badge.click()
    assert scene.said == "This page shows no cells to go to."
    scene.web.evaluate(NOTEBOOK)
    badge.click()
    assert scene.said == "Cell [4] wrote “Bergen, then”."
    scene.web.wait_for_function("() => scrollY > 2000")
    assert scene.web.evaluate("() => document.activeElement.className") == "jp-CodeCell"
    scene.web.evaluate("() => document.querySelectorAll('.jp-CodeCell')[1].remove()")
    scene.page.press("g")
    assert "is not in this notebook" in scene.said
    assert scene.session.leaf_id == leaf


# ---------------------------------------------------------------- for everybody


@pytest.mark.npm
@pytest.mark.parametrize(("width", "dark"), [(1600, False), (1600, True), (420, False), (420, True)])
def test_axe_finds_nothing_with_everything_open(
    width: int, dark: bool, workshop: Path, memory: Session, show: Show
) -> None:
    """Box, queue, offer, question and menu: the accessibility checker has nothing to say, and nothing sticks out."""
    scene = Scene(memory, show, width=width, dark=dark, height=1100)
    scene.page.click("Rome or Oslo?")
    scene.web.get_by_role("button", name="with instructions").click()
    scene.type("My words")
    scene.page.click("Rome it is")
    scene.web.add_script_tag(path=str(workshop / "node_modules" / "axe-core" / "axe.min.js"))
    options = "{ rules: { 'page-has-heading-one': { enabled: false }, region: { enabled: false } } }"

    def check() -> None:
        found = scene.web.evaluate(f"async () => (await axe.run(document, {options})).violations")
        assert [(rule["id"], [node["html"][:160] for node in rule["nodes"]][:3]) for rule in found] == []
        assert scene.web.evaluate("() => document.documentElement.scrollWidth") <= width

    check()
    scene.page.press("a")
    check()
    scene.web.keyboard.press("Escape")
    scene.become(
        phase="run", steer=("sooner",), follow_up=("later",), question=question(), doing="waiting to try again"
    )
    check()
    scene.become(phase="", steer=(), follow_up=(), question=None, problem="No answer: the provider is away.")
    check()


def test_ids_are_unlike_each_other_and_keys_stay_in_the_view(scene: Scene) -> None:
    """Whatever takes keys in the box, the offer, the question and the menu asks Lumino to leave its shortcuts off."""
    scene.page.click("Rome or Oslo?")
    scene.become(phase="run", question=question(), steer=("x",))
    scene.page.press("a")
    takes_keys = ".pi-tree :is(button, input, textarea, summary, [tabindex])"
    assert scene.web.locator(f"{takes_keys}:not([data-lm-suppress-shortcuts=true])").count() == 0
    ids = scene.web.evaluate("() => [...document.querySelectorAll('[id]')].map((el) => el.id)")
    assert len(ids) == len(set(ids))
    scene.web.keyboard.press("Escape")
    scene.web.evaluate("() => { window.heard = []; document.addEventListener('keydown', (e) => heard.push(e.key)); }")
    scene.type("d", "d", "Shift+Enter", "Escape")
    assert scene.web.evaluate("() => heard") == []
    assert scene.box.input_value() == "dd\n"


def test_no_view_or_listener_is_left(scene: Scene) -> None:
    """A view that goes takes its box, its menu and its listeners with it."""
    scene.page.click("Rome or Oslo?")
    scene.page.press("a")
    scene.web.evaluate("() => { views.here.abort(); whole.abort(); }")
    assert scene.web.locator(".pi-tree, .pt-menu").count() == 0
    assert scene.web.evaluate("() => model.count()") == 0

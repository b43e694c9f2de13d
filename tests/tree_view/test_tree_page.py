"""The built widget in Chromium, with the real Python side behind it: what people see and do."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import HOSTILE, said, talk

Show = Callable[..., Any]


def test_the_tree_is_drawn_with_the_context_of_its_leaf_on_top(memory: Session, show: Show) -> None:
    """The active path is one block from the top, down to the leaf; the other branch follows, indented by one lane."""
    talk(memory)
    page = show(TreeView(memory))
    assert page.rows()[1:] == [
        "model|p:m-1|",
        "user|Where to?|",
        "assistant|Rome or Oslo?|",
        "user|Oslo please|",
        "assistant|bash: ls -la fjord|",
        "result|bash → boats islands|",
        "assistant|Then see the Opera.|leaf",
        "user|Rome it is|",
        "assistant|Then see the Forum.|",
    ]
    assert page.page.locator(".pt-row.pt-on").count() == 8
    assert page.text(".pt-numbers") == "10 entries · 2 branches"
    assert page.text(".pt-ptitle") == "The model sees\nleaf"
    assert page.page.locator(".pt-card:visible").count() == 6


def test_a_click_moves_the_leaf_and_shows_the_context_there(session: Session, show: Show) -> None:
    """The clicked row becomes the leaf, the active path and the panel follow, and the written line is shown."""
    parts = talk(session)
    page = show(TreeView(session))
    page.click("Then see the Forum.")
    assert session.leaf_id == parts.rome_said
    assert page.rows()[4:6] == ["user|Rome it is|", "assistant|Then see the Forum.|leaf"]
    assert page.page.locator(".pt-card:visible .pt-ctext").all_inner_texts() == [
        "Where to?",
        "Rome or Oslo?",
        "Rome it is",
        "Then see the Forum.",
    ]
    assert page.text(".pt-said") == f"Checked out {parts.rome_said} “Then see the Forum.”."
    page.page.locator(".pt-wrote summary").click()
    assert f'"targetId":"{parts.rome_said}"' in page.text(".pt-written")
    if session.file:
        assert page.text(".pt-wrote summary") == f"wrote line {len(session) + 1}"
        assert session.file.read_text("utf-8").splitlines()[-1] == page.text(".pt-written")


def test_a_click_on_a_user_message_offers_its_text(memory: Session, show: Show) -> None:
    """The leaf goes before the message, and its text is in a box to be edited."""
    parts = talk(memory)
    page = show(TreeView(memory))
    page.click("Rome it is")
    assert memory.leaf_id == parts.answer
    assert page.page.locator(".pt-area").input_value() == "Rome it is"
    assert "just before “Rome it is”" in page.text(".pt-said")


def test_a_click_on_the_first_message_empties_the_context(memory: Session, show: Show) -> None:
    """Before the first entry the memory's own row is the leaf, and the panel says that nothing is sent."""
    memory.append_message({"role": "user", "content": "first"})
    memory.append_message(said("answer"))
    page = show(TreeView(memory))
    page.click("first")
    assert memory.leaf_id is None
    assert page.rows()[0].endswith("|leaf")
    assert "empty context" in page.text(".pt-empty")
    memory.append_message({"role": "user", "content": "second root"})
    page.pump()
    assert [row.split("|")[1] for row in page.rows()[1:]] == ["second root", "first", "answer"]


def test_a_click_on_the_leaf_writes_nothing(memory: Session, show: Show) -> None:
    """The log stays as it was, and the view says so."""
    talk(memory)
    page = show(TreeView(memory))
    page.click("Then see the Opera.")
    assert len(memory) == 10
    assert page.text(".pt-said") == "Already the leaf: nothing to write."


def test_looking_writes_nothing(memory: Session, show: Show) -> None:
    """Arrow keys, j and k and Alt-click move the focus and the panel; the leaf stays, Escape goes back to it."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    page.press("ArrowUp", "k", "ArrowDown")
    assert view.focus_id == parts.result
    page.click("Rome it is", modifiers=["Alt"])
    assert view.focus_id == parts.rome
    assert page.text(".pt-ptitle strong") == "From here the model would see"
    assert (len(memory), memory.leaf_id) == (10, parts.oslo_said)
    page.press("Escape")
    assert view.focus_id == parts.oslo_said
    assert page.text(".pt-ptitle strong") == "The model sees"


def test_enter_checks_out_the_focus_and_u_undoes_it(memory: Session, show: Show) -> None:
    """A checkout by key is a checkout; undoing it is one more entry."""
    parts = talk(memory)
    page = show(TreeView(memory))
    page.press("ArrowUp", "ArrowUp", "Enter")
    assert (memory.leaf_id, len(memory)) == (parts.tool, 11)
    page.press("u")
    assert (memory.leaf_id, len(memory)) == (parts.oslo_said, 12)
    page.press("u")  # the move that the conversation itself has in it
    assert (memory.leaf_id, len(memory)) == (parts.rome_said, 13)
    page.press("u")
    assert len(memory) == 13
    assert "No checkout to undo" in page.text(".pt-said")


def test_keys_jump_fold_and_filter(memory: Session, show: Show) -> None:
    """Branch points, siblings, folds and filters can be reached without a mouse."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    page.press("[")
    assert view.focus_id == parts.answer
    page.press("ArrowRight", "}")
    assert view.focus_id == parts.rome
    page.press("h", "[", "ArrowLeft")
    assert page.rows()[-1] == "assistant|Rome or Oslo?|6 foldedleaf inside"
    page.press("ArrowRight", "3")
    assert [row.split("|")[1] for row in page.rows()[1:]] == [
        "Where to?",
        "Oslo please",
        "Then see the Opera.",
        "Rome it is",
    ]
    page.press("5")
    assert "leaf moved" in "".join(page.rows())
    page.press("1", "o")
    assert page.rows()[-1] == "assistant|Then see the Opera.|leaf"
    page.press("z")
    assert page.rows()[0] == "assistant|Rome or Oslo?|"
    page.press("z", "?")
    assert page.page.locator(".pt-help").is_visible()


def test_a_label_is_written_in_its_row(memory: Session, show: Show) -> None:
    """The key l opens a box in the row; Enter writes the label, Escape does not."""
    parts = talk(memory)
    page = show(TreeView(memory))
    page.press("[", "l")
    page.page.keyboard.type("fork")
    page.page.keyboard.press("Enter")
    page.pump()
    assert memory.labels == {parts.answer: "fork"}
    assert page.row("Rome or Oslo?").locator(".pt-tag-label").inner_text() == "fork"
    page.press("l")
    page.page.keyboard.type("never")
    page.page.keyboard.press("Escape")
    page.pump()
    assert memory.labels == {parts.answer: "fork"}
    page.press("l")
    page.page.keyboard.press("Control+a")
    page.page.keyboard.type("other")
    page.page.keyboard.press("Enter")
    page.pump()
    assert "“other” in place of “fork”." in page.text(".pt-said")


def test_during_a_run_a_click_only_looks(memory: Session, show: Show) -> None:
    """While an answer is written the leaf stays; the view says why until then, and the panel shows what was clicked."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    view.set_status("running")
    page.pump()
    page.click("Then see the Forum.")
    assert (memory.leaf_id, view.focus_id) == (parts.oslo_said, parts.rome_said)
    assert "A run is under way" in page.text(".pt-said")
    assert page.text(".pt-status") == "running"
    view.set_status("idle")
    page.pump()
    assert (page.text(".pt-said"), page.text(".pt-status")) == ("", "")


def test_an_answer_grows_in_the_tree(memory: Session, show: Show) -> None:
    """A provisional row stands below the leaf while the answer is written, and gives way to the entry."""
    talk(memory)
    view = TreeView(memory)
    page = show(view)
    view.set_live({"text": "Well"})
    page.pump()
    assert page.rows()[8] == "assistant|Well|writing"
    view.set_live({"text": "Well, boats"})
    page.pump()
    assert page.rows()[8] == "assistant|Well, boats|writing"
    assert page.text(".pt-card.pt-live .pt-ctext") == "Well, boats"
    memory.append_message(said("Well, boats."))
    view.set_live(None)
    page.pump()
    assert page.rows()[8] == "assistant|Well, boats.|leaf"
    assert not page.page.locator(".pt-card.pt-live").is_visible()


def test_answers_of_several_runs_grow_side_by_side(memory: Session, show: Show) -> None:
    """Each run of a fan-out has a row below its own prompt; one that begins anew says why; each becomes its entry."""
    parts = talk(memory)
    view = TreeView(memory)
    view.set_status("running")
    prompts = [memory.append_message({"role": "user", "content": "Which boat?"}, parent=parts.answer) for _ in range(3)]
    memory.move_to(parts.answer)
    page = show(view)
    view.set_lives({str(k): {"text": f"Boat {k}", "parent": id} for k, id in enumerate(prompts)})
    page.pump()
    found = page.rows()
    growing = [number for number, row in enumerate(found) if row.endswith("|writing")]
    assert sorted(found[number] for number in growing) == [f"assistant|Boat {k}|writing" for k in range(3)]
    assert all(found[number - 1].startswith("user|Which boat?") for number in growing)
    view.set_lives({"1": {"text": "", "note": "again, try 2 of 4: overloaded", "parent": prompts[1]}})
    page.pump()
    assert "assistant|(again, try 2 of 4: overloaded)|writing" in page.rows()
    page.click("Boat 2")
    assert "being written" in page.text(".pt-said")
    assert page.text(".pt-card.pt-live .pt-ctext") == "Boat 2"
    assert (view.focus_id, memory.leaf_id) == (prompts[2], parts.answer)
    for k in (2, 0, 1):
        memory.append_message(said(f"Boat {k}, then."), parent=prompts[k])
        view.set_lives({str(k): None})
    page.pump()
    assert (
        sorted(row for row in page.rows() if "then." in row and "writing" not in row)[0] == "assistant|Boat 0, then.|"
    )
    assert not [row for row in page.rows() if row.endswith("writing")]


@pytest.mark.parametrize("text", HOSTILE)
def test_text_is_text(text: str, memory: Session, show: Show) -> None:
    """Whatever a model, a user, a tool, a label or a name says is shown as those characters; nothing of it runs."""
    memory.append_session_info(text)
    memory.append_message({"role": "user", "content": text})
    answer = memory.append_message(said(text, (text, {"command": text})))
    memory.append_message(
        {"role": "toolResult", "toolCallId": text, "toolName": text, "content": [{"type": "text", "text": text}]}
    )
    memory.append_custom(text, {text: text})
    memory.append_label(answer, text)
    memory.append_compaction(text, None, 5)
    page = show(TreeView(memory))
    elements = "() => document.querySelectorAll('.pi-tree :is(img, script, iframe, svg[onload], a, style)').length"
    page.press("5", "End", "e", "Home", "ArrowDown", "ArrowDown", "ArrowDown", "l")
    page.page.keyboard.press("Escape")
    page.press("e")
    view = page.view
    view.set_live({"text": text})
    page.page.fill(".pt-search", text[:6])
    page.pump()
    assert page.page.evaluate(elements) == 0
    shown = page.page.locator(".pt-row.pt-t-user .pt-text").first.evaluate("(el) => el.textContent")
    assert shown == text


def test_search_marks_hits_and_dims_the_rest(memory: Session, show: Show) -> None:
    """Every word must occur, in text, calls or labels; Enter goes from hit to hit, unfolding what hides one."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    page.press("[", "ArrowLeft")
    page.page.fill(".pt-search", "then see")
    page.pump()
    assert page.text(".pt-count") == "2 (2 folded)"
    assert page.page.locator(".pt-dim").count() == len(page.rows())
    page.page.press(".pt-search", "Enter")
    page.pump()
    assert view.focus_id == parts.oslo_said
    assert page.page.locator("mark").all_inner_texts() == ["Then", "see", "Then", "see"]
    page.page.press(".pt-search", "Enter")
    page.pump()
    assert view.focus_id == parts.rome_said
    page.page.press(".pt-search", "Escape")
    page.pump()
    assert page.page.locator(".pt-dim, mark").count() == 0


def test_only_rows_in_view_are_elements(memory: Session, show: Show) -> None:
    """Of 3,000 entries a few dozen rows exist; scrolling and keys reach all of them."""
    for number in range(1500):
        memory.append_message({"role": "user", "content": f"question {number}"})
        last = memory.append_message(said(f"answer {number}"))
    page = show(TreeView(memory))
    assert page.page.locator(".pt-row").count() < 80
    assert page.rows()[-1].startswith("assistant|answer 1499")
    page.press("Home")
    assert page.rows()[1] == "user|question 0|"
    page.page.locator(".pt-rows").evaluate("(el) => { el.scrollTop = 28 * 1500; }")
    page.pump()
    assert any(row.startswith("user|question 74") for row in page.rows())
    page.press("h")
    assert memory.leaf_id == last
    assert page.page.locator(".pt-leaf").is_visible()


def test_assistive_technology_hears_a_tree(memory: Session, show: Show) -> None:
    """The focused row is the active descendant; level, place and siblings are explicit; the leaf is current."""
    talk(memory)
    page = show(TreeView(memory))
    tree = page.page.get_by_role("tree")
    active = tree.get_attribute("aria-activedescendant")
    row = page.page.locator(f"#{active}")
    names = ("aria-level", "aria-posinset", "aria-setsize", "aria-current", "aria-selected")
    assert [row.get_attribute(name) for name in names] == ["8", "1", "1", "true", "true"]
    rome = page.row("Rome it is")
    assert [rome.get_attribute(name) for name in names] == ["5", "2", "2", None, "false"]
    assert rome.get_attribute("aria-expanded") == "true"
    ids = page.page.evaluate("() => [...document.querySelectorAll('[id]')].map((el) => el.id)")
    assert len(ids) == len(set(ids))
    assert page.page.locator(".pt-notice").get_attribute("aria-live") == "polite"


def test_keys_do_not_reach_the_notebook(memory: Session, show: Show) -> None:
    """Whatever can have the focus asks Lumino itself to leave its shortcuts off; keys are kept in the view."""
    talk(memory)
    page = show(TreeView(memory))
    page.click("Rome it is")
    takes_keys = ".pi-tree :is(button, input, textarea, summary, [tabindex])"
    assert page.page.locator(takes_keys).count() > 15
    assert page.page.locator(f"{takes_keys}:not([data-lm-suppress-shortcuts=true])").count() == 0
    page.page.evaluate("() => { window.heard = []; document.addEventListener('keydown', (e) => heard.push(e.key)); }")
    page.press("j", "d", "d", "Enter")
    assert page.page.evaluate("() => heard") == []


def test_a_busy_kernel_is_said(memory: Session, show: Show) -> None:
    """A click that is not answered for 300 ms says that it is queued, and happens later."""
    parts = talk(memory)
    page = show(TreeView(memory))
    page.row("Rome or Oslo?").locator(".pt-text").click()
    page.page.wait_for_function("() => document.querySelector('.pt-link').textContent.includes('busy')")
    assert page.page.locator(".pt-pending").count() == 1
    page.pump()
    assert memory.leaf_id == parts.answer
    assert page.page.locator(".pt-link").text_content() == ""
    assert page.page.locator(".pt-pending").count() == 0


def test_a_lost_kernel_is_said(memory: Session, show: Show) -> None:
    """When the comm is gone the tree stays readable, and the view says that it is as last seen."""
    talk(memory)
    page = show(TreeView(memory))
    page.page.evaluate("() => { model.broken = true; model.fire('comm:close'); }")
    page.row("Rome or Oslo?").locator(".pt-text").click()
    assert "Not connected" in page.text(".pt-link")
    assert len(page.rows()) == 10


def test_a_kernel_that_is_lost_in_a_run(memory: Session, show: Show) -> None:
    """What was going on there goes on no more: no answer is being written, and nothing is running."""
    talk(memory)
    view = TreeView(memory)
    page = show(view)
    view.set_status("running")
    view.set_live({"text": "Well"})
    page.pump()
    assert page.rows()[8] == "assistant|Well|writing"
    page.page.evaluate("() => { model.broken = true; model.fire('comm:close'); }")
    page.page.wait_for_function("() => !document.querySelector('.pt-row.pt-live')")
    assert (page.text(".pt-status"), len(page.rows())) == ("", 10)
    assert "Not connected" in page.text(".pt-link")


LONG = "\n".join(f"Line {number} of a long answer." for number in range(40))


def test_the_panel_cuts_long_messages_and_says_so(memory: Session, show: Show) -> None:
    """The last exchange is seen from its beginning; what is cut has a fade and a button that the keyboard reaches."""
    for number in range(6):
        memory.append_message({"role": "user", "content": f"Question {number}"})
        memory.append_message(said(LONG))
    page = show(TreeView(memory))
    prompt, body = page.page.locator(".pt-card", has_text="Question 5"), page.page.locator(".pt-pbody")
    seen, frame = prompt.bounding_box(), body.bounding_box()
    assert 0 <= seen["y"] - frame["y"] < 20
    card = page.page.locator(".pt-card:has(> .pt-more)").last
    assert "pt-cut" in card.get_attribute("class")
    assert "mask" in card.locator(".pt-ctext").evaluate("el => getComputedStyle(el).maskImage && 'mask'")
    more = card.locator(".pt-more")
    before = card.bounding_box()["height"]
    more.focus()
    page.page.keyboard.press("Enter")
    assert (more.inner_text(), more.get_attribute("aria-expanded")) == ("less", "true")
    assert card.bounding_box()["height"] > before + 300


def test_the_panel_uses_the_room_there_is(memory: Session, show: Show) -> None:
    """A short context is shown from its first message on, and not cut while there is room."""
    for number in range(16):
        memory.append_model_change("p", f"m-{number}")
    memory.append_message({"role": "user", "content": "Hi"})
    memory.append_message(said("\n".join("abcdefg")))
    page = show(TreeView(memory))
    assert page.page.locator(".pt-cut").count() == 0
    assert page.page.locator(".pt-more").first.is_hidden()
    assert page.page.locator(".pt-pbody").evaluate("el => el.scrollTop") == 0
    first, frame = (page.page.locator(name).first.bounding_box() for name in (".pt-card", ".pt-pbody"))
    assert first["y"] > frame["y"]


@pytest.mark.parametrize("width", [400, 520, 640, 700, 800, 900])
def test_nothing_overlaps_at_any_width(width: int, memory: Session, show: Show) -> None:
    """The title is whole, the bar's parts keep apart, and the box for editing ends above the bottom line."""
    memory.append_message({"role": "user", "content": "Hi"})
    memory.append_message(said("Hello."))
    page = show(TreeView(memory), width=width, height=1000)
    assert page.page.locator(".pt-title").evaluate("el => el.scrollWidth <= el.clientWidth")
    parts = page.page.locator(".pt-name, .pt-field, .pt-segs, .pt-tools, .pt-bar")
    *boxes, bar = sorted((box for box in (part.bounding_box() for part in parts.all())), key=lambda box: box["height"])
    for number, one in enumerate(boxes):
        assert one["x"] + one["width"] <= bar["x"] + bar["width"] + 1
        assert not [other for other in boxes[number + 1 :] if _overlap(one, other)]
    page.click("Hi")
    edit, notice = (page.page.locator(name).bounding_box() for name in (".pt-buttons", ".pt-notice"))
    assert edit["y"] + edit["height"] <= notice["y"]


def _overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    apart = [
        max(one[a], other[a]) >= min(one[a] + one[s], other[a] + other[s]) for a, s in (("x", "width"), ("y", "height"))
    ]
    return not any(apart)


def test_the_leafs_mark_is_on_what_is_shown(memory: Session, show: Show) -> None:
    """Where the leaf is a label, its mark is on the message above; a click there writes nothing."""
    parts = talk(memory)
    memory.append_label(parts.oslo_said, "opera")
    memory.append_session_info("Journey")
    page = show(TreeView(memory))
    assert page.text(".pt-leaf .pt-text") == "Then see the Opera."
    assert page.text(".pt-numbers") == "12 entries · 2 branches"
    before = len(memory)
    page.click("Then see the Opera.")
    assert len(memory) == before
    assert "Already the leaf" in page.text(".pt-said")
    page.press("5")
    assert page.text(".pt-leaf .pt-text") == "Journey"


def test_a_move_names_what_is_shown(memory: Session, show: Show) -> None:
    """Where a prompt hangs from a label, a click on it says the message above, whose id can be seen."""
    parts = talk(memory)
    label = memory.append_label(parts.oslo_said, "opera")
    memory.append_message({"role": "user", "content": "And then?"})
    memory.move_to(parts.answer)
    page = show(TreeView(memory))
    page.click("And then?")
    assert memory.leaf_id == label
    assert page.text(".pt-said") == f"Checked out {parts.oslo_said}, just before “And then?”."


def test_the_still_picture_goes_while_the_live_one_is_there(memory: Session, show: Show) -> None:
    """In one page with its picture, the live view hides it once it has rows, and gives it back when it goes."""
    talk(memory)
    view = TreeView(memory)
    page = show(view)
    page.page.evaluate(
        "key => document.body.append(Object.assign(document.createElement('p'), { className: 'pi-nb-still-' + key }))",
        view.key,
    )
    still = page.page.locator(f".pi-nb-still-{view.key}")
    assert still.evaluate("el => getComputedStyle(el).display") == "none"
    page.page.evaluate("() => views.here.abort()")
    assert still.evaluate("el => getComputedStyle(el).display") == "block"


def test_two_views_share_one_store_and_leave_nothing(memory: Session, show: Show) -> None:
    """Shown twice, rows are asked for once; each view goes with its signal, and with the last one all listeners."""
    talk(memory)
    page = show(TreeView(memory))
    page.render(into="there")
    page.pump()
    assert page.page.locator("#there .pt-row").count() == 10
    page.click("Then see the Forum.")
    assert page.page.locator("#there .pt-leaf .pt-text").inner_text() == "Then see the Forum."
    page.page.evaluate("() => views.here.abort()")
    assert page.page.locator(".pi-tree").count() == 1
    page.page.evaluate("() => { views.there.abort(); whole.abort(); }")
    assert page.page.locator(".pi-tree").count() == 0
    assert page.page.evaluate("() => model.count()") == 0
    memory.append_message({"role": "user", "content": "x"})
    page.pump()


def test_a_narrow_output_puts_the_panel_below(memory: Session, show: Show) -> None:
    """At 400 px the panel stands under the rows, and nothing sticks out sideways."""
    talk(memory)
    page = show(TreeView(memory), width=432)
    rows, panel = (page.page.locator(name).bounding_box() for name in (".pt-rows", ".pt-panel"))
    assert panel["y"] >= rows["y"] + rows["height"]
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 432
    page.page.set_viewport_size({"width": 1200, "height": 800})
    page.pump()
    assert page.page.locator(".pt-panel").bounding_box()["x"] > 400


@pytest.mark.parametrize(
    ("dark", "theme", "night"),
    [
        (False, {}, False),
        (True, {}, True),
        (True, {"--jp-layout-color1": "white"}, False),
        (False, {"--jp-layout-color1": "#111"}, True),
        (False, {"--vscode-editor-background": "#1e1e1e"}, True),
    ],
)
def test_the_theme_is_the_hosts(dark: bool, theme: dict[str, str], night: bool, memory: Session, show: Show) -> None:
    """JupyterLab's or VS Code's colours decide; without them the system does."""
    page = show(TreeView(memory), dark=dark, theme=theme)
    assert ("pt-night" in str(page.page.locator(".pi-tree").get_attribute("class"))) is night


def test_motion_can_be_off(memory: Session, show: Show) -> None:
    """Who asked for less motion sees rows jump instead of glide."""
    talk(memory)
    page = show(TreeView(memory), reduced_motion="reduce")
    page.click("Then see the Forum.")
    style = "(el) => getComputedStyle(el).transitionDuration"
    assert set(page.page.locator(".pt-row").evaluate_all(f"(rows) => rows.map({style})")) <= {"0s"}


def test_python_can_point(memory: Session, show: Show) -> None:
    """Setting ``focus_id`` in a cell moves the focus in the page, unfolding what hides it."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    page.press("[", "ArrowLeft")
    view.focus_id = parts.rome_said
    page.pump()
    assert page.page.locator(".pt-focus .pt-text").inner_text() == "Then see the Forum."


def test_selected_rows_are_known_to_python(memory: Session, show: Show) -> None:
    """Ctrl-click marks rows without moving anything; the ids are the view's ``selected``."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    page.click("Rome it is", modifiers=["Control"])
    page.click("Oslo please", modifiers=["Control"])
    assert view.selected == [parts.rome, parts.oslo]
    page.click("Rome it is", modifiers=["Control"])
    assert (view.selected, len(memory)) == ([parts.oslo], 10)


def test_two_branches_stand_side_by_side(memory: Session, show: Show) -> None:
    """Ctrl-click compares with the leaf: the common beginning in one line, then both, differing words marked."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    page.click("Then see the Forum.", modifiers=["Control"])
    assert page.text(".pt-shared").startswith("The first 2 messages are the same (about 40 tokens).")
    assert page.page.locator(".pt-columns .pt-ctext").all_inner_texts()[:2] == ["Oslo please", "Rome it is"]
    page.click("Rome or Oslo?", modifiers=["Alt"])
    page.press("c")
    assert view.selected == [parts.rome_said, parts.answer]
    assert page.text(".pt-shared").startswith("The first 2 messages are the same")
    assert len(memory) == 10


def test_the_entry_tab_shows_the_line_as_json(memory: Session, show: Show) -> None:
    """The entry's JSON is that of the log, laid out."""
    parts = talk(memory)
    page = show(TreeView(memory))
    page.press("e")
    assert f'"id": "{parts.oslo_said}"' in page.text(".pt-json")
    assert page.text(".pt-ptitle strong") == "message"


def test_any_tree_can_be_looked_at(chrome: Any, show: Show) -> None:
    """Random logs, with lost parents, repeated ids and moves, arrive in random pieces; every key works on them."""
    for seed in range(3):
        dice = random.Random(seed)
        session = Session(InMemorySessionStorage())
        view = TreeView(session)
        page = show(view)
        for _ in range(5):
            for _ in range(dice.randint(1, 25)):
                grow(session, dice)
            page.pump()
        for _ in range(25):
            page.page.locator(".pt-rows").focus()
            page.page.keyboard.press(
                dice.choice(
                    ["j", "k", "[", "]", "{", "}", "ArrowLeft", "ArrowRight", "z", "o", "1", "3", "5", "Enter", "h"]
                )
            )
        page.pump()
        page.press("*", "5")
        assert view.rev == len(session)
        assert page.page.locator(".pt-numbers").inner_text().startswith(f"{len(session)} ")
        page.close()


def grow(session: Session, dice: random.Random) -> None:
    """Append something, sound or not."""
    ids = [entry.id for entry in session.entries()]
    kind = dice.random()
    if ids and kind < 0.2:
        session.move_to(dice.choice([*ids, None]))
    elif ids and kind < 0.3:
        odd = {"id": dice.choice([*ids, "fresh"]), "parent_id": dice.choice([*ids, "lost", None])}
        entry = session.entries()[0].model_copy(update=odd)
        session.storage.append(entry)
        if session.leaf_id not in ids:
            session.storage.append(entry.model_copy(update={"id": "sound", "parent_id": None}))
        session.refresh()
    else:
        role = dice.choice(["user", "assistant"])
        session.append_message(
            {"role": role, "content": f"{role} {len(ids)}"} if role == "user" else said(f"a {len(ids)}")
        )


@pytest.mark.npm
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing(dark: bool, workshop: Path, memory: Session, show: Show) -> None:
    """The accessibility checker has nothing to say about the view, in light and dark."""
    parts = talk(memory)
    memory.append_label(parts.answer, "fork")
    page = show(TreeView(memory), dark=dark)
    page.page.add_script_tag(path=str(workshop / "node_modules" / "axe-core" / "axe.min.js"))
    options = "{ rules: { 'page-has-heading-one': { enabled: false }, region: { enabled: false } } }"
    found = page.page.evaluate(f"async () => (await axe.run(document, {options})).violations")
    assert [(rule["id"], [node["html"][:120] for node in rule["nodes"]][:3]) for rule in found] == []

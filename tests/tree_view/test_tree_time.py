"""Time, the trail of the leaf, taking checkouts back, and clicks that only look: in Chromium, with real sessions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.page import tree_page
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import Talk, said, talk

Show = Callable[..., Any]


def travel(page: Any, *keys: str) -> None:
    """Open the strip and press keys on its slider."""
    page.press("t")
    for key in keys:
        page.page.keyboard.press(key)
    settle(page)


def settle(page: Any) -> None:
    """Let the panel, which does not keep up with every step, and rows that glide arrive."""
    page.pump()
    page.page.wait_for_timeout(300)
    page.pump()


def go(page: Any, count: int) -> None:
    """Drag the slider to a place."""
    page.page.locator(".pt-range").evaluate(
        "(el, at) => { el.value = at; el.dispatchEvent(new Event('input', { bubbles: true })); }", str(count)
    )
    settle(page)


def heard(page: Any) -> str:
    """Return what a screen reader says of the slider."""
    return str(page.page.locator(".pt-range").get_attribute("aria-valuetext"))


def texts(page: Any) -> list[str]:
    """Return the texts of the rows in view."""
    return [row.split("|")[1] for row in page.rows()[1:]]


# ---------------------------------------------------------------- time


def test_the_slider_goes_back_to_the_tree_as_it_was(memory: Session, show: Show) -> None:
    """The key t opens it with the slider focused; arrows take entries away and bring them back, the leaf jumps."""
    parts = talk(memory)
    page = show(TreeView(memory))
    travel(page)
    assert page.page.evaluate("() => document.activeElement.className") == "pt-range"
    assert heard(page) == "Now: all 10 entries"
    page.page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.text(".pt-when").startswith("Entry 9 of 10")
    assert page.text(".pt-then") == "result: bash → boats islands"
    assert heard(page) == "Entry 9 of 10: result: bash → boats islands"
    assert texts(page)[-1] == "bash → boats islands"
    assert page.rows()[-1].endswith("|leaf then")
    for _ in range(3):
        page.page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.text(".pt-then") == "leaf moved to “Rome or Oslo?”"
    assert texts(page) == ["p:m-1", "Where to?", "Rome or Oslo?", "Rome it is", "Then see the Forum."]
    assert page.text(".pt-leaf .pt-text") == "Rome or Oslo?"
    assert page.text(".pt-ptitle") == "The model saw\nleaf then"
    assert page.page.locator(".pt-card:visible .pt-ctext").all_inner_texts() == ["Where to?", "Rome or Oslo?"]
    assert page.text(".pt-numbers") == "6 entries"
    page.page.keyboard.press("Home")
    settle(page)
    assert page.rows() == [f"session|{memory.id[-8:]}|leaf then"]
    assert page.text(".pt-then") == "the session, before its first entry"
    page.page.keyboard.press("Escape")
    settle(page)
    assert texts(page)[-1] == "Then see the Forum."
    assert page.text(".pt-leaf .pt-text") == "Then see the Opera."
    assert page.text(".pt-ptitle") == "The model sees\nleaf"
    page.page.keyboard.press("Escape")
    page.pump()
    assert not page.page.locator(".pt-strip").is_visible()
    assert page.page.evaluate("() => document.activeElement.className").startswith("pt-rows")
    assert (len(memory), memory.leaf_id) == (10, parts.oslo_said)


def test_every_moment_is_the_tree_of_that_time(memory: Session, show: Show) -> None:
    """Rows, labels, name and leaf are those of a session that ends there, shown in the order of writing."""
    parts = talk(memory)
    memory.append_label(parts.answer, "fork")
    memory.append_session_info("Journey")
    memory.move_to(parts.rome_said)
    memory.append_label(parts.answer, None)
    page = show(TreeView(memory))
    travel(page)
    for count in (2, 5, 6, 9, 11, 12, 13):
        go(page, count)
        alone = Session(InMemorySessionStorage())
        for entry in memory.entries()[:count]:
            alone.storage.append(entry)
        other = show(TreeView(alone))
        other.press("o")
        settle(other)
        assert [row.replace("leaf then", "leaf") for row in page.rows()[1:]] == other.rows()[1:]
        name = page.rows()[0].split("|")[1]
        assert name == (alone.name or memory.id[-8:])
        alone.close()


def test_in_the_past_clicks_only_look(memory: Session, show: Show) -> None:
    """Clicks, Enter, labels and undo write nothing there and say why; the panel shows what was clicked."""
    talk(memory)
    view = TreeView(memory)
    page = show(view)
    travel(page, "ArrowLeft", "ArrowLeft")
    assert "clicks only look" in page.text(".pt-said")
    page.click("Where to?")
    assert "only looks" in page.text(".pt-said")
    assert page.text(".pt-ptitle strong") == "From here the model would have seen"
    assert page.page.locator(".pt-card:visible .pt-ctext").all_inner_texts() == ["Where to?"]
    for key in ("Enter", "u", "U", "l"):
        page.press("ArrowDown", key)
    assert page.page.locator(".pt-rename").count() == 0
    assert page.page.locator(".pt-btn[aria-disabled=true]").count() >= 2
    page.press("o")
    assert "order of writing" in page.text(".pt-said")
    page.press("Escape")
    assert page.text(".pt-when") == "Now"
    assert len(memory) == 10


def test_folds_and_order_of_now_come_back(memory: Session, show: Show) -> None:
    """The past unfolds everything; back at now, what was folded is folded, and the active branch comes first again."""
    talk(memory)
    page = show(TreeView(memory))
    page.press("[", "ArrowLeft")
    before = page.rows()
    travel(page, "ArrowLeft")
    assert len(page.rows()) == 9
    page.page.locator(".pt-now").click()
    settle(page)
    assert page.rows() == before


def test_the_log_may_grow_while_the_past_is_looked_at(memory: Session, show: Show) -> None:
    """The past stays; the slider's end moves away. At its end the tree grows as ever."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    travel(page, "ArrowLeft", "ArrowLeft")
    before = page.rows()
    memory.append_message({"role": "user", "content": "And now?"})
    view.set_live({"text": "Well"})
    page.pump()
    assert page.rows() == before
    assert page.text(".pt-when").startswith("Entry 8 of 11")
    page.page.keyboard.press("End")
    settle(page)
    assert texts(page)[7:9] == ["And now?", "Well"]
    memory.append_message(said("Now boats."))
    view.set_live(None)
    page.pump()
    assert page.text(".pt-leaf .pt-text") == "Now boats."
    assert heard(page) == "Now: all 12 entries"
    assert memory.leaf_id != parts.oslo_said


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_playing_ends_at_now(motion: str, memory: Session, show: Show) -> None:
    """Play starts over from the beginning, can be halted, and ends in the live tree."""
    talk(memory)
    page = show(TreeView(memory), reduced_motion=motion)
    travel(page)
    page.page.keyboard.press(" ")
    page.page.wait_for_function("() => /Entry [3-9] of 10/.test(document.querySelector('.pt-when').textContent)")
    page.page.get_by_role("button", name="Pause").click()
    halted = heard(page)
    page.page.wait_for_timeout(900)
    assert heard(page) == halted
    page.page.get_by_role("button", name="Play").click()
    page.page.wait_for_function("() => document.querySelector('.pt-when').textContent === 'Now'")
    page.page.get_by_role("button", name="Play").wait_for()
    page.pump()
    assert page.text(".pt-leaf .pt-text") == "Then see the Opera."


def test_steps_can_be_taken_from_the_tree(memory: Session, show: Show) -> None:
    """Comma and full stop go one entry back and on, and open the strip; the buttons do the same."""
    talk(memory)
    page = show(TreeView(memory))
    page.press(",", ",")
    assert page.text(".pt-when").startswith("Entry 8 of 10")
    page.press(".")
    assert page.text(".pt-when").startswith("Entry 9 of 10")
    page.page.get_by_role("button", name="One entry back").click()
    page.page.get_by_role("button", name="One entry back").click()
    page.page.get_by_role("button", name="One entry on").click()
    assert page.text(".pt-when").startswith("Entry 8 of 10")
    page.page.locator(".pt-range").press("t")
    page.pump()
    assert (page.text(".pt-leaf .pt-text"), page.page.locator(".pt-strip").is_visible()) == (
        "Then see the Opera.",
        False,
    )


def test_the_entry_of_a_moment_can_be_read(memory: Session, show: Show) -> None:
    """Also one without a row of its own: the move of the leaf."""
    parts = talk(memory)
    page = show(TreeView(memory))
    travel(page)
    go(page, 6)
    page.page.locator(".pt-strip .pt-link-button").click()
    page.pump()
    assert page.text(".pt-ptitle strong") == "leaf"
    assert f'"targetId": "{parts.answer}"' in page.text(".pt-json")
    go(page, 7)
    assert f'"id": "{parts.oslo}"' in page.text(".pt-json"), "the line goes with the moment"
    go(page, 10)
    assert f'"id": "{parts.oslo_said}"' in page.text(".pt-json")


def test_a_long_log_can_be_gone_through(memory: Session, show: Show) -> None:
    """Ten thousand entries: any place is there in the next pictures, and only rows in view are elements."""
    for number in range(5000):
        if number % 500 == 499:
            memory.move_to(memory.entries(number)[0].id)
        memory.append_message({"role": "user", "content": f"q{number}"})
        memory.append_message(said(f"a{number}"))
    page = show(TreeView(memory))
    travel(page)
    for count in (5000, 37, 9000, 2):
        go(page, count)
        row = memory.entries(count - 1)[0]
        assert page.text(".pt-when").startswith(f"Entry {count} of ")
        if row.type != "leaf":
            assert page.page.locator(".pt-leaf").get_attribute("id").endswith(f"-{count}")
        assert page.page.locator(".pt-row").count() < 60
    assert page.page.locator(".pt-ticks path").get_attribute("d").count("M") == 10


@pytest.mark.parametrize("width", [400, 640, 900, 1600])
def test_the_strip_fits(width: int, memory: Session, show: Show) -> None:
    """Nothing sticks out sideways or overlaps, however long the entry's text is."""
    talk(memory)
    memory.append_message(said("A very long answer indeed. " * 30))
    page = show(TreeView(memory), width=width, height=1000)
    page.press("m")
    travel(page)
    go(page, 11)
    go(page, 10)
    page.page.keyboard.press("ArrowLeft")
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= width
    boxes = page.page.locator(".pt-timebar > *").evaluate_all(
        "els => els.map(el => el.getBoundingClientRect()).map(b => [b.left, b.right])"
    )
    assert all(right <= left + 0.5 for (_, right), (left, _) in pairwise(boxes))
    said_box, rows = (page.page.locator(name).bounding_box() for name in (".pt-timesaid", ".pt-rows"))
    assert said_box["y"] + said_box["height"] <= rows["y"]


# ---------------------------------------------------------------- the trail


def arcs(page: Any) -> int:
    """Return how many arcs are drawn."""
    paths = page.page.locator(".pt-step").evaluate_all("els => els.map(el => el.getAttribute('d'))")
    return sum(path.count("M") for path in paths)


def test_the_trail_of_the_leaf_is_dotted(memory: Session, show: Show) -> None:
    """The key m draws the recorded moves beside the rows and says what they are; once more takes them away."""
    parts = talk(memory)
    memory.move_to(parts.rome_said)
    memory.move_to(parts.question)
    page = show(TreeView(memory))
    assert arcs(page) == 0
    page.press("m")
    assert arcs(page) == 3
    assert page.text(".pt-legend") == "Dotted: all 3 moves of the leaf, the newest strongest."
    assert page.page.get_by_role("button", name="Moves of the leaf").get_attribute("aria-pressed") == "true"
    assert page.page.locator(".pt-trail").get_attribute("aria-hidden") == "true"
    page.press("m")
    assert (arcs(page), page.page.locator(".pt-legend").is_visible()) == (0, False)


def test_of_many_moves_the_last_are_drawn(memory: Session, show: Show) -> None:
    """Of hundreds, twelve; all on demand, and then those of the rows in view."""
    ids = [memory.append_message({"role": "user", "content": f"q{number}"}) for number in range(80)]
    for number in range(300):
        memory.move_to(ids[(number * 29) % 80])
    page = show(TreeView(memory))
    page.press("m", "Home")
    assert page.text(".pt-legend span") == "Dotted: the last 12 of 300 moves of the leaf, the newest strongest."
    assert arcs(page) <= 12
    page.page.get_by_role("button", name="show all").click()
    page.pump()
    assert 12 < arcs(page) <= 60
    assert page.page.locator(".pt-fade0, .pt-fade3").count() == 4
    page.page.get_by_role("button", name="only the last 12").click()
    assert arcs(page) <= 12


def test_a_jump_in_time_is_dotted(memory: Session, show: Show) -> None:
    """Also without the trail, a moment that is a move shows from where to where; the one before and after do not."""
    talk(memory)
    page = show(TreeView(memory))
    travel(page)
    found = []
    for count in (5, 6, 7):
        go(page, count)
        found.append(arcs(page))
    assert found == [0, 1, 0]
    page.press("m")
    go(page, 10)
    assert arcs(page) == 1


# ---------------------------------------------------------------- undo, redo


def walk(memory: Session, page: Any, parts: Talk) -> None:
    """Check out three places by clicks."""
    for text in ("Then see the Forum.", "Rome or Oslo?", "bash: ls"):
        page.click(text)
    assert memory.leaf_id == parts.tool


def test_checkouts_are_undone_and_done_again(session: Session, show: Show) -> None:
    """Several undos walk back, redos forward, each one entry that names the move it takes back; U is redo."""
    parts = talk(session)
    page = show(TreeView(session))
    walk(session, page, parts)
    back = []
    for key in "uuuUUu":
        page.press(key)
        back.append(session.leaf_id)
    assert back == [parts.answer, parts.rome_said, parts.oslo_said, parts.rome_said, parts.answer, parts.rome_said]
    assert len(session) == 10 + 3 + 6
    marks = [entry.model_extra or {} for entry in session.entries(13)]
    assert [next(iter(mark)) for mark in marks] == ["undoes"] * 3 + ["redoes"] * 2 + ["undoes"]
    assert page.text(".pt-said") == (
        "Checkout undone: took back the checkout of “Rome or Oslo?”; the leaf is now “Then see the Forum.”."
    )
    page.click("Oslo please", modifiers=["Alt"])
    page.click("Then see the Opera.")
    page.press("U")
    assert session.leaf_id == parts.oslo_said, "a new checkout forgets what was undone"
    assert "No undone checkout" in page.text(".pt-said")


def test_undo_goes_to_just_the_leaf_that_was(memory: Session, show: Show) -> None:
    """A leaf that is a user's message is the leaf again, not what stands before it."""
    parts = talk(memory)
    asked = memory.append_message({"role": "user", "content": "Not answered yet"})
    page = show(TreeView(memory))
    page.click("Then see the Forum.")
    page.press("u")
    assert memory.leaf_id == asked
    assert page.text(".pt-leaf .pt-text") == "Not answered yet"
    assert page.page.locator(".pt-area:visible").count() in (0, 1)
    page.press("U")
    assert memory.leaf_id == parts.rome_said


def test_the_history_is_in_the_log(memory: Session, show: Show) -> None:
    """A page that was opened anew goes on where the last one was; so does a second view."""
    parts = talk(memory)
    page = show(TreeView(memory))
    walk(memory, page, parts)
    page.press("u")
    page.close()
    again = show(TreeView(memory))
    again.press("u")
    assert memory.leaf_id == parts.rome_said
    again.press("U", "U")
    assert memory.leaf_id == parts.tool


def test_fast_keys_are_all_done(memory: Session, show: Show) -> None:
    """Keys that come before the kernel has answered the last one are done in turn."""
    parts = talk(memory)
    page = show(TreeView(memory))
    walk(memory, page, parts)
    page.page.locator(".pt-rows").focus()
    for key in "uuu":
        page.page.keyboard.press(key)
    for _ in range(6):
        page.pump()
    assert memory.leaf_id == parts.oslo_said
    assert len(memory) == 16


def test_buttons_say_what_they_would_do(memory: Session, show: Show) -> None:
    """Undo and redo name the place they lead to; what is not possible is marked, and says why when it is pressed."""
    memory.append_message({"role": "user", "content": "Hi"})
    memory.append_message(said("Hello."))
    view = TreeView(memory)
    page = show(view)
    undo, redo = page.page.locator(".pt-tools .pt-btn").nth(0), page.page.locator(".pt-tools .pt-btn").nth(1)
    assert [one.get_attribute("aria-disabled") for one in (undo, redo)] == ["true", "true"]
    undo.click(force=True)
    assert page.text(".pt-said") == "No checkout to undo."
    page.click("Hi")
    page.pump()
    assert (undo.get_attribute("aria-disabled"), undo.get_attribute("aria-label")) == (
        "false",
        "Undo the last checkout: leaf to “Hello.” (u)",
    )
    undo.click()
    page.pump()
    assert redo.get_attribute("aria-label") == "Do the checkout again: leaf to the start of the session (U)"
    view.set_status("running")
    page.pump()
    assert redo.get_attribute("aria-disabled") == "true"
    redo.click(force=True)
    assert "A run is under way" in page.text(".pt-said")


def test_what_a_click_wrote_can_be_read(session: Session, show: Show) -> None:
    """The notice names the line; from there the entry is shown as it is in the log. The filter All has its row."""
    talk(session)
    page = show(TreeView(session))
    page.click("Then see the Forum.")
    page.page.locator(".pt-wrote summary").click()
    page.page.locator(".pt-wrote .pt-link-button").click()
    page.pump()
    written = session.entries()[-1]
    assert page.text(".pt-ptitle strong") == "leaf"
    assert f'"id": "{written.id}"' in page.text(".pt-json")
    assert ("line 12" if session.file else "entry 11") in page.text(".pt-pfacts")
    page.press("5")
    assert page.page.locator(".pt-row.pt-focus .pt-who").inner_text() == "leaf moved"


# ---------------------------------------------------------------- inspect, order


def test_inspect_makes_every_click_a_look(memory: Session, show: Show) -> None:
    """The key i and the eye switch it; clicks then move the focus only, Enter still checks out."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    eye = page.page.get_by_role("button", name="Inspect")
    assert eye.get_attribute("aria-pressed") == "false"
    page.press("i")
    assert eye.get_attribute("aria-pressed") == "true"
    page.click("Then see the Forum.")
    assert (view.focus_id, memory.leaf_id, len(memory)) == (parts.rome_said, parts.oslo_said, 10)
    assert "Inspect is on" in page.text(".pt-said")
    page.press("Enter")
    assert memory.leaf_id == parts.rome_said
    eye.click()
    page.click("Rome or Oslo?")
    assert memory.leaf_id == parts.answer


def test_the_order_can_be_that_of_writing(memory: Session, show: Show) -> None:
    """The button says which order it is: the active branch first, or as written."""
    talk(memory)
    page = show(TreeView(memory))
    button = page.page.get_by_role("button", name="Order")
    assert (button.get_attribute("aria-pressed"), texts(page)[3]) == ("false", "Oslo please")
    button.click()
    settle(page)
    assert (button.get_attribute("aria-pressed"), texts(page)[3]) == ("true", "Rome it is")


# ---------------------------------------------------------------- everywhere


def test_a_page_without_a_kernel_has_time_too(memory: Session, chrome: Any, tmp_path: Path) -> None:
    """The exported page goes through time and draws the trail, and offers nothing that would write."""
    talk(memory)
    file = tmp_path / "page.html"
    file.write_text(tree_page(memory), encoding="utf-8")
    page = chrome.new_page()
    page.goto(file.as_uri())
    page.locator(".pt-row.pt-leaf").wait_for()
    page.locator(".pt-rows").press("t")
    page.locator(".pt-range").press("Home")
    page.wait_for_function("() => document.querySelectorAll('.pt-row').length === 1")
    for _ in range(6):
        page.locator(".pt-range").press("ArrowRight")
    page.locator(".pt-then", has_text="leaf moved to “Rome or Oslo?”").wait_for()
    page.locator(".pt-card", has_text="Rome or Oslo?").wait_for()
    assert page.get_by_role("button", name="Undo").count() + page.get_by_role("button", name="Inspect").count() == 0
    page.locator(".pt-rows").press("m")
    page.locator(".pt-legend").wait_for()
    page.close()


@pytest.mark.npm
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1200])
def test_axe_finds_nothing_in_the_past(dark: bool, width: int, workshop: Path, memory: Session, show: Show) -> None:
    """With the strip open, at now and in the past, the trail drawn and inspect on, the checker has nothing to say."""
    talk(memory)
    page = show(TreeView(memory), dark=dark, width=width)
    page.press("m", "i")
    page.page.add_script_tag(path=str(workshop / "node_modules" / "axe-core" / "axe.min.js"))
    options = "{ rules: { 'page-has-heading-one': { enabled: false }, region: { enabled: false } } }"
    travel(page)
    for count in (10, 6):
        go(page, count)
        page.page.wait_for_timeout(300)
        found = page.page.evaluate(f"async () => (await axe.run(document, {options})).violations")
        assert [(rule["id"], [node["html"][:120] for node in rule["nodes"]][:3]) for rule in found] == []

"""What somebody new to the tree stumbles over: a place that is lost, words that are old, a mode without a way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pi_nb.session.tree import Session
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import said, talk

Show = Callable[..., Any]
IN_VIEW = """() => { const box = document.querySelector(".pt-rows").getBoundingClientRect();
  const row = document.querySelector(".pt-row.pt-leaf")?.getBoundingClientRect();
  return !!row && row.top >= box.top && row.bottom <= box.bottom; }"""
WHOLE = """(el) => { const all = document.createRange(); all.selectNodeContents(el);
  const [text, box] = [all, el].map((one) => one.getBoundingClientRect());
  return text.right <= box.right && text.bottom <= box.bottom + 1; }"""


def long_talk(session: Session, turns: int = 40) -> None:
    """Write more than fits into the view."""
    for number in range(turns):
        session.append_message({"role": "user", "content": f"question {number}"})
        session.append_message(said(f"answer {number}"))


def test_what_was_said_of_a_move_goes_when_the_log_goes_on(memory: Session, show: Show) -> None:
    """A checkout is named until the leaf is elsewhere; other words stay."""
    talk(memory)
    page = show(TreeView(memory))
    page.click("Rome it is")
    assert "Checked out" in page.text(".pt-said")
    memory.append_message({"role": "user", "content": "Rome at night"})
    memory.append_message(said("By lamplight."))
    page.pump()
    assert page.text(".pt-said") == ""
    assert not page.page.locator(".pt-wrote").is_visible()
    page.press("i")
    memory.append_message({"role": "user", "content": "And by day?"})
    page.pump()
    assert "Inspect is on" in page.text(".pt-said")


def test_a_tree_that_was_hidden_at_first_opens_at_its_leaf(memory: Session, show: Show) -> None:
    """Whatever was drawn while there was no room, the leaf is in view when there is; also when it comes back."""
    long_talk(memory)
    page = show(TreeView(memory))
    hide = "(how) => { document.getElementById('there').style.display = how; }"
    page.page.evaluate("() => { views.here.abort(); document.getElementById('here').replaceChildren(); }")
    page.page.evaluate(hide, "none")
    page.render(into="there")
    page.pump()
    page.page.evaluate(hide, "block")
    page.pump()
    assert page.page.evaluate(IN_VIEW)
    page.page.evaluate("() => { const el = document.querySelector('.pi-tree'); window.tree = el; el.remove(); }")
    page.pump()
    page.page.evaluate("() => document.getElementById('there').append(tree)")
    page.pump()
    assert page.page.evaluate(IN_VIEW)


@pytest.mark.parametrize("width", [900, 620, 440])
def test_the_leaf_stays_in_view_when_the_room_changes(width: int, memory: Session, show: Show) -> None:
    """Narrower, and wide again."""
    long_talk(memory)
    page = show(TreeView(memory), width=1300)
    assert page.page.evaluate(IN_VIEW)
    for size in (width, 1300):
        page.page.set_viewport_size({"width": size, "height": 700})
        page.pump()
        page.pump()
        assert page.page.evaluate(IN_VIEW), f"at {size} px"


def test_a_reader_who_scrolled_away_is_left_there(memory: Session, show: Show) -> None:
    """A little more or less room does not take the rows away that are being read."""
    long_talk(memory)
    page = show(TreeView(memory), width=1300)
    page.page.locator(".pt-rows").evaluate("(el) => { el.scrollTop = 100; }")
    page.pump()
    page.page.set_viewport_size({"width": 1250, "height": 700})
    page.pump()
    assert page.page.locator(".pt-rows").evaluate("(el) => el.scrollTop") == 100


@pytest.mark.parametrize("status", ["idle", "running"])
def test_the_numbers_are_whole_where_notebooks_show_them(status: str, memory: Session, show: Show) -> None:
    """At 1090 px nothing of name, numbers and status is cut; the search gives way."""
    parts = talk(memory)
    memory.append_message(said("A third way."), parent=parts.answer)
    memory.move_to(parts.oslo_said)
    view = TreeView(memory)
    page = show(view, width=1090 + 32)
    view.set_status(status)
    page.pump()
    assert page.text(".pt-numbers") == "12 entries · 3 branches"
    for name in (".pt-title", ".pt-numbers", ".pt-name"):
        assert page.page.locator(name).evaluate(WHOLE), name
    assert page.page.locator(".pt-field").bounding_box()["width"] >= 96
    middles = {round(box["y"] + box["height"] / 2) for box in boxes(page, ".pt-bar > *")}
    assert max(middles) - min(middles) <= 3, "one line"


def boxes(page: Any, selector: str) -> list[dict[str, float]]:
    """Return where elements are."""
    return [one.bounding_box() for one in page.page.locator(selector).all()]


@pytest.mark.parametrize("width", [1000, 800, 660, 480, 380])
def test_numbers_without_room_are_left_out_as_a_whole(width: int, memory: Session, show: Show) -> None:
    """Beside a long name the number of entries still stands whole; the branches are there, or not."""
    talk(memory)
    memory.append_session_info("A very long name of a session about boats, fjords and islands, and what floats there")
    view = TreeView(memory)
    page = show(view, width=width)
    view.set_status("running")
    page.pump()
    box = page.page.locator(".pt-numbers").bounding_box()
    pieces = boxes(page, ".pt-numbers > span")
    shown = [one for one in pieces if one["y"] < box["y"] + box["height"] - 4]
    assert shown
    assert all(one["x"] + one["width"] <= box["x"] + box["width"] + 1 for one in shown)
    assert page.page.locator(".pt-numbers").get_attribute("title") == "11 entries · 2 branches"
    bar = page.page.locator(".pt-bar").bounding_box()
    assert all(one["x"] + one["width"] <= bar["x"] + bar["width"] for one in boxes(page, ".pt-bar > *"))


def test_the_hit_that_is_looked_at_is_numbered_and_marked(memory: Session, show: Show) -> None:
    """The counter says which of the hits it is, in the order of the rows; its row has a strong edge."""
    long_talk(memory, 8)
    page = show(TreeView(memory))
    page.page.fill(".pt-search", "question")
    page.pump()
    assert page.text(".pt-count") == "8"
    for number in (1, 2, 3):
        page.page.press(".pt-search", "Enter")
        page.pump()
        assert page.text(".pt-count") == f"{number}/8"
    edge = page.page.locator(".pt-row.pt-found.pt-focus").evaluate("(el) => getComputedStyle(el, '::before').boxShadow")
    assert "2px inset" in edge
    page.page.press(".pt-search", "Shift+Enter")
    page.pump()
    assert page.text(".pt-count") == "2/8"


def test_escape_leaves_search_then_compare_then_goes_to_the_leaf(memory: Session, show: Show) -> None:
    """One Escape each: nothing is selected any more, and the panel shows the context again."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    page.click("Then see the Forum.", modifiers=["Control"])
    page.press("k")
    page.page.fill(".pt-search", "see")
    page.press("Escape")
    assert page.page.locator(".pt-search").input_value() == ""
    assert page.page.locator(".pt-row.pt-selected").count() == 1
    page.press("Escape")
    assert view.selected == []
    assert page.page.locator(".pt-row.pt-selected, .pt-two").count() == 0
    assert page.page.get_by_role("tab", name="Context").get_attribute("aria-selected") == "true"
    assert view.focus_id != parts.oslo_said
    page.press("Escape")
    assert view.focus_id == parts.oslo_said


def test_compare_has_a_button_that_leaves_it(memory: Session, show: Show) -> None:
    """It is there with and without columns; the keyboard is on the rows then."""
    talk(memory)
    view = TreeView(memory)
    page = show(view)
    for begin in (lambda: page.click("Then see the Forum.", modifiers=["Control"]), lambda: compare_tab(page).click()):
        begin()
        page.pump()
        page.page.get_by_role("button", name="Leave compare").click()
        page.pump()
        assert view.selected == []
        assert page.page.locator(".pt-selected, .pt-two, .pt-uncompare").count() == 0
        assert page.page.evaluate("() => document.activeElement.className") == "pt-rows"


def compare_tab(page: Any) -> Any:
    """Return the tab."""
    return page.page.get_by_role("tab", name="Compare")


def test_columns_are_headed_by_labels(memory: Session, show: Show) -> None:
    """A labelled entry is called by its label, also when it gets one while it is compared."""
    parts = talk(memory)
    page = show(TreeView(memory))
    page.click("Then see the Forum.", modifiers=["Control"])
    heads = page.page.locator(".pt-cside")
    assert parts.rome_said in heads.nth(1).inner_text()
    memory.append_label(parts.rome_said, "the Roman way")
    page.pump()
    page.pump()
    assert page.page.locator(".pt-cside .pt-tag-label").all_inner_texts() == ["the Roman way"]
    assert parts.rome_said not in heads.nth(1).inner_text()


def test_undo_after_a_prompt_says_what_it_took_back(memory: Session, show: Show) -> None:
    """The checkout before the prompt is named, where the leaf is now, and that the prompt is not gone."""
    parts = talk(memory)
    page = show(TreeView(memory))
    page.click("Then see the Forum.")
    memory.append_message({"role": "user", "content": "And then?"})
    memory.append_message(said("Then sleep."))
    page.pump()
    page.press("u")
    assert memory.leaf_id == parts.oslo_said
    assert page.text(".pt-said") == (
        "Checkout undone: took back the checkout of “Then see the Forum.”; the leaf is now “Then see the Opera.”. "
        "What came after it stays in the tree."
    )

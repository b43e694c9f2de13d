"""Contexts side by side in the built widget: two, and the many of a fan-out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pi_nb.session.tree import Session
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import said, talk

Show = Callable[..., Any]
ANSWERS = [
    "The boat is green and it sails well.",
    "The boat is blue and it sails well.",
    "The boat is green and it sails badly in the fjord.",
]


def fan(session: Session) -> tuple[str, list[str]]:
    """Write a prompt that was answered three times; return the entry they part at and the answers."""
    session.append_message({"role": "user", "content": "Tell me of boats."})
    start = session.append_message(said("Boats float.", total=60))
    ends = []
    for number, text in enumerate(ANSWERS):
        prompt = session.append_message({"role": "user", "content": "Which one?"}, parent=start)
        answer = said(text, total=80 + 5 * number)
        answer["usage"]["cost"] = {"total": 0.01 * (number + 1)}
        ends.append(session.append_message(answer, parent=prompt))
    session.move_to(start)
    return start, ends


def test_all_branches_of_a_fan_out_are_columns(memory: Session, show: Show) -> None:
    """C on the fork puts every branch side by side: common part, deltas of tokens and cost, words unlike the first."""
    start, ends = fan(memory)
    view = TreeView(memory)
    page = show(view, width=1400)
    page.press("C")
    assert view.selected == ends
    assert page.text(".pt-phead strong") == "3 contexts"
    assert page.text(".pt-shared").startswith("The first 2 messages are the same (about 60 tokens). Here a provider's")
    heads = [" ".join(text.split()) for text in page.page.locator(".pt-cside").all_inner_texts()]
    assert heads == [
        f"{ends[0]} 80 tokens $0.010",
        f"{ends[1]} 85 tokens (+5) $0.020 (+$0.010)",
        f"{ends[2]} 90 tokens (+10) $0.030 (+$0.020)",
    ]
    texts = page.page.locator(".pt-side-by-side .pt-card .pt-ctext").all_inner_texts()
    assert texts == ["Which one?"] * 3 + ANSWERS
    assert page.page.locator(".pt-side-by-side .pt-plus").all_inner_texts() == ["blue", "badly in the fjord"]
    lefts = {round(box["x"]) for box in (card.bounding_box() for card in page.page.locator(".pt-cell").all())}
    assert len(lefts) == 3
    assert memory.leaf_id == start


def test_columns_are_taken_and_given_back_one_by_one(memory: Session, show: Show) -> None:
    """Ctrl-click adds a column and takes it away; one alone is compared with the leaf."""
    _, ends = fan(memory)
    page = show(TreeView(memory), width=1400)
    for text in ("blue", "badly", "well and", "is green and it sails well"):
        if text != "well and":
            page.click(text, modifiers=["Control"])
    assert page.page.locator(".pt-cside").count() == 3
    page.click("blue", modifiers=["Control"])
    assert page.page.locator(".pt-cside").count() == 2
    page.click("badly", modifiers=["Control"])
    assert page.page.locator(".pt-cside .pt-tag-leaf").count() == 1
    assert page.page.locator(".pt-cside").nth(1).inner_text().startswith(ends[0])


def test_the_end_of_the_firsts_cache_is_marked(memory: Session, show: Show) -> None:
    """A column that shares more with the first than all do has a line where that ends."""
    parts = talk(memory)
    again = memory.append_message(said("Opera, again."), parent=parts.oslo)
    memory.move_to(parts.oslo_said)
    page = show(TreeView(memory), width=1400)
    for text in ("see the Opera", "Opera, again", "see the Forum"):
        page.click(text, modifiers=["Control"])
    assert page.page.locator(".pt-cside").count() == 3
    cell = page.page.locator(".pt-cell", has=page.page.locator(".pt-ends"))
    assert cell.count() == 1
    assert "Opera, again." in cell.inner_text()
    assert again in page.view.selected


def test_many_columns_scroll_in_their_own_box(memory: Session, show: Show) -> None:
    """Twelve columns at 700 px keep their width; the page is not wider than its box."""
    memory.append_message({"role": "user", "content": "Tell me of boats."})
    start = memory.append_message(said("Boats float."))
    for number in range(12):
        memory.append_message(said(f"Boat {number}. " * 30), parent=start)
    memory.move_to(start)
    page = show(TreeView(memory), width=700)
    page.press("C")
    assert page.page.locator(".pt-cside").count() == 12
    body = page.page.locator(".pt-pbody")
    assert body.evaluate("el => el.scrollWidth") > 1500
    assert page.page.evaluate("() => document.documentElement.scrollWidth") <= 700
    assert min(card.bounding_box()["width"] for card in page.page.locator(".pt-cell").all()) > 150


def test_c_where_nothing_parts_says_so(memory: Session, show: Show) -> None:
    """Without a fork above, nothing is selected."""
    memory.append_message({"role": "user", "content": "Hi"})
    memory.append_message(said("Hello."))
    view = TreeView(memory)
    page = show(view)
    page.press("C")
    assert view.selected == []
    assert "Nothing branches off" in page.text(".pt-said")

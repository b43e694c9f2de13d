"""The accessibility checker in every state of the view, and a whole journey without a mouse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_nb.session.entries import parse_entry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import talk

Show = Callable[..., Any]
THEMES: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"dark": True},
    "more contrast, dark": {"contrast": "more", "dark": True},
    "narrow": {"width": 432},
}
RUN = """async () => {
  const rules = { 'page-has-heading-one': { enabled: false }, region: { enabled: false } };
  const { violations } = await axe.run(document, { rules });
  return violations.map(({ id, nodes }) => [id, nodes.slice(0, 2).map((node) => node.html.slice(0, 140))]);
}"""


def streaming(page: Any) -> None:
    """Let an answer grow."""
    page.view.set_status("running")
    page.view.set_lives({"": {"text": "Well, boats", "model": "m"}})
    page.pump()


def settled(page: Any) -> None:
    """End the run."""
    page.view.set_lives({"": None})
    page.view.set_status("idle")
    page.pump()
    page.page.wait_for_function("() => !document.querySelector('.pt-row.pt-live')")


def search(page: Any) -> None:
    """Search, so that some rows are found and the others dimmed."""
    page.page.locator(".pt-search").fill("opera")
    page.pump()


def stop_search(page: Any) -> None:
    """Search no more."""
    page.page.locator(".pt-search").press("Escape")


def busy(page: Any) -> None:
    """Ask, and get no answer for a while."""
    page.row("see the Opera").locator(".pt-text").click()
    page.page.wait_for_function("() => document.querySelector('.pt-link').textContent.includes('busy')")


def gone(page: Any) -> None:
    """Lose the kernel."""
    page.pump()
    page.page.evaluate("() => { model.broken = true; model.fire('comm:close'); }")
    page.row("see the Forum").locator(".pt-text").click()


def keys(*names: str) -> Callable[[Any], None]:
    """Press keys in the tree."""
    return lambda page: page.press(*names)


STEPS: list[tuple[str, Callable[[Any], None]]] = [
    ("as it comes", lambda page: None),
    ("looking elsewhere", keys("k", "k", "k")),
    ("folded", keys("[", "ArrowLeft")),
    ("unfolded, a fork moved up", keys("*", "z")),
    ("the entry", keys("z", "h", "e")),
    ("two contexts", keys("e", "k", "c")),
    ("all branches", keys("C")),
    ("every entry", keys("5")),
    ("labelled only", keys("4")),
    ("keys", keys("1", "?")),
    ("a label being written", keys("Escape", "l")),
    ("checked out", lambda page: (page.page.keyboard.press("Escape"), page.press("h", "[", "Enter"))),
    ("time", keys("t")),
    ("what can be done", keys("t", "h", "a")),
    ("an answer that grows", lambda page: (page.page.keyboard.press("Escape"), streaming(page))),
    ("searching", lambda page: (settled(page), search(page))),
    ("a path that is broken", lambda page: (stop_search(page), page.click("An orphan", modifiers=["Alt"]))),
    ("a busy kernel", busy),
    ("no kernel", gone),
]


@pytest.mark.npm
@pytest.mark.parametrize("theme", THEMES)
def test_axe_finds_nothing_in_any_state(theme: str, workshop: Path, memory: Session, show: Show) -> None:
    """Every state of the view, one after the other, in light, dark, more contrast and on a narrow page."""
    parts = talk(memory)
    memory.append_label(parts.answer, "fork")
    lost = {"type": "message", "id": "0rphan00", "parentId": "nowhere0", "timestamp": "2026-01-01T00:00:00Z"}
    memory.storage.append(parse_entry({**lost, "message": {"role": "user", "content": "An orphan"}}))
    memory.move_to(parts.oslo_said)
    page = show(TreeView(memory), **THEMES[theme])
    page.page.add_script_tag(path=str(workshop / "node_modules" / "axe-core" / "axe.min.js"))
    found = {}
    for name, step in STEPS:
        step(page)
        page.page.wait_for_timeout(300)
        if wrong := page.page.evaluate(RUN):
            found[name] = wrong
    assert found == {}


@pytest.mark.npm
@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_nothing_in_an_empty_tree(dark: bool, workshop: Path, show: Show) -> None:
    """Nothing written yet."""
    page = show(TreeView(Session(InMemorySessionStorage())), dark=dark)
    page.page.add_script_tag(path=str(workshop / "node_modules" / "axe-core" / "axe.min.js"))
    assert page.page.evaluate(RUN) == []


def focused(page: Any) -> str:
    """Return the class of the element that has the focus."""
    return str(page.page.evaluate("() => document.activeElement.className || document.activeElement.id"))


def test_a_journey_without_a_mouse(memory: Session, show: Show) -> None:
    """Tab into the tree; look, check out, undo, search, filter, fold, hoist, label, compare; Tab out of it again."""
    parts = talk(memory)
    view = TreeView(memory)
    page = show(view)
    keyboard = page.page.keyboard
    page.page.evaluate(
        """() => { const make = (id) => Object.assign(document.createElement('button'), { id, textContent: id });
          document.body.prepend(make('before')); document.body.append(make('after'));
          document.getElementById('before').focus(); }"""
    )

    def press(*names: str) -> None:
        for name in names:
            keyboard.press(name)
        page.pump()

    for _ in range(30):
        press("Tab")
        if focused(page) == "pt-rows":
            break
    assert focused(page).startswith("pt-rows")
    press("ArrowUp", "ArrowUp")
    assert view.focus_id == parts.tool
    press("[")
    assert view.focus_id == parts.answer
    press("}", "ArrowRight", "}")
    press("Enter")
    assert memory.leaf_id != parts.oslo_said
    moved = memory.leaf_id
    press("u")
    assert memory.leaf_id == parts.oslo_said
    press("U")
    assert memory.leaf_id == moved
    press("u", "h")
    press("/")
    keyboard.type("forum")
    press("Enter")
    assert page.text(".pt-focus .pt-text") == "Then see the Forum."
    press("Escape")
    assert focused(page).startswith("pt-rows")
    press("3")
    assert page.page.locator(".pt-row.pt-t-user").count() == 3
    press("1", "h", "[", "ArrowLeft")
    assert "folded" in page.text(".pt-focus .pt-tags")
    press("ArrowRight", "z")
    assert page.rows()[0].startswith("assistant|Rome or Oslo?")
    press("z", "l")
    keyboard.type("fork")
    press("Enter")
    assert memory.labels == {parts.answer: "fork"}
    assert focused(page).startswith("pt-rows")
    press("C")
    assert page.page.locator(".pt-cside").count() == 2
    press("e", "e", "?")
    assert page.page.locator(".pt-help").is_visible()
    press("Escape")
    assert page.page.locator(".pt-help").is_hidden()
    for _ in range(60):
        press("Tab")
        if focused(page) == "after":
            break
    assert focused(page) == "after"
    for _ in range(60):
        press("Shift+Tab")
        if focused(page) == "before":
            break
    assert focused(page) == "before"

"""Any tree with any text in it, in the built widget and in the page of its own: nothing runs, nothing breaks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pi_nb.session.tree import Session
from pi_nb.views.page import tree_page
from pi_nb.views.tree_view import TreeView
from tests.tree_view import wild

Show = Callable[..., Any]
SHAPES: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "chain of 20,000": lambda: wild.chain(20_000),
    "5,000 siblings": lambda: wild.fan(5_000),
    "comb of 700": lambda: wild.comb(700),
    "texts of 1 MB": lambda: wild.huge(8),
    "nothing": lambda: iter(()),
    **{f"random {seed}": lambda seed=seed: wild.random_tree(seed) for seed in range(6)},
}

# What is wrong with the rows in view and the page around them, in words.
INSANE = """() => {
  const out = [];
  const rows = [...document.querySelectorAll('.pt-row')].map((el) => ({ el, box: el.getBoundingClientRect() }));
  rows.sort((a, b) => a.box.top - b.box.top);
  const scroller = document.querySelector('.pt-rows').getBoundingClientRect();
  rows.forEach(({ el, box }, i) => {
    const next = rows[i + 1];
    if (next && next.box.top < box.bottom - 0.5) out.push(`rows overlap: ${el.textContent.slice(0, 40)}`);
    if (Math.round(box.height) !== 28) out.push(`a row is ${box.height} px high`);
    if (box.left < scroller.left - 1 || box.right > scroller.right + 1) out.push('a row is wider than its box');
    const dot = el.querySelector('.pt-dot').getBoundingClientRect();
    const most = scroller.left + scroller.width * 0.6;
    if (dot.left < scroller.left - 1 || dot.right > most) out.push(`a dot is at ${dot.left}`);
    const text = el.querySelector('.pt-text').getBoundingClientRect();
    if (text.width < 39 || text.right > scroller.right + 1) out.push(`a text: ${text.width} px, to ${text.right}`);
    for (const part of el.children) {
      const { top, bottom, width } = part.getBoundingClientRect();
      if (width && (bottom > box.bottom + 4 || top < box.top - 4)) out.push(`${part.className} sticks out of its row`);
    }
  });
  const lanes = document.querySelector('.pt-lanes').getBoundingClientRect();
  if (lanes.width > scroller.width * 0.6) out.push(`lanes are ${lanes.width} px wide`);
  const page = document.documentElement;
  if (page.scrollWidth > page.clientWidth) out.push(`the page is ${page.scrollWidth} px wide`);
  const root = document.querySelector('.pi-tree');
  if (root.scrollWidth > root.clientWidth) out.push(`the view is ${root.scrollWidth} px wide`);
  const alien = root.querySelectorAll('script, img, iframe, a, style, link, object, b:not(.pt-call b), table, animate');
  if (alien.length) out.push(`an element came out of a text: ${alien[0].outerHTML.slice(0, 80)}`);
  for (const el of root.querySelectorAll('*'))
    for (const { name } of el.attributes) if (/^on|^href$|^src/.test(name)) out.push(`an attribute ${name}`);
  return out;
}"""
KEYS = ["j", "k", "[", "]", "{", "}", "ArrowLeft", "ArrowRight", "PageDown", "PageUp", "z", "o", "1", "3", "4", "5"]
KEYS += ["Home", "End", "c", "C", "e", "h", "*", "t", ",", ".", "m", "i", "Escape", "Enter"]


def insane(page: Any) -> list[str]:
    """Return what is wrong at the top, in the middle and at the end."""
    found: list[str] = []
    for part in (0, 0.37, 1):
        page.page.locator(".pt-rows").evaluate("(el, part) => { el.scrollTop = el.scrollHeight * part; }", part)
        page.pump()
        found += page.page.evaluate(INSANE)
    return found[:5]


@pytest.mark.parametrize("width", [400, 1200])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_tree_is_drawn_sanely(shape: str, width: int, tmp_path: Path, show: Show) -> None:
    """No script runs, no row overlaps, lanes stay bounded, the page is not wider than its box, whatever keys do."""
    with wild.opened(tmp_path, SHAPES[shape]()) as session:
        view = TreeView(session)
        page = show(view, width=width)
        assert insane(page) == []
        dice = random.Random(f"{shape}{width}")
        for _ in range(24):
            page.page.locator(".pt-rows").focus()
            page.page.keyboard.press(dice.choice(KEYS))
            if dice.random() < 0.3:
                page.pump()
        page.press("Escape", "Escape", "5", "*")
        assert insane(page) == []
        page.page.locator(".pt-search").fill("ALERT(")
        page.pump()
        assert insane(page) == []
        assert view.rev == len(session)
        view.close()


@pytest.mark.parametrize("shape", ["random 1", "random 4", "texts of 1 MB"])
def test_any_tree_can_be_exported(shape: str, chrome: Any, tmp_path: Path) -> None:
    """The page of its own shows it too: nothing is asked for, nothing runs, the layout holds."""
    with wild.opened(tmp_path, SHAPES[shape]()) as session:
        (tmp_path / "page.html").write_text(tree_page(session), encoding="utf-8")
    context = chrome.new_context(viewport={"width": 900, "height": 700})
    page, faults = context.new_page(), []
    page.on("request", lambda request: request.url.startswith("file:") or faults.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda note: note.type == "error" and faults.append(note.text))
    page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
    page.goto((tmp_path / "page.html").as_uri())
    page.locator(".pt-row").first.wait_for()
    page.locator(".pt-rows").focus()
    for key in ("Home", "j", "j", "e", "C", "5", "*", "End", "k", "Enter"):
        page.keyboard.press(key)
        page.wait_for_timeout(60)
    faults += page.evaluate(INSANE)
    context.close()
    assert faults == []


def test_nothing_can_be_written_by_looking(tmp_path: Path, show: Show) -> None:
    """Keys that look leave a wild session's file as it was."""
    with wild.opened(tmp_path, wild.random_tree(9)) as session:
        before = session.file.read_bytes() if isinstance(session, Session) and session.file else b""
        page = show(TreeView(session))
        for key in ("End", "k", "k", "Home", "j", "]", "[", "e", "c", "c", "C", "5", "1", "z", "z", "ArrowLeft"):
            page.press(key)
        assert session.file
        assert session.file.read_bytes() == before

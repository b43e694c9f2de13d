"""The tree and the context as pieces of a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any

import pytest

from pi_nb.messages import UserMessage
from pi_nb.session.context import provenance
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.html import context_html, tree_html
from tests.browser.jupyter import browser, chromium
from tests.conftest import must

ALLOWED = {"div", "style", "code", "svg", "desc", "path", "circle", "span", "b", "i", "pre"}
VOID = {"path", "circle"}


class Page(HTMLParser):
    """What an HTML parser finds: elements, attributes, texts, and whether everything is closed in order."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)


def rows(source: str) -> list[str]:
    """Return what is left of each row when styles, pictures and tags are taken away."""
    bare = re.sub(r"<style>.*?</style>|(?<=<div) class=\"[^\"]*\">", "", source)
    return [re.sub(r"<[^>]*>", "", row) for row in bare.split("<div")[2:]]


def test_a_row_per_entry(boat: Session) -> None:
    """Each row has id, lines, tags and words."""
    page = Page(tree_html(boat))
    assert page.open == []
    assert page.tags <= ALLOWED
    assert {"serious", "tub", "leaf", "[bash: ls]"} <= set(page.texts)


def test_without_pictures_and_styles_it_still_reads(boat: Session) -> None:
    """Where a front end strips all but text the rows look like the text tree."""
    ids = [entry.id for entry in boat.entries()]
    found = [row.replace("\u00a0", " ") for row in rows(tree_html(boat))]
    assert f"{ids[1]} ● user I am Ada." in found
    assert f"{ids[3]} ├─● user My boat is green." in found
    assert f"{ids[4]} │ ● assistant I look. [bash: ls]" in found
    assert f"{ids[9]}   ○ [tub] assistant  (aborted)" in found


def test_it_loads_and_runs_nothing(boat: Session, hostile: Session) -> None:
    """There is no script, no handler, no address and no style from a session."""
    for session in (boat, hostile):
        for source in (tree_html(session), context_html(session.context())):
            page = Page(source)
            assert page.open == []
            assert page.tags <= ALLOWED
            assert page.attributes <= {
                "class",
                "title",
                "width",
                "height",
                "viewbox",
                "aria-hidden",
                "d",
                "cx",
                "cy",
                "r",
            }
            assert "url(" not in source
            assert source.count("<style>") == 1


def test_two_hundred_rows_at_most(session_of: Callable[..., Session]) -> None:
    """A long session is shown around its leaf; the rest is counted, not sent."""
    session = session_of(("0", None), *((f"{n}", f"{n - 1}") for n in range(1, 5000)))
    source = tree_html(session)
    assert source.count('class="row') == 200
    assert "200 of 5,000 entries drawn" in source
    assert len(source) < 200_000


def test_the_context(boat: Session) -> None:
    """Every message in full, with its entry; what is left out, and why."""
    page = Page(context_html(boat.context(), provenance=provenance(boat.path())))
    assert "Ada has a green boat." in page.texts
    assert any(text.startswith("not in the context, summarised by ") for text in page.texts)


def test_a_long_message_is_cut_and_says_so() -> None:
    """A page holds no megabytes."""
    session = Session(InMemorySessionStorage())
    session.append_message(UserMessage(content="x" * 1_000_000))
    source = context_html(session.context())
    assert len(source) < 30_000
    assert "980,000 more characters" in source


@pytest.fixture(scope="module")
def chrome() -> Iterator[Any]:
    """Give a headless Chromium, or skip where there is none."""
    if chromium() is None:
        must("no Chromium found (install one, or name it in CHROMIUM)")
    with browser() as found:
        yield found


@pytest.mark.browser
@pytest.mark.parametrize("host", ["", "data-jp-theme-light=false", "class=vscode-dark"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_in_a_browser(chrome: Any, hostile: Session, boat: Session, host: str, scheme: str) -> None:
    """Rows are one under the other without gaps, colours follow the notebook, and nothing in a session runs."""
    context = chrome.new_context(color_scheme=scheme, viewport={"width": 700, "height": 800})
    page = context.new_page()
    wrong: list[str] = []
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: wrong.append(request.url))
    page.set_content(f"<!doctype html><meta charset=utf-8><body {host}>{tree_html(hostile)}{tree_html(boat)}")
    tops = page.evaluate(
        "[...document.querySelectorAll('.row:not(.first)')].map(r => r.getBoundingClientRect().height)"
    )
    colour = page.evaluate("getComputedStyle(document.querySelector('.pi-nb-tree')).color")
    dark = scheme == "dark" or bool(host)
    context.close()
    assert set(tops) == {26}
    assert colour == ("rgb(227, 232, 238)" if dark else "rgb(36, 41, 47)")
    assert wrong == []

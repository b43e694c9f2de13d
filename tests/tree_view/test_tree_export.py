"""The live view on a page of its own: no kernel, no network, nothing in a session can act."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pi_nb.session.tree import Session
from pi_nb.views.page import tree_page
from tests.tree_view.talk import HOSTILE, said, talk

Open = Callable[..., Any]


@pytest.fixture
def open_page(chrome: Any, tmp_path: Path) -> Iterator[Open]:
    """Open a session's page from a file; a request, a dialogue, a script error or a blocked script is a fault."""
    context = chrome.new_context(viewport={"width": 1300, "height": 800})
    faults: list[str] = []

    def opener(session: Session, where: str = "") -> Any:
        file = tmp_path / "page.html"
        file.write_text(tree_page(session), encoding="utf-8")
        page = context.new_page()
        page.on("request", lambda request: request.url.startswith(file.as_uri()) or faults.append(request.url))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda note: note.type == "error" and faults.append(note.text))
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.goto(f"{file.as_uri()}{where}")
        page.locator(".pt-row.pt-leaf").wait_for()
        return page

    yield opener
    context.close()
    assert faults == []


def test_the_page_can_be_looked_around_in(memory: Session, open_page: Open) -> None:
    """Rows of both branches, the context of any of them, its line and a comparison; a click moves nothing."""
    parts = talk(memory)
    page = open_page(memory)
    assert page.locator(".pt-row").count() == 10
    assert "Oslo please" in page.locator(".pt-pbody").inner_text()
    page.locator(".pt-row", has_text="Rome it is").click()
    page.wait_for_function("() => document.querySelector('.pt-pbody').innerText.includes('Rome it is')")
    assert "Oslo please" not in page.locator(".pt-pbody").inner_text()
    assert "read-only" in page.locator(".pt-said").inner_text()
    assert page.locator(".pt-leaf .pt-text").inner_text() == "Then see the Opera."
    assert page.url.endswith(f"#focus={parts.rome}")
    page.locator(".pt-rows").press("e")
    page.locator(".pt-json", has_text=parts.rome).wait_for()
    page.locator(".pt-row", has_text="Then see the Forum.").click(modifiers=["Control"])
    page.locator(".pt-shared", has_text="The first 2 messages are the same").wait_for()


def test_an_address_leads_to_a_place(memory: Session, open_page: Open) -> None:
    """``#leaf=…&focus=…`` opens it with that branch on top and that entry looked at; unknown ids are ignored."""
    parts = talk(memory)
    page = open_page(memory, f"#leaf={parts.rome_said}&focus={parts.question}")
    assert page.locator(".pt-leaf .pt-text").inner_text() == "Then see the Forum."
    page.locator(".pt-focus", has_text="Where to?").wait_for()
    page.evaluate("id => { location.hash = `leaf=nothing&focus=${id}`; }", parts.oslo)
    page.locator(".pt-focus", has_text="Oslo please").wait_for()
    assert page.locator(".pt-leaf .pt-text").inner_text() == "Then see the Opera."


def test_hostile_text_is_inert(memory: Session, open_page: Open) -> None:
    """Markup, script ends and addresses in texts, names and labels are shown; a script that got in would not run."""
    for text in (*HOSTILE, "</script><script>alert(8)</script><!--", "<!--<script>"):
        memory.append_label(memory.append_message(said(text)), text.replace("\0", ""))
    memory.append_session_info("</title><script>alert(9)</script>")
    page = open_page(memory)
    assert page.locator(".pt-text", has_text="</script><script>alert(8)").count() == 1
    assert page.locator("main :is(img, script, iframe)").count() == 0
    assert "script-src 'sha256-" in page.locator("meta[http-equiv]").get_attribute("content")
    assert page.title() == "</title><script>alert(9)</script>"


def test_a_broken_path_is_told(memory: Session, open_page: Open) -> None:
    """An entry whose parent is missing is a row, and its context says what is wrong."""
    from pi_nb.session.entries import parse_entry

    talk(memory)
    about = {"type": "message", "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": "lost"}}
    memory.storage.append(parse_entry({**about, "id": "0rphan00", "parentId": "nowhere0"}))
    page = open_page(memory, "#focus=0rphan00")
    page.locator(".pt-pfail").wait_for()

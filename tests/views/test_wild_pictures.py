"""Any tree with any text in it, as text, SVG, HTML, DOT, still picture, table and page: well formed and inert."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from pi_nb.errors import SessionError
from pi_nb.session.tree import Session
from pi_nb.views.dot import dot_svg, find_dot, to_dot
from pi_nb.views.html import context_html, tree_html
from pi_nb.views.page import tree_page
from pi_nb.views.still import pictures
from pi_nb.views.svg import tree_svg
from pi_nb.views.text import render_context, render_log, render_tree
from tests.tree_view import wild
from tests.views.test_html_view import ALLOWED, Page

SHAPES: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "chain": lambda: wild.chain(20_000),
    "siblings": lambda: wild.fan(5_000),
    "comb": lambda: wild.comb(700),
    "huge": lambda: wild.huge(8),
    "nothing": lambda: iter(()),
    **{f"random {seed}": lambda seed=seed: wild.random_tree(seed) for seed in range(8)},
}
MARKS = {"script", "image", "a", "foreignObject", "animate", "use", "iframe"}
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(params=SHAPES)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Session]:
    """Give one wild session after the other."""
    with wild.opened(tmp_path, SHAPES[request.param]()) as opened:
        yield opened


def inert_svg(source: str) -> None:
    """Check that a picture is well formed and that nothing in it can act or load."""
    for element in ET.fromstring(source).iter():
        name = element.tag.rpartition("}")[2]
        assert name not in MARKS
        for attribute, value in element.attrib.items():
            assert not attribute.rpartition("}")[2].lower().startswith(("on", "href"))
            assert "javascript:" not in value or "aria" in attribute
        if name == "style":
            assert "url(" not in str(element.text)
            assert "@import" not in str(element.text)


def inert_html(source: str, allowed: set[str]) -> None:
    """Check that a piece of a page is well formed and that nothing in it can act or load."""
    page = Page(source)
    assert page.open == []
    assert page.tags <= allowed
    assert not [name for name in page.attributes if name.startswith("on") or name in ("src", "srcdoc")]


def test_every_picture_is_well_formed_and_inert(session: Session) -> None:
    """Only our own elements and attributes are in SVG and HTML; only printable characters in text."""
    for everything in (False, True):
        inert_svg(tree_svg(session, everything=everything))
        inert_html(tree_html(session, everything=everything), ALLOWED)
    for text in (render_tree(session, max_rows=500), render_log(session)):
        assert CONTROL.search(text) is None
    still = pictures(session)
    assert "<script" not in still["text/html"].replace("&lt;script", "")
    assert CONTROL.search(still["text/plain"]) is None


def test_every_context_is_shown_or_refused(session: Session) -> None:
    """As HTML and as text; a broken path is refused with a sentence."""
    ids = [entry.id for entry in session.entries(max(0, len(session) - 12))]
    for id in [None, *ids]:
        try:
            context = session.context(id)
        except SessionError:
            continue
        inert_html(context_html(context), ALLOWED | {"pre", "p", "em", "strong"})
        assert CONTROL.search(render_context(context)) is None


def test_graphviz_takes_every_text_as_text(session: Session) -> None:
    """DOT has as many nodes as rows are drawn, and what Graphviz makes of it has no links and no markup of theirs."""
    source = to_dot(session, max_rows=60).source
    assert not re.search(r"(?m)^\s*evil\b", source)
    if find_dot() is None:
        pytest.skip("no Graphviz")
    drawn = dot_svg(session, max_rows=60)
    root = ET.fromstring(drawn)
    nodes = [group for group in root.iter("{http://www.w3.org/2000/svg}g") if group.get("class") == "node"]
    assert len(nodes) == len(re.findall(r"(?m)^\tn\d+ \[", source))
    links = [element for element in root.iter() if element.get("{http://www.w3.org/1999/xlink}href")]
    assert [element.get("{http://www.w3.org/1999/xlink}href") for element in links] == []


def test_the_exported_page_holds_it_as_data(session: Session) -> None:
    """In the page nothing of a session is outside the JSON that no browser runs and the escaped picture."""
    source = tree_page(session)
    assert source.count("<script") == 2
    assert source.count("</script>") == 2
    assert "onerror=alert('img')>" not in re.sub(r"&[a-z#0-9]+;|\\u003c", "", source.split("</style>", 1)[0])


def test_every_log_is_a_table(session: Session) -> None:
    """One row for each line."""
    pytest.importorskip("pandas")
    frame = session.to_frame()
    assert list(frame["position"]) == list(range(len(session)))
    assert frame["depth"].min() >= 0 if len(session) else True

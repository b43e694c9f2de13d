"""What stays in a saved notebook reads where there are no style sheets: exported, on GitHub."""

from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest
from markdown_it import MarkdownIt
from nbconvert.exporters import HTMLExporter, MarkdownExporter

from pi_nb.harness.events import MessageEnd
from pi_nb.messages import AssistantMessage, TextContent, ThinkingContent, ToolCall, ToolResultMessage
from pi_nb.notebook.answer_html import STYLE, answer_html
from pi_nb.notebook.caption import Caption
from pi_nb.notebook.portable import portable
from pi_nb.notebook.transcript import Transcript

CODE = "# Title\n\nText with <b>&amp;\n\n```python\ndef f():\n\n    # a gap above\n\n\n    return 1\n```\n\n- a\n- b"
SHEET = (
    "<style>.a { color: red; } .a p { margin: 0 } .a.a p { margin: 1px; } .a > .b + i { top: 0 }\n"
    '.a :is(h1, h2) { left: 0; } .a p:hover { color: blue } .a b { font: "x" }</style>'
)


def finished() -> str:
    """Return a run of every part as HTML."""
    run = Transcript()
    call = ToolCall(id="c", name="python", arguments={"code": "x = 1\n\ny = 2"})
    content = (ThinkingContent(thinking="one\n\ntwo"), TextContent(text=CODE), call)
    run.feed(MessageEnd(AssistantMessage(content=content, provider="p", model="m", stop_reason="toolUse"), "e"))
    result = ToolResultMessage(tool_call_id="c", tool_name="python", content=(TextContent(text="out\n\n   \nput"),))
    run.feed(MessageEnd(result, "r"))
    run.settle()
    return answer_html(run.snapshot(), Caption(note="a note", why="why"))


@pytest.mark.parametrize(
    ("html", "styled"),
    [
        ('<div class="a"></div>', '<div class="a" style="color: red"></div>'),
        ('<div class="a"><p>x</p></div>', '<p style="margin: 0; margin: 1px">x</p>'),
        ('<div class="a"><i class="b"></i><i></i><i></i></div>', '<i class="b"></i><i style="top: 0"></i><i></i>'),
        ('<div class="a"><div><i class="b"></i><i></i></div></div>', '<i class="b"></i><i></i>'),
        ('<div class="a"><u><h2 id="h">x</h2></u></div>', '<h2 id="h" style="left: 0">x</h2>'),
        ('<div class="a"><b>x</b></div>', "<b style=\"font: 'x'\">x</b>"),
        (
            '<div class="a"><p style="top: 1px">x<br>y</p></div>',
            '<p style="margin: 0; margin: 1px; top: 1px">x<br>y</p>',
        ),
        ("<p>&lt;&#10;&amp;</p>", "<p>&lt;&#10;&amp;</p>"),
    ],
)
def test_rules_are_written_into_elements(html: str, styled: str) -> None:
    """What a selector says of an element stands in the element; a weightier rule comes later, its own style last."""
    assert styled in portable(SHEET + html)
    assert "<style" not in portable(SHEET + html)


def test_nothing_but_style_is_added() -> None:
    """Without styles it is what it was, and its text is the same to the character."""
    html = finished()
    bare = re.sub(r' style="[^"]*"', "", portable(html)).replace("&#10;", "\n")
    assert bare == html.replace(STYLE, "")


def test_a_sheet_that_asks_for_the_theme_stays() -> None:
    """It cannot be said of an element, so nothing is lost."""
    sheet = "<style>@media(prefers-color-scheme:dark){.a{color:red}}</style>"
    assert portable(f'{sheet}<p class="a">x</p>') == f'{sheet}<p class="a">x</p>'


def exported(html: str, exporter: Any) -> str:
    """Return a notebook with one output as an exporter writes it."""
    data = {"text/html": html, "text/markdown": "md", "text/plain": "plain"}
    cell = nbformat.v4.new_code_cell("%pi x", outputs=[nbformat.v4.new_output("display_data", data)])
    return str(exporter.from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))[0])


def test_exported_to_markdown_it_is_one_block() -> None:
    """No style sheet is in it, and CommonMark gives back the same HTML: nothing of it is read as Markdown."""
    html = portable(finished())
    page = exported(html, MarkdownExporter())
    assert "<style" not in page
    rendered = MarkdownIt("commonmark").render(page)
    assert html in rendered
    web = exported(html, HTMLExporter())
    assert web.count("--pi-soft: var(--jp-content-font-color2") == 1
    assert "a gap above" in web


def test_outputs_in_a_notebook_are_portable(kernel: Any) -> None:
    """Answers, contexts, comparisons and columns end without a sheet and without a blank line."""
    code = "a\\n\\n```python\\nx\\n\\ny\\n```"
    kernel.run(f"script(*(Reply('{code}') for _ in range(9)))")
    for line in (
        "%pi --label a one",
        "%pi --n 2 --pick 1 two",
        "%pi_context",
        "%pi_diff a @",
        "%pi --dry-run x",
        "%pi",
    ):
        html = kernel.run(line).shown[-1]["text/html"]
        assert "<style" not in html, line
        assert not re.search(r"\n[ \t]*\n", html), line

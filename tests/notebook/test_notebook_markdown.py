"""A model's text is shown, never run: in our HTML, and in our Markdown whichever renderer reads it."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import mistune
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pi_nb.notebook.markdown import fenced, safe_link, to_html, to_safe_markdown

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "\\<script>alert(1)</script>",
    "\\\\<script>alert(1)</script>",
    "<details open ontoggle=alert(1)>",
    "<div>\n<img src=x onerror=alert(1)>\n</div>",
    "[x](javascript:alert(1))",
    "[x]( javascript:alert(1) 'title')",
    "[x](<javascript:alert(1)>)",
    "[x](<java\tscript:alert(1)>)",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#115;cript:alert(1))",
    "[x](&#x6a;avascript:alert(1))",
    "[x](java&Tab;script:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "[x](vbscript:x)",
    "![x](javascript:alert(1))",
    "[x]\n\n[x]: javascript:alert(1)",
    "[x]\n\n[x]:\n  javascript:alert(1)",
    "> [x]\n\n> [x]: javascript:alert(1)",
    "<javascript:alert(1)>",
    "``` a`b\n<img src=x onerror=alert(1)>\n",
    "`\n`<img src=x onerror=alert(1)>`",
    "a `b\n\nc` <img src=x onerror=alert(1)>",
    "~~~\n<script>alert(1)</script>",
    "- ```\n<img src=x onerror=alert(1)>\n  ```",
    "1. a\n\n       <img src=x onerror=alert(1)>",
    "> ```\n<img src=x onerror=alert(1)>\n> ```",
    "|a|\n|-|\n|`|`<img src=x onerror=alert(1)>|",
    "$`<img src=x onerror=alert(1)>`$",
    "$[x](javascript:alert(1))$",
    "\\[ <img src=x onerror=alert(1)> \\]",
    "$$\\href{javascript:alert(1)}{x}$$",
    "&lt;img src=x onerror=alert(1)&gt;",
    "![track](http://example.org/p.png?secret)",
    "<!-- --><img src=x onerror=alert(1)>",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "[a](http://b 'c<img src=x onerror=alert(1)>')",
    '[a]: http://b "<img src=x onerror=alert(1)>"\n\n[a]',
]


class Tags(HTMLParser):
    """Collects the elements and the link targets of an HTML text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


MADE_BY_MARKDOWN = {
    *("p", "em", "strong", "code", "pre", "a", "ul", "ol", "li", "blockquote", "hr", "br", "s", "del", "span", "div"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {"href", "title", "class", "start", "style", "target", "rel", "id", "align"}


def check_harmless(html: str) -> None:
    """Fail if there is an element that Markdown has no syntax for, an event handler, or a link that runs."""
    for tag, attributes in Tags(html).found:
        assert tag in MADE_BY_MARKDOWN, html
        assert set(attributes) <= ATTRIBUTES, html
        href = attributes.get("href") or ""
        assert not re.match(r"\s*(javascript|vbscript|data):", href, re.IGNORECASE), html


def renderers() -> dict[str, object]:
    """Return renderers that pass raw HTML through, as front ends and nbconvert use them."""
    return {
        "mistune": mistune.create_markdown(escape=False, plugins=["table", "strikethrough", "math"]),
        "commonmark": MarkdownIt("commonmark").enable(["table", "strikethrough"]).render,
    }


RENDERERS = renderers()
PIECES = [
    *HOSTILE,
    "`",
    "``",
    "```",
    "~~~",
    "\n",
    "\n\n",
    "    ",
    "> ",
    "- ",
    "1. ",
    "\\",
    "$",
    "|",
    "[",
    "](",
    "x",
    "<",
    "&",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_html_has_no_markup_of_the_models(text: str) -> None:
    """No element, attribute or link in our HTML comes from the text."""
    check_harmless(to_html(text))


@pytest.mark.parametrize("renderer", RENDERERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_is_safe_in_renderers_that_pass_html_through(renderer: str, text: str) -> None:
    """No renderer finds raw HTML or a running link in our Markdown."""
    check_harmless(RENDERERS[renderer](to_safe_markdown(text)))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join))
def test_no_combination_yields_markup(text: str) -> None:
    """However hostile pieces are put together, no renderer and not our own HTML lets one through."""
    check_harmless(to_html(text))
    for render in RENDERERS.values():
        check_harmless(render(to_safe_markdown(text)))


def test_refusals_show_as_text() -> None:
    """What is refused as markup can be read."""
    assert "<img src=x onerror=alert(1)>" in Tags(to_html(HOSTILE[0])).text
    for render in RENDERERS.values():
        assert "<img src=x onerror=alert(1)>" in Tags(render(to_safe_markdown(HOSTILE[0]))).text


CODE = '```html\n<b onclick="x()">a & b</b>\n```'


@pytest.mark.parametrize(
    "text",
    [
        CODE,
        f"text\n{CODE}\nmore",
        CODE.replace("```", "~~~"),
        '- item\n\n  ```html\n  <b onclick="x()">a & b</b>\n  ```',
        '> ```html\n> <b onclick="x()">a & b</b>\n> ```',
        'text\n\n    <b onclick="x()">a & b</b>\n',
        '```html\n<b onclick="x()">a & b</b>',
    ],
)
def test_code_blocks_stay_intact(text: str) -> None:
    """Code with angle brackets is shown as written, in our HTML and in any renderer."""
    for html in (to_html(text), *(render(to_safe_markdown(text)) for render in RENDERERS.values())):
        assert '<b onclick="x()">a & b</b>' in Tags(html).text
        assert "pre" in [tag for tag, _ in Tags(html).found]


def test_ordinary_markdown_is_left_alone() -> None:
    """What has nothing dangerous in it is not touched, but for fences, which are closed."""
    text = (
        "# A *b* `c` **d**\n\n1. [e](https://f.example/g_(h))\n2. x > y & z\n\n| a | b |\n|---|---|\n| 1 | $2 |\n\n> q"
    )
    assert to_safe_markdown(text) == text
    assert to_safe_markdown("```py\nx\n") == "```py\nx\n```"


def test_inline_code_with_tags_is_code() -> None:
    """An inline ``<tag>`` is code wherever it is read."""
    for html in (to_html("`<b>*x*</b>`"), *(r(to_safe_markdown("`<b>*x*</b>`")) for r in RENDERERS.values())):
        assert Tags(html).text.strip() == "<b>*x*</b>"
        assert [tag for tag, _ in Tags(html).found] == ["p", "code"]


def test_remote_pictures_become_links() -> None:
    """Showing an answer fetches nothing."""
    assert '<a href="http://h.example/p.png?q"' in to_html("![a](http://h.example/p.png?q)")
    assert "<img" not in to_html("![a](http://h.example/p.png?q)")
    for render in RENDERERS.values():
        assert "<img" not in render(to_safe_markdown("![a](http://h.example/p.png?q) ![b]\n\n[b]: http://h.example"))


def test_formulas_reach_the_front_end_whole() -> None:
    """TeX keeps its underscores, backslashes and comparison signs; dollars that are money are not delimiters."""
    assert "$a_1 &lt; b_2$ and \\(c\\_d\\)" in to_html("$a_1 < b_2$ and \\(c\\_d\\)")
    assert "<p>\\[\nx\n- y\n\\]</p>" in to_html("\\[\nx\n- y\n\\]\n")
    assert to_html("from $5 to $6").count("<span>$</span>") == 2
    assert to_safe_markdown("$a < b$") == "$a \\lt  b$"


def test_code_is_coloured_where_the_language_is_known() -> None:
    """Keywords get a class, unknown languages none."""
    assert '<span class="k">def</span>' in to_html("```python\ndef f(): pass\n```")
    assert "<code>def f()\n</code>" in to_html("```klingon\ndef f()\n```")


def test_a_fence_cannot_be_ended_from_inside() -> None:
    """A fence is longer than any run of backticks in it."""
    assert fenced("a\n````\nb") == "`````\na\n````\nb\n`````"


@pytest.mark.parametrize("target", ["https://a.example", "http://a", "mailto:a@b", "#x", "/y", "z.html", "a/b:c"])
def test_safe_links(target: str) -> None:
    """Web and mail addresses and relative ones may be followed."""
    assert safe_link(target)


@pytest.mark.parametrize("text", ["[" * 5000, "![" * 3000, "<" * 20000, "\\[" * 3000, "`" + " a" * 20000, ">" * 5000])
def test_odd_input_does_not_hang(text: str) -> None:
    """Input made to be slow to parse is shown all the same."""
    assert to_html(text)
    assert to_safe_markdown(text)

"""A model's Markdown as HTML, and as Markdown that is safe in every renderer.

Nothing a model writes is trusted. The HTML is made here, with raw HTML switched off and links limited to schemes that
cannot run anything. The Markdown is for renderers we do not control, most of which pass raw HTML through (nbconvert's
mistune does), and which differ on what is code. So it is written such that no reading of it can yield a tag:

* outside code every ``<`` is an entity;
* a code block that holds a ``<`` is a fence of its own at the margin, closed, longer than any fence in it;
* an inline code span that holds a ``<`` becomes ``<code>`` with entities, harmless wherever a renderer sees it;
* a line that only some renderers take for a fence is no fence.

Remote pictures become links: fetching one would tell its server whatever the address carries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape, unescape
from typing import Any

from markdown_it import MarkdownIt

from pi_nb.notebook.highlight import highlighted
from pi_nb.notebook.tex import math_plugin, without_links

__all__ = ["fenced", "safe_link", "to_html", "to_safe_markdown"]

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_SAFE_SCHEMES = frozenset({"http", "https", "mailto"})


def safe_link(target: str) -> bool:
    """Return whether following a link cannot run anything: a web or mail address, or one without a scheme."""
    plain = re.sub(r"[\x00-\x20\x7f-\x9f\u200b-\u200f\u2028-\u202e\\]", "", unescape(unescape(target)))
    scheme = _SCHEME.match(plain.lstrip("<"))
    return scheme is None or scheme[1].lower() in _SAFE_SCHEMES


class _Reader(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 - the base class's name
        return safe_link(url)


def _reader() -> MarkdownIt:
    reader = _Reader("commonmark", {"html": False}).enable(["table", "strikethrough"])
    reader.use(math_plugin)
    reader.add_render_rule("image", _image)
    reader.add_render_rule("link_open", _link)
    reader.add_render_rule("fence", _code)
    reader.add_render_rule("code_block", _code)
    return reader


def _image(self: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    label = self.renderInlineAsText(token.children or [], options, env) or "picture"
    return f'<a href="{escape(str(token.attrs["src"]))}" {_AWAY}>{escape(label)}</a>'


def _link(self: Any, tokens: Sequence[Any], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    title = f' title="{escape(str(token.attrs["title"]))}"' if "title" in token.attrs else ""
    return f'<a href="{escape(str(token.attrs["href"]))}"{title} {_AWAY}>'


_AWAY = 'target="_blank" rel="noopener noreferrer"'


def _code(self: Any, tokens: Sequence[Any], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    return f"<pre><code>{highlighted(token.content, _language(token))}</code></pre>\n"


def _language(token: Any) -> str:
    """Return the language a fence names, or nothing."""
    found = re.match(r"[\w+#.-]{1,30}", (token.info or "").strip())
    return found[0] if found else ""


_READER = _reader()


def to_html(text: str) -> str:
    """Return Markdown as HTML in which nothing from ``text`` is markup."""
    try:
        return str(_READER.render(text))
    except Exception:  # a parser that gives up on odd input must not lose the answer
        return f"<pre>{escape(text)}</pre>"


def fenced(code: str, language: str = "") -> str:
    """Return code as a fenced block that its content cannot end."""
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code.removesuffix(chr(10))}\n{fence}"


def to_safe_markdown(text: str) -> str:
    """Return Markdown that shows what ``text`` shows, and in which no renderer finds raw HTML or a running link."""
    try:
        return _safe_markdown(text)
    except RecursionError:  # thousands of nested formulas: not worth typesetting
        return fenced(text)


def _safe_markdown(text: str) -> str:
    lines = text.split("\n")
    parts: list[str] = []
    done = 0
    for token in _code_tokens(text):
        start, end = token.map
        if start < done or not _needs_own_fence(token):
            continue
        parts += [_prose("\n".join(lines[done:start])), "", fenced(token.content, _language(token)), ""]
        done = end
    parts.append(_prose("\n".join(lines[done:])))
    return re.sub(r"\n{3,}(?=`{3})", "\n\n", "\n".join(parts)).strip("\n")


def _code_tokens(text: str) -> Iterator[Any]:
    try:
        tokens = _READER.parse(text)
    except Exception:  # as in to_html; without tokens everything is prose, and escaped
        return
    yield from (token for token in tokens if token.type in ("fence", "code_block") and token.map)


def _needs_own_fence(token: Any) -> bool:
    """Return whether a code block must be moved to the margin, where all renderers agree that it is code."""
    return (token.type == "fence" and token.level == 0) or any(mark in token.content for mark in ("<", "](", "]:"))


# ---------------------------------------------------------------- outside code blocks

_TOKEN = re.compile(
    r"""(?P<fence>^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?P<mark>```+|~~~+))  # not a fence, or it were not prose
      | (?P<escaped>\\[`\\])
      | (?P<span>(?<!`)(?P<ticks>`+)(?!`)(?P<code>(?:(?!\n[ \t]*\n).)+?)(?<!`)(?P=ticks)(?!`))
      | (?P<math>\$\$[^$`]{1,4000}\$\$|\$(?!\s)[^$\n`]+(?<!\s)\$(?!\d)|\\\([^\n`]{1,1000}?\\\)|\\\[[^`]{1,4000}?\\\])
      | <(?P<address>https?://[^\s<>"\\`]+)>
      | (?P<sign>(?P<slashes>\\*)(?P<char><|!(?=\[)))
      | (?P<target>\][(:](?=[ \t]*\n?[ \t>]*(?P<href><?[^\s)>]*)))
      | (?P<macro>\\(?=[A-Za-z]))
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_RISKY = ("<", "](", "]:", "\n")  # what makes some renderer's different reading of a code span matter


def _prose(text: str) -> str:
    return _TOKEN.sub(_neutral, text)


def _neutral(match: re.Match[str]) -> str:
    """Return what stands safely for one token of prose."""
    rule = next(rule for name, rule in _RULES.items() if match[name] is not None)
    return rule(match)


def _fence(match: re.Match[str]) -> str:
    mark = match["mark"]
    return match[0].removesuffix(mark) + f"&#{ord(mark[0])};" * len(mark)


def _span(match: re.Match[str]) -> str:
    risky = any(mark in match["code"] for mark in _RISKY)
    return f"<code>{_entities(match['code'].strip())}</code>" if risky else match[0]


def _entities(code: str) -> str:
    """Return code in which no character means anything to Markdown, HTML or TeX."""
    return re.sub(r"[^\w\s.,;=/'\"()-]|_", lambda found: f"&#{ord(found[0])};", code.replace("\n", " "))


def _math(match: re.Match[str]) -> str:
    formula = match[0]
    if any(mark in formula for mark in ("](", "]:", "![")):  # a formula here may be a link elsewhere
        return formula[0] + _prose(formula[1:])
    return without_links(formula).replace("<", "\\lt ")


def _sign(match: re.Match[str]) -> str:
    slashes = match["slashes"]  # an odd one would escape the entity's ampersand
    return slashes[: len(slashes) // 2 * 2] + _SIGNS[match["char"]]


_SIGNS = {"<": "&lt;", "!": "&#33;", "(": "&#40;", ":": "&#58;"}


def _target(match: re.Match[str]) -> str:
    safe = safe_link(match["href"]) and not match["href"].startswith("<")
    return match[0] if safe else "]" + _SIGNS[match[0][1]]


_RULES: dict[str, Callable[[re.Match[str]], str]] = {
    "fence": _fence,
    "escaped": lambda match: match[0],
    "span": _span,
    "math": _math,
    "address": lambda match: f"[{match['address']}]({match['address']})",
    "sign": _sign,
    "target": _target,
    "macro": lambda match: without_links(match.string[match.start() : match.start() + 20])[0],
}

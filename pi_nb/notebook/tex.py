r"""TeX in Markdown, kept whole so that the front end can typeset it: ``$x$``, ``$$x$$``, ``\(x\)`` and ``\[x\]``.

A dollar is a delimiter only where pandoc takes it for one: nothing blank inside, no digit right after. Any other
dollar is put into an element of its own, or MathJax would pair it with the next ("from $5 to $6").
"""

from __future__ import annotations

import re
from html import escape
from typing import Any

from markdown_it import MarkdownIt

__all__ = ["math_plugin", "without_links"]

_INLINE = re.compile(
    r"""\$\$(?P<a>[^$]{1,4000}?)\$\$
      | \$(?!\s)(?P<b>[^$\n]{1,1000}?)(?<![\s\\])\$(?!\d)
      | \\\((?P<c>[^\n]{1,1000}?)\\\)
      | \\\[(?P<d>.{1,4000}?)\\\]
    """,
    re.VERBOSE | re.DOTALL,
)
_ENDS = {"$$": "$$", "\\[": "\\]"}
_LINKS = re.compile(r"\\(?=(?:href|url|class|cssId|style|data|require|includegraphics|unicode)\b)")


def without_links(tex: str) -> str:
    """Return TeX without the macros that make links or set HTML attributes; their backslash becomes a look-alike."""
    return _LINKS.sub("\u2216", tex)


def math_plugin(reader: MarkdownIt) -> None:
    """Teach a Markdown reader TeX."""
    reader.inline.ruler.before("escape", "math", _inline)
    reader.block.ruler.before("fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    reader.add_render_rule("math", _render)
    reader.add_render_rule("math_block", lambda *given: f"<p>{_render(*given)}</p>\n")
    reader.add_render_rule("dollar", lambda *_: "<span>$</span>")


def _render(_self: Any, tokens: Any, index: int, _options: Any, _env: Any) -> str:
    return escape(without_links(tokens[index].content), quote=False)


def _inline(state: Any, silent: bool) -> bool:
    """Take a formula, or a dollar that begins none, at the current position."""
    first = state.src[state.pos]
    if first not in "$\\":
        return False
    found = _INLINE.match(state.src, state.pos, state.posMax)
    if found is None and first == "\\":
        return False
    if not silent:
        state.push("math" if found else "dollar", "", 0).content = found[0] if found else "$"
    state.pos = found.end() if found else state.pos + 1
    return True


def _block(state: Any, start: int, end: int, silent: bool) -> bool:
    r"""Take lines from ``$$`` or ``\[`` at the beginning of one to its counterpart at the end of another."""
    text = _line(state, start)
    close = _ENDS.get(text[:2])
    if close is None or state.is_code_block(start):
        return False
    last = next((i for i in range(start, min(end, start + 60)) if _closes(_line(state, i), close, i == start)), None)
    if last is None:
        return False
    if not silent:
        state.push("math_block", "", 0).content = "\n".join(_line(state, i) for i in range(start, last + 1))
        state.line = last + 1
    return True


def _closes(line: str, close: str, first: bool) -> bool:
    return (line[2:] if first else line).rstrip().endswith(close)


def _line(state: Any, number: int) -> str:
    return str(state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]])

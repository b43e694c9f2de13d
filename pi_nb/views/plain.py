"""Untrusted text made harmless and measured, for one line of a terminal, a picture or a page.

A session may hold anything: colour codes that rewrite a terminal, characters that turn text around, a page of
newlines where a line is expected. What is not printable is shown as an escape, so that it can be seen and does nothing.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

__all__ = ["UNTYPESET", "clip", "pad", "reading", "short_id", "short_session", "visible", "width"]

UNTYPESET: Final = "mathjax_ignore tex2jax_ignore"
"""Classes of HTML in which MathJax 3 and 2 leave dollars and brackets alone: text that is not a model's Markdown."""

_ODD: Final = re.compile("[^ -~]")
_NAMED: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JOINERS: Final = frozenset("\u200c\u200d\ufe0e\ufe0f")  # shape letters and emoji; without them text is spoilt
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Cn", "Co"})
_LONGEST_ID: Final = 10
_PREFIX: Final = 8
_BOLD: Final = re.compile(r"(?<![\w*])\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*(?![\w*])")
_CODE: Final = re.compile(r"(?<![\w`])`([^`]+)`(?![\w`])")
_HEADING: Final = re.compile(r"(?<!\S)#{1,6} (?=\S)")


def visible(text: str, *, limit: int | None = None) -> str:
    r"""Return text as one line: line ends, control, format and direction characters written as escapes (``\n``).

    Args:
        text: Anything.
        limit: Look at no more than so many characters, and end with ``…`` if there are more.
    """
    cut = limit is not None and len(text) > limit
    shown = _ODD.sub(lambda found: _shown(found[0]), text[:limit] if cut else text)
    return shown + "…" if cut else shown


@lru_cache(maxsize=4096)
def _shown(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char in _JOINERS or unicodedata.category(char) not in _HIDDEN:
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def width(text: str) -> int:
    """Return how many terminal cells a visible text takes: wide characters two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_cells, text))


@lru_cache(maxsize=4096)
def _cells(char: str) -> int:
    if char in _JOINERS or unicodedata.combining(char) or unicodedata.category(char) in {"Mn", "Me"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def clip(text: str, cells: int, *, ellipsis: str = "…") -> str:
    """Return a visible text that takes at most so many cells, ended with an ellipsis if something was cut off."""
    room = cells - width(ellipsis)
    if text.isascii():
        return text if len(text) <= cells else text[:room] + ellipsis if room >= 0 else ""
    taken = keep = 0
    for number, char in enumerate(text):
        if taken <= room:
            keep = number
        taken += _cells(char)
        if taken > cells:
            return text[:keep] + ellipsis if room >= 0 else ""
    return text


def pad(text: str, cells: int) -> str:
    """Return a visible text with blanks at its end up to so many cells."""
    return text + " " * (cells - width(text))


def short_id(id: str) -> str:
    """Return an entry id as people see and type it: pi's own ids whole, long foreign ones by their beginning."""
    return visible(id if len(id) <= _LONGEST_ID else id[:_PREFIX])


def short_session(id: str) -> str:
    """Return a session id as people see and type it: its end, because ids made within hours begin alike."""
    return visible(id[-_PREFIX:])


def reading(text: str) -> str:
    """Return Markdown text without the marks that only a renderer needs: ``**bold**``, code quotes, headings."""
    return _HEADING.sub("", _CODE.sub(r"\1", _BOLD.sub(r"\1", text)))

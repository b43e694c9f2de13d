"""Source code as coloured HTML: classes of one or two letters, coloured by the style sheet of the cell's output."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from importlib import import_module
from itertools import groupby
from typing import Any

__all__ = ["highlighted"]

LONGEST = 20_000  # characters; longer code is shown without colours

_CLASSES = (  # the first prefix that fits gives the class
    ("Token.Keyword", "k"),
    ("Token.Operator.Word", "k"),
    ("Token.Literal.String", "s"),
    ("Token.Literal.Number", "m"),
    ("Token.Comment", "c"),
    ("Token.Name.Builtin", "b"),
    ("Token.Name.Function", "d"),
    ("Token.Name.Class", "d"),
    ("Token.Name.Decorator", "b"),
    ("Token.Name.Tag", "k"),
    ("Token.Name.Attribute", "b"),
    ("Token.Operator", "o"),
)


@lru_cache(maxsize=64)
def highlighted(code: str, language: str = "") -> str:
    """Return code as HTML text, with ``<span>`` elements where the language is known."""
    lexer = _lexer(language) if language and len(code) <= LONGEST else None
    if lexer is None:
        return escape(code, quote=False)
    spans = groupby(lexer.get_tokens(code), key=lambda token: _css_class(str(token[0])))
    return "".join(_span(name, "".join(text for _, text in run)) for name, run in spans)


def _span(name: str, text: str) -> str:
    safe = escape(text, quote=False)
    return f'<span class="{name}">{safe}</span>' if name else safe


@lru_cache(maxsize=256)
def _css_class(token_type: str) -> str:
    return next((name for prefix, name in _CLASSES if token_type.startswith(prefix)), "")


@lru_cache(maxsize=64)
def _lexer(language: str) -> Any:
    lexers = import_module("pygments.lexers")
    try:
        return lexers.get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except lexers.ClassNotFound:
        return None

"""HTML for places that have no style sheets: saved outputs, exported to Markdown or shown by GitHub.

Exporters prefer an output's HTML to its Markdown. GitHub shows a ``<style>`` element as text, and CommonMark ends a
block of HTML at a blank line. So what stays in a notebook has the rules written into its elements, and no blank line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from html.parser import HTMLParser

__all__ = ["portable"]

_SHEET = re.compile(r"<style>([^<@]*)</style>")  # sheets that ask for the theme stay: no element can
_RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
_ANY = re.compile(r":is\(([^()]*)\)")
_SIMPLE = re.compile(r"\*|\.?[A-Za-z][\w-]*")
_BLANK = re.compile(r"\n(?=[ \t]*\n)")
_VOID = frozenset(("area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"))


def portable(html: str) -> str:
    """Return HTML of ours with its style sheets written into its elements, and without a blank line."""
    sheets = tuple(_SHEET.findall(html))
    if sheets:
        writer = _Writer(_rules("".join(sheets)))
        writer.feed(_SHEET.sub("<style></style>", html))
        writer.close()
        html = "".join(writer.out)
    return _BLANK.sub("&#10;", html)


# ---------------------------------------------------------------- rules


@dataclass(frozen=True, slots=True)
class _Rule:
    """One selector and its declarations; ``steps`` are combinators (space, ``>``, ``+``) and names, the last first."""

    steps: tuple[tuple[str, frozenset[str]], ...]
    declarations: str
    weight: tuple[int, int]


@lru_cache(maxsize=16)
def _rules(sheet: str) -> tuple[_Rule, ...]:
    """Return the rules of a sheet, the weightiest last; those about states of elements cannot be written into them."""
    found = [
        rule
        for selectors, declarations in _RULE.findall(sheet)
        for selector in _each(" ".join(selectors.split()))
        for rule in _rule(selector, " ".join(declarations.split()))
    ]
    return tuple(sorted(found, key=lambda rule: rule.weight))


def _each(selectors: str) -> Iterator[str]:
    """Yield the selectors of a list, those within ``:is()`` one by one."""
    match = _ANY.search(selectors)
    if match is None:
        yield from selectors.split(",")
        return
    for name in match[1].split(","):
        yield from _each(selectors[: match.start()] + name.strip() + selectors[match.end() :])


def _rule(selector: str, declarations: str) -> Iterator[_Rule]:
    words = re.sub(r"\s*([>+])\s*", r" \1 ", selector).split()
    if not words or any(not re.fullmatch(r"[>+]|[\w.*-]+", word) for word in words):
        return
    steps: list[tuple[str, frozenset[str]]] = []
    combinator = ""
    for word in words:
        if word in ">+":
            combinator = word
        else:
            steps.append((combinator or " ", frozenset(_SIMPLE.findall(word)) - {"*"}))
            combinator = ""
    names = [name for word in words for name in _SIMPLE.findall(word) if name != "*"]
    classes = sum(name.startswith(".") for name in names)
    yield _Rule(tuple(reversed(steps)), declarations.rstrip("; "), (classes, len(names) - classes))


# ---------------------------------------------------------------- elements


@dataclass(slots=True)
class _Element:
    tag: str
    names: frozenset[str] = frozenset()
    before: _Element | None = None
    last: _Element | None = field(default=None, repr=False)  # its newest child


class _Writer(HTMLParser):
    """Copies HTML and adds to each element what the rules say of it."""

    def __init__(self, rules: tuple[_Rule, ...]) -> None:
        super().__init__(convert_charrefs=False)
        self.out: list[str] = []
        self._rules = rules
        self._open = [_Element("")]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Copy a tag, styled, and go into its element."""
        element = self._styled(tag, dict(attrs))
        if tag not in _VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Copy a tag of an element with nothing in it."""
        self._styled(tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        """Copy it and leave the element."""
        if tag != "style":
            self.out.append(f"</{tag}>")
        if tag in (element.tag for element in self._open):
            while self._open.pop().tag != tag:
                continue

    def handle_data(self, data: str) -> None:
        """Copy it."""
        self.out.append(data)

    def handle_entityref(self, name: str) -> None:
        """Copy it."""
        self.out.append(f"&{name};")

    def handle_charref(self, name: str) -> None:
        """Copy it."""
        self.out.append(f"&#{name};")

    def handle_comment(self, data: str) -> None:
        """Leave it out."""

    def _styled(self, tag: str, attrs: dict[str, str | None]) -> _Element:
        parent = self._open[-1]
        names = frozenset((tag, *(f".{name}" for name in (attrs.get("class") or "").split())))
        element = _Element(tag, names, parent.last)
        parent.last = element
        if tag == "style":  # gone, but rules may speak of what comes after it
            return element
        said = [rule.declarations for rule in self._rules if self._fits(rule, element)]
        self.out.append(_with_style(self.get_starttag_text() or "", "; ".join(said).replace('"', "'")))
        return element

    def _fits(self, rule: _Rule, element: _Element) -> bool:
        if not rule.steps[0][1] <= element.names:
            return False
        return _above(rule.steps, element, self._open)


def _above(steps: tuple[tuple[str, frozenset[str]], ...], element: _Element, parents: list[_Element]) -> bool:
    """Return whether what is around an element, whose own names fit, is as the rest of a selector wants it."""
    if len(steps) == 1:
        return True
    (combinator, _), rest = steps[0], steps[1:]
    if combinator == "+":
        before = element.before
        return before is not None and rest[0][1] <= before.names and _above(rest, before, parents)
    lowest = len(parents) - 1 if combinator == ">" else 1
    return any(
        rest[0][1] <= parents[at].names and _above(rest, parents[at], parents[:at])
        for at in range(len(parents) - 1, max(1, lowest) - 1, -1)
    )


def _with_style(tag: str, declarations: str) -> str:
    """Return a tag with declarations before those that it has itself."""
    if not declarations:
        return tag
    if ' style="' in tag:
        return tag.replace(' style="', f' style="{declarations}; ', 1)
    end = "/>" if tag.endswith("/>") else ">"
    return f'{tag.removesuffix(end).rstrip()} style="{declarations}"{end}'

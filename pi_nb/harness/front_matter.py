"""What stands at the head of a Markdown file between two lines of ``---``: names and values.

Of YAML this reads what such heads are made of: ``name: value`` with plain, quoted and block texts, true and false, and
lists of texts. What is nested deeper is left out. Unlike YAML it takes a colon inside a plain text, which people write.
"""

from __future__ import annotations

import json
import re
import textwrap
from typing import Any

__all__ = ["read_front_matter"]

_FIELD = re.compile(r"([\w.-]+)[ \t]*:(?:[ \t]+(.*)|$)")
_BLOCK = re.compile(r"([|>])[-+0-9]*[ \t]*(?:#.*)?$")
_SINGLE = re.compile(r"'((?:[^']|'')*)'[ \t]*(?:#.*)?$")
_DOUBLE = re.compile(r'("(?:[^"\\]|\\.)*")[ \t]*(?:#.*)?$')
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the fields at the head of a file and the text below them; no fields if there is no such head.

    Raises:
        ValueError: The head has no end, a line is no field, a quote is not closed, or a name comes twice.
    """
    lines = text.split("\n")
    if lines[0].rstrip() != "---":
        return {}, text
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() == "---"), None)
    if end is None:
        raise ValueError("its front matter has no end (a line of ---)")
    return _fields(lines[1:end]), "\n".join(lines[end + 1 :]).strip()


def _fields(lines: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    at = 0
    while at < len(lines):
        line = lines[at].rstrip()
        at += 1
        if not line or line.lstrip().startswith("#"):
            continue
        field = _FIELD.match(line)
        if field is None:
            raise ValueError(f"line {at + 1} is not 'name: value'")
        name, first = field.group(1), (field.group(2) or "").strip()
        if name in found:
            raise ValueError(f"{name} comes twice")
        more = _below(lines, at)
        at += len(more)
        try:
            found[name] = _value(first, more)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return found


def _below(lines: list[str], at: int) -> list[str]:
    """Return the lines from a place on that belong to the field above them: indented ones, items, and blank ones."""
    stop = at
    for number in range(at, len(lines)):
        line = lines[number]
        if line.strip() and not line[0].isspace() and not line.startswith("- "):
            break
        stop = number + 1
    return lines[at:stop]


def _value(first: str, more: list[str]) -> Any:
    block = _BLOCK.match(first)
    if block is not None:
        return _block(textwrap.dedent("\n".join(more)), folded=block.group(1) == ">")
    rest = [line.strip() for line in more if line.strip() and not line.lstrip().startswith("#")]
    if not first and rest and all(line.startswith("- ") for line in rest):
        return [_scalar(line[2:].strip()) for line in rest]
    if not first and any(_FIELD.match(line) for line in rest):
        return None  # fields of a field
    return _scalar(" ".join([first, *rest]).strip())


def _block(text: str, *, folded: bool) -> str:
    text = text.strip("\n")
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text) if folded else text


def _scalar(text: str) -> Any:
    if text.startswith('"'):
        quoted = _DOUBLE.match(text)
        return json.loads(quoted.group(1), strict=False) if quoted else _not_closed()
    if text.startswith("'"):
        quoted = _SINGLE.match(text)
        return quoted.group(1).replace("''", "'") if quoted else _not_closed()
    plain = re.sub(r"(^|\s)#.*$", "", text).strip()
    return _WORDS.get(plain.lower(), plain)


def _not_closed() -> Any:
    raise ValueError("its quote is not closed")

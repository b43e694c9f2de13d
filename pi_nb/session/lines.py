"""JSON lines: one value per line, read tolerantly and written exactly.

The fast way is orjson. What it refuses although JavaScript reads it (bytes that are not UTF-8, lone surrogates,
nesting of thousands, a byte order mark) takes a slower way that accepts it. No function here recurses, so no
input can exhaust the stack.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from json.decoder import scanstring  # type: ignore[attr-defined]  # typeshed leaves it out
from typing import Any, Final

import orjson

from pi_nb.messages import Value

__all__ = ["BOM", "decode", "encode", "fields_of", "is_blank"]

BOM: Final = b"\xef\xbb\xbf"
_STRICT: Final = json.JSONDecoder(parse_constant=lambda name: _reject(f"{name} is not JSON"))


def _reject(message: str) -> Any:
    raise ValueError(message)


def is_blank(line: bytes) -> bool:
    """Return True if a line holds nothing but white space of any kind (a byte order mark counts as such)."""
    if not line or line.isspace():
        return True
    return len(line) < 4096 and not line.decode("utf-8", "replace").strip().strip("\ufeff").strip()


def decode(line: bytes) -> Any:
    """Return the value that one line of JSON holds; bytes that are not UTF-8 become U+FFFD.

    Raises:
        ValueError: The line is not JSON. ``NaN`` and ``Infinity`` are not JSON.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        text = line.decode("utf-8", "replace").removeprefix("\ufeff").strip(" \t\r\n")
    try:
        return _STRICT.decode(text)
    except RecursionError:
        return _Reader(text).value()


class _Reader:
    """A JSON reader that keeps its own stack, for nesting that the others refuse."""

    _SPACE: Final = re.compile(r"[ \t\r\n]*")
    _ATOM: Final = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
    _NAMED: Final = {"true": True, "false": False, "null": None}

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._stack: list[Any] = []
        self._keys: list[str | None] = []

    def value(self) -> Any:
        """Return the one value of the text."""
        done = False
        result: Any = None
        while not done:
            result, complete = self._start()
            while complete and self._stack:
                result, complete = self._put(result)
            done = complete
        self._skip()
        if self._at != len(self._text):
            raise ValueError("characters after the end of the value")
        return result

    def _start(self) -> tuple[Any, bool]:
        """Read the beginning of a value; return it and whether it is complete."""
        self._skip()
        char = self._text[self._at : self._at + 1]
        if char == '"':
            text, self._at = scanstring(self._text, self._at + 1, True)
            return text, True
        if char and char in "[{":
            return self._open(char)
        return self._atom(), True

    def _open(self, char: str) -> tuple[Any, bool]:
        self._at += 1
        container: Any = [] if char == "[" else {}
        if self._take("]" if char == "[" else "}"):
            return container, True
        self._stack.append(container)
        self._keys.append(self._key() if char == "{" else None)
        return container, False

    def _put(self, value: Any) -> tuple[Any, bool]:
        """Put a complete value into the innermost container; return that container and whether it is complete."""
        container, key = self._stack[-1], self._keys[-1]
        if isinstance(container, list):
            container.append(value)
        else:
            container[key] = value
        if self._take(","):
            self._keys[-1] = self._key() if isinstance(container, dict) else None
            return container, False
        if not self._take("]" if isinstance(container, list) else "}"):
            raise ValueError(f"a comma or the end of a container is missing at {self._at}")
        self._keys.pop()
        return self._stack.pop(), True

    def _key(self) -> str:
        self._skip()
        if self._text[self._at : self._at + 1] != '"':
            raise ValueError(f"a key is missing at {self._at}")
        key, self._at = scanstring(self._text, self._at + 1, True)
        if not self._take(":"):
            raise ValueError(f"a colon is missing at {self._at}")
        return str(key)

    def _atom(self) -> Any:
        match = self._ATOM.match(self._text, self._at)
        if match is None:
            raise ValueError(f"a value is missing at {self._at}")
        self._at = match.end()
        word = match.group()
        if word in self._NAMED:
            return self._NAMED[word]
        return float(word) if match.group(1) or match.group(2) else int(word)

    def _take(self, char: str) -> bool:
        self._skip()
        if not self._text.startswith(char, self._at):
            return False
        self._at += 1
        return True

    def _skip(self) -> None:
        match = self._SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at


def encode(value: Any, *, end: bytes = b"") -> bytes:
    """Return compact JSON of one value, as pi writes it.

    Values such as messages and entries may be in it anywhere; they are written as :meth:`Value.to_wire` says.

    Args:
        value: The value.
        end: What to put behind it: nothing, or a line feed.

    Raises:
        ValueError: A number is NaN or infinite, or something is of a type JSON does not have.
    """
    try:
        data = orjson.dumps(value, fields_of, orjson.OPT_APPEND_NEWLINE if end else None)
    except TypeError:  # lone surrogates, deep nesting, integers beyond 64 bits, keys that are not strings
        return "".join(_pieces(value)).encode() + end
    if data.rfind(b"null") >= 0:  # orjson writes NaN as null: make sure it is one (rfind takes half of find's time)
        _refuse_nan(value)
    return data


def fields_of(value: Any) -> dict[str, Any]:
    """Return the fields of a value under their names on the wire, one level deep: those that were read or set.

    Raises:
        TypeError: It is no value.
    """
    names = _NAMES.get(type(value)) or _learn(value)
    given, have = value.__pydantic_fields_set__, value.__dict__
    fields = {}
    for name, wire, always in names:  # for every block of every message: a comprehension costs half as much again
        if always or name in given:
            fields[wire] = have[name]
    extra = value.__pydantic_extra__
    if extra:
        fields.update(extra)
    return fields


_NAMES: dict[type[Value], tuple[tuple[str, str, bool], ...]] = {}


def _learn(value: Any) -> tuple[tuple[str, str, bool], ...]:
    """Remember the names of a class: in Python, on the wire, and whether it is written even if nobody set it."""
    kind = type(value)
    if not isinstance(value, Value):
        raise TypeError(f"a {kind.__name__} cannot be written as JSON")
    found = kind.model_fields.items()
    _NAMES[kind] = tuple((name, field.alias or name, name in ("type", "role")) for name, field in found)
    return _NAMES[kind]


def _opened(item: Any) -> Any:
    return fields_of(item) if type(item) in _NAMES or isinstance(item, Value) else item


def _refuse_nan(value: Any) -> None:
    stack = [value]
    while stack:
        item = _opened(stack.pop())
        if isinstance(item, float) and not math.isfinite(item):
            raise ValueError(f"{item} is not JSON")
        if isinstance(item, Mapping):
            stack.extend(item.values())
        elif isinstance(item, list | tuple):
            stack.extend(item)


def _pieces(value: Any) -> Iterator[str]:
    """Yield the JSON of a value piece by piece, keeping an own stack."""
    stack: list[Any] = [_Raw(""), value]
    while stack:
        item = _opened(stack.pop())
        if isinstance(item, _Raw):
            yield item.text
        elif isinstance(item, Mapping):
            stack.append(_Raw("}"))
            for number, (key, inner) in enumerate(reversed(list(item.items()))):
                comma = "" if number == len(item) - 1 else ","
                stack += [inner, _Raw(f"{comma}{_string(_key_text(key))}:")]
            yield "{"
        elif isinstance(item, list | tuple):
            stack.append(_Raw("]"))
            for number, inner in enumerate(reversed(item)):
                stack += [inner] if number == len(item) - 1 else [inner, _Raw(",")]
            yield "["
        else:
            yield _scalar(item)


class _Raw:
    """JSON text that is already written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _key_text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool | int | float):
        return _scalar(key)
    raise ValueError(f"{key!r} cannot be a key in JSON")


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _string(value)
    if value is None or isinstance(value, bool | int | float):
        return json.dumps(value, allow_nan=False)
    raise ValueError(f"a {type(value).__name__} cannot be written as JSON")


def _string(text: str) -> str:
    """Return a JSON string; lone surrogates, which UTF-8 cannot hold, are escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)

"""Tool-call arguments: JSON as models write it, which is not always JSON.

Streamed arguments arrive in pieces, so what has arrived is nearly always cut; and models put raw newlines and
invented escapes into strings. Two questions are answered separately: what can be shown, and may it be run.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from pi_nb.providers.surrogates import well_formed, well_formed_value

__all__ = ["Arguments", "parse_arguments"]


@dataclass(frozen=True, slots=True)
class Arguments:
    """What was made of argument text.

    Attributes:
        value: The object, as far as it could be read; empty if nothing could.
        whole: False if something was missing or not understood: show it, do not run it.
    """

    value: dict[str, Any]
    whole: bool


def parse_arguments(text: str) -> Arguments:
    """Return the object that ``text`` describes, whatever state it is in; never raises."""
    if not text.strip():
        return Arguments({}, True)  # a call without arguments is often sent as nothing at all
    try:
        found = _of_value(_loads(text))
    except (ValueError, RecursionError):
        found = None
    return found if found is not None else _salvage(text)


def _loads(text: str) -> Any:
    value = json.loads(text, parse_constant=str)  # NaN and Infinity are not JSON; no storage could write them
    return well_formed_value(value) if "\\u" in text else value


def _of_value(value: Any) -> Arguments | None:
    if isinstance(value, dict):
        return Arguments(value, True)
    if value is None:
        return Arguments({}, True)
    if isinstance(value, str) and value.lstrip().startswith("{"):  # encoded twice
        return parse_arguments(value)
    return None


# ---------------------------------------------------------------- a reader that accepts anything

_TOKEN = re.compile(r"""\s+ | [{}\[\]:,] | "(?:[^"\\]+|\\.)*(?:"|\\?\Z) | [^\s{}\[\]:,"]+ """, re.DOTALL | re.VERBOSE)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|u[0-9a-fA-F]{0,3}\Z|[\"\\/bfnrt]|.|\Z)", re.DOTALL)
_DEPTH_LIMIT = 200


def _salvage(text: str) -> Arguments:
    reader = _Reader()
    for match in _TOKEN.finditer(text):
        reader.feed(match.group())
    objects = [value for value in reader.top if isinstance(value, dict)]
    full = [value for value in objects if value]
    if not objects:
        return Arguments({}, False)
    # some servers open with "{}" and then send the real object
    whole = reader.clean and not reader.stack and len(full) <= 1 and len(objects) == len(reader.top)
    return Arguments((full or objects)[-1], whole)


class _Reader:
    """Builds values from tokens without recursion, leaving out what makes no sense."""

    def __init__(self) -> None:
        self.top: list[Any] = []
        self.stack: list[dict[str, Any] | list[Any]] = []
        self.keys: list[str | None] = []
        self.clean = True
        self.colon = False

    def feed(self, token: str) -> None:
        head = token[0]
        if head.isspace():
            return
        if head in "{[":
            self._open({} if head == "{" else [])
        elif head in "}]":
            self._close(head)
        elif head == ":":
            self.colon = True
        elif head == ",":
            self._drop_key()
        else:
            self._scalar(token)

    def _open(self, container: dict[str, Any] | list[Any]) -> None:
        if len(self.stack) >= _DEPTH_LIMIT:
            self.clean = False
            return
        self._put(container)
        self.stack.append(container)
        self.keys.append(None)

    def _close(self, bracket: str) -> None:
        self._drop_key()
        if self.stack and isinstance(self.stack[-1], dict) == (bracket == "}"):
            self.stack.pop()
            self.keys.pop()
        else:
            self.clean = False

    def _drop_key(self) -> None:
        if self.keys and self.keys[-1] is not None:
            self.keys[-1] = None
            self.clean = False
        self.colon = False

    def _scalar(self, token: str) -> None:
        if token[0] == '"':
            self._string(token)
            return
        try:
            self._put(_loads(token))
        except ValueError:
            self.clean = False

    def _string(self, token: str) -> None:
        closed = len(token) > 1 and _ends_string(token)
        self.clean = self.clean and closed
        value = _unescape(token[1:-1] if closed else token[1:])
        if self.stack and isinstance(self.stack[-1], dict) and self.keys[-1] is None:
            if closed:
                self.keys[-1] = value
            self.colon = False
        else:
            self._put(value)

    def _put(self, value: Any) -> None:
        if not self.stack:
            self.top.append(value)
            return
        holder = self.stack[-1]
        if isinstance(holder, list):
            holder.append(value)
        elif self.keys[-1] is not None and self.colon:
            holder[self.keys[-1]] = value
            self.keys[-1] = None
            self.colon = False
        else:
            self.clean = False


def _ends_string(token: str) -> bool:
    """Return whether the last quote is a real one, not an escaped one."""
    if token[-1] != '"':
        return False
    body = token[1:-1]
    return (len(body) - len(body.rstrip("\\"))) % 2 == 0


_PLAIN = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\", "/": "/"}


def _unescape(body: str) -> str:
    return well_formed(_ESCAPE.sub(_escape, body)) if "\\" in body else body


def _escape(match: re.Match[str]) -> str:
    code = match.group(1)
    if code in _PLAIN:
        return _PLAIN[code]
    if len(code) == 5:
        return chr(int(code[1:], 16))
    cut = not code or (code[0] == "u" and match.end() == len(match.string))
    return "" if cut else f"\\{code}"  # an escape JSON does not have was meant literally

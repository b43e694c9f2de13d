"""One request and its answer, as a line of a file that people can read and compare.

A line is a JSON object: ``request`` (method, url, body) and ``response`` (status, headers, chunks). A chunk is
``[seconds since the one before, text]``, or ``[seconds, {"base64": …}]`` where its bytes alone are no text.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx

from pi_nb.providers.masks import Masks, bare_url

__all__ = ["Asked", "Exchange", "difference"]

_UNREMARKED = frozenset({"prompt_cache_key"})  # names the session, not the question
_MADE_UP = re.compile(r"call_[0-9a-f]{16}")  # ids we give to calls that come without one


@dataclass(frozen=True)
class Asked:
    """A request without its secrets. ``body`` is JSON data, a text, or None."""

    method: str
    url: str
    body: Any = None
    identity: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "identity", f"{self.method} {self.url} {_canonical(self.body)}")

    @classmethod
    def of(cls, request: httpx.Request, masks: Masks) -> Asked:
        """Return what a request asks; its content must have been read."""
        text = masks.removed(request.content.decode("utf-8", "replace"))
        return cls(request.method, masks.removed(bare_url(request.url)), _body(text))


def _body(text: str) -> Any:
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text


def _canonical(body: Any) -> str:
    """Return a text that is equal for bodies that ask the same."""
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name not in _UNREMARKED}
    numbers: dict[str, int] = {}
    numbered = count(1)

    def number(match: re.Match[str]) -> str:
        if match.group() not in numbers:
            numbers[match.group()] = next(numbered)
        return f"call_{numbers[match.group()]}"

    return _MADE_UP.sub(number, json.dumps(body, sort_keys=True, ensure_ascii=False))


@dataclass(frozen=True)
class Exchange:
    """One request and its answer.

    Attributes:
        asked: The request.
        status: HTTP status.
        headers: Response headers.
        chunks: Seconds since the chunk before (or the headers), and its bytes.
        broken: The name of httpx's exception that ended the body; empty if it ended well.
    """

    asked: Asked
    status: int
    headers: tuple[tuple[str, str], ...] = ()
    chunks: tuple[tuple[float, bytes], ...] = ()
    broken: str = ""

    def to_line(self) -> str:
        """Return the line that stands for this exchange, without its end."""
        request = {"method": self.asked.method, "url": self.asked.url, "body": self.asked.body}
        response: dict[str, Any] = {"status": self.status, "headers": self.headers}
        response["chunks"] = [[round(seconds, 4), _written(chunk)] for seconds, chunk in self.chunks]
        if self.broken:
            response["broken"] = self.broken
        return json.dumps({"request": request, "response": response}, ensure_ascii=False)

    @classmethod
    def of_line(cls, line: str) -> Exchange:
        """Return the exchange of a line.

        Raises:
            ValueError: This is none.
        """
        try:
            data = json.loads(line)
            request, response = data["request"], data["response"]
            chunks = tuple((float(seconds), _read(chunk)) for seconds, chunk in response["chunks"])
            headers = tuple((str(name), str(value)) for name, value in response["headers"])
            asked = Asked(request["method"], request["url"], request["body"])
            return cls(asked, int(response["status"]), headers, chunks, response.get("broken", ""))
        except (KeyError, TypeError) as error:
            raise ValueError(f"no exchange: {error!r}") from None


def _written(chunk: bytes) -> Any:
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(chunk).decode()}


def _read(chunk: Any) -> bytes:
    return chunk.encode() if isinstance(chunk, str) else base64.b64decode(chunk["base64"])


# ---------------------------------------------------------------- telling what does not match


def difference(recorded: Any, asked: Any) -> str:
    """Return where two bodies first differ and how, in a few words; empty if they do not."""
    return next(_differences(recorded, asked, ""), "")


def _differences(old: Any, new: Any, place: str) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted({*old, *new}):
            yield from _differences(old.get(name), new.get(name), f"{place}.{name}".lstrip("."))
    elif isinstance(old, list) and isinstance(new, list):
        for index, (a, b) in enumerate(zip(old, new, strict=False)):
            yield from _differences(a, b, f"{place}[{index}]")
        if len(old) != len(new):
            yield f"{place} has {len(old)} parts there and {len(new)} here"
    elif old != new:
        yield f"{place or 'the body'}: {_short(old)} there, {_short(new)} here"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else f"{text[:79]}…"

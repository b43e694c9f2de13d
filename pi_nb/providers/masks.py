"""Takes keys out of what is written down: requests, headers, bodies that quote a key back."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

import httpx

__all__ = ["Masks", "bare_url", "shown_url"]

HIDDEN = "[key]"
_AUTH_HEADERS = ("authorization", "proxy-authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie")
_KEY_PARAMETERS = frozenset(
    (
        *("key", "api_key", "apikey", "api-key", "subscription-key", "access_token", "token", "sig", "signature"),
        *("password", "secret", "client_secret"),
    )
)
_UNSHOWN = "[an address with secrets]"
_AT = re.compile(r"@|%40", re.IGNORECASE)
_PARAMETERS = re.compile(r"[?#]")
_SCHEME = re.compile(r"(?:\w+:)?//")
_HALF_MASKED = rb"[\w-]*(?:[*.]|\xe2\x80\xa6)(?:[\w*.-]|\xe2\x80\xa6)*"
_SHORTEST = 8  # shorter "keys" are stand-ins such as "none", and words


def bare_url(url: httpx.URL) -> str:
    """Return a URL without user, password and parameters that carry keys."""
    kept: Any = [(name, value) for name, value in url.params.multi_items() if name.lower() not in _KEY_PARAMETERS]
    return str(url.copy_with(username=None, password=None, query=str(httpx.QueryParams(kept)).encode() or None))


def shown_url(url: str) -> str:
    """Return an address as it may be shown, whether it is one or not."""
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, ValueError):
        return _guessed(url)
    if not parsed.host:
        return _guessed(url)
    shown = bare_url(parsed.copy_with(fragment=None)) if parsed.userinfo or parsed.query or parsed.fragment else url
    return _guessed(shown) if _AT.search(shown) else shown


def _guessed(url: str) -> str:
    """Return what may be shown of an address that is none: all before an ``@`` may be part of a password."""
    place, *more = _PARAMETERS.split(url, maxsplit=1)
    if more and _AT.search(more[0]):  # a password with a question mark, or a key with an @
        return _UNSHOWN
    *secret, shown = _AT.split(place)
    scheme = _SCHEME.match(place)
    return f"{scheme.group() if scheme else ''}…@{shown}" if secret else place


class Masks:
    """The secrets of one request, and of the environment."""

    def __init__(self, secrets: Iterable[str]) -> None:
        written = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)
        self._found = _pattern([form.encode() for form in written])

    @classmethod
    def of(cls, request: httpx.Request) -> Masks:
        """Return the masks for what a request carries, and for every key in the environment."""
        return cls((*_carried(request), *_in_environment(os.environ)))

    def covered(self, data: bytes) -> bytes:
        """Return ``data`` with each secret covered by as many stars, so that lengths and cuts stay what they are."""
        return self._found.sub(lambda match: b"*" * len(match.group()), data) if self._found else data

    def removed(self, text: str) -> str:
        """Return ``text`` with each secret replaced by a word, the same for every key."""
        if self._found is None:
            return text
        return self._found.sub(HIDDEN.encode(), text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _carried(request: httpx.Request) -> Iterator[str]:
    for name in _AUTH_HEADERS:
        value = request.headers.get(name, "")
        yield value.removeprefix("Bearer ").removeprefix("Basic ").strip()
    for name, value in request.url.params.multi_items():
        if name.lower() in _KEY_PARAMETERS:
            yield value
    if request.url.password:
        yield request.url.password


def _in_environment(environment: Mapping[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        if name.endswith(("_API_KEY", "_TOKEN", "_SECRET")):
            yield value.strip()


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret as it may be written: plain, in JSON, in an address."""
    if len(secret) >= _SHORTEST:
        inside = json.dumps(secret)[1:-1]
        yield from (secret, inside, inside.replace("/", "\\/"), quote(secret, safe=""))


def _pattern(forms: list[bytes]) -> re.Pattern[bytes] | None:
    """Return what finds them, also half masked as providers quote them: ``sk-abcd****wxyz``."""
    if not forms:
        return None
    halves = [re.escape(form[:7]) + _HALF_MASKED for form in forms if len(form) >= 20]
    return re.compile(b"|".join([*map(re.escape, forms), *halves]))

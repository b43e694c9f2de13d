"""``openai-compatible:MODEL@URL``: any server that speaks Chat Completions, by its address.

    openai-compatible:qwen3@http://gpu-box:8000/v1

Without ``@URL``, the address is ``OPENAI_COMPATIBLE_BASE_URL``. A model's name is stored in the session, and sessions
are handed on; so that opening one does not send prompts to a stranger, an address outside this machine and its
network must be the one in that variable. The key, ``OPENAI_COMPATIBLE_API_KEY``, goes only there, and to this machine.
"""

from __future__ import annotations

import os
from ipaddress import ip_address
from typing import Any, Final, Unpack

import httpx

from pi_nb.errors import ProviderError
from pi_nb.providers.base import Request
from pi_nb.providers.dialects import Dialect
from pi_nb.providers.http import Options
from pi_nb.providers.masks import shown_url
from pi_nb.providers.openai_chat import OpenAIChatProvider

__all__ = ["CompatibleProvider"]

_NAME: Final = "openai-compatible"
_VARIABLE: Final = "OPENAI_COMPATIBLE_BASE_URL"
_DIALECT: Final = Dialect(
    _NAME,
    "http://127.0.0.1:8000/v1",
    url_env=_VARIABLE,
    key_env=("OPENAI_COMPATIBLE_API_KEY",),
    needs_key=False,
    turns=True,
    context_window=32_768,
)


class CompatibleProvider(OpenAIChatProvider):
    """Chat Completions at the address that the model's name ends with.

    Args:
        options: As :class:`~pi_nb.providers.http.HttpProvider` has them; ``base_url`` is the address of models without
            one.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        super().__init__(_DIALECT, **options)

    def address(self, request: Request) -> str:
        """Return where completions are asked for.

        Raises:
            ProviderError: ``invalid_request``: an address out in the world that the environment does not name.
        """
        _, url = _parts(request.model.id)
        if not url:
            return super().address(request)
        if not self._is_trusted(url):
            raise ProviderError(
                f"{shown_url(url)} is not on this machine or its network, so prompts are not sent there.",
                code="invalid_request",
                hint=f"If you trust it: {_VARIABLE}={shown_url(url)}",
            )
        return f"{url.rstrip('/')}{self.path(request)}"

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the request's body, with the model's own name."""
        return {**super().payload(request), "model": _parts(request.model.id)[0]}

    def may_sign(self, url: httpx.URL) -> bool:
        """Return whether the key may be sent to an address."""
        return _origin(url) == _origin(httpx.URL(self.base_url)) or _is_this_machine(url.host)

    def _is_trusted(self, url: str) -> bool:
        parsed = httpx.URL(url)
        named = os.environ.get(_VARIABLE, "").strip() or self.base_url
        return _origin(parsed) == _origin(httpx.URL(named)) or _is_near(parsed.host)


def _parts(model_id: str) -> tuple[str, str]:
    """Return a model's name and its address, if it has one."""
    name, _, url = model_id.rpartition("@http")
    return (name, f"http{url}") if name else (model_id, "")


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


def _is_near(host: str) -> bool:
    """Return whether a host is this machine, or one of a private network."""
    if _is_this_machine(host) or "." not in host.strip("[]").replace(":", "."):
        return True
    try:
        return ip_address(host).is_private
    except ValueError:
        return host.endswith((".local", ".internal", ".lan", ".home.arpa"))


def _is_this_machine(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False

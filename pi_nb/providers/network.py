"""The way to a provider: proxy and certificates, those of the environment or others, as httpx has them."""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import httpx

from pi_nb.errors import ProviderError

__all__ = ["Network"]

_VARIABLES: Final = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    *(name for stem in ("http", "https", "all", "no") for name in (f"{stem}_proxy", f"{stem}_proxy".upper())),
)


@dataclass(frozen=True, slots=True)
class Network:
    """How to reach a provider.

    Attributes:
        proxy: A proxy's URL; None for the environment's ``HTTPS_PROXY``, ``HTTP_PROXY``, ``ALL_PROXY``, ``NO_PROXY``.
        verify: Whom to trust: an SSL context, or the path of a file (or folder) of certificates in PEM form; True for
            the environment's ``SSL_CERT_FILE`` or ``SSL_CERT_DIR``, and else the usual authorities; False for anybody.
        environment: False to leave the environment's proxies alone.
    """

    proxy: str | None = field(default=None, repr=False)  # it may hold a password
    verify: ssl.SSLContext | str | bool = True
    environment: bool = True

    def surroundings(self) -> tuple[str | None, ...]:
        """Return all that decides about a connection beside this; a connection is good as long as it is the same."""
        return tuple(map(os.environ.get, _VARIABLES)) if self.environment else ()

    def client(self, **options: Any) -> httpx.AsyncClient:
        """Return a client that goes this way.

        Raises:
            ProviderError: ``invalid_request``: there is no such way.
        """
        try:
            return httpx.AsyncClient(verify=self._context(), proxy=self.proxy, trust_env=self.environment, **options)
        except ImportError:
            raise _no_way("A SOCKS proxy is set, and what it needs is not installed.", "pip install socksio") from None
        except (ValueError, httpx.InvalidURL):  # their words hold the address, and that perhaps a password
            raise _no_way("The proxy's address is none.", "HTTPS_PROXY must look like http://host:port.") from None

    def _context(self) -> ssl.SSLContext:
        if isinstance(self.verify, ssl.SSLContext):
            return self.verify
        file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        try:
            return _context(self.verify, file, folder)
        except OSError as error:
            named = self.verify if isinstance(self.verify, str) else f"SSL_CERT_FILE={file}"
            raise _no_way(f"Certificates cannot be read: {named} ({error.strerror or error}).") from None


@cache  # 20 ms each time
def _context(verify: str | bool, file: str | None, folder: str | None) -> ssl.SSLContext:
    if isinstance(verify, bool):
        return httpx.create_ssl_context(verify=verify)
    if Path(verify).is_dir():
        return ssl.create_default_context(capath=verify)
    return ssl.create_default_context(cafile=verify)


def _no_way(why: str, hint: str = "") -> ProviderError:
    return ProviderError(why, code="invalid_request", hint=hint)

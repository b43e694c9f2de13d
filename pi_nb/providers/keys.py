"""Keys: read when a request is made, told to nobody."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence

from pi_nb.errors import ProviderError

__all__ = ["Key"]

_HIDDEN = "[key]"


class Key:
    """A provider's key, wherever it is: given, made by a function, or in the environment.

    Args:
        given: The key, a function that returns it, or None to look into the environment.
        env: Environment variables that may hold it; the first that is set counts.
        needed: False if the provider also answers without.
    """

    def __init__(
        self, given: str | Callable[[], str] | None = None, *, env: Sequence[str], needed: bool = True
    ) -> None:
        self._source = given
        self._env = tuple(env)
        self._needed = needed

    def __repr__(self) -> str:
        return f"<Key {self.where}>"

    @property
    def where(self) -> str:
        """Where the key comes from: ``given``, a variable's name, or ``none``."""
        if self._source is not None:
            return "given"
        return next((name for name in self._env if os.environ.get(name, "").strip()), "none")

    def get(self) -> str:
        """Return the key; empty if there is none and none is needed.

        Raises:
            ProviderError: ``auth``: there is no key, or it cannot be one.
        """
        key = self._look()
        if not key and self._needed:
            name = self._env[0] if self._env else "api_key"
            raise ProviderError(f"no key: {name} is not set.", code="auth", hint=_how_to_set(name))
        if not (key.isascii() and key.isprintable()):
            raise ProviderError(f"The key ({self.where}) contains characters that no key has.", code="auth")
        return key

    def _look(self) -> str:
        if callable(self._source):
            return self._source().strip()
        if self._source is not None:
            return self._source.strip()
        return os.environ.get(self.where, "").strip()

    def redact(self, text: str) -> str:
        """Return ``text`` without the key, also without the half-masked key that some providers quote."""
        try:
            key = self._look()
        except Exception:
            return text
        if len(key) < 8:  # a stand-in such as "none", for servers that need no key
            return text
        text = text.replace(key, _HIDDEN)
        return re.sub(re.escape(key[:7]) + r"[\w*.…-]+", _HIDDEN, text) if len(key) >= 20 else text


def _how_to_set(name: str) -> str:
    return f'Set it before you start Jupyter, or here: import os, getpass; os.environ["{name}"] = getpass.getpass()'

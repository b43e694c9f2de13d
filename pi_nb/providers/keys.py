"""Keys: read when a request is made, told to nobody.

Looked for where the provider was told, then in the environment, then in the system's keyring
(``pip install 'pi-nb[keyring]'``, ``keyring set pi-nb ANTHROPIC_API_KEY``).
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from pi_nb.errors import ProviderError
from pi_nb.providers import keyrings
from pi_nb.providers.keyrings import KEYRING_SERVICE
from pi_nb.providers.masks import Masks

__all__ = ["Key"]


class Key:
    """A provider's key, wherever it is: given, made by a function, in the environment, or in the keyring.

    Args:
        given: The key, a function that returns it, or None to look into the environment and the keyring.
        env: Environment variables that may hold it, and the names it may have in the keyring; the first that is
            there counts.
        needed: False if the provider also answers without.
    """

    def __init__(
        self, given: str | Callable[[], str] | None = None, *, env: Sequence[str], needed: bool = True
    ) -> None:
        # a key that was given stands in a function, so that nothing that lists attributes shows it
        self._source = given if given is None or callable(given) else lambda: given
        self._env = tuple(env)
        self._needed = needed
        self._told: deque[Callable[[], str]] = deque(maxlen=8)

    def __repr__(self) -> str:
        return f"<Key {self.where}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A key is not to be stored.")

    @property
    def where(self) -> str:
        """Where the key comes from: ``given``, a variable's name, or ``none``; the keyring is not asked for this."""
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
            raise self._lack()
        if not (key.isascii() and key.isprintable()):
            raise ProviderError(f"The key ({self.where}) contains characters that no key has.", code="auth")
        if key and all(key != told() for told in self._told):
            self._told.append(lambda: key)  # a function may give another one next time: this one stays secret too
        return key

    def lack(self) -> ProviderError | None:
        """Return the error that :meth:`get` would raise because there is no key; a function is not asked for one."""
        missing = self._needed and self._source is None and not self._look()
        return self._lack() if missing else None

    def _lack(self) -> ProviderError:
        name = self._env[0] if self._env else "api_key"
        return ProviderError(f"no key: {name} is not set.", code="auth", hint=_how_to_set(name))

    def _look(self) -> str:
        if self._source is not None:
            return self._source().strip()
        return os.environ.get(self.where, "").strip() or next(filter(None, map(keyrings.key_of, self._env)), "")

    def redact(self, text: str) -> str:
        """Return ``text`` without the key, also without the half-masked key that some providers quote."""
        in_environment = [os.environ.get(name, "").strip() for name in self._env]
        return Masks([*(told() for told in self._told), *in_environment]).removed(text)

    def redact_all(self, values: Mapping[str, str]) -> dict[str, str]:
        """Return a mapping with the key taken out of its values."""
        mask = Masks([told() for told in self._told])
        return {name: mask.removed(value) for name, value in values.items()}


def _how_to_set(name: str) -> str:
    here = f'import os, getpass; os.environ["{name}"] = getpass.getpass()'
    once = f"keyring set {KEYRING_SERVICE} {name}"
    once = once if keyrings.installed() else f"pip install 'pi-nb[keyring]' && {once}"
    return f"Set it before you start Jupyter, or here: {here}; or once for all: {once}"

"""The system's keyring, for keys that are to be set once for all: ``keyring set pi-nb ANTHROPIC_API_KEY``.

A request that needs a key asks it, and the system may then ask its user to unlock it. Whoever only wants to know which
keys there are, to choose a model, must not be the cause of a dialogue: then only keyrings that are open are asked.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import Any, Final

__all__ = ["KEYRING_SERVICE", "installed", "key_of", "quietly_held"]

KEYRING_SERVICE: Final = "pi-nb"
_PATIENCE: Final = 1.0  # seconds
_MAY_BE_LOCKED: Final = "keyring.backends.SecretService.Keyring"
# what asks nobody anything about a key that was stored from here; any other might wait for a password
_QUIET: Final = frozenset(
    {
        "keyring.backends.Windows.WinVaultKeyring",
        "keyring.backends.macOS.Keyring",
        "keyrings.alt.file.PlaintextKeyring",
        _MAY_BE_LOCKED,
    }
)


def installed() -> bool:
    """Return whether the package ``keyring`` is there."""
    return find_spec("keyring") is not None


def key_of(name: str) -> str:
    """Return a key from the keyring; empty if there is none, or no keyring."""
    if not installed():
        return ""
    keyring: Any = __import__("keyring")
    return _asked(keyring, name)


def quietly_held(names: Iterable[str]) -> str:
    """Return the first of ``names`` under which an open keyring holds a key; empty if there is none.

    A keyring that does not answer within a second is as if there were none.
    """
    if not installed():
        return ""
    found: list[str] = []
    asking = threading.Thread(target=_look, args=(tuple(names), found), name="pi_nb-keyring", daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    return next(iter(found), "")


def _look(names: tuple[str, ...], found: list[str]) -> None:
    try:
        import keyring

        open_ones = list(_quiet(keyring.get_keyring()))
    except Exception:  # a keyring that cannot even begin
        return
    found.extend(name for name in names if any(_asked(ring, name) for ring in open_ones))


def _quiet(ring: Any) -> Iterator[Any]:
    """Yield the keyrings behind one that may be asked without anybody noticing."""
    for one in getattr(ring, "backends", None) or [ring]:
        kind = f"{type(one).__module__}.{type(one).__qualname__}"
        if kind in _QUIET and (kind != _MAY_BE_LOCKED or _is_unlocked()):
            yield one


def _is_unlocked() -> bool:
    try:
        from secretstorage import dbus_init
        from secretstorage.collection import get_collection_by_alias

        with closing(dbus_init()) as bus:
            return not get_collection_by_alias(bus, "default").is_locked()
    except Exception:  # no such service, or nothing in it
        return False


def _asked(ring: Any, name: str) -> str:
    try:
        return str(ring.get_password(KEYRING_SERVICE, name) or "").strip()
    except Exception:  # locked, or nobody to unlock it: as if there were none
        return ""

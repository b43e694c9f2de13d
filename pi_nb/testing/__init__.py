"""For those who build on pi_nb: what a storage of sessions must do, as tests to inherit. Needs pytest when used.

    from pi_nb.testing import SessionStorageContract

    class TestMyStorage(SessionStorageContract):
        def create(self, header, folder):
            return MyStorage.create(folder / "sessions", header)

        def reopen(self, storage):
            return MyStorage.open(storage.place)

pytest then runs all of it. The storage derives from :class:`pi_nb.session.storage.IndexedStorage`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_nb.testing.contract import SessionStorageContract

__all__ = ["SessionStorageContract"]

if "pytest" in sys.modules:  # assertions here explain themselves as those in a test file do
    _parts = ("contract", "lifetime_tests", "log_tests", "sharing_tests", "tree_tests", "value_tests", "subject")
    sys.modules["pytest"].register_assert_rewrite(*(f"{__name__}.{part}" for part in _parts))


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pi_nb.testing.contract import SessionStorageContract

    return SessionStorageContract

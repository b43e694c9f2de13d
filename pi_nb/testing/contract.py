"""The contract of a storage, in full, as one class of tests to inherit."""

from __future__ import annotations

from pi_nb.testing.lifetime_tests import LifetimeTests
from pi_nb.testing.log_tests import LogTests
from pi_nb.testing.sharing_tests import SharingTests
from pi_nb.testing.tree_tests import TreeTests
from pi_nb.testing.value_tests import ValueTests

__all__ = ["SessionStorageContract"]


class SessionStorageContract(LogTests, TreeTests, ValueTests, LifetimeTests, SharingTests):
    """What every storage does. A subclass named ``Test...`` that has ``create`` and ``reopen`` runs it.

    See :class:`~pi_nb.testing.subject.StorageSubject` for what a subclass can give.
    """

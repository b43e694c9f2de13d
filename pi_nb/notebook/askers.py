"""Which of several runs beside each other a question comes from.

Each run is a task of its own, and what its task does knows its asker; a run that is alone has none.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from pi_nb.harness.events import HarnessEvent

__all__ = ["Asker", "asker", "enter"]


@dataclass(frozen=True, slots=True)
class Asker:
    """One of several runs: what its column is called, and where its events are heard."""

    title: str
    hear: Callable[[HarnessEvent], None]


_asker: ContextVar[Asker | None] = ContextVar("pi_nb_asker", default=None)


def enter(who: Asker) -> None:
    """Say that what this task asks from here on is asked by one of several runs."""
    _asker.set(who)


def asker() -> Asker | None:
    """Return which of several runs this task belongs to; None if there is only one."""
    return _asker.get()

"""Subscribers: who is told what happens, one after another, before the harness goes on."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

from pi_nb.errors import HarnessError
from pi_nb.harness.events import HarnessEvent

__all__ = ["Listener", "Listeners"]

Listener: TypeAlias = Callable[[HarnessEvent], Awaitable[None] | None]


class Listeners:
    """An ordered set of subscribers. Every one hears every event; the first that raises fails the run afterwards."""

    def __init__(self, listeners: Iterable[Listener] = ()) -> None:
        self._listeners: dict[int, Listener] = dict(enumerate(listeners))
        self._next = len(self._listeners)

    def __len__(self) -> int:
        return len(self._listeners)

    def add(self, listener: Listener) -> Callable[[], None]:
        """Add a subscriber; return how to take it back."""
        key = self._next
        self._next += 1
        self._listeners[key] = listener

        def remove() -> None:
            self._listeners.pop(key, None)

        return remove

    async def emit(self, event: HarnessEvent) -> None:
        """Tell everybody.

        Raises:
            HarnessError: ``hook``, when a subscriber raised; its exception is the cause.
        """
        failure: Exception | None = None
        for listener in tuple(self._listeners.values()):
            try:
                pending = listener(event)
                if pending is not None and inspect.isawaitable(pending):
                    await pending
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise broken(failure) from failure


def broken(error: Exception) -> HarnessError:
    """Return the error a run fails with when a subscriber or hook raised ``error``."""
    if isinstance(error, HarnessError):
        return error
    return HarnessError(str(error) or type(error).__name__, code="hook")

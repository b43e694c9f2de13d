"""Subscribers: who is told what happens, one after another, before the harness goes on."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from pi_nb.errors import HarnessError
from pi_nb.harness.events import HarnessEvent
from pi_nb.harness.signals import is_cancelled

__all__ = ["Listener", "Listeners", "broken", "told"]

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
        failure: BaseException | None = None
        for listener in tuple(self._listeners.values()):
            try:
                pending = listener(event)
                if pending is not None and inspect.isawaitable(pending):
                    await pending
            except asyncio.CancelledError as error:
                if is_cancelled():
                    raise
                failure = failure or error
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise broken(failure) from failure


def broken(error: BaseException) -> HarnessError:
    """Return the error a run fails with when a subscriber or hook raised ``error``."""
    if isinstance(error, HarnessError):
        return error
    return HarnessError(told(error, str) or type(error).__name__, code="hook")


def told(thing: object, how: Callable[[Any], str] = lambda error: f"{type(error).__name__}: {error}") -> str:
    """Return a foreign object, such as an exception, as text; of one that cannot even be written, its type."""
    try:
        return how(thing)
    except Exception:
        return type(thing).__name__

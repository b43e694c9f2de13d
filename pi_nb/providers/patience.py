"""Waiting that ends: a limit for each piece of a body, at the price of one timer for all of them."""

from __future__ import annotations

import asyncio
from math import inf

__all__ = ["Patience"]


class Patience:
    """Ends a wait that lasts too long.

    ``asyncio.timeout`` around every piece would cost more than reading it. Here the timer is left alone while pieces
    come, and set anew only when it goes off.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = inf
        self._task: asyncio.Task[object] | None = None
        self._cancelled_before = 0
        self._expired = False

    def begin(self, seconds: float) -> None:
        """Begin to wait: after ``seconds`` the waiting task is cancelled, unless :meth:`end` comes before."""
        self._task = asyncio.current_task()
        self._cancelled_before = self._task.cancelling() if self._task else 0
        self._deadline = self._loop.time() + seconds
        if self._timer is None or self._timer.when() > self._deadline:
            self.close()
            self._timer = self._loop.call_at(self._deadline, self._ring)

    def end(self) -> None:
        """Wait no more."""
        self._deadline = inf

    def ran_out(self) -> bool:
        """Return whether a cancellation that has just been caught is the end of patience, and nobody else's."""
        return self._expired and self._task is not None and self._task.uncancel() <= self._cancelled_before

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        if self._deadline == inf:
            return  # nobody waits now; the next wait sets the timer
        if self._deadline > self._loop.time():
            self._timer = self._loop.call_at(self._deadline, self._ring)
        elif self._task is not None:
            self._expired = True
            self._task.cancel()

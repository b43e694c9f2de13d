"""Waiting that ends: a limit for each piece of a body, at the price of one timer for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from math import inf
from typing import TypeVar

__all__ = ["Patience"]

T = TypeVar("T")


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
        self._expired = False

    async def next(self, pieces: AsyncGenerator[T, None], seconds: float) -> T | None:
        """Return the next piece, or None at the end.

        Raises:
            TimeoutError: Nothing came for ``seconds``.
        """
        self._task = asyncio.current_task()
        self._set(self._loop.time() + seconds)
        try:
            return await anext(pieces, None)
        except asyncio.CancelledError:
            if self._expired and self._task is not None and self._task.uncancel() == 0:
                raise TimeoutError from None
            raise
        finally:
            self._deadline = inf

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _set(self, deadline: float) -> None:
        self._deadline = deadline
        if self._timer is None or self._timer.when() > deadline:
            self.close()
            self._timer = self._loop.call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._deadline == inf:
            return  # nobody waits now; the next wait sets the timer
        if self._deadline > self._loop.time():
            self._timer = self._loop.call_at(self._deadline, self._ring)
        elif self._task is not None:
            self._expired = True
            self._task.cancel()

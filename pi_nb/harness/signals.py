"""Stopping: a signal that is given once, and awaiting things so that the signal interrupts them.

An abort never cancels the task of a run. It cancels the one await the run is in, if that await was made through
:func:`interruptible`; the run then writes down how far it got and ends in its own order.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["AbortSignal", "Aborted", "Watch", "interruptible", "is_cancelled"]

T = TypeVar("T")


class Aborted(Exception):
    """What was awaited has been interrupted by an abort. Never leaves the harness."""


class AbortSignal:
    """Says once, and to everybody who asks, that work should stop.

    ``aborted`` and :meth:`sleep` may be used from any thread; the rest belongs to the harness's event loop.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._callbacks: dict[int, Callable[[], None]] = {}
        self._next = 0

    def __repr__(self) -> str:
        return f"<AbortSignal {'aborted' if self.aborted else 'clear'}>"

    @property
    def aborted(self) -> bool:
        """True from the abort on."""
        return self._event.is_set()

    def abort(self) -> None:
        """Give the signal. A second time does nothing."""
        if self._event.is_set():
            return
        self._event.set()
        callbacks, self._callbacks = self._callbacks, {}
        for callback in callbacks.values():
            callback()

    def on_abort(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call ``callback`` when the signal is given (at once if it was); return how to take that back."""
        if self.aborted:
            callback()
            return lambda: None
        key = self._next
        self._next += 1
        self._callbacks[key] = callback
        return lambda: self._callbacks.pop(key, None) and None

    def raise_if_aborted(self) -> None:
        """Raise :class:`Aborted` if the signal was given."""
        if self.aborted:
            raise Aborted

    def sleep(self, seconds: float) -> bool:
        """Block the calling thread for ``seconds`` or until the signal; return True if it was given."""
        return self._event.wait(seconds)

    async def wait(self) -> None:
        """Return when the signal is given."""
        given: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def give() -> None:
            if not given.done():
                given.set_result(None)

        remove = self.on_abort(give)
        try:
            await given
        finally:
            remove()


class Watch:
    """Awaits one thing after another for a task; an abort cancels the one it is in and raises :class:`Aborted`.

    A cancellation that comes from elsewhere is passed on untouched: the two are told apart the way
    ``asyncio.timeout`` does it, by the task's count of cancellations. For who awaits once, see :func:`interruptible`;
    this is for who does so for every piece of a stream. :meth:`close` it in the end.
    """

    __slots__ = ("_fired", "_remove", "_signal", "_task", "_waiting")

    def __init__(self, signal: AbortSignal) -> None:
        task = asyncio.current_task()
        if task is None:  # pragma: no cover - coroutines always run in a task here
            raise RuntimeError("what can be interrupted needs a running task")
        self._task = task
        self._signal = signal
        self._waiting = False
        self._fired = False
        self._remove = signal.on_abort(self._interrupt)

    def close(self) -> None:
        """Listen to the signal no longer."""
        self._remove()

    def _interrupt(self) -> None:
        if self._waiting:
            self._fired = True
            self._task.cancel()

    async def wait(self, awaitable: Awaitable[T]) -> T:
        """Await something; raise :class:`Aborted` if the signal is given before or meanwhile."""
        task = self._task
        if self._signal.aborted:
            close = getattr(awaitable, "close", None)
            if close is not None:
                close()
            raise Aborted
        before = task.cancelling()
        self._waiting = True
        try:
            value = await awaitable
        except asyncio.CancelledError:
            if self._fired and task.uncancel() <= before:
                raise Aborted from None
            raise
        except BaseException:
            if self._fired:
                await _forget_interrupt(task)
            raise
        finally:
            self._waiting = False
        if self._fired:
            await _forget_interrupt(task)
        return value


async def interruptible(awaitable: Awaitable[T], signal: AbortSignal) -> T:
    """Await something; an abort cancels it there and raises :class:`Aborted` here. See :class:`Watch`."""
    watch = Watch(signal)
    try:
        return await watch.wait(awaitable)
    finally:
        watch.close()


async def _forget_interrupt(task: asyncio.Task[object]) -> None:
    """Take back a cancellation that the awaited thing swallowed, or gave itself, so that it does not strike later."""
    task.uncancel()
    try:
        await asyncio.sleep(0)  # before Python 3.13 one that was not delivered yet is still to come
    except asyncio.CancelledError:
        if task.cancelling():
            raise


def is_cancelled() -> bool:
    """Return True if the caller's own task is being cancelled: not, if something it awaits has been."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

"""The thread that owns everything asynchronous: one asyncio loop for as long as the extension is loaded.

Cells, widget clicks and background runs submit work to it. User code that blocks the kernel stalls nothing here, and
nothing here blocks the kernel. The thread starts with the first piece of work.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

__all__ = ["THREAD_NAME", "Owner"]

T = TypeVar("T")
THREAD_NAME = "pi_nb-owner"


class Owner:
    """A thread with an event loop, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """True while the thread is there."""
        return self._thread is not None

    @property
    def is_current(self) -> bool:
        """True when called on the owner thread, where waiting for it would never end."""
        return threading.current_thread() is self._thread

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the loop; what it prints lands in the cell that called this."""
        return asyncio.run_coroutine_threadsafe(work, self._ready())

    def call(self, function: Callable[..., T], *args: Any) -> Future[T]:
        """Run a plain function on the loop's thread."""

        async def work() -> T:
            return function(*args)

        return self.submit(work())

    def stop(self, timeout: float = 5.0) -> None:
        """Cancel what runs, close the loop and end the thread; does nothing if there is none."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(timeout)

    def _ready(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name=THREAD_NAME, daemon=True)
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_wind_up(loop))
        asyncio.set_event_loop(None)
        loop.close()


async def _wind_up(loop: asyncio.AbstractEventLoop) -> None:
    """End every task that is still there and give it time to clean up."""
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()

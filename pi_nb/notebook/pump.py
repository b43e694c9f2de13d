"""What the main thread does while a run goes on elsewhere: draw, run what must run on it, and stop on request.

The first interrupt asks the run to stop and goes on waiting for it to settle, which takes a moment; the second gives
the prompt back at once and lets the run end on its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

__all__ = ["LetGo", "Pump"]

T = TypeVar("T")
TICK = 0.05  # seconds between two looks at whether there is something to draw
BEGIN = 2.0  # seconds that a thread which began a run may take to come to pumping for it


class LetGo(Exception):
    """The thread is needed elsewhere; what it waited for goes on without it."""


class Pump:
    """Keeps one thread useful until a future is done.

    Args:
        abort: Asks the run to stop; returns at once.
    """

    def __init__(self, abort: Callable[[], object]) -> None:
        self._abort = abort
        self._jobs: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._tick: Callable[[], object] = lambda: None
        self._ticking = threading.Lock()
        self._begun = threading.Event()
        self._let_go = False
        self.interrupted = False

    def call(self, function: Callable[..., T], *args: Any) -> Future[T]:
        """Run a function on the pumping thread; may be called from any thread."""
        future: Future[T] = Future()

        def job() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*args))
                except BaseException as error:  # the caller waits on another thread and must hear of it
                    future.set_exception(error)
                    if isinstance(error, KeyboardInterrupt):
                        raise

        self._jobs.put(job)
        return future

    def run(self, future: Future[T], tick: Callable[[], object]) -> T:
        """Call ``tick`` and do the jobs that come in until ``future`` is done; return its result.

        Raises:
            KeyboardInterrupt: At the second interrupt; the run may still be going on.
            LetGo: :meth:`let_go` was called; it does go on.
        """
        self._tick = tick
        self._begun.set()
        future.add_done_callback(lambda _: self._jobs.put(None))
        while True:
            try:
                self._work_until(future)
                return future.result()
            except KeyboardInterrupt:
                if self.interrupted:
                    raise
                self.interrupted = True
                self._abort()

    def let_go(self) -> None:
        """Give the thread back at once; any thread."""
        self._let_go = True
        self._jobs.put(None)

    def tick(self) -> None:
        """Do what is done at each turn; for another thread, while a job keeps the pumping one busy."""
        self._begun.wait(BEGIN)  # a run that is quick gets here before the thread that pumps for it
        with self._ticking:
            self._tick()

    def _work_until(self, future: Future[Any]) -> None:
        while not future.done():
            try:
                job = self._jobs.get(timeout=TICK)
            except Empty:
                job = None
            if job is not None:
                job()
            self.tick()
            if self._let_go and not future.done():
                raise LetGo

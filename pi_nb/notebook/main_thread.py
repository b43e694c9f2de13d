"""Running something on the main thread, from any other, whatever that thread is doing.

The main thread comes by an errand in two places: where it waits for the run of a cell (the pump), and between two cells
(the kernel's loop). An errand is put into both; the first to get there does it. While a cell computes, it waits.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pi_nb.errors import ToolError

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime

__all__ = ["Errand", "ErrandInterrupted", "ErrandStopped", "draw_for", "on_main_thread"]

T = TypeVar("T")


class ErrandStopped(Exception):
    """The errand was stopped by :meth:`Errand.stop`."""


class ErrandInterrupted(Exception):
    """The user interrupted the kernel while the errand ran."""


class Errand(Generic[T]):
    """A function that is to run once, on the main thread.

    Attributes:
        outcome: What came of it: the function's value or exception, :class:`ErrandStopped`, :class:`ErrandInterrupted`.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self.outcome: Future[T] = Future()
        self._function = function
        self._lock = threading.Lock()
        self._state = "waiting"
        self._stopped = False
        self._armed = False
        self._late = False

    def __repr__(self) -> str:
        return f"<Errand {self._state}>"

    def ended(self) -> asyncio.Event:
        """Return an event of the running loop that is set when there is an outcome."""
        event, loop = asyncio.Event(), asyncio.get_running_loop()

        def tell(_: object) -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(event.set)

        self.outcome.add_done_callback(tell)
        return event

    def stop(self) -> None:
        """Keep the errand from beginning, or interrupt it as the stop button would. Any thread; may be repeated."""
        with self._lock:
            self._stopped = True
            if self._state == "waiting":
                self._state = "done"
                self.outcome.set_exception(ErrandStopped())
            elif self._state == "running":
                _interrupt_main_thread()

    def between_cells(self) -> None:
        """Do it if nobody has; this is for the kernel's loop, which nothing may escape into."""
        self._do()

    def in_cell(self) -> None:
        """Do it if nobody has; this is for the pump.

        Raises:
            KeyboardInterrupt: The user interrupted it, which is meant for the whole run.
        """
        if self._do():
            raise KeyboardInterrupt

    def _do(self) -> bool:
        """Run the function unless it was run or stopped; return whether the user interrupted it."""
        with self._lock:
            if self._state != "waiting":
                return False
            self._state = "running"
        with _handling_interrupts(self._on_interrupt):
            value, error = self._run()
            with self._lock:
                self._state = "done"
        interrupted = not self._stopped and (self._late or isinstance(error, KeyboardInterrupt))
        self._deliver(value, error, interrupted)
        return interrupted

    def _run(self) -> tuple[Any, BaseException | None]:
        """Return the function's value or what it raised; from here on an interrupt raises no more."""
        value: Any = None
        error: BaseException | None = None
        try:
            self._armed = True
            try:
                value = self._function()
            except BaseException as raised:
                error = raised
            self._armed = False
        except KeyboardInterrupt as struck:  # between the function's end and the line after it
            self._armed = False
            error = error or struck
        return value, error

    def _on_interrupt(self, *_: object) -> None:
        if self._armed:
            raise KeyboardInterrupt
        self._late = True

    def _deliver(self, value: Any, error: BaseException | None, interrupted: bool) -> None:
        if interrupted:
            error = ErrandInterrupted()
        elif isinstance(error, KeyboardInterrupt):
            error = ErrandStopped()
        elif error is not None and not isinstance(error, Exception):
            error = ToolError(f"{type(error).__name__}: {error}")  # must not end whoever waits for it
        if error is None:
            self.outcome.set_result(value)
        else:
            self.outcome.set_exception(error)


def on_main_thread(runtime: Runtime, function: Callable[[], T]) -> Errand[T]:
    """Have a function run on the main thread as soon as that is free; returns at once.

    Raises:
        ToolError: The main thread would never come by: it waits at a terminal's prompt.
    """
    errand = Errand(function)
    pump, loop = runtime.pump, getattr(getattr(runtime.ip, "kernel", None), "io_loop", None)
    if pump is None and loop is None:
        raise ToolError("Nothing can run in this terminal while it waits at its prompt. Ask without --bg.")
    if pump is not None:
        pump.call(errand.in_cell)
    if loop is not None:
        loop.add_callback(errand.between_cells)
    return errand


def draw_for(runtime: Runtime) -> None:
    """Draw the cell that the main thread has no time to draw, because it is on an errand; for the owner thread."""
    pump = runtime.pump
    if pump is not None:
        pump.tick()


@contextlib.contextmanager
def _handling_interrupts(handler: Callable[..., None]) -> Iterator[None]:
    """Handle interrupts in another way for as long as this lasts; between cells the kernel ignores them."""
    if threading.current_thread() is not threading.main_thread():
        yield  # a shell that lives on another thread gets none
        return
    before = signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt_main_thread() -> None:
    """Interrupt what the main thread does, a sleep or a read included."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        import _thread

        _thread.interrupt_main()

"""A run and its cell: the cell's thread follows it to its end, or leaves it to itself and takes the next cell.

A run that was left goes on being drawn from the owner thread, by display id. Whoever waits for nothing else can wait
for it: ``--out run`` keeps it as ``run.wait()``.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from typing import TYPE_CHECKING, Any, Protocol

from pi_nb.errors import PiError, ProviderError, UserError
from pi_nb.notebook.pump import TICK, LetGo, Pump

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime

__all__ = ["Background", "Job", "Stopped", "Unanswered", "follow", "leave"]

BEGIN = 5.0  # seconds a cell waits for its background run to begin, so that the next cell can speak to it


class Stopped(KeyboardInterrupt):
    """The user stopped the run; like any interrupt it also keeps the cells queued behind this one from running."""

    def _render_traceback_(self) -> list[str]:
        return ["Stopped. What had arrived is kept in the tree; it is not sent to the model when you go on."]


class Unanswered(ProviderError):
    """The model did not answer; what it said about that, and what to do."""

    def _render_traceback_(self) -> list[str]:
        return [f"No answer: {self}", *([self.hint] if self.hint else [])]


class LeftAlone(UserError):
    """The page went away while it was asked something; the run goes on without its cell."""

    def __init__(self) -> None:
        super().__init__(
            "The page went away with a question open. The run waits for the answer, in the background.",
            hint="%pi_approve shows the question again; %pi_abort stops the run.",
        )


class Job(Protocol):
    """Something that goes on on the owner thread and is shown in a cell.

    Attributes:
        future: Done when it is over.
        begun: Set once a run goes on that can be spoken to, or there will be none.
        out: Variable its result belongs in, or None.
        left: True once no cell follows it any more.
    """

    future: Future[Any]
    begun: threading.Event
    out: str | None
    left: bool

    def draw(self) -> None:
        """Show how it stands, if it is time."""
        ...

    async def stop(self) -> None:
        """Ask it to end; on the owner thread."""
        ...

    def finish(self) -> Any:
        """Show it as it ended and return its result; called once, when ``future`` is done or given up."""
        ...

    def failure(self) -> PiError | None:
        """Return why there is no answer, or None; after ``finish``."""
        ...


def follow(runtime: Runtime, begin: Callable[[], Job]) -> Any:
    """Begin a job, draw it until it is over and return its result; an interrupt stops it.

    The pump is there before the job begins: a tool may want the main thread at once.

    Raises:
        Unanswered: The model did not answer; what had arrived is kept.
        Stopped: The user stopped it.
        LeftAlone: The page that could answer it went away; it goes on.
        PiError: It could not begin.
    """
    pump = runtime.pump = Pump(abort=lambda: runtime.submit(job.stop()))
    try:
        job = begin()
    except BaseException:
        runtime.pump = None
        raise
    try:
        pump.run(job.future, job.draw)
    except LetGo:
        _go_on(runtime, job)
        raise LeftAlone from None
    except CancelledError:
        raise Stopped from None
    except PiError:
        if pump.interrupted:
            raise Stopped from None
        raise
    finally:
        runtime.pump = None
        result = None if job.left else job.finish()
        if not job.left:
            _store(runtime, job, result)
    if pump.interrupted:
        raise Stopped
    failure = job.failure()
    if failure is not None:
        raise failure
    return result


def _store(runtime: Runtime, job: Job, result: Any) -> None:
    if job.out:
        runtime.ip.user_ns[job.out] = result


class Background:
    """A job that was left to itself; one at a time.

    Attributes:
        done: True when it is over and shown as it ended.
    """

    def __init__(self, runtime: Runtime, job: Job) -> None:
        self._runtime = runtime
        self._job = job
        self._result: Future[Any] = Future()

    def __repr__(self) -> str:
        return f"<Background {'done' if self.done else 'running'}>"

    @property
    def done(self) -> bool:
        """True when it is over and shown as it ended."""
        return self._result.done()

    def wait(self, timeout: float | None = None) -> Any:
        """Wait until it is over and return its reply.

        Args:
            timeout: Seconds to wait at most; None for as long as it takes.

        Raises:
            UserError: It is not over yet.
        """
        try:
            return self._result.result(timeout)
        except TimeoutError:
            raise UserError(f"The run is not over after {timeout} s.", hint="%pi_abort stops it.") from None

    def settle(self, timeout: float) -> None:
        """Wait until it is over, however it ended; not longer than ``timeout`` seconds."""
        wait([self._result], timeout)

    async def watch(self) -> None:
        """Draw until it is over. On the owner thread; the drawing itself keeps no answer waiting."""
        try:
            while not self._job.future.done():
                await asyncio.to_thread(self._job.draw)
                await asyncio.sleep(TICK)
        finally:
            self._end()

    def _end(self) -> None:
        try:
            result = self._job.finish()
            space, name = self._runtime.ip.user_ns, self._job.out
            if name and space.get(name) is self:
                space[name] = result
            self._result.set_result(result)
        except Exception as error:  # whoever waits must hear of it; nobody else can
            self._result.set_exception(error)


def leave(runtime: Runtime, job: Job) -> Background:
    """Let a job go on by itself; return how to wait for it."""
    job.draw()
    left = _go_on(runtime, job)
    job.begun.wait(BEGIN)
    return left


def _go_on(runtime: Runtime, job: Job) -> Background:
    job.left = True
    left = runtime.background = Background(runtime, job)
    _store(runtime, job, left)
    runtime.submit(left.watch())
    return left

"""What keeps a harness busy: who may begin, who is waited for, and how it is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from pi_nb.errors import HarnessError
from pi_nb.harness.run import Activity, Phase

__all__ = ["Activities"]

T = TypeVar("T")


class Activities:
    """The activities of one harness.

    At most one holds the session's leaf: a run at the leaf, a compaction or a branch summary. Runs with a place of
    their own may go on beside a run, but not beside a compaction or a branch summary.

    Attributes:
        settle: Is called when an activity is over that could not do so itself.
    """

    def __init__(self) -> None:
        self.settle: Callable[[], None] = lambda: None
        self._holder: Activity | None = None
        self._beside: set[Activity] = set()
        self._tasks: dict[asyncio.Task[Any], Activity] = {}

    @property
    def holder(self) -> Activity | None:
        """Who holds the leaf."""
        return self._holder

    @property
    def count(self) -> int:
        """How many activities there are."""
        return len(self._beside) + (self._holder is not None)

    @property
    def phase(self) -> Phase:
        """What the harness is doing."""
        if self._holder is not None:
            return self._holder.phase
        return "turn" if self._beside else "idle"

    def check(self, what: str, *, beside: bool = False, alone: bool = False) -> None:
        """Check that something may begin now.

        Args:
            what: Its name, for the error.
            beside: True if it has a place of its own.
            alone: True if nothing may go on beside it.

        Raises:
            HarnessError: ``busy``.
        """
        holder = self._holder
        blocked = holder is not None and not (beside and holder.phase in {"turn", "retry"})
        if blocked or (alone and self._beside):
            raise HarnessError(
                f"{what} has to wait: the harness is busy ({self.phase}).",
                code="busy",
                hint="Wait for it to end, or abort it.",
            )

    def begin(self, activity: Activity, *, beside: bool = False) -> None:
        """Let an activity that was checked begin."""
        if beside:
            self._beside.add(activity)
        else:
            self._holder = activity

    def end(self, activity: Activity) -> bool:
        """Count an activity as over; return False if it was before."""
        if activity is self._holder:
            self._holder = None
        elif activity in self._beside:
            self._beside.remove(activity)
        else:
            return False
        return True

    def abort(self) -> None:
        """Give everybody the signal to stop."""
        for activity in (*self._beside, *(() if self._holder is None else (self._holder,))):
            activity.signal.abort()

    def launch(self, activity: Activity, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Let the work of an activity that has begun go on in a task of its own, and return that."""
        task = asyncio.get_running_loop().create_task(work)
        activity.adopt(task)
        self._tasks[task] = activity
        task.add_done_callback(self._forget)
        return task

    async def see_out(self, task: asyncio.Task[T]) -> T:
        """Wait for a task that was launched and return what it gives.

        Cancelling the caller aborts the work, waits until it has ended in order, and is passed on.
        """
        activity = self._tasks[task]
        try:
            result = await asyncio.shield(task)
        except asyncio.CancelledError:
            activity.signal.abort()
            await _outlast(task)
            raise
        if activity.signal.aborted:
            await asyncio.sleep(0)  # whoever aborted goes first and tells of it
        return result

    async def attend(self, activity: Activity, work: Coroutine[Any, Any, T]) -> T:
        """Carry out the work of an activity that has begun and return what it gives; as :meth:`see_out`."""
        return await self.see_out(self.launch(activity, work))

    def _forget(self, task: asyncio.Task[Any]) -> None:
        """Count a task's activity as over, also if it was cancelled before it could say so itself."""
        if self.end(self._tasks.pop(task)):
            self.settle()

    def is_inside(self) -> bool:
        """Return whether the caller works for one of the activities, and so cannot wait for its end."""
        task = asyncio.current_task()
        return any(task in activity.members for activity in self._tasks.values())

    async def wait(self) -> None:
        """Return when all that goes on now has ended, but for what the caller itself works for."""
        me = asyncio.current_task()
        others = [task for task, activity in self._tasks.items() if me not in activity.members]
        if others:
            await asyncio.wait(others)


async def _outlast(task: asyncio.Task[Any]) -> None:
    """Wait until a task has ended, whatever happens; a further cancellation is handed on to it."""
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
    if not task.cancelled():
        task.exception()  # it was seen

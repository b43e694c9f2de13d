"""A run at an entry of its own, while it goes on: it can be spoken to, listened to and stopped by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from pi_nb.errors import HarnessError
from pi_nb.harness.events import Abort
from pi_nb.harness.listeners import Listener, Listeners
from pi_nb.harness.queues import MessageQueue
from pi_nb.harness.run import Run
from pi_nb.harness.said import Prompt, user_message
from pi_nb.messages import AssistantMessage, Message

__all__ = ["AbortResult", "BranchRun"]


@dataclass(frozen=True, slots=True)
class AbortResult:
    """What waited to be said when a run was aborted, or that was taken back; it is handed back."""

    cleared_steer: tuple[Message, ...]
    cleared_follow_up: tuple[Message, ...]


class BranchRun:
    """One of several runs of a harness, each on a branch of its own. Awaiting it gives its last answer.

    Queues, events and abort are its own: nothing here touches another run. Made by :meth:`AgentHarness.start`.

        >>> runs = [harness.start("Try it this way.", at=leaf), harness.start("Try it that way.", at=leaf)]
        >>> await runs[0].steer("Shorter, please.")
        >>> await runs[1].abort()
        >>> answer = await runs[0]
    """

    def __init__(self, run: Run, listeners: Listeners, task: asyncio.Task[AssistantMessage]) -> None:
        self._run = run
        self._listeners = listeners
        self._task = task

    def __repr__(self) -> str:
        return f"<BranchRun {'done' if self.done else self._run.phase} at={self.entry_id}>"

    def __await__(self) -> Generator[Any, None, AssistantMessage]:
        """Wait for the last answer; who stops waiting does not stop the run. Errors as for ``prompt``."""
        return asyncio.shield(self._task).__await__()

    @property
    def task(self) -> asyncio.Task[AssistantMessage]:
        """The task that carries it out."""
        return self._task

    @property
    def done(self) -> bool:
        """True once it is over."""
        return self._task.done()

    @property
    def entry_id(self) -> str | None:
        """The end of its branch so far."""
        return self._run.cursor.id

    @property
    def unsaid(self) -> tuple[Message, ...]:
        """What waits to be said to it; after its end, what was not said any more."""
        queues = self._run.queues
        return (*queues.steer.messages, *queues.follow_up.messages)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear its events from now on; return how to stop that."""
        return self._listeners.add(listener)

    async def steer(self, content: Prompt) -> None:
        """Say something before its next answer. Needs a run that is not over.

        Raises:
            HarnessError: ``invalid_state``: it is over; ``invalid_argument``: nothing is said.
        """
        await self._queue(self._run.queues.steer, content)

    async def follow_up(self, content: Prompt) -> None:
        """Say something when it would stop. Needs a run that is not over.

        Raises:
            HarnessError: ``invalid_state``: it is over; ``invalid_argument``: nothing is said.
        """
        await self._queue(self._run.queues.follow_up, content)

    async def abort(self) -> AbortResult:
        """Stop it and wait for its end; what waited to be said to it is handed back. At any time.

        Raises:
            HarnessError: ``hook``: one of its listeners raised; it was stopped all the same.
        """
        queues = self._run.queues
        result = AbortResult(queues.steer.clear(), queues.follow_up.clear())
        self._run.signal.abort()
        if not self.done and asyncio.current_task() not in self._run.members:
            await asyncio.wait({self._task})
        await self._run.tell(Abort(result.cleared_steer, result.cleared_follow_up))
        return result

    async def _queue(self, queue: MessageQueue, content: Prompt) -> None:
        if self.done or self._run.signal.aborted:
            raise HarnessError("This run is over.", code="invalid_state", hint="Start another one at its end.")
        queue.put(user_message(content))
        await self._run.tell(self._run.queues.update())

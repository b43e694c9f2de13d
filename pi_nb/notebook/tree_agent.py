"""The agent behind the live tree: what a page asks for, done with this notebook's harness.

A run that begins in the tree is like one with ``--bg``: it has no cell, the kernel stays free, and the tree shows what
comes of it. What is said to a run, the tree's or a cell's, goes into the harness's queues; what was not said any more
when the run stopped comes back into the page's box.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pi_nb.errors import UserError
from pi_nb.harness import events
from pi_nb.messages import Message, UserMessage, text_of
from pi_nb.notebook.caption import Caption, clean
from pi_nb.notebook.cells import Cell
from pi_nb.notebook.doing import doing
from pi_nb.tools.policy import Answer
from pi_nb.views.sayable import sayable
from pi_nb.views.tree_agent import AgentState

if TYPE_CHECKING:
    from pi_nb.notebook.prompting import PromptJob
    from pi_nb.notebook.runtime import Runtime

__all__ = ["NotebookTreeAgent", "in_tree"]

LOOK = 0.2  # seconds between two looks at what keeps the harness busy, and at whether a question is open
IN_A_CELL = "Run the cell to try again."
SHOWN = 300  # characters of a message that waits

_in_tree: ContextVar[bool] = ContextVar("pi_nb_in_tree", default=False)


def in_tree() -> bool:
    """Return whether the run that this task belongs to was begun in the tree, and so has no cell to ask in."""
    return _in_tree.get()


class Unseen:
    """The output of a run that has no cell: the tree shows it."""

    def __init__(self) -> None:
        self.caption = Caption()

    def draw(self) -> None:
        """Show nothing."""

    def close(self, metadata: dict[str, Any]) -> None:
        """Show nothing."""


class NotebookTreeAgent:
    """Does what the tree's page asks for. On the owner thread, all of it.

    Attributes:
        tell: Called with the state whenever it has changed.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.tell: Callable[[AgentState], None] = lambda _state: None
        self._state = AgentState()
        self._asking = ""
        self._written = asyncio.Event()  # the prompt is
        self._watching: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    def __repr__(self) -> str:
        return f"<NotebookTreeAgent {self._state.phase or 'idle'}>"

    def state(self) -> AgentState:
        """Return how it stands."""
        return self._state

    def _become(self, **changes: Any) -> None:
        state = replace(self._state, **changes)
        if state != self._state:
            self._state = state
            self.tell(state)

    # ------------------------------------------------------------ what goes on

    def hear(self, event: events.HarnessEvent) -> None:
        """Follow a run at the leaf, whoever began it."""
        if isinstance(event, events.AgentStart):
            self._become(phase="run", problem="")
            self.watch()
        elif isinstance(event, events.QueueUpdate):
            self._become(
                steer=_texts(event.steer, SHOWN),
                follow_up=_texts(event.follow_up, SHOWN),
                next_turn=_texts(event.next_turn, SHOWN),
            )
        elif isinstance(event, events.Abort):
            self._give_back((*event.cleared_steer, *event.cleared_follow_up))
        elif isinstance(event, events.MessageEnd) and isinstance(event.message, UserMessage):
            if text_of(event.message.content) == self._asking:  # others may have waited to go in front of it
                self._written.set()
        elif isinstance(event, events.Settled):
            self._become(phase="", doing="")
            if self._state.steer or self._state.follow_up:  # an error ended it before they could be said
                self._go(self.take_back())

    def catch_up(self) -> None:
        """Take in a run that was there before the tree."""
        if not self._runtime.harness.is_idle and self._runtime.harness.phase != "branch_summary":
            self._become(phase="run")
        self.watch()

    def watch(self) -> None:
        """Look at what keeps the harness busy, and at questions, until nothing goes on."""
        if self._watching is None or self._watching.done():
            self._watching = self._go(self._watch())

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(LOOK)
            harness = self._runtime.harness
            if harness.is_idle and not self._runtime.busy and not self._state.phase:
                return self._become(doing="", question=None)
            question = self._runtime.approvals.question
            asked = question.shown.to_wire() if question is not None and question.answer is not None else None
            self._become(doing=doing(harness), question=asked)

    def _go(self, work: Any) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # a loop holds its tasks only weakly
        task.add_done_callback(self._tasks.discard)
        return task

    # ------------------------------------------------------------ speaking

    async def prompt(self, text: str) -> Mapping[str, Any]:
        """Ask at the leaf, in the background; return when the prompt is written.

        Raises:
            PiError: It could not be asked; nothing was written.
        """
        from pi_nb.notebook.asks import Ask, check, check_key
        from pi_nb.notebook.prompting import PromptJob

        runtime = self._runtime
        ask = Ask(text=text, cell=Cell("", stable=False), append=True, background=True)
        check(runtime, ask)
        check_key(runtime, ask)
        runtime.begun = True
        self._asking = text
        self._written.clear()
        token = _in_tree.set(True)
        try:
            job = PromptJob(runtime, ask, output=Unseen())
        finally:
            _in_tree.reset(token)
        self._go(self._attend(job))
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        job.future.add_done_callback(lambda _: loop.call_soon_threadsafe(ended.set))
        await self._first(self._written, ended)
        if not self._written.is_set():
            job.future.result()
        return {"leaf": runtime.session.leaf_id}

    async def _first(self, *signs: asyncio.Event) -> None:
        """Return when one of these has happened."""
        waits = [self._go(sign.wait()) for sign in signs]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _attend(self, job: PromptJob) -> None:
        """Be a background run like any other, and say why there was no answer."""
        from pi_nb.notebook.jobs import Background

        job.left = True
        left = self._runtime.background = Background(self._runtime, job)
        await left.watch()
        failure = None if job.future.cancelled() else job.failure()
        if failure is not None and self._written.is_set():
            hint = (failure.hint or "").replace(IN_A_CELL, "A click on the prompt brings its text back.")
            self._become(problem=clean(f"No answer: {failure} {hint}").strip())

    async def steer(self, text: str) -> None:
        """Say something before the next answer of the run.

        Raises:
            HarnessError: Nothing is running.
        """
        await self._runtime.harness.steer(text)

    async def follow_up(self, text: str) -> None:
        """Say something when the run would stop.

        Raises:
            HarnessError: Nothing is running.
        """
        await self._runtime.harness.follow_up(text)

    async def next_turn(self, text: str) -> None:
        """Say something in front of the next prompt."""
        await self._runtime.harness.next_turn(text)

    async def take_back(self) -> None:
        """Take what waits out of the queues and give it back."""
        result = await self._runtime.harness.take_back()
        self._give_back((*result.cleared_steer, *result.cleared_follow_up))

    def _give_back(self, messages: Iterable[Message]) -> None:
        texts = _texts(messages)
        if texts:
            number = self._state.returned_number + 1
            self._become(returned=(*self._state.returned, *texts), returned_number=number)

    def taken(self, number: int) -> None:
        """Forget what was returned, unless more was returned since."""
        if number == self._state.returned_number:
            self._become(returned=())

    async def abort(self) -> None:
        """Stop whatever goes on, a cell's run too; return when it has ended."""
        await self._runtime.harness.abort()

    def answer(self, call: str, *, allowed: bool, always: bool, reason: str) -> None:
        """Answer the question about a tool call.

        Raises:
            UserError: It is not asked any more.
        """
        question = self._runtime.approvals.question
        if question is None or question.answer is None or sayable(question.shown.call_id) != call:
            raise UserError("That question is not open any more.")
        question.answer(Answer(allowed, always, reason))
        self._become(question=None)

    # ------------------------------------------------------------ the tree

    async def summarise(self, left: str, at: str | None, instructions: str | None) -> Mapping[str, Any]:
        """Write a summary of the branch that ends at ``left`` under the leaf.

        Raises:
            UserError: The leaf is not at ``at`` any more, a run goes on, or it was stopped.
            BranchSummaryError: The model gave none.
        """
        runtime = self._runtime
        runtime.check_idle()
        if runtime.session.leaf_id != at:
            raise UserError("The leaf has moved on since.", hint="Go there again, then summarise.")
        before = len(runtime.session)
        self._become(phase="summary", doing=doing(runtime.harness))
        runtime.live.show_status("running")
        try:
            result = await runtime.harness.navigate_tree(
                at, summarize=True, instructions=instructions, exact=True, left=left
            )
        finally:
            self._become(phase="", doing="")
            runtime.live.show_status("idle")
        if result.cancelled:
            raise UserError("Stopped. No summary was written; the leaf is where it was.")
        if result.summary_entry is None:
            raise UserError("There was nothing to summarise.")
        return {"entry": result.summary_entry.id, "before": before}

    async def fork(self, entry: str | None, where: Literal["whole", "at", "before"]) -> Mapping[str, Any]:
        """Copy the session, or a path of it, into a file of its own; this notebook stays where it is.

        Raises:
            UserError, SessionError: There is nothing to copy, no such entry, or the file cannot be written.
        """
        from pi_nb.notebook.tree_files import fork

        return await asyncio.to_thread(fork, self._runtime, entry, where)

    async def export(self) -> Mapping[str, Any]:
        """Write the session as one page into the notebook's folder.

        Raises:
            UserError: It cannot be written.
        """
        from pi_nb.notebook.tree_files import export

        return await asyncio.to_thread(export, self._runtime)


def _texts(messages: Iterable[Message], limit: int | None = None) -> tuple[str, ...]:
    return tuple(text_of(getattr(message, "content", ""))[:limit] for message in messages)

"""One run: from a prompt until settled, at its own place in the tree.

A run never asks the session where it is. It has a :class:`Cursor`, the entry that its next one hangs from; so several
runs can work on one session at the same time, each on a branch of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from pi_nb.errors import HarnessError, ProviderError, SessionError
from pi_nb.harness.events import HarnessEvent, MessageEnd, MessageStart, SavePoint, TurnEnd
from pi_nb.harness.hooks import Hooks
from pi_nb.harness.queues import Queues
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.signals import AbortSignal
from pi_nb.harness.storable import storable, storable_message
from pi_nb.harness.tools import Tool
from pi_nb.messages import AssistantMessage, Message, TextContent, ToolResultMessage, Usage, now_ms
from pi_nb.models import Model
from pi_nb.providers.base import Provider
from pi_nb.session.tree import Session

__all__ = ["ABORTED", "Activity", "Cursor", "Phase", "Run", "Settings", "failure_message"]

Phase: TypeAlias = Literal["idle", "turn", "compaction", "branch_summary", "retry"]
ABORTED = "Request was aborted"


@dataclass(frozen=True, slots=True)
class Settings:
    """What one turn works with."""

    model: Model
    provider: Callable[[], Provider]
    thinking_level: str
    tools: tuple[Tool, ...]
    system_prompt: str


class Cursor:
    """The place where a run writes.

    Args:
        session: The session written to.
        at: Entry the first one hangs from; None makes it a root.
        follows: Says whether somebody else's entries under this place (a label, a name) may move it along, so that a
            lone run stays on the line of the session's leaf.
    """

    def __init__(self, session: Session, at: str | None, *, follows: Callable[[], bool]) -> None:
        self._session = session
        self._follows = follows
        self._id = at

    @property
    def id(self) -> str | None:
        """The entry that the next one hangs from."""
        leaf = self._session.leaf_id
        if leaf != self._id and self._follows() and self._is_below(leaf):
            self._id = leaf
        return self._id

    def add(self, append: Callable[..., str], *args: Any, **options: Any) -> str:
        """Append an entry here with one of the session's ``append_*`` methods; return its id."""
        self._id = append(*args, parent=self.id, **options)
        return self._id

    def _is_below(self, entry_id: str | None) -> bool:
        seen = set()
        while entry_id is not None and entry_id not in seen:
            if entry_id == self._id:
                return True
            seen.add(entry_id)
            entry = self._session.get(entry_id)
            entry_id = entry.parent_id if entry is not None else None
        return self._id is None


@dataclass(eq=False)
class Activity:
    """Something that keeps the harness busy and can be aborted: a run, a compaction, a branch summary.

    Attributes:
        phase: What it is doing.
        signal: Aborts it.
        members: The tasks that work for it; one of them cannot wait for its end.
    """

    phase: Phase
    signal: AbortSignal = field(default_factory=AbortSignal)
    members: set[asyncio.Task[Any]] = field(default_factory=set)

    def adopt(self, task: asyncio.Task[Any]) -> None:
        """Count a task as a member until it is done."""
        self.members.add(task)
        task.add_done_callback(self.members.discard)


async def _no_room(_run: Run) -> bool:
    return False


async def _nothing(_run: Run) -> None:
    return None


@dataclass(eq=False, kw_only=True)
class Run(Activity):
    """One run and all that it works with.

    Attributes:
        session: Where its messages are kept.
        cursor: Its place in the tree.
        tell: Tells subscribers of an event.
        settings: Returns what a turn that begins now would work with.
        current: What the present turn works with.
        flush: Writes the configuration that waits; True if there was some.
        leave: Makes the harness idle; called when the run is over, before subscribers hear of it.
        make_room: Compacts after an overflow; True if there is room now.
        after_turn: Called when a turn is on disk.
        messages: What the run has added so far.
        turns: How many turns it has begun.
        cannot_compact: True once a compaction has failed; then none is tried again in this run.
        prompt: The message that began it.
        extra: Fields of an application to write beside that message.
    """

    session: Session
    cursor: Cursor
    tell: Callable[[HarnessEvent], Awaitable[None]]
    settings: Callable[[], Settings]
    current: Settings
    hooks: Hooks
    queues: Queues
    retry: RetryPolicy
    max_turns: int
    flush: Callable[[Run], bool]
    leave: Callable[[Run], None]
    make_room: Callable[[Run], Awaitable[bool]] = _no_room
    after_turn: Callable[[Run], Awaitable[None]] = _nothing
    phase: Phase = "turn"
    system_prompt: str | None = None
    messages: list[Message] = field(default_factory=list)
    turns: int = 0
    cannot_compact: bool = False
    prompt: Message | None = None
    extra: Mapping[str, Any] | None = None

    def keep(self, message: Message) -> str:
        """Write a message to the session; return its entry's id. What a file cannot hold in it is replaced."""
        extra = self.extra if message is self.prompt else None
        try:
            entry_id = self.cursor.add(self.session.append_message, message, extra=extra)
        except SessionError as error:
            if error.code != "invalid_entry":
                raise
            message = storable_message(message)
            entry_id = self.cursor.add(self.session.append_message, message, extra=storable(extra) if extra else None)
        self.messages.append(message)
        return entry_id

    async def say(self, message: Message, error: ProviderError | None = None) -> None:
        """Add a whole message: begin it, write it, end it."""
        await self.tell(MessageStart(message))
        await self.conclude(message, error)

    async def conclude(self, message: Message, error: ProviderError | None = None) -> None:
        """Write a message whose beginning was told; it is on disk before subscribers hear of its end."""
        entry_id = self.keep(message)
        await self.tell(MessageEnd(self.messages[-1], entry_id, error))

    async def end_turn(self, message: AssistantMessage, results: Sequence[ToolResultMessage] = ()) -> None:
        """End a turn: subscribers first, then the configuration goes to disk, whatever they did, and takes effect."""
        failure: HarnessError | None = None
        try:
            await self.tell(TurnEnd(message, tuple(results)))
        except HarnessError as error:
            failure = error
        had_pending = self.flush(self)
        if failure is not None:
            raise failure
        await self.tell(SavePoint(had_pending))
        self.flush(self)  # what a subscriber of the save point has set
        self.current = self.settings()

    def answer(self) -> AssistantMessage | None:
        """Return the last answer of the run."""
        return next((m for m in reversed(self.messages) if isinstance(m, AssistantMessage)), None)


def failure_message(
    model: Model, error: str, *, aborted: bool = False, content: tuple[TextContent, ...] = ()
) -> AssistantMessage:
    """Return the answer that stands for one that could not be had."""
    return AssistantMessage(
        content=content,
        api=model.api,
        provider=model.provider,
        model=model.id,
        usage=Usage.of(),
        stop_reason="aborted" if aborted else "error",
        error_message=error,
        timestamp=now_ms(),
    )

"""What one run has said so far: fed by the harness's events on its thread, read as snapshots by whoever draws.

Feeding costs a list append per token, so nothing here limits the token rate; joining the text is paid per snapshot.
Once a message is complete, the message replaces what its pieces had built.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod
from typing import Any, TypeAlias

from pi_nb.errors import ProviderError
from pi_nb.harness import events
from pi_nb.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
    text_of,
)
from pi_nb.notebook.doing import next_try, sentence
from pi_nb.providers.base import BlockDelta, BlockEnd, BlockStart

__all__ = ["Notice", "Part", "Picture", "Said", "Snapshot", "Text", "Thinking", "Tool", "Transcript"]


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer, as Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning; ``open`` while it is still coming."""

    text: str
    open: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """An image a tool gave: base64 ``data`` of type ``mime_type``."""

    data: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call and, once there is one, its result.

    Attributes:
        call_id: The provider's id of the call.
        name: Which tool.
        args: Its arguments; the unfinished JSON text while they are still coming.
        state: ``writing``, ``running``, ``held`` (somebody is asked), ``done``, ``failed`` or ``refused``.
        result: Text of the result so far.
        pictures: Images of the result.
        seconds: How long it ran.
        diff: What it changed in a file.
    """

    call_id: str
    name: str
    args: Any = None
    state: str = "writing"
    result: str = ""
    pictures: tuple[Picture, ...] = ()
    seconds: float | None = None
    diff: str = ""


@dataclass(frozen=True, slots=True)
class Said:
    """Something the user said while the run was going on."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A line about the run itself: a retry, a compaction."""

    text: str


REFUSED = "Not run:"  # how the result of a call begins that was not allowed

Part: TypeAlias = Text | Thinking | Tool | Said | Notice


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run as it stood at one moment.

    Attributes:
        parts: What was said, in order.
        entries: Ids of the session entries the run has written.
        prompt_entry: Id of the prompt's entry, or None before it is written.
        answer_entry: Id of the last answer's entry, or None.
        model: ``provider:model`` that answered last, or None.
        usage: Tokens and price of all the run's answers together.
        stop_reason: Why the last answer ended, or None while it has not.
        seconds: Time since the prompt.
        settled: True once the run is over.
        error: Why the last answer failed, or None.
    """

    parts: tuple[Part, ...] = ()
    entries: tuple[str, ...] = ()
    prompt_entry: str | None = None
    answer_entry: str | None = None
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None
    seconds: float = 0.0
    settled: bool = False
    error: ProviderError | None = None

    @property
    def text(self) -> str:
        """The answer's text, without thinking and tools."""
        return "\n\n".join(part.text for part in self.parts if isinstance(part, Text) and part.text)


@dataclass(slots=True)
class _Block:
    """A block of an answer that is still coming."""

    kind: str
    pieces: list[str] = field(default_factory=list)
    call: ToolCall | None = None

    def part(self) -> Part:
        text = "".join(self.pieces)
        if self.kind == "thinking":
            return Thinking(text, open=True)
        if self.kind == "toolcall":
            return Tool(self.call.id, self.call.name, self.call.arguments) if self.call else Tool("", "…", text)
        return Text(text)


class Transcript:
    """Collects the events of one run; safe to feed on one thread and to read on others."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._began = clock()
        self._parts: list[Part] = []
        self._blocks: dict[int, _Block] = {}
        self._tools: dict[str, tuple[int, float]] = {}
        self._retry: int | None = None  # where the notice of the tries is
        self._failure = ""  # why there was one more
        self._now = Snapshot()
        self.version = 0  # grows with every event, so that a reader sees whether there is anything new

    def feed(self, event: events.HarnessEvent) -> None:
        """Take one event of the harness."""
        with self._lock:
            self._take(event)
            self.version += 1

    def snapshot(self) -> Snapshot:
        """Return the run as it stands."""
        with self._lock:
            coming = [block.part() for _, block in sorted(self._blocks.items())]
            seconds = self._now.seconds if self._now.settled else self._clock() - self._began
            return replace(self._now, parts=(*self._parts, *coming), seconds=seconds)

    def settle(self, *, stored: bool = False) -> None:
        """Say that the run is over, however it ended; the clock stops. A stored one took no time."""
        with self._lock:
            if not self._now.settled:
                seconds = 0.0 if stored else self._clock() - self._began
                self._now = replace(self._now, seconds=seconds, settled=True)
                self.version += 1

    # ------------------------------------------------------------ one method per event

    @singledispatchmethod
    def _take(self, event: Any) -> None:
        """Ignore events that show nothing in a cell."""

    @_take.register
    def _(self, event: events.MessageUpdate) -> None:
        piece = event.stream
        if isinstance(piece, BlockStart):
            self._blocks[piece.index] = _Block(piece.kind)
        elif isinstance(piece, BlockDelta):
            self._blocks.setdefault(piece.index, _Block(piece.kind)).pieces.append(piece.delta)
        elif isinstance(piece, BlockEnd) and isinstance(piece.content, ToolCall):
            self._blocks.setdefault(piece.index, _Block(piece.kind)).call = piece.content

    @_take.register
    def _(self, event: events.MessageStart) -> None:
        self._blocks.clear()

    @_take.register
    def _(self, event: events.MessageEnd) -> None:
        if event.entry_id:
            self._now = replace(self._now, entries=(*self._now.entries, event.entry_id))
        if isinstance(event.message, AssistantMessage):
            self._answer(event.message, event.entry_id)
            self._now = replace(self._now, error=event.error)
        elif isinstance(event.message, UserMessage):
            self._user(event.message, event.entry_id)
        elif isinstance(event.message, ToolResultMessage):
            self._result(event.message)

    @_take.register
    def _(self, event: events.ToolExecutionStart) -> None:
        index = self._tool(event.tool_call_id, event.tool_name, event.args)
        self._change(index, state="running", args=event.args)

    @_take.register
    def _(self, event: events.ToolExecutionUpdate) -> None:
        index = self._tool(event.tool_call_id, event.tool_name, event.args)
        self._change(index, result=_text(getattr(event.partial_result, "content", event.partial_result)))

    @_take.register
    def _(self, event: events.ToolExecutionEnd) -> None:
        index = self._tool(event.tool_call_id, event.tool_name, None)
        content = getattr(event.result, "content", event.result)
        self._change(index, **_outcome(content, event.is_error, getattr(event.result, "details", None)))
        self._change(index, seconds=self._clock() - self._tools[event.tool_call_id][1])

    @_take.register
    def _(self, event: events.ToolCallHeld) -> None:
        index = self._tool(event.tool_call_id, event.tool_name, None)
        self._change(index, state="held" if event.held else "running")

    @_take.register
    def _(self, event: events.RetryStart) -> None:
        broken = any(block.pieces for block in self._blocks.values())
        self._blocks.clear()
        self._failure = f"{'The answer broke off: ' if broken else ''}{sentence(event.error)}"
        self._tried(Notice(f"{self._failure} {next_try(event)}"))

    @_take.register
    def _(self, event: events.RetryEnd) -> None:
        if event.success:
            self._tried(Notice(f"{self._failure} Try {event.attempt} went well."))
        else:  # why is said where the run ends
            self._tried(Notice(f"Tried {event.attempt} times."))
        self._retry = None

    def _tried(self, notice: Notice) -> None:
        """Put a notice of a try in the place of the one before: nobody wants to read the same failure thrice."""
        if self._retry is None:
            self._retry = len(self._parts)
            self._parts.append(notice)
        else:
            self._parts[self._retry] = notice

    @_take.register
    def _(self, event: events.SessionCompact) -> None:
        self._parts.append(Notice("The older part of this conversation was summarised to make room."))

    @_take.register
    def _(self, event: events.Abort) -> None:
        self._now = replace(self._now, stop_reason="aborted")

    # ------------------------------------------------------------ messages

    def _answer(self, message: AssistantMessage, entry_id: str | None) -> None:
        self._blocks.clear()
        content = (TextContent(text=message.content),) if isinstance(message.content, str) else message.content
        for block in content:
            if isinstance(block, ToolCall):
                self._tool(block.id, block.name, block.arguments)
            elif isinstance(block, ThinkingContent):
                self._parts.append(Thinking(block.thinking))
            elif isinstance(block, TextContent):
                self._parts.append(Text(block.text))
        self._now = replace(
            self._now,
            answer_entry=entry_id or self._now.answer_entry,
            model=f"{message.provider}:{message.model}",
            usage=_sum(self._now.usage, message.usage),
            stop_reason=message.stop_reason,
        )

    def _user(self, message: UserMessage, entry_id: str | None) -> None:
        if self._now.prompt_entry is None:
            self._now = replace(self._now, prompt_entry=entry_id)
        else:
            self._parts.append(Said(_text(message.content)))

    def _result(self, message: ToolResultMessage) -> None:
        index = self._tool(message.tool_call_id, message.tool_name or "tool", None)
        self._change(index, **_outcome(message.content, message.is_error, message.details))

    def _tool(self, call_id: str, name: str, args: Any) -> int:
        """Return where a tool call's card is, and make one if there is none."""
        if call_id not in self._tools:
            self._tools[call_id] = (len(self._parts), self._clock())
            self._parts.append(Tool(call_id, name, args))
        return self._tools[call_id][0]

    def _change(self, index: int, **changes: Any) -> None:
        self._parts[index] = replace(self._parts[index], **changes)
        if changes.get("state") == "running":
            tool = self._parts[index]
            assert isinstance(tool, Tool)
            self._tools[tool.call_id] = (index, self._clock())


def _outcome(content: Any, is_error: bool, details: Any) -> dict[str, Any]:
    blocks = content if isinstance(content, list | tuple) else ()
    pictures = tuple(Picture(block.data, block.mime_type) for block in blocks if isinstance(block, ImageContent))
    text, diff = _text(content), details.get("diff") if isinstance(details, dict) else None
    state = ("refused" if text.startswith(REFUSED) else "failed") if is_error else "done"
    return {"state": state, "result": text, "pictures": pictures, "diff": diff if isinstance(diff, str) else ""}


def _text(content: Any) -> str:
    return text_of(content) if content is None or isinstance(content, str | list | tuple) else str(content)


def _sum(left: Usage, right: Usage | None) -> Usage:
    """Return two usages added up."""
    if right is None:
        return left
    names = ("input", "output", "cache_read", "cache_write", "total_tokens")
    cost = left.cost.model_copy(update={"total": left.cost.total + right.cost.total})
    return Usage(**{name: getattr(left, name) + getattr(right, name) for name in names}, cost=cost)

"""Hooks: handlers that may change or block what the harness is about to do.

============================ ================================ =============================
name                         a handler receives               and may return
============================ ================================ =============================
``before_agent_start``       :class:`BeforeAgentStart`        :class:`AgentStartPatch`
``context``                  :class:`ContextHook`             a sequence of messages
``before_provider_request``  :class:`BeforeProviderRequest`   a :class:`Request`
``before_provider_payload``  :class:`BeforeProviderPayload`   the JSON body to send
``tool_call``                :class:`ToolCallHook`            :class:`ToolCallDecision`
``tool_result``              :class:`ToolResultHook`          :class:`ToolResultPatch`
``session_before_compact``   :class:`BeforeCompact`           :class:`CompactDecision`
``session_before_tree``      :class:`BeforeTree`              :class:`TreeDecision`
============================ ================================ =============================

Handlers are called in the order they were added, synchronous or not; None changes nothing. ``context``, the two for
requests, and ``tool_result`` are chained: each sees what the one before made. The first ``tool_call`` handler that
blocks decides. Of the others the last answer counts.

A handler that raises fails the run with a ``hook`` error; one for ``tool_call`` or ``tool_result`` fails that call,
one for ``before_provider_payload`` that answer.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pi_nb.errors import HarnessError, ToolError, UserError
from pi_nb.harness.listeners import broken
from pi_nb.harness.signals import is_cancelled
from pi_nb.harness.tools import ToolResult, to_result
from pi_nb.messages import Content, ImageContent, Message, Value
from pi_nb.models import Model
from pi_nb.providers.base import Request

if TYPE_CHECKING:
    from pi_nb.harness.branch_summary import BranchSummary, TreePreparation
    from pi_nb.harness.compaction import CompactionPreparation, CompactionResult
    from pi_nb.harness.resources import Resources
    from pi_nb.harness.signals import AbortSignal
    from pi_nb.session.entries import Entry

__all__ = [
    "HOOKS",
    "AgentStartPatch",
    "BeforeAgentStart",
    "BeforeCompact",
    "BeforeProviderPayload",
    "BeforeProviderRequest",
    "BeforeTree",
    "CompactDecision",
    "ContextHook",
    "Handler",
    "Hooks",
    "ToolCallDecision",
    "ToolCallHook",
    "ToolResultHook",
    "ToolResultPatch",
    "TreeDecision",
]

T = TypeVar("T")
Handler: TypeAlias = Callable[[Any], Any | Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class BeforeAgentStart:
    """A run is about to begin with this prompt."""

    prompt: str
    images: tuple[ImageContent, ...]
    system_prompt: str
    resources: Resources


@dataclass(frozen=True, slots=True)
class AgentStartPatch:
    """Messages to add after the prompt, and another system prompt for this run (None: leave it)."""

    messages: Sequence[Message] = ()
    system_prompt: str | None = None


@dataclass(frozen=True, slots=True)
class ContextHook:
    """These messages are about to be sent. What a handler returns is sent instead; the session keeps its own."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class BeforeProviderRequest:
    """This request is about to be made."""

    request: Request


@dataclass(frozen=True, slots=True)
class BeforeProviderPayload:
    """This body is about to be sent to the model's server."""

    model: Model
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCallHook:
    """A tool is about to run with arguments that fit it."""

    tool_call_id: str
    tool_name: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCallDecision:
    """Whether a call may run; ``reason`` is what the model is told if not."""

    block: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ToolResultHook:
    """A tool has run; its result is not yet part of the conversation."""

    tool_call_id: str
    tool_name: str
    input: Mapping[str, Any]
    content: tuple[Any, ...]
    details: Any
    is_error: bool


@dataclass(frozen=True, slots=True)
class ToolResultPatch:
    """What to change in a result; None leaves it."""

    content: Content | None = None
    details: Any = None
    is_error: bool | None = None
    terminate: bool | None = None


@dataclass(frozen=True, slots=True)
class BeforeCompact:
    """A compaction is about to be made."""

    preparation: CompactionPreparation
    branch_entries: Sequence[Entry]
    instructions: str | None
    signal: AbortSignal


@dataclass(frozen=True, slots=True)
class CompactDecision:
    """Stop a compaction, or supply its result (then no model is asked)."""

    cancel: bool = False
    compaction: CompactionResult | None = None


@dataclass(frozen=True, slots=True)
class BeforeTree:
    """The leaf is about to move."""

    preparation: TreePreparation
    signal: AbortSignal


@dataclass(frozen=True, slots=True)
class TreeDecision:
    """Stop a move, supply the summary of the branch that is left, or change how it is made and labelled."""

    cancel: bool = False
    summary: BranchSummary | None = None
    instructions: str | None = None
    replace_instructions: bool | None = None
    label: str | None = None


HOOKS: tuple[str, ...] = (
    "before_agent_start",
    "before_provider_payload",
    "before_provider_request",
    "context",
    "session_before_compact",
    "session_before_tree",
    "tool_call",
    "tool_result",
)


class Hooks:
    """The handlers of one harness, by hook name."""

    def __init__(self) -> None:
        self._handlers: dict[str, dict[int, Handler]] = {name: {} for name in HOOKS}
        self._next = 0

    def add(self, name: str, handler: Handler) -> Callable[[], None]:
        """Add a handler; return how to take it back.

        Raises:
            UserError: There is no hook of that name.
        """
        if name not in self._handlers:
            raise UserError(f"There is no hook {name!r}.", hint=f"Known: {', '.join(HOOKS)}.")
        key = self._next
        self._next += 1
        self._handlers[name][key] = handler

        def remove() -> None:
            self._handlers[name].pop(key, None)

        return remove

    async def before_agent_start(self, event: BeforeAgentStart) -> AgentStartPatch:
        """Ask before a run begins."""
        patch = await self._last("before_agent_start", event, AgentStartPatch) or AgentStartPatch()
        said = isinstance(patch.messages, list | tuple) and all(isinstance(item, Value) for item in patch.messages)
        _require(said and isinstance(patch.system_prompt, str | None), "before_agent_start", "message or prompt")
        return patch

    async def context(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages to send instead of these, which are not looked at if nobody wants to change them."""
        for handler in self._of("context"):
            answer: Any = await _ask(handler, ContextHook(tuple(messages)), "context", (list, tuple))
            messages = messages if answer is None else tuple(answer)
        return messages

    async def before_provider_request(self, request: Request) -> Request:
        """Return the request to make instead of this one."""
        for handler in self._of("before_provider_request"):
            request = await _ask(handler, BeforeProviderRequest(request), "before_provider_request", Request) or request
        return request

    async def before_provider_payload(self, model: Model, payload: dict[str, Any]) -> dict[str, Any]:
        """Return the body to send instead of this one."""
        for handler in self._of("before_provider_payload"):
            event = BeforeProviderPayload(model, payload)
            answer: dict[str, Any] | None = await _ask(handler, event, "before_provider_payload", dict)
            payload = payload if answer is None else answer
        return payload

    async def tool_call(self, event: ToolCallHook) -> ToolCallDecision:
        """Ask whether a tool may run."""
        async for answer in self._answers("tool_call", event, ToolCallDecision):
            if answer.block:
                return answer
        return ToolCallDecision()

    async def tool_result(self, event: ToolResultHook) -> ToolResultPatch:
        """Ask what to change in a result."""
        total = ToolResultPatch()
        for handler in self._of("tool_result"):
            patch = await _ask(handler, event, "tool_result", ToolResultPatch)
            if patch is not None:
                event = _patched(event, patch)
                total = _merge(total, patch)
        return total

    async def before_compact(self, event: BeforeCompact) -> CompactDecision:
        """Ask before a compaction."""
        decision = await self._last("session_before_compact", event, CompactDecision) or CompactDecision()
        _require(_is_summary(decision.compaction), "session_before_compact", "summary")
        return decision

    async def before_tree(self, event: BeforeTree) -> TreeDecision:
        """Ask before the leaf moves."""
        decision = await self._last("session_before_tree", event, TreeDecision) or TreeDecision()
        said = _is_summary(decision.summary) and isinstance(decision.label, str | None)
        _require(said, "session_before_tree", "summary or label")
        return decision

    def _of(self, name: str) -> tuple[Handler, ...]:
        return tuple(self._handlers[name].values())

    async def _answers(self, name: str, event: Any, kind: type[T]) -> AsyncIterator[T]:
        for handler in self._of(name):
            answer = await _ask(handler, event, name, kind)
            if answer is not None:
                yield answer

    async def _last(self, name: str, event: Any, kind: type[T]) -> T | None:
        last = None
        async for answer in self._answers(name, event, kind):
            last = answer
        return last


async def _ask(handler: Handler, event: Any, name: str, kind: type[T] | tuple[type[T], ...]) -> T | None:
    try:
        answer = handler(event)
        if inspect.isawaitable(answer):
            answer = await answer
    except asyncio.CancelledError as error:
        if is_cancelled():
            raise
        raise broken(error) from error
    except Exception as error:
        raise broken(error) from error
    if answer is not None and not isinstance(answer, kind):
        raise HarnessError(f"A handler for {name} returned a {type(answer).__name__}.", code="hook")
    return answer


def _require(sound: bool, name: str, what: str) -> None:
    if not sound:
        raise HarnessError(f"A handler for {name} returned what is no {what}.", code="hook")


def _is_summary(value: Any) -> bool:
    return value is None or isinstance(getattr(value, "summary", None), str)


def _merge(first: ToolResultPatch, second: ToolResultPatch) -> ToolResultPatch:
    changed = {name: getattr(second, name) for name in ToolResultPatch.__slots__ if getattr(second, name) is not None}
    return replace(first, **changed)


def _patched(event: ToolResultHook, patch: ToolResultPatch) -> ToolResultHook:
    try:
        content = event.content if patch.content is None else to_result(ToolResult(patch.content)).blocks  # type: ignore[arg-type]
    except ToolError as error:
        raise HarnessError(str(error), code="hook") from error
    details = event.details if patch.details is None else patch.details
    return replace(
        event,
        content=content,
        details=details,
        is_error=event.is_error if patch.is_error is None else patch.is_error,
    )

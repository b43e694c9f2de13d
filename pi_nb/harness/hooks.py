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

Handlers are called in the order they were added, synchronous or not; None changes nothing. They are chained: each sees
what the ones before made of the messages, the system prompt, the request or the result. The first that blocks or
cancels decides, and no other is asked. What several add is added in their order; of what there can be only one, a
summary or a label, the last counts.

A handler that raises fails the run with a ``hook`` error; one for ``tool_call`` or ``tool_result`` fails that call,
one for ``before_provider_payload`` that answer.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from pi_nb.errors import HarnessError, ToolError, UserError
from pi_nb.harness.hook_events import (
    AgentStartPatch,
    BeforeAgentStart,
    BeforeCompact,
    BeforeProviderPayload,
    BeforeProviderRequest,
    BeforeTree,
    CompactDecision,
    ContextHook,
    Handler,
    HandlerOf,
    ToolCallDecision,
    ToolCallHook,
    ToolResultHook,
    ToolResultPatch,
    TreeDecision,
)
from pi_nb.harness.listeners import broken
from pi_nb.harness.signals import is_cancelled
from pi_nb.harness.tools import ToolResult, to_result
from pi_nb.messages import Message, Value
from pi_nb.models import Model
from pi_nb.providers.base import Request

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
    "HandlerOf",
    "Hooks",
    "ToolCallDecision",
    "ToolCallHook",
    "ToolResultHook",
    "ToolResultPatch",
    "TreeDecision",
]

T = TypeVar("T")
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
        total = AgentStartPatch()
        for handler in self._of("before_agent_start"):
            patch = await _ask(handler, event, "before_agent_start", AgentStartPatch) or AgentStartPatch()
            _check_start(patch)
            prompt = total.system_prompt if patch.system_prompt is None else patch.system_prompt
            total = AgentStartPatch((*total.messages, *patch.messages), prompt)
            event = event if prompt is None else replace(event, system_prompt=prompt)
        return total

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
        total = CompactDecision()
        async for decision in self._answers("session_before_compact", event, CompactDecision):
            _require(_is_summary(decision.compaction), "session_before_compact", "summary")
            if decision.cancel:
                return decision
            total = _merge(total, decision)
        return total

    async def before_tree(self, event: BeforeTree) -> TreeDecision:
        """Ask before the leaf moves."""
        total = TreeDecision()
        async for decision in self._answers("session_before_tree", event, TreeDecision):
            said = _is_summary(decision.summary) and isinstance(decision.label, str | None)
            _require(said, "session_before_tree", "summary or label")
            if decision.cancel:
                return decision
            total = _merge(total, decision)
        return total

    def _of(self, name: str) -> tuple[Handler, ...]:
        return tuple(self._handlers[name].values())

    async def _answers(self, name: str, event: Any, kind: type[T]) -> AsyncIterator[T]:
        for handler in self._of(name):
            answer = await _ask(handler, event, name, kind)
            if answer is not None:
                yield answer


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


def _check_start(patch: AgentStartPatch) -> None:
    said = isinstance(patch.messages, list | tuple) and all(isinstance(item, Value) for item in patch.messages)
    _require(said and isinstance(patch.system_prompt, str | None), "before_agent_start", "message or prompt")


_Patch = TypeVar("_Patch", ToolResultPatch, CompactDecision, TreeDecision)


def _merge(first: _Patch, second: _Patch) -> _Patch:
    """Return what two handlers want together: of each field the later one that says something."""
    said = {field.name: getattr(second, field.name) for field in fields(second)}
    return replace(first, **{name: value for name, value in said.items() if value is not None})


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

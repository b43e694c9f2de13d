"""What the handlers of hooks receive, and what they may return; :mod:`pi_nb.harness.hooks` says which is for which."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pi_nb.messages import Content, ImageContent, Message
from pi_nb.models import Model
from pi_nb.providers.base import Request

if TYPE_CHECKING:
    from pi_nb.harness.branch_summary import BranchSummary, TreePreparation
    from pi_nb.harness.compaction import CompactionPreparation, CompactionResult
    from pi_nb.harness.resources import Resources
    from pi_nb.harness.signals import AbortSignal
    from pi_nb.session.entries import Entry

__all__ = [
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
    "ToolCallDecision",
    "ToolCallHook",
    "ToolResultHook",
    "ToolResultPatch",
    "TreeDecision",
]

EventT = TypeVar("EventT")
AnswerT = TypeVar("AnswerT")
Handler: TypeAlias = Callable[[Any], Any | Awaitable[Any]]
HandlerOf: TypeAlias = Callable[[EventT], Awaitable[AnswerT | None] | AnswerT | None]
"""A handler that receives an event of one kind and answers with one kind of thing, or with None."""


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

"""What a harness tells its subscribers, one frozen class per event.

Three lifecycles lie inside one another; an event's ``type`` is pi's name for it::

    agent_start … agent_end → settled           one prompt: may the user type again?
      turn_start … turn_end → save_point        one assistant message and its tool results
        message_start, message_update*, message_end   one message, on disk before subscribers see its end

A subscriber's return value is ignored; to change or block something, use a hook (:mod:`pi_nb.harness.hooks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias

from pi_nb.errors import ProviderError
from pi_nb.messages import AssistantMessage, Message, ToolResultMessage
from pi_nb.models import Model
from pi_nb.providers.base import StreamEvent

__all__ = [
    "Abort",
    "AfterProviderResponse",
    "AgentEnd",
    "AgentStart",
    "HarnessEvent",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "ModelUpdate",
    "QueueUpdate",
    "ResourcesUpdate",
    "RetryEnd",
    "RetryStart",
    "SavePoint",
    "SessionCompact",
    "SessionTree",
    "Settled",
    "ThinkingLevelUpdate",
    "ToolCallHeld",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "ToolsUpdate",
    "TurnEnd",
    "TurnStart",
]


@dataclass(frozen=True, slots=True)
class AgentStart:
    """A run begins."""

    type: ClassVar[str] = "agent_start"


@dataclass(frozen=True, slots=True)
class AgentEnd:
    """A run has ended; ``messages`` are all that it added."""

    type: ClassVar[str] = "agent_end"
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class TurnStart:
    """A turn begins: one model call is about to be made."""

    type: ClassVar[str] = "turn_start"


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """A turn has ended: its assistant message and the results of the calls in it."""

    type: ClassVar[str] = "turn_end"
    message: AssistantMessage
    tool_results: tuple[ToolResultMessage, ...]


@dataclass(frozen=True, slots=True)
class MessageStart:
    """A message begins. For an answer this is the (still empty) beginning of it."""

    type: ClassVar[str] = "message_start"
    message: Message


@dataclass(frozen=True, slots=True)
class MessageUpdate:
    """A piece of an answer arrived; ``stream.partial()`` builds the answer as it stands."""

    type: ClassVar[str] = "message_update"
    stream: StreamEvent


@dataclass(frozen=True, slots=True)
class MessageEnd:
    """A message is complete and on disk as entry ``entry_id``; ``error`` is why an answer failed, if it did."""

    type: ClassVar[str] = "message_end"
    message: Message
    entry_id: str | None = None
    error: ProviderError | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ToolExecutionStart:
    """A tool call begins."""

    type: ClassVar[str] = "tool_execution_start"
    tool_call_id: str
    tool_name: str
    args: Any


@dataclass(frozen=True, slots=True)
class ToolExecutionUpdate:
    """A running tool says how far it is."""

    type: ClassVar[str] = "tool_execution_update"
    tool_call_id: str
    tool_name: str
    args: Any
    partial_result: Any


@dataclass(frozen=True, slots=True)
class ToolExecutionEnd:
    """A tool call has ended; ``result`` is a :class:`pi_nb.harness.tools.ToolResult`. Comes in order of completion."""

    type: ClassVar[str] = "tool_execution_end"
    tool_call_id: str
    tool_name: str
    result: Any
    is_error: bool


@dataclass(frozen=True, slots=True)
class QueueUpdate:
    """What waits in the three queues, as messages."""

    type: ClassVar[str] = "queue_update"
    steer: tuple[Message, ...]
    follow_up: tuple[Message, ...]
    next_turn: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class SavePoint:
    """All of this turn is on disk, the configuration too (``had_pending_mutations``: there was some)."""

    type: ClassVar[str] = "save_point"
    had_pending_mutations: bool


@dataclass(frozen=True, slots=True)
class Abort:
    """A run was aborted; what waited to be said is handed back."""

    type: ClassVar[str] = "abort"
    cleared_steer: tuple[Message, ...]
    cleared_follow_up: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """The harness is idle again; ``next_turn_count`` messages wait for the next prompt."""

    type: ClassVar[str] = "settled"
    next_turn_count: int


@dataclass(frozen=True, slots=True)
class AfterProviderResponse:
    """The provider answered, before the first token."""

    type: ClassVar[str] = "after_provider_response"
    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ModelUpdate:
    """Another model from now on; ``source`` says why: ``set`` or ``restore`` (a checkout)."""

    type: ClassVar[str] = "model_update"
    model: Model | None
    previous_model: Model | None
    source: Literal["set", "restore"]


@dataclass(frozen=True, slots=True)
class ThinkingLevelUpdate:
    """Another thinking level from now on."""

    type: ClassVar[str] = "thinking_level_update"
    level: str
    previous_level: str
    source: Literal["set", "restore"] = "set"


@dataclass(frozen=True, slots=True)
class ToolsUpdate:
    """Other tools, or others of them active, from now on."""

    type: ClassVar[str] = "tools_update"
    tool_names: tuple[str, ...]
    previous_tool_names: tuple[str, ...]
    active_tool_names: tuple[str, ...]
    previous_active_tool_names: tuple[str, ...]
    source: Literal["set", "restore"]


@dataclass(frozen=True, slots=True)
class ResourcesUpdate:
    """Other skills or prompt templates from now on."""

    type: ClassVar[str] = "resources_update"
    resources: Any
    previous_resources: Any


@dataclass(frozen=True, slots=True)
class SessionCompact:
    """A compaction entry was written."""

    type: ClassVar[str] = "session_compact"
    entry: Any
    from_hook: bool


@dataclass(frozen=True, slots=True)
class SessionTree:
    """The leaf moved; ``summary_entry`` is what was written about the branch that was left, or None."""

    type: ClassVar[str] = "session_tree"
    new_leaf_id: str | None
    old_leaf_id: str | None
    summary_entry: Any = None
    from_hook: bool | None = None


@dataclass(frozen=True, slots=True)
class RetryStart:
    """The provider failed in a way that may pass; try ``attempt`` of ``max_attempts`` begins in ``delay`` seconds.

    What was shown of the answer is void: its ``message_start`` gets no ``message_end``, and the next try begins with a
    ``message_start`` of its own. Also told while a summary is made, of which nothing is shown.
    """

    type: ClassVar[str] = "retry_start"
    attempt: int
    max_attempts: int
    delay: float
    error: str


@dataclass(frozen=True, slots=True)
class RetryEnd:
    """Trying again is over: the answer is complete, or the tries are used up (then what the last one gave is kept)."""

    type: ClassVar[str] = "retry_end"
    attempt: int
    success: bool


@dataclass(frozen=True, slots=True)
class ToolCallHeld:
    """A tool call waits for somebody's consent, or no longer does; told by whoever asks, not by the harness."""

    type: ClassVar[str] = "tool_call_held"
    tool_call_id: str
    tool_name: str
    held: bool


HarnessEvent: TypeAlias = (
    AgentStart
    | AgentEnd
    | TurnStart
    | TurnEnd
    | MessageStart
    | MessageUpdate
    | MessageEnd
    | ToolExecutionStart
    | ToolExecutionUpdate
    | ToolExecutionEnd
    | ToolCallHeld
    | QueueUpdate
    | SavePoint
    | Abort
    | Settled
    | AfterProviderResponse
    | ModelUpdate
    | ThinkingLevelUpdate
    | ToolsUpdate
    | ResourcesUpdate
    | SessionCompact
    | SessionTree
    | RetryStart
    | RetryEnd
)

"""What a provider is: a request goes in, stream events come out, and the last one holds the whole message.

A provider never raises for a failed answer: its stream ends with :class:`StreamError`, which carries what had
arrived. The one thing it lets through is ``asyncio.CancelledError``: cancelling the task that reads the stream is
how a run is aborted, and the reader keeps the last event's :meth:`~StreamEvent.partial`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias, runtime_checkable

from pi_nb.errors import ProviderError
from pi_nb.messages import AssistantMessage, Message, ToolCall
from pi_nb.models import Model

__all__ = [
    "BlockDelta",
    "BlockEnd",
    "BlockStart",
    "Provider",
    "Request",
    "StreamDone",
    "StreamError",
    "StreamEvent",
    "StreamResponse",
    "StreamStart",
    "ToolSpec",
]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a model sees it: ``parameters`` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One model call.

    Attributes:
        model: Which model.
        messages: The projected context; a harness's makes each message when it is looked at. Any history is allowed;
            the provider makes it acceptable (:mod:`pi_nb.providers.transform`).
        system: System prompt; empty for none.
        tools: What the model may call.
        thinking_level: ``off`` … ``xhigh``.
        max_tokens: Limit for this answer, or None for the model's own.
        temperature: Sampling temperature, or None for the provider's default.
        session_id: For providers that route caches by session.
        headers: Extra HTTP headers; never stored.
        on_payload: Given the body of an HTTP request, returns the body to send instead; None sends it as it is.
    """

    model: Model
    messages: Sequence[Message]
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    thinking_level: str = "off"
    max_tokens: int | None = None
    temperature: float | None = None
    session_id: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    on_payload: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]] | None = field(default=None, compare=False)


Partial: TypeAlias = Callable[[], AssistantMessage]


@dataclass(frozen=True, slots=True)
class StreamResponse:
    """The provider answered: HTTP status and headers, before the first token."""

    type: ClassVar[str] = "response"
    status: int
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StreamStart:
    """The message has begun. ``partial()`` builds it as it stands; call it only when the text is wanted."""

    type: ClassVar[str] = "start"
    partial: Partial


@dataclass(frozen=True, slots=True)
class BlockStart:
    """A block opened. ``kind`` is ``text``, ``thinking`` or ``toolcall``."""

    kind: str
    index: int
    partial: Partial

    @property
    def type(self) -> str:
        """``text_start``, ``thinking_start`` or ``toolcall_start``, pi's names."""
        return f"{self.kind}_start"


@dataclass(frozen=True, slots=True)
class BlockDelta:
    """A piece of a block: text, or a tool call's argument JSON."""

    kind: str
    index: int
    delta: str
    partial: Partial

    @property
    def type(self) -> str:
        """``text_delta``, ``thinking_delta`` or ``toolcall_delta``."""
        return f"{self.kind}_delta"


@dataclass(frozen=True, slots=True)
class BlockEnd:
    """A block is complete: its text, or the parsed tool call."""

    kind: str
    index: int
    content: str | ToolCall
    partial: Partial

    @property
    def type(self) -> str:
        """``text_end``, ``thinking_end`` or ``toolcall_end``."""
        return f"{self.kind}_end"


@dataclass(frozen=True, slots=True)
class StreamDone:
    """The whole message; its stop reason is ``stop``, ``length`` or ``toolUse``. Always the last event."""

    type: ClassVar[str] = "done"
    message: AssistantMessage


@dataclass(frozen=True, slots=True)
class StreamError:
    """The answer failed: what had arrived, with stop reason ``error``, and why. Always the last event."""

    type: ClassVar[str] = "error"
    message: AssistantMessage
    error: ProviderError


StreamEvent: TypeAlias = StreamResponse | StreamStart | BlockStart | BlockDelta | BlockEnd | StreamDone | StreamError


@runtime_checkable
class Keyed(Protocol):
    """A provider that can tell, without asking anybody, that it has no key."""

    def missing_key(self) -> ProviderError | None:
        """Return why requests would be refused, or None."""
        ...


@runtime_checkable
class Provider(Protocol):
    """Something that answers requests. Implementations are safe to use for several requests at once."""

    @property
    def name(self) -> str:
        """The part before the colon in ``provider:model``."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Yield the events of one answer, ending with :class:`StreamDone` or :class:`StreamError`."""
        ...

    def model(self, model_id: str) -> Model:
        """Return what is known of a model; unknown names give a model with default limits.

        Raises:
            ProviderError: ``not_found``, when the provider knows all its models and this is none of them.
        """
        ...

    async def aclose(self) -> None:
        """Close connections and stop threads. The provider may be used again afterwards."""
        ...

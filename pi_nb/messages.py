"""Messages and their content blocks: pure values, no identity, no storage.

In Python names are snake_case; on disk and on the wire between processes they are pi's camelCase. Fields and
kinds this version does not know are kept and written back. Identity (ids, parents, time of writing) belongs to
the entries in :mod:`pi_nb.session.entries`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, Union

from pydantic import BaseModel, ConfigDict, Discriminator, Tag, TypeAdapter
from pydantic.alias_generators import to_camel

__all__ = [
    "AssistantMessage",
    "BashExecutionMessage",
    "BranchSummaryMessage",
    "CompactionSummaryMessage",
    "ContentBlock",
    "Cost",
    "CustomMessage",
    "ImageContent",
    "Message",
    "StopReason",
    "SystemMessage",
    "TextContent",
    "ThinkingContent",
    "ToolCall",
    "ToolResultMessage",
    "UnknownContent",
    "UnknownMessage",
    "Usage",
    "UserMessage",
    "Value",
    "now_ms",
    "parse_block",
    "parse_message",
    "text_of",
    "to_wire",
]

Timestamp: TypeAlias = int | float | str | None


def now_ms() -> int:
    """Return the current time in milliseconds since 1970, as pi stamps messages."""
    return time.time_ns() // 1_000_000


_TAGS = frozenset({"type", "role"})  # say what a value is, so are always written


class Value(BaseModel):
    """A frozen value with camelCase names on the wire that keeps fields it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        protected_namespaces=(),
        defer_build=True,  # each class costs when it is first needed, not when a notebook is opened
    )
    _wire_names: ClassVar[tuple[tuple[str, str], ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls._wire_names = tuple((name, field.alias or name) for name, field in cls.model_fields.items())

    def to_wire(self) -> dict[str, Any]:
        """Return this value as JSON-ready data under pi's names: what was read or set, nothing else.

        A field nobody set is left out (pi omits, it does not write null or a default), so that reading and
        writing changes nothing; a null that was read is written back.
        """
        given = self.model_fields_set
        out: dict[str, Any] = {}
        for name, alias in self._wire_names:
            if name in given or name in _TAGS:
                out[alias] = to_wire(getattr(self, name))
        if self.model_extra:
            out.update(self.model_extra)
        return out


def to_wire(value: Any) -> Any:
    """Return JSON-ready data for a value, a sequence or a mapping of values; anything else is passed through."""
    if isinstance(value, Value):
        return value.to_wire()
    if isinstance(value, list | tuple):
        return [to_wire(item) for item in value]
    if isinstance(value, dict):
        return {key: to_wire(item) for key, item in value.items()}
    return value


# ---------------------------------------------------------------- content blocks


class TextContent(Value):
    """Plain text. Never HTML, whatever it contains."""

    type: Literal["text"] = "text"
    text: str
    text_signature: str | None = None


class ThinkingContent(Value):
    """A model's reasoning. ``thinking_signature`` is the provider's opaque proof, needed to send it back."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    thinking_signature: str | None = None
    redacted: bool | None = None


class ImageContent(Value):
    """A picture: base64 ``data`` of type ``mime_type`` (such as ``image/png``)."""

    type: Literal["image"] = "image"
    data: str
    mime_type: str


class ToolCall(Value):
    """A model's wish to run a tool."""

    type: Literal["toolCall"] = "toolCall"
    id: str
    name: str
    arguments: Any = None
    thought_signature: str | None = None


class UnknownContent(Value):
    """A block of a kind, or of a shape, that this version does not know: kept, not understood."""

    type: Any = None


_BLOCKS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "thinking": ("thinking",),
    "image": ("data", "mimeType"),
    "toolCall": ("id", "name"),
}


def _block_tag(value: Any) -> str:
    """Return which block class fits; a known kind that lacks its text fields is kept as unknown."""
    if isinstance(value, Value):
        kind = getattr(value, "type", None)
        return kind if not isinstance(value, UnknownContent) and kind in _BLOCKS else "unknown"
    if not isinstance(value, Mapping):
        return "unknown"
    needed = _BLOCKS.get(value.get("type", "")) if isinstance(value.get("type"), str) else None
    if needed is None:
        return "unknown"
    for name in needed:
        if not isinstance(value.get(name), str) and not isinstance(value.get(_snake(name)), str):
            return "unknown"
    return str(value["type"])


def _snake(camel: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in camel)


def parse_block(data: Mapping[str, Any]) -> Value:
    """Return the content block that JSON data describes.

    Raises:
        pydantic.ValidationError: A field is of a wrong type.
    """
    return _BLOCK_KINDS[_block_tag(data)].model_validate(data)


_BLOCK_KINDS: dict[str, type[Value]] = {
    "text": TextContent,
    "thinking": ThinkingContent,
    "image": ImageContent,
    "toolCall": ToolCall,
    "unknown": UnknownContent,
}

ContentBlock = Annotated[
    Union[  # noqa: UP007 - Annotated members read better this way
        Annotated[TextContent, Tag("text")],
        Annotated[ThinkingContent, Tag("thinking")],
        Annotated[ImageContent, Tag("image")],
        Annotated[ToolCall, Tag("toolCall")],
        Annotated[UnknownContent, Tag("unknown")],
    ],
    Discriminator(_block_tag),
]
Content: TypeAlias = str | tuple[ContentBlock, ...]

StopReason = Literal["stop", "length", "toolUse", "error", "aborted"]


class Cost(Value):
    """Price of one message in US dollars, by kind of token."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0


class Usage(Value):
    """Tokens of one model call. ``input`` does not count what came from or went to the cache."""

    input: int | float = 0
    output: int | float = 0
    cache_read: int | float = 0
    cache_write: int | float = 0
    total_tokens: int | float = 0
    reasoning: int | float | None = None
    cost: Cost = Cost()

    @classmethod
    def of(
        cls,
        *,
        input: int = 0,
        output: int = 0,
        cache_read: int = 0,
        cache_write: int = 0,
        reasoning: int | None = None,
        cost: Cost | None = None,
    ) -> Usage:
        """Return a usage in which every field pi needs is set, the total and the price included."""
        cost = cost or Cost()
        parts = (cost.input, cost.output, cost.cache_read, cost.cache_write)
        price = dict(zip(("input", "output", "cache_read", "cache_write", "total"), (*parts, sum(parts)), strict=True))
        extra = {} if reasoning is None else {"reasoning": reasoning}
        total = input + output + cache_read + cache_write
        return cls(
            input=input,
            output=output,
            cache_read=cache_read,
            cache_write=cache_write,
            total_tokens=total,
            cost=Cost(**price),
            **extra,
        )


# ---------------------------------------------------------------- messages


class UserMessage(Value):
    """What the user said."""

    role: Literal["user"] = "user"
    content: Content
    timestamp: Timestamp = None


class AssistantMessage(Value):
    """What a model answered: text, thinking and tool calls, in order."""

    role: Literal["assistant"] = "assistant"
    content: Content = ()
    api: str | None = None
    provider: str | None = None
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    timestamp: Timestamp = None

    @property
    def text(self) -> str:
        """All text blocks, joined; thinking and calls left out."""
        return text_of(self.content)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in the order the model wrote them."""
        return () if isinstance(self.content, str) else tuple(b for b in self.content if isinstance(b, ToolCall))


class ToolResultMessage(Value):
    """What a tool call gave. ``details`` is for people and views; a model sees only ``content``."""

    role: Literal["toolResult"] = "toolResult"
    tool_call_id: str
    tool_name: str | None = None
    content: Content = ()
    details: Any = None
    is_error: bool = False
    timestamp: Timestamp = None


class BashExecutionMessage(Value):
    """A shell command the user ran himself; ``exclude_from_context`` hides it from the model."""

    role: Literal["bashExecution"] = "bashExecution"
    command: str
    output: str = ""
    exit_code: int | None = None
    cancelled: bool = False
    truncated: bool = False
    full_output_path: str | None = None
    exclude_from_context: bool | None = None
    timestamp: Timestamp = None


class CustomMessage(Value):
    """A message an application put in; the model sees it as the user's."""

    role: Literal["custom"] = "custom"
    custom_type: str = ""
    content: Content
    display: bool = True
    details: Any = None
    timestamp: Timestamp = None


class BranchSummaryMessage(Value):
    """What was learnt on a branch that was left at entry ``from_id``."""

    role: Literal["branchSummary"] = "branchSummary"
    summary: str
    from_id: str | None = None
    timestamp: Timestamp = None


class CompactionSummaryMessage(Value):
    """Stands for the older part of a long conversation; ``tokens_before`` is the context size it replaced."""

    role: Literal["compactionSummary"] = "compactionSummary"
    summary: str
    tokens_before: int | float | None = None
    timestamp: Timestamp = None


class SystemMessage(Value):
    """Instructions inside the conversation (newer pi)."""

    role: Literal["system"] = "system"
    content: Content
    timestamp: Timestamp = None


class UnknownMessage(Value):
    """A message of a role this version does not know: kept, and not sent to a model."""

    role: str


_ROLES: dict[str, type[Value]] = {
    "user": UserMessage,
    "assistant": AssistantMessage,
    "toolResult": ToolResultMessage,
    "bashExecution": BashExecutionMessage,
    "custom": CustomMessage,
    "branchSummary": BranchSummaryMessage,
    "compactionSummary": CompactionSummaryMessage,
    "system": SystemMessage,
}


def _role_tag(value: Any) -> str:
    role = value.role if isinstance(value, Value) and hasattr(value, "role") else None
    if role is None and isinstance(value, Mapping):
        role = value.get("role")
    return role if role in _ROLES else "unknown"


Message = Annotated[
    Union[  # noqa: UP007
        Annotated[UserMessage, Tag("user")],
        Annotated[AssistantMessage, Tag("assistant")],
        Annotated[ToolResultMessage, Tag("toolResult")],
        Annotated[BashExecutionMessage, Tag("bashExecution")],
        Annotated[CustomMessage, Tag("custom")],
        Annotated[BranchSummaryMessage, Tag("branchSummary")],
        Annotated[CompactionSummaryMessage, Tag("compactionSummary")],
        Annotated[SystemMessage, Tag("system")],
        Annotated[UnknownMessage, Tag("unknown")],
    ],
    Discriminator(_role_tag),
]
_MESSAGE: TypeAdapter[Any] = TypeAdapter(Message, config=ConfigDict(defer_build=True))


def parse_message(data: Any) -> Message:
    """Return the message that JSON data describes.

    Raises:
        pydantic.ValidationError: There is no role, or a field the role cannot do without is missing or of a wrong type.
    """
    return _MESSAGE.validate_python(data)  # type: ignore[no-any-return]


def text_of(content: str | Sequence[Any] | None) -> str:
    """Return the text of a message's content: the string itself, or its text blocks joined with nothing between."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(block.text for block in content if isinstance(block, TextContent))

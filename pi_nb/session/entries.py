"""The header and the entries of a session: the lines of its file, as frozen values.

Line 1 is the :class:`Header`, every other line one entry. All entries share an envelope (``type``, ``id``,
``parent_id``, ``timestamp``); what is in it depends on the kind. A kind this version does not know, or a known one
that lacks what it cannot do without, is an :class:`UnknownEntry`: kept and written back, not understood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeVar

from pydantic import PlainValidator, ValidationError

from pi_nb.messages import Content, Message, UnknownMessage, Value, parse_block, parse_message

__all__ = [
    "ActiveToolsChangeEntry",
    "BranchSummaryEntry",
    "CompactionEntry",
    "ContextEditEntry",
    "CustomEntry",
    "CustomMessageEntry",
    "Entry",
    "Header",
    "LabelEntry",
    "LeafEntry",
    "MessageEntry",
    "ModelChangeEntry",
    "SessionInfoEntry",
    "ThinkingLevelChangeEntry",
    "UnknownEntry",
    "UsageEntry",
    "parse_entry",
    "tolerant_message",
]


_ValueT = TypeVar("_ValueT", bound=Value)
_MadeT = TypeVar("_MadeT", bound=Value | Message)
_SAID = ("content", "summary")  # an entry that says something else than text or blocks is not understood
_TALK = frozenset({"user", "assistant", "toolResult", "system"})


def tolerant_message(data: Any) -> Message:
    """Return the message in ``data``, even one that lacks content or has a field of a wrong type.

    Session files are edited by hand and written by many programs, so a message is refused only if it has no role.

    Raises:
        pydantic.ValidationError: ``data`` is not an object with a role.
    """
    if isinstance(data, Value):
        return data  # type: ignore[return-value]  # a message already
    if isinstance(data, Mapping) and data.get("role") in _TALK and data.get("content") is None:
        data = {**data, "content": []}
    for make in (parse_message, UnknownMessage.model_validate):
        with suppress(ValidationError):
            return _made(make, data)
    UnknownMessage.model_validate({"role": data["role"]} if isinstance(data, Mapping) and "role" in data else data)
    return _unvalidated(UnknownMessage, data)


def _made(make: Callable[[Any], _MadeT], data: Any) -> _MadeT:
    """Return the value that ``make`` gives; fields it can do without are kept as they are if it does not take them.

    These are fields of a wrong type, and fields whose names have half a character in them.

    Raises:
        pydantic.ValidationError: It cannot do without one of them.
    """
    try:
        return make(data)
    except ValidationError as error:
        if isinstance(data, Mapping) and _has_plain_blocks(data.get("content")):
            return _made(make, {**data, "content": [_block(block) for block in data["content"]]})
        odd = _odd_fields(data, error) if isinstance(data, Mapping) else {}
        if not odd or any(odd.get(name) is not None for name in _SAID):
            raise
    value = make({name: field for name, field in data.items() if name not in odd})
    object.__setattr__(value, "__pydantic_extra__", {**(value.__pydantic_extra__ or {}), **odd})
    return value


def _has_plain_blocks(content: Any) -> bool:
    return isinstance(content, list | tuple) and any(isinstance(block, Mapping) for block in content)


def _block(data: Any) -> Any:
    """Return a block with the fields of it that are of a wrong type as they are; what is no block stays what it is."""
    return _made(parse_block, data) if isinstance(data, Mapping) else data


def _odd_fields(data: Mapping[str, Any], error: ValidationError) -> dict[str, Any]:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    refused = {part for fault in faults for part in fault["loc"][:2]}  # a message's role comes before the field
    return {name: field for name, field in data.items() if name in refused or _is_cut(name)}


def _is_cut(name: str) -> bool:
    """Return True if a name has half a character in it."""
    return any("\ud800" <= char <= "\udfff" for char in name)


def _unvalidated(kind: type[_ValueT], data: Mapping[str, Any]) -> _ValueT:
    """Return a value of data that pydantic does not take, such as field names with half a character in them."""
    fields = {field.alias or name: name for name, field in kind.model_fields.items()}
    value: _ValueT = kind.model_construct(**{name: data[wire] for wire, name in fields.items() if wire in data})  # type: ignore[assignment]
    object.__setattr__(value, "__pydantic_extra__", {name: data[name] for name in data if name not in fields})
    return value


class Header(Value):
    """Line 1 of a session: which session this is, when and where it began."""

    type: Literal["session"] = "session"
    version: int | float = 3
    id: str
    timestamp: str | None = None
    cwd: str | None = None
    parent_session: str | None = None
    metadata: dict[str, Any] | None = None


class Entry(Value):
    """What every entry has.

    Attributes:
        type: Kind of the entry, such as ``message``.
        id: Eight hexadecimal digits, unique in the session.
        parent_id: The entry this one hangs from; None for a root.
        timestamp: Time of writing, ISO 8601.
    """

    type: str
    id: str
    parent_id: str | None
    timestamp: str


class MessageEntry(Entry):
    """A message of the conversation."""

    type: Literal["message"] = "message"
    message: Annotated[Message, PlainValidator(tolerant_message)]


class ModelChangeEntry(Entry):
    """From here on this branch speaks to another model."""

    type: Literal["model_change"] = "model_change"
    provider: str
    model_id: str


class ThinkingLevelChangeEntry(Entry):
    """From here on this branch thinks more or less."""

    type: Literal["thinking_level_change"] = "thinking_level_change"
    thinking_level: str


class ActiveToolsChangeEntry(Entry):
    """From here on these tools are active on this branch; an empty list means none."""

    type: Literal["active_tools_change"] = "active_tools_change"
    active_tool_names: tuple[str, ...]


class CompactionEntry(Entry):
    """A summary that stands for everything before ``first_kept_entry_id``; ``tokens_before`` is what it replaced."""

    type: Literal["compaction"] = "compaction"
    summary: str = ""
    first_kept_entry_id: str | None = None
    tokens_before: int | float | None = None
    details: Any = None
    from_hook: bool | None = None
    usage: Any = None


class BranchSummaryEntry(Entry):
    """What was learnt on the branch that was left at ``from_id``."""

    type: Literal["branch_summary"] = "branch_summary"
    from_id: str | None = None
    summary: str = ""
    details: Any = None
    from_hook: bool | None = None
    usage: Any = None


class CustomEntry(Entry):
    """Data of an application; no message."""

    type: Literal["custom"] = "custom"
    custom_type: str
    data: Any = None


class CustomMessageEntry(Entry):
    """A message of an application; the model sees it."""

    type: Literal["custom_message"] = "custom_message"
    custom_type: str = ""
    content: Content
    display: bool = True
    details: Any = None


class LabelEntry(Entry):
    """Names entry ``target_id``; without a label it takes the name away. Holds for the whole file."""

    type: Literal["label"] = "label"
    target_id: str
    label: str | None = None


class SessionInfoEntry(Entry):
    """Names the session; without a name it takes the name away. Holds for the whole file."""

    type: Literal["session_info"] = "session_info"
    name: str | None = None


class LeafEntry(Entry):
    """The cursor moved from ``parent_id`` to ``target_id`` (None: before the first entry). Never a message."""

    type: Literal["leaf"] = "leaf"
    target_id: str | None


class ContextEditEntry(Entry):
    """On this branch the model sees something else for ``target_id``: other content, or nothing (None)."""

    type: Literal["context_edit"] = "context_edit"
    target_id: str
    replacement: dict[str, Any] | None = None


class UsageEntry(Entry):
    """Tokens spent on something that is not a message."""

    type: Literal["usage"] = "usage"
    kind: str
    provider: str | None = None
    model: str | None = None
    usage: Any = None


class UnknownEntry(Entry):
    """An entry of a kind, or of a shape, that this version does not know: kept, not understood."""


_KINDS: dict[str, type[Entry]] = {
    "message": MessageEntry,
    "model_change": ModelChangeEntry,
    "thinking_level_change": ThinkingLevelChangeEntry,
    "active_tools_change": ActiveToolsChangeEntry,
    "compaction": CompactionEntry,
    "branch_summary": BranchSummaryEntry,
    "custom": CustomEntry,
    "custom_message": CustomMessageEntry,
    "label": LabelEntry,
    "session_info": SessionInfoEntry,
    "leaf": LeafEntry,
    "context_edit": ContextEditEntry,
    "usage": UsageEntry,
}


def parse_entry(data: Mapping[str, Any]) -> Entry:
    """Return the entry that one line's JSON object describes; the message in it may be a value already.

    Raises:
        pydantic.ValidationError: The envelope itself is wrong: ``type``, ``id``, ``parentId`` or ``timestamp``.
    """
    named = data.get("type")
    for kind in (_KINDS.get(named) if isinstance(named, str) else None, UnknownEntry):
        with suppress(ValidationError):
            if kind is not None:
                return _made(kind.model_validate, data)
    Entry.model_validate({name: data[name] for name in ("type", "id", "parentId", "timestamp") if name in data})
    return _unvalidated(UnknownEntry, data)

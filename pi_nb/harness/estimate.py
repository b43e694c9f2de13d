"""How many tokens a context takes: what the provider last counted, plus a guess for what came after.

The guess is the field's rule of thumb, a token for four characters. Characters are UTF-16 units and JSON is compact
and unescaped, as pi counts them, so that both compact a session at the same place.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pi_nb.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    UnknownMessage,
    Usage,
)

if TYPE_CHECKING:
    from pi_nb.session.context import Context
    from pi_nb.session.entries import Entry

__all__ = [
    "IMAGE_TOKENS",
    "Estimate",
    "compact_json",
    "estimate_context",
    "estimate_messages",
    "estimate_tokens",
    "utf16_length",
]

IMAGE_TOKENS = 1_200
_UNITS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class Estimate:
    """Size of a context in tokens.

    Attributes:
        tokens: In all.
        usage_tokens: What the provider counted, for everything up to and with message ``last_usage_index``.
        trailing_tokens: A guess for the messages after it.
        last_usage_index: Which message carries that count; None if none does.
    """

    tokens: int
    usage_tokens: int
    trailing_tokens: int
    last_usage_index: int | None


def estimate_tokens(message: Message) -> int:
    """Return about how many tokens a message takes."""
    return math.ceil(_units(message) / _UNITS_PER_TOKEN)


def estimate_messages(messages: Sequence[Message]) -> Estimate:
    """Return the size of a sequence of messages."""
    return _estimate(messages.__getitem__, len(messages), lambda _index: True)


def estimate_context(context: Context, path: Sequence[Entry]) -> Estimate:
    """Return the size of a context; usage from before the latest compaction on its path measured another one.

    Looks at the end of the context only, as far back as the last usage.
    """
    items = context.items
    return _estimate(
        lambda index: items[index].message, len(items), lambda index: _is_fresh(path, items[index].entry_id)
    )


def _estimate(at: Callable[[int], Message], count: int, believed: Callable[[int], bool]) -> Estimate:
    trailing = 0
    for index in range(count - 1, -1, -1):
        message = at(index)
        counted = _counted(message)
        if counted:
            if not believed(index):  # nor is any before it
                return _guess(at, count)
            return Estimate(counted + trailing, counted, trailing, index)
        trailing += estimate_tokens(message)
    return Estimate(trailing, 0, trailing, None)


def _guess(at: Callable[[int], Message], count: int) -> Estimate:
    total = sum(estimate_tokens(at(index)) for index in range(count))
    return Estimate(total, 0, total, None)


def _is_fresh(path: Sequence[Entry], entry_id: str) -> bool:
    """Return whether no compaction comes after an entry; looks at the end of the path only."""
    for index in range(len(path) - 1, -1, -1):
        entry = path[index]
        if entry.id == entry_id:
            return True
        if entry.type == "compaction":
            return False
    return True


def _counted(message: Message) -> int:
    """Return the tokens a provider counted for the context that ends with this answer; 0 if it did not."""
    if not isinstance(message, AssistantMessage) or message.stop_reason in {"aborted", "error"}:
        return 0
    return _total(message.usage) if message.usage is not None else 0


def _total(usage: Usage) -> int:
    return int(usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write)


def _units(message: Message) -> int:
    if isinstance(message, BashExecutionMessage):
        return utf16_length(message.command) + utf16_length(message.output)
    if isinstance(message, BranchSummaryMessage | CompactionSummaryMessage):
        return utf16_length(message.summary)
    if isinstance(message, UnknownMessage):
        return 0
    return (
        utf16_length(message.content) if isinstance(message.content, str) else sum(map(_block_units, message.content))
    )


def _block_units(block: Any) -> int:
    if isinstance(block, TextContent):
        return utf16_length(block.text)
    if isinstance(block, ThinkingContent):
        return utf16_length(block.thinking)
    if isinstance(block, ImageContent):
        return IMAGE_TOKENS * _UNITS_PER_TOKEN
    if isinstance(block, ToolCall):
        return utf16_length(block.name) + utf16_length(compact_json(block.arguments))
    return 0


def utf16_length(text: str) -> int:
    """Return the length in UTF-16 units."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def compact_json(value: Any) -> str:
    """Return JSON as short as it gets, with every character as itself."""
    try:
        return json.dumps(_whole(value), ensure_ascii=False, separators=(",", ":"), default=str)
    except (ValueError, RecursionError):
        return "[unserializable]"


def _whole(value: Any) -> Any:
    """Return JSON data with 2.0 as 2, which are one number in JavaScript."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
    if isinstance(value, Mapping):
        return {name: _whole(item) for name, item in value.items()}
    return [_whole(item) for item in value] if isinstance(value, list | tuple) else value

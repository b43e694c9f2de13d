"""The messages of a context, one by one, with the entries they come from."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from pi_nb.errors import SessionError
from pi_nb.messages import BranchSummaryMessage, CompactionSummaryMessage, CustomMessage, Message
from pi_nb.session.entries import (
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    tolerant_message,
)
from pi_nb.session.garbage import no_collection
from pi_nb.session.ids import time_ms
from pi_nb.session.storage import Trail

__all__ = ["ContextItem", "Items", "Messages", "edited", "message_of"]

_MAKING = threading.Lock()
_MANY = 1000
_EDITABLE = frozenset({"user", "assistant", "toolResult", "custom"})


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One message a model sees, and the entry it comes from."""

    entry_id: str
    message: Message


class Items(Sequence[ContextItem]):
    """The messages of a context, made when looked at; it does not change when the path grows."""

    __slots__ = ("_edits", "_length", "_made", "_steps", "_trail")

    def __init__(
        self,
        trail: Trail,
        steps: list[int | ContextItem],
        edits: Mapping[str, ContextEditEntry],
        made: list[Message] | None = None,
    ) -> None:
        self._trail = trail
        self._steps = steps
        self._edits = edits
        self._length = len(steps)
        self._made = [] if made is None else made  # shared with the contexts of the same path before and after this

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages. Those made for an earlier context of the same path are not made again."""
        made = self._made
        if self._length - len(made) > _MANY:
            with no_collection():
                self.make(self._length)
        else:
            self.make(self._length)
        return tuple(made[: self._length])

    def message(self, number: int) -> Message:
        """Return one message, ``0 <= number < len``; the others are not made for that."""
        made = self._made
        return made[number] if number < len(made) else self._make(number).message

    def make(self, count: int) -> bool:
        """Make messages, up to ``count`` more of them, ahead of who will look at them; return whether some are left."""
        made = self._made
        stop = min(len(made) + count, self._length)
        for number in range(len(made), stop):
            message = self._make(number).message
            with _MAKING:
                if len(made) == number:  # else another thread was quicker
                    made.append(message)
        return stop < self._length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> ContextItem: ...

    @overload
    def __getitem__(self, place: slice) -> list[ContextItem]: ...

    def __getitem__(self, place: int | slice) -> ContextItem | list[ContextItem]:
        if isinstance(place, slice):
            return [self._make(number) for number in range(*place.indices(self._length))]
        number = place + self._length if place < 0 else place
        if not 0 <= number < self._length:
            raise IndexError(f"the context has {self._length} messages, not one at {place}")
        return self._make(number)

    def __iter__(self) -> Iterator[ContextItem]:
        return map(self._make, range(self._length))

    def _make(self, number: int) -> ContextItem:
        step = self._steps[number]
        if isinstance(step, ContextItem):
            return step
        entry = self._trail.entry(step)
        message = message_of(entry)
        if message is None:
            raise SessionError(f"Entry {entry.id} is a {entry.type} entry without a message.", code="invalid_entry")
        return ContextItem(entry.id, edited(message, self._edits.get(entry.id)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((id(self._trail), self._length))

    def __repr__(self) -> str:
        return f"<Items {self._length}>"


class Messages(Sequence[Message]):
    """The messages of a context alone: a tuple in all but that each is made when it is looked at.

    A request to a model is put together in no time this way, however long the conversation is.
    """

    __slots__ = ("_items",)

    def __init__(self, items: Items) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, place: int) -> Message: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Message, ...]: ...

    def __getitem__(self, place: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(place, slice):
            return tuple(self._items.message(number) for number in range(*place.indices(len(self))))
        return self._items.message(range(len(self))[place])

    def __iter__(self) -> Iterator[Message]:
        return iter(self._items.messages)

    def __reversed__(self) -> Iterator[Message]:
        return map(self._items.message, range(len(self) - 1, -1, -1))

    def __reduce__(self) -> tuple[type, tuple[tuple[Message, ...]]]:
        """Be copied and pickled as a tuple."""
        return tuple, (self._items.messages,)

    def __add__(self, more: Sequence[Message]) -> tuple[Message, ...]:
        return (*self, *more)

    def __radd__(self, before: Sequence[Message]) -> tuple[Message, ...]:
        return (*before, *self)

    def __eq__(self, other: object) -> bool:
        return self._items.messages == tuple(other) if isinstance(other, tuple | Messages) else NotImplemented

    def __repr__(self) -> str:
        return repr(self._items.messages)


def message_of(entry: Entry) -> Message | None:
    """Return the message an entry is for a model, or None if it is none."""
    if isinstance(entry, MessageEntry):
        return entry.message
    stamp = time_ms(entry.timestamp)
    if isinstance(entry, CustomMessageEntry):
        details = {"details": entry.details} if "details" in entry.model_fields_set else {}
        return CustomMessage(
            custom_type=entry.custom_type, content=entry.content, display=entry.display, timestamp=stamp, **details
        )
    if isinstance(entry, CompactionEntry):
        return CompactionSummaryMessage(summary=entry.summary, tokens_before=entry.tokens_before, timestamp=stamp)
    if isinstance(entry, BranchSummaryEntry) and entry.summary:
        return BranchSummaryMessage(summary=entry.summary, from_id=entry.from_id, timestamp=stamp)
    return None


def edited(message: Message, edit: ContextEditEntry | None) -> Message:
    """Return a message with the content an edit gives it; summaries cannot be edited."""
    content = None if edit is None or edit.replacement is None else edit.replacement.get("content")
    if content is None or message.role not in _EDITABLE:
        return message
    if isinstance(content, str) and message.role in ("assistant", "toolResult"):
        content = [{"type": "text", "text": content}]
    data: dict[str, Any] = message.to_wire()
    return tolerant_message({**data, "content": content})

"""From a path to what a model sees: two reductions, and why each entry is or is not part of it.

*State* (model, thinking level, active tools) comes from the whole path. *Messages* come from the part of it that
the latest compaction leaves: first its summary, then the entries from the first kept one, then those after it.
The functions are pure; a path is any sequence of entries from the root.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, overload

from pi_nb.errors import SessionError
from pi_nb.messages import (
    AssistantMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    TextContent,
    ToolResultMessage,
    UserMessage,
    Value,
)
from pi_nb.models import ModelRef
from pi_nb.session.entries import (
    ActiveToolsChangeEntry,
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    MessageEntry,
    ModelChangeEntry,
    ThinkingLevelChangeEntry,
    tolerant_message,
)
from pi_nb.session.ids import time_ms
from pi_nb.session.storage import Trail

__all__ = [
    "Context",
    "ContextItem",
    "Items",
    "Projectors",
    "State",
    "plan",
    "project",
    "provenance",
    "reduce_state",
    "state_of",
]

Projectors: TypeAlias = Mapping[str, Callable[[CustomEntry], Iterable[Message]]]


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One message a model sees, and the entry it comes from."""

    entry_id: str
    message: Message


@dataclass(frozen=True, slots=True)
class State:
    """What a branch is set to."""

    model: ModelRef | None = None
    thinking_level: str = "off"
    active_tool_names: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Context:
    """What a model sees at a leaf.

    Attributes:
        leaf_id: The entry the context ends at; None before the first.
        items: Messages with the entries they come from; made when looked at.
        model: The model this branch speaks to, or None if none was ever named.
        thinking_level: How much it thinks; ``off`` unless set.
        active_tool_names: Names of the active tools; None if never set, which is not the same as none.
    """

    leaf_id: str | None
    items: Sequence[ContextItem]
    model: ModelRef | None = None
    thinking_level: str = "off"
    active_tool_names: tuple[str, ...] | None = None

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        """The messages alone."""
        return tuple(item.message for item in self.items)


# ---------------------------------------------------------------- state


def reduce_state(path: Sequence[Entry]) -> State:
    """Return what the entries of a path set: each time the last one counts."""
    return state_of(Trail.of(path))


def state_of(trail: Trail, start: int = 0, before: State | None = None) -> State:
    """Return the state at the end of a trail, given the one ``before`` the entry at ``start``."""
    before = before or State()
    model: ModelRef | None = None
    level: str | None = None
    tools: tuple[str, ...] | None = None
    for place in range(len(trail) - 1, start - 1, -1):
        kind = trail.types[place]
        if kind not in _SETTING and trail.roles[place] != "assistant":
            continue
        entry = trail.entry(place)
        model = model or _model_of(entry)
        if level is None and isinstance(entry, ThinkingLevelChangeEntry):
            level = entry.thinking_level
        if tools is None and isinstance(entry, ActiveToolsChangeEntry):
            tools = entry.active_tool_names
    return State(
        model or before.model,
        before.thinking_level if level is None else level,
        before.active_tool_names if tools is None else tools,
    )


_SETTING = frozenset({"model_change", "thinking_level_change", "active_tools_change"})


def _model_of(entry: Entry) -> ModelRef | None:
    """Return the model an entry names: a change of model, or an answer (also an aborted one)."""
    if isinstance(entry, ModelChangeEntry):
        return ModelRef(entry.provider, entry.model_id)
    if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
        message = entry.message
        if message.provider is not None and message.model is not None:
            return ModelRef(message.provider, message.model)
    return None


# ---------------------------------------------------------------- messages


def project(path: Sequence[Entry], projectors: Projectors | None = None) -> Sequence[ContextItem]:
    """Return the messages a model sees of a path.

    Args:
        path: Entries from the root.
        projectors: What to make of ``custom`` entries, by their custom type; without one they are no messages.

    Raises:
        SessionError: ``invalid_entry`` if a message entry on the path holds no message.
    """
    trail = Trail.of(path)
    steps, edits = plan(trail, projectors or {})
    return Items(trail, steps, edits)


def plan(
    trail: Trail, projectors: Projectors, start: int = 0
) -> tuple[list[int | ContextItem], dict[str, ContextEditEntry]]:
    """Return which places of a trail become messages, in order, and the edits that apply to them.

    Args:
        trail: The path.
        projectors: What to make of custom entries.
        start: Only go on from here, to a plan made before; not if there is a compaction or an edit since, or any
            edit before.
    """
    edits = {} if start else _edits(trail)
    places = _speaking(trail, start) if start else _remaining(trail, _latest_compaction(trail))
    steps: list[int | ContextItem] = []
    for place in places:
        _step(trail, place, edits, projectors, steps)
    return steps, edits


_SPEAKING = frozenset({"message", "custom_message", "branch_summary", "compaction", "custom"})


def _latest_compaction(trail: Trail) -> int | None:
    if "compaction" not in trail.types:
        return None
    for place in range(len(trail) - 1, -1, -1):
        if trail.types[place] == "compaction" and isinstance(trail.entry(place), CompactionEntry):
            return place
    return None


def _edits(trail: Trail) -> dict[str, ContextEditEntry]:
    """Return the last edit of each entry that has one."""
    edits: dict[str, ContextEditEntry] = {}
    if "context_edit" in trail.types:
        for place, kind in enumerate(trail.types):
            entry = trail.entry(place) if kind == "context_edit" else None
            if isinstance(entry, ContextEditEntry):
                edits[entry.target_id] = entry
    return edits


def _remaining(trail: Trail, last: int | None) -> Iterator[int]:
    """Yield the places that may become messages: the latest compaction, what it keeps, what follows it."""
    if last is None:
        yield from _speaking(trail, 0)
        return
    yield last
    has_system = _system_message(trail.entry(last)) is not None
    for place in _speaking(trail, _first_kept(trail, last), last):
        if trail.types[place] != "compaction" and not (has_system and trail.roles[place] == "system"):
            yield place
    yield from _speaking(trail, last + 1)


def _speaking(trail: Trail, start: int, stop: int | None = None) -> Iterator[int]:
    types = trail.types
    return (place for place in range(start, len(types) if stop is None else stop) if types[place] in _SPEAKING)


def _first_kept(trail: Trail, last: int) -> int:
    """Return the place of the first entry a compaction keeps; its own if it keeps none."""
    compaction = trail.entry(last)
    kept = compaction.first_kept_entry_id if isinstance(compaction, CompactionEntry) else None
    try:
        return trail.ids.index(kept or "", 0, last)
    except ValueError:
        return last


def _step(
    trail: Trail,
    place: int,
    edits: Mapping[str, ContextEditEntry],
    projectors: Projectors,
    steps: list[int | ContextItem],
) -> None:
    """Add what one place gives: itself (one message, made when looked at), several ready ones, or nothing."""
    entry_id, kind = trail.ids[place], trail.types[place]
    if edits and entry_id in edits and edits[entry_id].replacement is None:
        return
    if kind == "message":
        if trail.roles[place] is None:
            raise SessionError(f"Entry {entry_id} is a message entry without a message.", code="invalid_entry")
        steps.append(place)
    elif kind == "custom":
        if projectors:
            steps += _projected(trail.entry(place), projectors)
    elif kind == "compaction":
        system = _system_message(trail.entry(place))
        steps += [place] if system is None else [ContextItem(entry_id, system), place]
    elif message_of(trail.entry(place)) is not None:
        steps.append(place)


def _projected(entry: Entry, projectors: Projectors) -> list[int | ContextItem]:
    if not isinstance(entry, CustomEntry) or entry.custom_type not in projectors:
        return []
    return [ContextItem(entry.id, message) for message in projectors[entry.custom_type](entry)]


def _system_message(entry: Entry) -> Message | None:
    """Return the instructions that newer pi keeps in a compaction."""
    found = (entry.model_extra or {}).get("systemMessage")
    return tolerant_message(found) if isinstance(found, dict) and isinstance(found.get("role"), str) else None


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


_EDITABLE = frozenset({"user", "assistant", "toolResult", "custom"})


class Items(Sequence[ContextItem]):
    """The messages of a context, made when looked at; it does not change when the path grows."""

    __slots__ = ("_edits", "_length", "_steps", "_trail")

    def __init__(
        self, trail: Trail, steps: list[int | ContextItem], edits: Mapping[str, ContextEditEntry]
    ) -> None:
        self._trail = trail
        self._steps = steps
        self._edits = edits
        self._length = len(steps)

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


# ---------------------------------------------------------------- why


def provenance(path: Sequence[Entry], projectors: Projectors | None = None) -> dict[str, str]:
    """Return, for each entry of a path, why the model sees it or does not.

    One of ``kept``, ``summarised by <id>``, ``edited by <id>``, ``omitted by <id>``, ``not a message``.
    """
    trail = Trail.of(path)
    last, edits = _latest_compaction(trail), _edits(trail)
    seen = set(_remaining(trail, last))
    reasons: dict[str, str] = {}
    for place, entry_id in enumerate(trail.ids):
        if not _speaks(trail, place, projectors or {}):
            reasons[entry_id] = "not a message"
        elif place not in seen and last is not None:
            reasons[entry_id] = f"summarised by {trail.ids[last]}"
        else:
            reasons[entry_id] = _edit_reason(edits.get(entry_id))
    return reasons


def _speaks(trail: Trail, place: int, projectors: Projectors) -> bool:
    kind = trail.types[place]
    if kind not in _SPEAKING:
        return False
    if kind == "message":
        return trail.roles[place] is not None
    entry = trail.entry(place)
    if isinstance(entry, CustomEntry):
        return entry.custom_type in projectors
    return message_of(entry) is not None


def _edit_reason(edit: ContextEditEntry | None) -> str:
    if edit is None:
        return "kept"
    return f"{'omitted' if edit.replacement is None else 'edited'} by {edit.id}"

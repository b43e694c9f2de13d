"""From a path to what a model sees: two reductions, and why each entry is or is not part of it.

*State* (model, thinking level, active tools) comes from the whole path. *Messages* come from the part of it that
the latest compaction leaves: first its summary, then the entries from the first kept one, then those after it.
The functions are pure; a path is any sequence of entries from the root.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from pi_nb.messages import AssistantMessage, Message
from pi_nb.models import ModelRef
from pi_nb.session.entries import (
    ActiveToolsChangeEntry,
    ContextEditEntry,
    Entry,
    MessageEntry,
    ModelChangeEntry,
    ThinkingLevelChangeEntry,
)
from pi_nb.session.items import ContextItem, Items, Messages
from pi_nb.session.plan import Projectors, edits_of, latest_compaction, plan, remaining, speaks
from pi_nb.session.storage import Trail

__all__ = ["Context", "ContextItem", "State", "project", "provenance", "reduce_state", "state_of"]


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
        if isinstance(self.items, Items):
            return self.items.messages
        return tuple(item.message for item in self.items)

    @property
    def messages_on_demand(self) -> Sequence[Message]:
        """The messages alone, each made when it is looked at."""
        return Messages(self.items) if isinstance(self.items, Items) else self.messages


def reduce_state(path: Sequence[Entry]) -> State:
    """Return what the entries of a path set: each time the last one counts."""
    return state_of(Trail.of(path))


def state_of(trail: Trail, start: int = 0, before: State | None = None) -> State:
    """Return the state at the end of a trail, given the one ``before`` the entry at ``start``."""
    before = before or State()
    model: ModelRef | None = None
    for place in _backwards(trail, start, "model_change", "assistant"):
        model = _model_of(trail.entry(place))
        if model is not None:
            break
    level = before.thinking_level
    for place in _backwards(trail, start, "thinking_level_change"):
        entry = trail.entry(place)
        if isinstance(entry, ThinkingLevelChangeEntry):
            level = entry.thinking_level
            break
    tools = before.active_tool_names
    for place in _backwards(trail, start, "active_tools_change"):
        entry = trail.entry(place)
        if isinstance(entry, ActiveToolsChangeEntry):
            tools = entry.active_tool_names
            break
    return State(model or before.model, level, tools)


def _backwards(trail: Trail, start: int, kind: str, role: str | None = None) -> Iterator[int]:
    """Yield the places of a kind, or with messages of a role, the last first; nothing is decoded for that."""
    types, roles = trail.types, trail.roles
    if start == 0 and role is None and kind not in types:
        return
    for place in range(len(types) - 1, start - 1, -1):
        if types[place] == kind or (role is not None and roles[place] == role):
            yield place


def _model_of(entry: Entry) -> ModelRef | None:
    """Return the model an entry names: a change of model, or an answer (also an aborted one)."""
    if isinstance(entry, ModelChangeEntry):
        return ModelRef(entry.provider, entry.model_id)
    if isinstance(entry, MessageEntry) and isinstance(entry.message, AssistantMessage):
        message = entry.message
        if message.provider is not None and message.model is not None:
            return ModelRef(message.provider, message.model)
    return None


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


def provenance(path: Sequence[Entry], projectors: Projectors | None = None) -> dict[str, str]:
    """Return, for each entry of a path, why the model sees it or does not.

    One of ``kept``, ``summarised by <id>``, ``edited by <id>``, ``omitted by <id>``, ``not a message``.
    """
    trail = Trail.of(path)
    last, edits = latest_compaction(trail), edits_of(trail)
    seen = set(remaining(trail, last))
    reasons: dict[str, str] = {}
    for place, entry_id in enumerate(trail.ids):
        if not speaks(trail, place, projectors or {}):
            reasons[entry_id] = "not a message"
        elif place not in seen and last is not None:
            reasons[entry_id] = f"summarised by {trail.ids[last]}"
        else:
            reasons[entry_id] = _edit_reason(edits.get(entry_id))
    return reasons


def _edit_reason(edit: ContextEditEntry | None) -> str:
    if edit is None:
        return "kept"
    return f"{'omitted' if edit.replacement is None else 'edited'} by {edit.id}"

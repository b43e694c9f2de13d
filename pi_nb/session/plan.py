"""Which entries of a path a model sees, and in which order.

Without a compaction: all that are messages. With one: first the summary of the latest, then the entries from the
first one it keeps up to it, then those after it. Edits of the branch leave entries out, or change what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from pi_nb.errors import SessionError
from pi_nb.messages import Message
from pi_nb.session.entries import CompactionEntry, ContextEditEntry, CustomEntry, Entry, tolerant_message
from pi_nb.session.items import ContextItem, message_of
from pi_nb.session.storage import Trail

__all__ = ["Projectors", "edits_of", "latest_compaction", "plan", "remaining", "speaks"]

Projectors: TypeAlias = Mapping[str, Callable[[CustomEntry], Iterable[Message]]]
_SPEAKING = frozenset({"message", "custom_message", "branch_summary", "compaction", "custom"})


def plan(
    trail: Trail, projectors: Projectors, start: int = 0, known: Mapping[str, ContextEditEntry] | None = None
) -> tuple[list[int | ContextItem], dict[str, ContextEditEntry]]:
    """Return which places of a trail become messages, in order, and the edits that apply to them.

    Args:
        trail: The path.
        projectors: What to make of custom entries.
        start: Only go on from here, to a plan made before; not if there is a compaction or an edit since.
        known: The edits of that plan.
    """
    edits = dict(known or {}) if start else edits_of(trail)
    places = _speaking(trail, start) if start else remaining(trail, latest_compaction(trail))
    steps: list[int | ContextItem] = []
    take, types, roles = steps.append, trail.types, trail.roles
    for place in places:
        if not edits and types[place] == "message" and roles[place] is not None:
            take(place)  # what nearly all are
        else:
            _step(trail, place, edits, projectors, steps)
    return steps, edits


def latest_compaction(trail: Trail) -> int | None:
    """Return the place of the last compaction of a path, or None."""
    if "compaction" not in trail.types:
        return None
    for place in range(len(trail) - 1, -1, -1):
        if trail.types[place] == "compaction" and isinstance(trail.entry(place), CompactionEntry):
            return place
    return None


def edits_of(trail: Trail) -> dict[str, ContextEditEntry]:
    """Return the last edit of each entry that has one."""
    edits: dict[str, ContextEditEntry] = {}
    if "context_edit" in trail.types:
        for place, kind in enumerate(trail.types):
            entry = trail.entry(place) if kind == "context_edit" else None
            if isinstance(entry, ContextEditEntry):
                edits[entry.target_id] = entry
    return edits


def remaining(trail: Trail, last: int | None) -> Iterator[int]:
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
        steps += _summary(trail.entry(place), place)
    elif message_of(trail.entry(place)) is not None:
        steps.append(place)


def _summary(entry: Entry, place: int) -> list[int | ContextItem]:
    if not isinstance(entry, CompactionEntry):
        return []
    system = _system_message(entry)
    return [place] if system is None else [ContextItem(entry.id, system), place]


def _projected(entry: Entry, projectors: Projectors) -> list[int | ContextItem]:
    if not isinstance(entry, CustomEntry) or entry.custom_type not in projectors:
        return []
    return [ContextItem(entry.id, message) for message in projectors[entry.custom_type](entry)]


def _system_message(entry: Entry) -> Message | None:
    """Return the instructions that newer pi keeps in a compaction."""
    found = (entry.model_extra or {}).get("systemMessage")
    return tolerant_message(found) if isinstance(found, dict) and isinstance(found.get("role"), str) else None


def speaks(trail: Trail, place: int, projectors: Projectors) -> bool:
    """Return True if the entry at a place is a message for a model, edits and compactions aside."""
    kind = trail.types[place]
    if kind not in _SPEAKING:
        return False
    if kind == "message":
        return trail.roles[place] is not None
    entry = trail.entry(place)
    if isinstance(entry, CustomEntry):
        return entry.custom_type in projectors
    return message_of(entry) is not None

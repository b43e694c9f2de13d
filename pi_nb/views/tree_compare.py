"""Contexts side by side: what they begin with in common, what follows in each, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from pi_nb.errors import UserError
from pi_nb.harness.estimate import estimate_context
from pi_nb.messages import AssistantMessage
from pi_nb.views.tree_answers import item_answer, plain

__all__ = ["MOST", "compare_answer"]

MOST: Final = 16
"""Most contexts in one comparison."""

_ITEMS: Final = 40  # messages of each side

_Side: TypeAlias = tuple[str | None, Sequence[Any]]  # an entry and the messages of its context


def compare_answer(session: Any, entries: Sequence[str | None]) -> dict[str, Any]:
    """Return how contexts differ.

    Args:
        session: The session they are in.
        entries: Where they end; all others are compared with the first.

    Returns:
        ``common``, how many messages all of them begin with, and ``common_tokens``; and ``sides``, for each its
        ``entry``, ``items`` after the common ones, their ``total`` and ``cost`` (US dollars), ``tokens`` of the whole
        context, and ``shared``, how many messages it begins with that the first has too: so far a provider's cache of
        one serves the other.

    Raises:
        UserError: There are none, or more than :data:`MOST`.
        SessionError: As for :meth:`pi_nb.session.tree.Session.context`.
    """
    if not 0 < len(entries) <= MOST:
        raise UserError(f"Between 1 and {MOST} contexts can be compared, not {len(entries)}.")
    sides: list[_Side] = [(entry, session.context(entry).items) for entry in entries]
    shared = [_common(session, sides[0], side) for side in sides]
    common = min(shared)
    answers = [_answer(session, side, common, count) for side, count in zip(sides, shared, strict=True)]
    size = _tokens(session, sides[0][1][common - 1].entry_id) if common else 0
    return {"common": common, "common_tokens": size, "sides": answers}


def _answer(session: Any, side: _Side, common: int, shared: int) -> dict[str, Any]:
    entry, items = side
    return {
        "entry": entry,
        "items": [item_answer(item) for item in items[common : common + _ITEMS]],
        "total": len(items) - common,
        "tokens": _tokens(session, entry),
        "cost": round(sum(_cost(item.message) for item in items[common:]), 6),
        "shared": shared,
    }


def _tokens(session: Any, entry: str | None) -> int:
    return estimate_context(session.context(entry), session.path(entry)).tokens


def _cost(message: Any) -> float:
    """Return what an answer cost; 0 if nobody knows."""
    cost = message.usage.cost if isinstance(message, AssistantMessage) and message.usage else None
    total = getattr(cost, "total", None)
    return float(total) if isinstance(total, int | float) else 0.0


def _common(session: Any, first: _Side, second: _Side) -> int:
    """Return how many messages two contexts begin with in common."""
    one, other = first[1], second[1]
    most = min(len(one), len(other))
    if not plain(session, first[0]) or not plain(session, second[0]):
        return next((place for place in range(most) if one[place] != other[place]), most)
    low = 0  # on plain paths what is common comes first: halve instead of looking at every message
    while low < most:
        middle = (low + most + 1) // 2
        if one[middle - 1].entry_id == other[middle - 1].entry_id:
            low = middle
        else:
            most = middle - 1
    return low

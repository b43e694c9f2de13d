"""The context at a leaf, kept up to date as the path grows.

A conversation asks for its context after every message. Walking and reducing the whole path each time would cost
more the longer it is; here only what is new on the path is looked at, also after a move to another branch, which
begins like the one before.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import cast

from pi_nb.messages import Message
from pi_nb.session.context import Context, State, state_of
from pi_nb.session.entries import ContextEditEntry
from pi_nb.session.items import ContextItem, Items
from pi_nb.session.plan import Projectors, plan
from pi_nb.session.storage import IndexedStorage, Trail

__all__ = ["Projection"]

_NEAR = 4096  # steps to climb before giving up on finding the known path
_TURNING = frozenset({"compaction", "context_edit"})


class Projection:
    """The last context that was asked for, and how to make the next one from it."""

    def __init__(self, storage: IndexedStorage, projectors: Projectors) -> None:
        self._storage = storage
        self._projectors = projectors
        self._generation = -1
        self._forget()

    def _forget(self) -> None:
        self._follow([], [], [], [])
        self._steps: list[int | ContextItem] = []
        self._made: list[Message] = []
        self._edits: dict[str, ContextEditEntry] = {}
        self._state = State()

    def _follow(self, at: list[int], ids: list[str], types: list[str], roles: list[str | None]) -> None:
        """Begin a path of these positions; contexts given out before keep theirs."""
        storage = self._storage
        self._at = at
        self._trail = Trail(ids, types, roles, lambda place: storage.at(at[place]))

    def context(self, leaf_id: str | None) -> Context:
        """Return the context at a leaf. Errors as for the storage's ``path``."""
        with self._storage.lock:
            news = self._news(leaf_id)
            try:
                if news is None:
                    path = self._storage.walk(leaf_id)
                    self._generation = self._storage.index.generation
                    news = path[self._go_back(path) :]
                if news:
                    self._grow(news)
            except BaseException:
                self._forget()
                raise
            items, state = Items(self._trail, self._steps, self._edits, self._made), self._state
        return Context(leaf_id, items, state.model, state.thinking_level, state.active_tool_names)

    def _news(self, leaf_id: str | None) -> list[int] | None:
        """Return the positions that lead from the known path's end to a leaf, or None if it does not lie there."""
        index = self._storage.index
        if leaf_id is None or not self._at or index.generation != self._generation:
            return None
        return index.climb(leaf_id, self._at[-1], _NEAR)

    def _go_back(self, path: list[int]) -> int:
        """Cut the known path where another one leaves it; return how long it is then."""
        length = _shared(self._at, path)
        if length == 0:
            self._forget()
            return 0
        trail = self._trail
        turned = bool(self._projectors) or not _TURNING.isdisjoint(trail.types)
        self._follow(self._at[:length], trail.ids[:length], trail.types[:length], trail.roles[:length])
        if turned:
            self._plan_anew()
        else:
            count = bisect_left(cast("list[int]", self._steps), length)
            self._steps, self._made = self._steps[:count], self._made[:count]
        self._state = state_of(self._trail)
        return length

    def _grow(self, news: list[int]) -> None:
        index, trail, start = self._storage.index, self._trail, len(self._at)
        self._at += news
        trail.ids += [index.ids[position] for position in news]
        trail.types += [index.types[position] for position in news]
        trail.roles += [index.roles[position] for position in news]
        self._state = state_of(trail, start, self._state)
        if start and _TURNING.isdisjoint(trail.types[start:]):
            steps, _ = plan(trail, self._projectors, start, self._edits)
            self._steps += steps
        else:
            self._plan_anew()

    def _plan_anew(self) -> None:
        self._made = []
        self._steps, self._edits = plan(self._trail, self._projectors)


def _shared(one: list[int], other: list[int]) -> int:
    """Return how many numbers two lists begin with in common; halves are compared, which is quicker than numbers."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low

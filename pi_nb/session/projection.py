"""The context at a leaf, kept up to date as the path grows.

A conversation asks for its context after every message. Walking and reducing the whole path each time would cost
more the longer it is; here only what is new on the path is looked at.
"""

from __future__ import annotations

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
        self._at: list[int] = []
        at, storage = self._at, self._storage
        self._trail = Trail([], [], [], lambda place: storage.at(at[place]))
        self._steps: list[int | ContextItem] = []
        self._made: list[Message] = []
        self._edits: dict[str, ContextEditEntry] = {}
        self._state = State()

    def context(self, leaf_id: str | None) -> Context:
        """Return the context at a leaf. Errors as for the storage's ``path``."""
        with self._storage.lock:
            news = self._news(leaf_id)
            if news is None:
                self._forget()
                news = self._storage.walk(leaf_id)
                self._generation = self._storage.index.generation
            if news:
                try:
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

    def _grow(self, news: list[int]) -> None:
        index, trail, start = self._storage.index, self._trail, len(self._at)
        self._at += news
        trail.ids += [index.ids[position] for position in news]
        trail.types += [index.types[position] for position in news]
        trail.roles += [index.roles[position] for position in news]
        self._state = state_of(trail, start, self._state)
        if start and self._edits == {} and _TURNING.isdisjoint(trail.types[start:]):
            steps, _ = plan(trail, self._projectors, start)
            self._steps += steps
        else:
            self._made = []
            self._steps, self._edits = plan(trail, self._projectors)

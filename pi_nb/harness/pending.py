"""Entries that wait for a good moment: what is set during a run is written when its turn ends."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from pi_nb.harness.run import Cursor

__all__ = ["PendingEntries"]


class PendingEntries:
    """Appends that wait, in order. One that fails stays in front."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Callable[..., str], tuple[Any, ...]]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, append: Callable[..., str], *args: Any) -> None:
        """Keep an append with one of the session's ``append_*`` methods for later."""
        self._waiting.append((append, args))

    def flush(self, cursor: Cursor | None = None) -> bool:
        """Write what waits, at a cursor or at the session's leaf; return whether there was something.

        Raises:
            SessionError: An entry could not be written.
        """
        some = bool(self._waiting)
        while self._waiting:
            append, args = self._waiting[0]
            if cursor is None:
                append(*args)
            else:
                cursor.add(append, *args)
            self._waiting.popleft()
        return some

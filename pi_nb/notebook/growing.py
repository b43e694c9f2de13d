"""The answers that are coming, as provisional rows of the tree: one row for each run, however many run at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pi_nb.harness import events
from pi_nb.messages import text_of

__all__ = ["Growing", "Rows"]

Rows: TypeAlias = Mapping[str, Mapping[str, Any] | None]

EVERY = 0.05  # seconds between two looks at streaming answers


class Growing:
    """Hears the events of runs and shows, at most 20 times a second, what all of them have written so far.

    Args:
        show: Shows rows by run; None for a run whose answer is complete.
    """

    def __init__(self, show: Callable[[Rows], None]) -> None:
        self._show = show
        self._due = 0.0
        self._coming: dict[str, Any] = {}  # newest piece of each answer since the last look
        self._places: dict[str, str | None] = {}  # newest entry of each run that has a branch of its own

    def hear(self, event: events.HarnessEvent, run: str = "") -> None:
        """Take in one event of a run; on the owner thread.

        Args:
            event: What happened.
            run: Which run, when there are several; the one without a name goes on from the leaf.
        """
        if isinstance(event, events.MessageUpdate):
            self._coming[run] = event.stream
            self._look()
        elif isinstance(event, events.RetryStart):
            self._begin_anew(event, run)
        elif isinstance(event, events.MessageEnd):
            self._coming.pop(run, None)
            if run and event.entry_id is not None:
                self._places[run] = event.entry_id
            self._show({run: None})

    def end(self, run: str = "") -> None:
        """Say that a run has ended, whatever became of it."""
        self._coming.pop(run, None)
        self._places.pop(run, None)
        self._show({run: None})

    def _look(self) -> None:
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + EVERY
        coming, self._coming = self._coming, {}
        rows = {run: row for run, piece in coming.items() if (row := self._row(piece, run)) is not None}
        if rows:
            self._show(rows)

    def _begin_anew(self, event: events.RetryStart, run: str) -> None:
        """What was shown of the answer is void: say why, where it stood."""
        self._coming.pop(run, None)
        note = f"again, try {event.attempt} of {event.max_attempts}: {event.error}"
        self._show({run: {**self._place(run), "text": "", "note": note[:200]}})

    def _row(self, piece: Any, run: str) -> dict[str, Any] | None:
        partial = getattr(piece, "partial", None)
        if partial is None:
            return None
        message = partial()
        return {
            **self._place(run),
            "text": text_of(message.content),
            "model": message.model,
            "tools": [call.name for call in message.tool_calls],
        }

    def _place(self, run: str) -> dict[str, str | None]:
        return {"parent": self._places[run]} if run in self._places else {}

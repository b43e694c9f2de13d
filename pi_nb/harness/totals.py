"""What was spent: tokens, money and time of a message, a branch, a session or several, from what is written in them.

Every model call counts once: a summary by what it cost itself, not by what it stands for, and an entry that is in a
session and in its forks once for all of them (:func:`joint_totals`). Answers that broke off and were asked for again
are not in it: nothing is written of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from pi_nb.messages import AssistantMessage, Usage
from pi_nb.session.entries import BranchSummaryEntry, CompactionEntry, Entry, MessageEntry, UsageEntry
from pi_nb.session.ids import time_ms
from pi_nb.session.tree import LEAF, Session

__all__ = ["Totals", "branch_totals", "joint_totals", "session_totals", "totals_of"]

_LONGEST = 24 * 3600  # seconds; stamps further apart are not those of one answer


@dataclass(frozen=True, slots=True)
class Totals:
    """Tokens, US dollars and seconds of some model calls.

    Attributes:
        input: Tokens sent, without those from or to a cache.
        output: Tokens received.
        cache_read: Tokens sent that came from the provider's cache.
        cache_write: Tokens sent that went into it.
        cost: Price in US dollars, as far as it is known.
        calls: How many model calls were counted.
        reasoning: How many of the tokens received were reasoning, as far as providers say.
        seconds: How long the answers took, from the beginning of each to its end; summaries do not say.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    calls: int = 0
    reasoning: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """All tokens, whatever became of them."""
        return self.input + self.output + self.cache_read + self.cache_write

    def plus(self, usage: Usage, seconds: float = 0.0) -> Totals:
        """Return the totals with one more call that took so long."""
        return replace(
            self,
            input=self.input + int(usage.input),
            output=self.output + int(usage.output),
            cache_read=self.cache_read + int(usage.cache_read),
            cache_write=self.cache_write + int(usage.cache_write),
            cost=self.cost + usage.cost.total,
            calls=self.calls + 1,
            reasoning=self.reasoning + int(usage.reasoning or 0),
            seconds=self.seconds + seconds,
        )


def totals_of(entries: Iterable[Entry]) -> Totals:
    """Return what the calls behind some entries cost: answers, compactions, branch summaries, others written down."""
    totals = Totals()
    for entry in entries:
        usage = _usage_of(entry)
        if usage is not None:
            totals = totals.plus(usage, _seconds_of(entry))
    return totals


def branch_totals(session: Session, at: Any = LEAF) -> Totals:
    """Return what the path to an entry cost. Errors as for :meth:`Session.path`."""
    return totals_of(session.path(at))


def session_totals(session: Session, *, own: bool = False) -> Totals:
    """Return what everything in a session cost, all branches together.

    Args:
        session: The session.
        own: True to leave out what a fork took along, which was spent in the session it was forked from.
    """
    begun = time_ms(session.header.timestamp)
    if not own or session.header.parent_session is None or begun is None:
        return totals_of(session.entries())
    return totals_of(entry for entry in session.entries() if (time_ms(entry.timestamp) or 0) > begun)


def joint_totals(sessions: Iterable[Session]) -> Totals:
    """Return what some sessions cost together; what forks share is counted once."""
    found: dict[tuple[str, str], Entry] = {}
    for session in sessions:
        for entry in session.entries():
            found.setdefault((entry.id, entry.timestamp), entry)
    return totals_of(found.values())


def _seconds_of(entry: Entry) -> float:
    """Return how long an answer took: it is stamped when it begins, and its entry when it is written."""
    message = entry.message if isinstance(entry, MessageEntry) else None
    stamp = message.timestamp if isinstance(message, AssistantMessage) else None
    written = time_ms(entry.timestamp)
    if written is None or not isinstance(stamp, int | float) or isinstance(stamp, bool):
        return 0.0
    seconds = (written - stamp) / 1000
    return seconds if 0 <= seconds <= _LONGEST else 0.0


def _usage_of(entry: Entry) -> Usage | None:
    if isinstance(entry, MessageEntry):
        return entry.message.usage if isinstance(entry.message, AssistantMessage) else None
    if not isinstance(entry, CompactionEntry | BranchSummaryEntry | UsageEntry) or entry.usage is None:
        return None
    try:
        return Usage.model_validate(entry.usage) if not isinstance(entry.usage, Usage) else entry.usage
    except ValidationError:  # written by somebody else
        return None

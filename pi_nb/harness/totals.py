"""What was spent: tokens and money of a branch or of a whole session, from what is written in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from pi_nb.messages import AssistantMessage, Usage
from pi_nb.session.entries import BranchSummaryEntry, CompactionEntry, Entry, MessageEntry, UsageEntry
from pi_nb.session.tree import LEAF, Session

__all__ = ["Totals", "branch_totals", "session_totals", "totals_of"]


@dataclass(frozen=True, slots=True)
class Totals:
    """Tokens and US dollars of some model calls.

    Attributes:
        input: Tokens sent, without those from or to a cache.
        output: Tokens received.
        cache_read: Tokens sent that came from the provider's cache.
        cache_write: Tokens sent that went into it.
        cost: Price in US dollars, as far as it is known.
        calls: How many model calls were counted.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost: float = 0.0
    calls: int = 0

    @property
    def tokens(self) -> int:
        """All tokens, whatever became of them."""
        return self.input + self.output + self.cache_read + self.cache_write

    def plus(self, usage: Usage) -> Totals:
        """Return the totals with one more call."""
        return replace(
            self,
            input=self.input + int(usage.input),
            output=self.output + int(usage.output),
            cache_read=self.cache_read + int(usage.cache_read),
            cache_write=self.cache_write + int(usage.cache_write),
            cost=self.cost + usage.cost.total,
            calls=self.calls + 1,
        )


def totals_of(entries: Iterable[Entry]) -> Totals:
    """Return what the calls behind some entries cost: answers, compactions, branch summaries, others written down."""
    totals = Totals()
    for entry in entries:
        usage = _usage_of(entry)
        if usage is not None:
            totals = totals.plus(usage)
    return totals


def branch_totals(session: Session, at: Any = LEAF) -> Totals:
    """Return what the path to an entry cost. Errors as for :meth:`Session.path`."""
    return totals_of(session.path(at))


def session_totals(session: Session) -> Totals:
    """Return what everything in a session cost, all branches together."""
    return totals_of(session.entries())


def _usage_of(entry: Entry) -> Usage | None:
    if isinstance(entry, MessageEntry):
        return entry.message.usage if isinstance(entry.message, AssistantMessage) else None
    if not isinstance(entry, CompactionEntry | BranchSummaryEntry | UsageEntry) or entry.usage is None:
        return None
    try:
        return Usage.model_validate(entry.usage) if not isinstance(entry.usage, Usage) else entry.usage
    except ValidationError:  # written by somebody else
        return None

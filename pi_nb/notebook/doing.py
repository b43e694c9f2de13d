"""What an agent is busy with where nothing of an answer arrives: waiting to try again, summarising."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_nb.harness.agent import AgentHarness

__all__ = ["doing"]

_WORDS = {
    "retry": "waiting to try again",
    "compaction": "summarising the older part of the conversation",
    "branch_summary": "summarising the branch that is left",
}


def doing(harness: AgentHarness) -> str:
    """Return in a few words what keeps the harness busy; empty if it is the answer itself, or nothing."""
    return _WORDS.get(harness.phase, "")

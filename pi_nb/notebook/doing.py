"""What an agent is busy with where nothing of an answer arrives: waiting to try again, summarising."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_nb.harness.agent import AgentHarness
    from pi_nb.harness.events import RetryStart

__all__ = ["doing", "next_try", "sentence"]

_WORDS = {
    "retry": "waiting to try again",
    "compaction": "summarising the older part of the conversation",
    "branch_summary": "summarising the branch that is left",
}


def doing(harness: AgentHarness) -> str:
    """Return in a few words what keeps the harness busy; empty if it is the answer itself, or nothing."""
    return _WORDS.get(harness.phase, "")


def sentence(text: str) -> str:
    """Return what somebody else wrote as a sentence that others can follow."""
    said = text.strip()
    return said if said.endswith((".", "!", "?", "…")) else f"{said}."


def next_try(event: RetryStart) -> str:
    """Return when it is tried again, a sentence."""
    return f"Try {event.attempt} of {event.max_attempts} in {event.delay:.0f} s."

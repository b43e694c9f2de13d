"""What we say to a model that summarises, and to one that reads a summary. The wording is this package's own."""

from __future__ import annotations

__all__ = [
    "BRANCH_INSTRUCTIONS",
    "BRANCH_PREAMBLE",
    "HISTORY_INSTRUCTIONS",
    "NO_HISTORY",
    "SPLIT_TURN_HEADING",
    "SUMMARISER",
    "TURN_INSTRUCTIONS",
    "UPDATE_INSTRUCTIONS",
    "with_focus",
]

SUMMARISER = (
    "You write hand-over notes. You are shown a conversation between a user and an assistant that works with tools."
    " Somebody who has not seen it will continue from your notes alone. Write only the notes: do not answer"
    " questions found in the conversation and do not carry on its work."
)

_SECTIONS = """\
## Goal
What the user wants, one line for each task.

## Constraints
Requirements and preferences the user stated, or "(none)".

## Done
What has been finished, with the results that matter.

## Open
What has been begun, and what stands in its way.

## Decisions
Each choice that was made, with its reason.

## Next
The steps to take, in order.

## Facts
Names, values, outputs and references needed to go on, or "(none)".

Keep paths, identifiers and error messages exactly as they are. Be brief; leave out what nobody will need again."""

HISTORY_INSTRUCTIONS = f"Write notes on the conversation above under these headings:\n\n{_SECTIONS}"

UPDATE_INSTRUCTIONS = (
    "The conversation above goes on from where the notes in <previous-summary> end. Bring the notes up to date: keep"
    " what still holds, add what is new, move what has been finished from Open to Done, drop what no longer matters."
    f" Use the same headings:\n\n{_SECTIONS}"
)

TURN_INSTRUCTIONS = """\
Above is the first part of one long turn. Its later part is kept as it is and will follow your notes; write what is \
needed to understand it, under these headings:

## Request
What the user asked for in this turn.

## So far
What was done and decided in this part.

## Needed later
Results and facts the later part builds on."""

BRANCH_INSTRUCTIONS = (
    "The conversation above is one branch of a session; the user now goes on from an earlier point and leaves it."
    f" Write notes on what was tried and learnt there, under these headings:\n\n{_SECTIONS}"
)

BRANCH_PREAMBLE = "Before coming back to this point, the user followed another branch. Notes on it:\n\n"

NO_HISTORY = "No prior history."
SPLIT_TURN_HEADING = "\n\n---\n\n**Turn Context (split turn):**\n\n"
"""Stands between the two summaries of a compaction that cuts a turn; the same in every pi, so files are alike."""


def with_focus(instructions: str, focus: str | None) -> str:
    """Return the instructions with what the user wants to be looked at especially."""
    return f"{instructions}\n\nPay special attention to: {focus}" if focus else instructions

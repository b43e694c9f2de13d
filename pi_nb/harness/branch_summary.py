"""Branch summaries: what was learnt on a branch that is left behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pi_nb.harness.conversation import FileLists, conversation_text
from pi_nb.harness.estimate import estimate_tokens
from pi_nb.harness.prompts import BRANCH_INSTRUCTIONS, BRANCH_PREAMBLE, with_focus
from pi_nb.harness.summaries import Summariser
from pi_nb.messages import Message, ToolResultMessage, Usage
from pi_nb.session.context import project
from pi_nb.session.entries import BranchSummaryEntry, ContextEditEntry, Entry
from pi_nb.session.storage import Trail
from pi_nb.session.tree import Session

__all__ = [
    "BranchPart",
    "BranchSummary",
    "LeftBranch",
    "TreePreparation",
    "left_branch",
    "select_messages",
    "summarise_branch",
]

_MAX_TOKENS = 2_048
_RESERVE = 16_384
_NOTHING = "Nothing was said on that branch."


@dataclass(frozen=True, slots=True)
class LeftBranch:
    """The entries that a move leaves behind, oldest first, and the last one that both ends have in common."""

    entries: tuple[Entry, ...]
    common_ancestor_id: str | None


@dataclass(frozen=True, slots=True)
class TreePreparation:
    """What a move of the leaf would do."""

    target_id: str | None
    old_leaf_id: str | None
    common_ancestor_id: str | None
    entries_to_summarize: tuple[Entry, ...]
    wants_summary: bool
    instructions: str | None = None
    replace_instructions: bool = False
    label: str | None = None
    exact: bool = False
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class BranchSummary:
    """A summary that was made, or that a hook supplied."""

    summary: str
    details: Any = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class BranchPart:
    """What of a branch fits into a summariser's window."""

    messages: tuple[Message, ...]
    files: FileLists
    tokens: int


def left_branch(session: Session, old_leaf_id: str | None, target_id: str | None) -> LeftBranch:
    """Return what lies between the old leaf and the last entry it has in common with the target.

    Raises:
        SessionError: One of the paths cannot be walked.
    """
    old = session.path(old_leaf_id)
    ids, kept = Trail.of(old).ids, set(Trail.of(session.path(target_id)).ids)  # no entry is decoded for its id
    first = next((index for index in range(len(ids) - 1, -1, -1) if ids[index] in kept), -1)
    return LeftBranch(tuple(old[first + 1 :]), ids[first] if first >= 0 else None)


def select_messages(entries: Sequence[Entry], budget: int = 0) -> BranchPart:
    """Return the newest messages of a branch that are within a budget, without tool results.

    A compaction on the branch is one message more: what it summarised was said on the branch, too.

    Args:
        entries: The branch, oldest first.
        budget: Estimated tokens; 0 for no limit.
    """
    kept: list[Message] = []
    total = 0
    for message in _newest_first(entries):
        tokens = estimate_tokens(message)
        over = bool(budget) and total + tokens > budget
        if over and not (_is_summary(message) and total < budget * 0.9):
            break
        kept.append(message)
        total += tokens
        if over:
            break
    earlier = [e.details for e in entries if isinstance(e, BranchSummaryEntry) and not e.from_hook]
    return BranchPart(tuple(reversed(kept)), FileLists.of(kept, *earlier), total)


def _newest_first(entries: Sequence[Entry]) -> Iterator[Message]:
    """Yield what each entry is to a model, with the edits the branch makes to it; tool results are left out."""
    edits = {entry.target_id: entry for entry in entries if isinstance(entry, ContextEditEntry)}
    for entry in reversed(entries):
        edit = edits.get(entry.id)
        for item in project([entry] if edit is None else [entry, edit]):
            if not isinstance(item.message, ToolResultMessage):
                yield item.message


def _is_summary(message: Message) -> bool:
    return message.role in {"compactionSummary", "branchSummary"}


async def summarise_branch(
    entries: Sequence[Entry], summariser: Summariser, *, instructions: str | None = None, replace: bool = False
) -> BranchSummary:
    """Ask a model for a summary of a branch.

    Args:
        entries: The branch, oldest first.
        summariser: Who does it.
        instructions: What the user wants to be looked at especially.
        replace: True if ``instructions`` take the place of ours.

    Raises:
        ProviderError: The model failed, or its summary was cut off or empty.
        Aborted: The signal was given.
    """
    window = summariser.model.context_window
    part = select_messages(entries, window - min(_RESERVE, window // 4))
    if not part.messages:
        return BranchSummary(_NOTHING, {"readFiles": [], "modifiedFiles": []})
    task = instructions if replace and instructions else with_focus(BRANCH_INSTRUCTIONS, instructions)
    made = await summariser.summarise(conversation_text(part.messages), task, max_tokens=_MAX_TOKENS)
    return BranchSummary(f"{BRANCH_PREAMBLE}{made.text}{part.files.as_text()}", part.files.details, made.usage)

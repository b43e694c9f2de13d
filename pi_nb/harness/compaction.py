"""Compaction: where to cut a long conversation, and the summary that stands for what is before the cut.

Pure functions decide what is to be summarised (:func:`prepare_compaction`); :func:`make_compaction` asks a model.
Nothing here writes to a session.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pi_nb.harness.conversation import FileLists, conversation_text
from pi_nb.harness.estimate import estimate_context, estimate_tokens
from pi_nb.harness.prompts import (
    HISTORY_INSTRUCTIONS,
    NO_HISTORY,
    SPLIT_TURN_HEADING,
    TURN_INSTRUCTIONS,
    UPDATE_INSTRUCTIONS,
    with_focus,
)
from pi_nb.harness.summaries import Summariser, Summary, add_usage
from pi_nb.messages import Message, Usage
from pi_nb.session.context import Context, project
from pi_nb.session.entries import CompactionEntry, ContextEditEntry, Entry, MessageEntry

__all__ = [
    "CompactionPreparation",
    "CompactionResult",
    "CompactionSettings",
    "CutPoint",
    "find_cut_point",
    "make_compaction",
    "prepare_compaction",
    "should_compact",
]

_CUT_ROLES = frozenset({"user", "assistant", "bashExecution", "custom", "branchSummary", "compactionSummary"})


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """When and how conversations are compacted.

    Attributes:
        auto: Compact by itself when a context nears its window.
        reserve_tokens: Room kept free in the window for the next answer.
        keep_recent_tokens: About how much of the end is kept as it is.
    """

    auto: bool = True
    reserve_tokens: int = 16_384
    keep_recent_tokens: int = 20_000

    def within(self, context_window: int) -> CompactionSettings:
        """Return settings that suit a model's window: in a small one less is reserved and less is kept."""
        reserve = min(self.reserve_tokens, context_window // 4)
        keep = min(self.keep_recent_tokens, context_window // 3)
        return replace(self, reserve_tokens=reserve, keep_recent_tokens=keep)


def should_compact(context_tokens: int, context_window: int, settings: CompactionSettings) -> bool:
    """Return whether a context of this size should be compacted before it grows further."""
    return settings.auto and context_tokens > context_window - settings.within(context_window).reserve_tokens


@dataclass(frozen=True, slots=True)
class CutPoint:
    """Where a path is cut.

    Attributes:
        first_kept: Index of the first entry that is kept.
        turn_start: Index of the message that began the turn which is cut; None if the cut is between turns.
    """

    first_kept: int
    turn_start: int | None


@dataclass(frozen=True, slots=True)
class CompactionPreparation:
    """What a compaction would do.

    Attributes:
        first_kept_entry_id: First entry that stays in the context.
        messages_to_summarize: The older part.
        turn_prefix_messages: Beginning of the turn that is cut; empty if none is.
        is_split_turn: True if the cut is in the middle of a turn.
        tokens_before: Estimated size of the context.
        previous_summary: Summary of the compaction before this one; it is brought up to date.
        files: Files touched in what is summarised.
        settings: How it is made.
    """

    first_kept_entry_id: str
    messages_to_summarize: tuple[Message, ...]
    turn_prefix_messages: tuple[Message, ...]
    is_split_turn: bool
    tokens_before: int
    previous_summary: str | None
    files: FileLists
    settings: CompactionSettings

    @property
    def is_empty(self) -> bool:
        """True if nothing would be summarised."""
        return not self.messages_to_summarize and not self.turn_prefix_messages


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """A compaction that was made, or that a hook supplied."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    details: Any = None
    usage: Usage | None = None


# ---------------------------------------------------------------- where to cut


def find_cut_point(path: Sequence[Entry], start: int, keep_recent_tokens: int) -> CutPoint:
    """Return where to cut so that about the given number of tokens is kept.

    Args:
        path: Entries from the root to the leaf.
        start: Index of the first entry that is still in the context.
        keep_recent_tokens: How much to keep, in estimated tokens.
    """
    candidates = [index for index in range(start, len(path)) if _may_cut_before(path[index])]
    if not candidates:
        return CutPoint(start, None)
    over = _exceeding_index(path, start, keep_recent_tokens)
    cut = candidates[0] if over is None else next((i for i in candidates if i >= over), candidates[-1])
    while cut > start and not isinstance(path[cut - 1], MessageEntry | CompactionEntry):
        cut -= 1  # changes of model, labels and the like stay with what follows them
    return CutPoint(cut, None if _role(path[cut]) == "user" else _turn_start(path, cut, start))


def _may_cut_before(entry: Entry) -> bool:
    return entry.type in {"branch_summary", "custom_message"} or _role(entry) in _CUT_ROLES


def _role(entry: Entry) -> str | None:
    return entry.message.role if isinstance(entry, MessageEntry) else None


def _exceeding_index(path: Sequence[Entry], start: int, budget: int) -> int | None:
    """Return the newest index from which on the messages are over the budget; None if they never are."""
    kept = 0
    for index in range(len(path) - 1, start - 1, -1):
        entry = path[index]
        if isinstance(entry, CompactionEntry):
            continue
        kept += sum(estimate_tokens(item.message) for item in project([entry]))
        if kept >= budget:
            return index
    return None


def _turn_start(path: Sequence[Entry], cut: int, start: int) -> int | None:
    for index in range(cut, start - 1, -1):
        if path[index].type in {"branch_summary", "custom_message"} or _role(path[index]) in {"user", "bashExecution"}:
            return index
    return None


# ---------------------------------------------------------------- what to summarise


def prepare_compaction(
    path: Sequence[Entry], context: Context, settings: CompactionSettings
) -> CompactionPreparation | None:
    """Return what a compaction at the end of a path would do; None if there is nothing since the last one."""
    if not path or isinstance(path[-1], CompactionEntry):
        return None
    previous = _latest_compaction(path)
    start = _first_in_context(path, previous)
    cut = find_cut_point(path, start, settings.keep_recent_tokens)
    split = cut.turn_start is not None and cut.turn_start < cut.first_kept
    history_end = cut.turn_start if cut.turn_start is not None else cut.first_kept
    history = _messages(path, start, history_end)
    prefix = _messages(path, history_end, cut.first_kept)
    earlier = path[previous] if previous is not None else None
    details = earlier.details if isinstance(earlier, CompactionEntry) and not earlier.from_hook else None
    return CompactionPreparation(
        first_kept_entry_id=path[cut.first_kept].id,
        messages_to_summarize=history,
        turn_prefix_messages=prefix,
        is_split_turn=split,
        tokens_before=estimate_context(context, path).tokens,
        previous_summary=earlier.summary if isinstance(earlier, CompactionEntry) else None,
        files=FileLists.of([*history, *prefix], details),
        settings=settings,
    )


def _latest_compaction(path: Sequence[Entry]) -> int | None:
    return next((i for i in range(len(path) - 1, -1, -1) if isinstance(path[i], CompactionEntry)), None)


def _first_in_context(path: Sequence[Entry], compaction: int | None) -> int:
    """Return the index of the first entry that the context still holds in full."""
    if compaction is None:
        return 0
    entry = path[compaction]
    kept = entry.first_kept_entry_id if isinstance(entry, CompactionEntry) else None
    return next((index for index in range(compaction) if path[index].id == kept), compaction + 1)


def _messages(path: Sequence[Entry], start: int, stop: int) -> tuple[Message, ...]:
    """Return what a part of the path projects to, with the edits that the rest of the path makes to it."""
    part = [path[index] for index in range(start, stop) if not isinstance(path[index], CompactionEntry)]
    edits = [entry for entry in path[stop:] if isinstance(entry, ContextEditEntry)]
    return tuple(item.message for item in project([*part, *edits]))


# ---------------------------------------------------------------- the summary


async def make_compaction(
    preparation: CompactionPreparation, summariser: Summariser, instructions: str | None = None
) -> CompactionResult:
    """Ask a model for the summary.

    Args:
        preparation: What to summarise.
        summariser: Who does it.
        instructions: What the user wants to be looked at especially.

    Raises:
        ProviderError: The model failed, or its summary was cut off or empty.
        Aborted: The signal was given.
    """
    history = await _summarise_history(preparation, summariser, instructions)
    summary, usage = history.text, history.usage
    if preparation.turn_prefix_messages:
        prefix = await summariser.summarise(
            conversation_text(preparation.turn_prefix_messages),
            TURN_INSTRUCTIONS,
            max_tokens=preparation.settings.reserve_tokens // 2,
        )
        summary = f"{summary}{SPLIT_TURN_HEADING}{prefix.text}"
        usage = add_usage(usage, prefix.usage)
    return CompactionResult(
        summary=f"{summary}{preparation.files.as_text()}",
        first_kept_entry_id=preparation.first_kept_entry_id,
        tokens_before=preparation.tokens_before,
        details=preparation.files.details,
        usage=usage,
    )


async def _summarise_history(
    preparation: CompactionPreparation, summariser: Summariser, instructions: str | None
) -> Summary:
    previous = preparation.previous_summary
    if not preparation.messages_to_summarize:
        return Summary(previous or NO_HISTORY)
    return await summariser.summarise(
        conversation_text(preparation.messages_to_summarize),
        with_focus(UPDATE_INSTRUCTIONS if previous else HISTORY_INSTRUCTIONS, instructions),
        max_tokens=preparation.settings.reserve_tokens * 4 // 5,
        previous=previous,
    )

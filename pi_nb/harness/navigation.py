"""Moving the leaf, with or without a summary of the branch that is left."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pi_nb.errors import BranchSummaryError, HarnessError, ProviderError
from pi_nb.harness.branch_summary import BranchSummary, TreePreparation, left_branch, summarise_branch
from pi_nb.harness.events import HarnessEvent, SessionTree
from pi_nb.harness.hooks import BeforeTree, Hooks, TreeDecision
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.run import Settings
from pi_nb.harness.signals import Aborted, AbortSignal, interruptible
from pi_nb.harness.storable import storable, storable_usage
from pi_nb.harness.summaries import Summariser
from pi_nb.messages import UserMessage, text_of
from pi_nb.session.entries import CustomMessageEntry, Entry, LeafEntry, MessageEntry
from pi_nb.session.tree import LEAF, Session

__all__ = ["NavigateResult", "Navigator", "destination", "plan_move"]


@dataclass(frozen=True, slots=True)
class NavigateResult:
    """What came of a move.

    Attributes:
        cancelled: True if a hook or an abort stopped it; the leaf is where it was.
        editor_text: Text of the user message that was chosen, for editing; None otherwise.
        summary_entry: The summary that was written, or None.
        leaf_id: Where the leaf is now.
    """

    cancelled: bool
    editor_text: str | None = None
    summary_entry: Entry | None = None
    leaf_id: str | None = None


def destination(entry: Entry | None) -> tuple[str | None, str | None]:
    """Return where the leaf goes when an entry is chosen, and the text that comes back for editing."""
    if entry is None:
        return None, None
    if isinstance(entry, LeafEntry):
        return entry.target_id, None
    if isinstance(entry, CustomMessageEntry):
        return entry.parent_id, text_of(entry.content)
    if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
        return entry.parent_id, text_of(entry.message.content)
    return entry.id, None


@dataclass(frozen=True, slots=True)
class Navigator:
    """Moves the leaf of one session."""

    session: Session
    hooks: Hooks
    retry: RetryPolicy
    settings: Callable[[], Settings]
    tell: Callable[[HarnessEvent], Awaitable[None]]

    async def navigate(self, plan: TreePreparation, signal: AbortSignal) -> NavigateResult:
        """Carry out a move.

        Raises:
            BranchSummaryError: The summary could not be made; the leaf is where it was.
            HarnessError: ``hook``: a hook or a subscriber raised.
        """
        try:
            decision = await interruptible(self.hooks.before_tree(BeforeTree(plan, signal)), signal)
            if decision.cancel:
                return NavigateResult(True, leaf_id=self.session.leaf_id)
            summary = decision.summary or await self._summary(plan, decision, signal)
        except Aborted:
            return NavigateResult(True, leaf_id=self.session.leaf_id)
        return await self._move(plan, decision, summary)

    async def _summary(
        self, plan: TreePreparation, decision: TreeDecision, signal: AbortSignal
    ) -> BranchSummary | None:
        if not plan.wants_summary or not plan.entries_to_summarize:
            return None
        settings = self.settings()
        replace = plan.replace_instructions if decision.replace_instructions is None else decision.replace_instructions
        try:
            return await summarise_branch(
                plan.entries_to_summarize,
                Summariser(settings.model, settings.provider, self.retry, signal, self.tell),
                instructions=plan.instructions if decision.instructions is None else decision.instructions,
                replace=replace,
            )
        except ProviderError as error:
            raise BranchSummaryError(f"The branch summary failed: {error}", hint=error.hint) from error

    async def _move(
        self, plan: TreePreparation, decision: TreeDecision, summary: BranchSummary | None
    ) -> NavigateResult:
        session = self.session
        target = None if plan.target_id is None else session.entry(plan.target_id)
        leaf_id, editor_text = (plan.target_id, None) if plan.exact else destination(target)
        session.move_to(leaf_id, extra=plan.extra)
        from_hook = decision.summary is not None
        entry = None if summary is None else self._write(plan, summary, from_hook)
        self._label(plan, decision, entry)
        await self.tell(SessionTree(session.leaf_id, plan.old_leaf_id, entry, from_hook))
        return NavigateResult(False, editor_text, entry, session.leaf_id)

    def _write(self, plan: TreePreparation, summary: BranchSummary, from_hook: bool) -> Entry:
        entry_id = self.session.append_branch_summary(
            plan.old_leaf_id,
            summary.summary,
            details=storable(summary.details),
            from_hook=from_hook,
            usage=storable_usage(summary.usage),
        )
        return self.session.entry(entry_id)

    def _label(self, plan: TreePreparation, decision: TreeDecision, summary: Entry | None) -> None:
        label = decision.label or plan.label
        target_id = plan.target_id if summary is None else summary.id
        if label and target_id is not None:
            self.session.append_label(target_id, label)


def plan_move(
    session: Session,
    target_id: str | None,
    *,
    summarize: bool,
    instructions: str | None,
    replace_instructions: bool,
    label: str | None,
    exact: bool = False,
    extra: Mapping[str, Any] | None = None,
    left: Any = LEAF,
) -> TreePreparation:
    """Return what a move to an entry would do.

    Raises:
        HarnessError: ``invalid_argument``: there is no such entry.
        SessionError: A path cannot be walked.
    """
    old_leaf_id = session.leaf_id if left is LEAF else left
    for named in (target_id, old_leaf_id):
        if named is not None and session.get(named) is None:
            raise HarnessError(f"There is no entry {named}.", code="invalid_argument")
    branch = left_branch(session, old_leaf_id, target_id)
    return TreePreparation(
        target_id,
        old_leaf_id,
        branch.common_ancestor_id,
        branch.entries,
        summarize,
        instructions,
        replace_instructions,
        label,
        exact,
        extra,
    )

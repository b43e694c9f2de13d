"""Compacting a session: by hand, when it nears the model's window, or after the provider said it is too long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from pi_nb.errors import CompactionError, HarnessError, ProviderError, SessionError
from pi_nb.harness.compaction import (
    CompactionPreparation,
    CompactionResult,
    CompactionSettings,
    make_compaction,
    prepare_compaction,
    should_compact,
)
from pi_nb.harness.estimate import estimate_context
from pi_nb.harness.events import HarnessEvent, SessionCompact
from pi_nb.harness.hooks import BeforeCompact, Hooks
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.run import Cursor, Run, Settings
from pi_nb.harness.signals import Aborted, AbortSignal, interruptible
from pi_nb.harness.storable import storable, storable_usage
from pi_nb.harness.summaries import Summariser
from pi_nb.session.tree import Session

__all__ = ["Compactor"]

Tell: TypeAlias = Callable[[HarnessEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Compactor:
    """Compacts one session.

    Attributes:
        session: What is compacted.
        settings: When and how.
        hooks: Are asked before.
        retry: How a failed request is repeated.
        notices: Where to say that a compaction nobody asked for has failed.
    """

    session: Session
    settings: CompactionSettings
    hooks: Hooks
    retry: RetryPolicy
    notices: list[str]

    async def compact(
        self,
        cursor: Cursor,
        settings: Settings,
        signal: AbortSignal,
        tell: Tell,
        instructions: str | None = None,
    ) -> CompactionResult:
        """Compact the branch that ends at a cursor.

        Raises:
            CompactionError: There is nothing to compact, a hook or an abort stopped it, or the model failed.
            HarnessError: ``hook``: a hook or a subscriber raised. ``session``: the entry could not be written.
        """
        try:
            result, from_hook = await self._result(cursor, settings, signal, tell, instructions)
        except Aborted:
            raise CompactionError("The compaction was aborted; nothing was written.") from None
        except ProviderError as error:
            raise CompactionError(f"The compaction failed: {error}", hint=error.hint) from error
        entry_id = self._write(cursor, result, from_hook)
        await tell(SessionCompact(self.session.entry(entry_id), from_hook))
        return result

    async def _result(
        self, cursor: Cursor, settings: Settings, signal: AbortSignal, tell: Tell, instructions: str | None
    ) -> tuple[CompactionResult, bool]:
        path = self.session.path(cursor.id)
        fitting = self.settings.within(settings.model.context_window)
        preparation = prepare_compaction(path, self.session.context(cursor.id), fitting)
        if preparation is None:
            raise CompactionError("There is nothing to compact.")
        decision = await interruptible(
            self.hooks.before_compact(BeforeCompact(preparation, path, instructions, signal)), signal
        )
        if decision.cancel:
            raise CompactionError("The compaction was cancelled by a hook.")
        if decision.compaction is not None:
            return decision.compaction, True
        summariser = Summariser(settings.model, settings.provider, self.retry, signal, tell, settings.thinking_level)
        return await self._ask(preparation, summariser, instructions), False

    async def _ask(
        self, preparation: CompactionPreparation, summariser: Summariser, instructions: str | None
    ) -> CompactionResult:
        if preparation.is_empty:
            raise CompactionError("There is nothing to compact: all of the conversation is recent.")
        return await make_compaction(preparation, summariser, instructions)

    def _write(self, cursor: Cursor, result: CompactionResult, from_hook: bool) -> str:
        try:
            return cursor.add(
                self.session.append_compaction,
                result.summary,
                result.first_kept_entry_id,
                storable(result.tokens_before) or 0,
                details=storable(result.details),
                from_hook=from_hook,
                usage=storable_usage(result.usage),
            )
        except SessionError as error:
            raise HarnessError(str(error), code="session", hint=error.hint) from error

    # ------------------------------------------------------------ within a run

    async def after_turn(self, run: Run) -> None:
        """Compact if the context nears the window; a failure is a notice, the conversation can go on."""
        if run.signal.aborted or run.cannot_compact or not self.settings.auto:
            return
        size = estimate_context(self.session.context(run.cursor.id), self.session.path(run.cursor.id)).tokens
        if should_compact(size, run.settings().model.context_window, self.settings):
            await self.make_room(run)

    async def make_room(self, run: Run) -> bool:
        """Compact at a run's place; return whether that was possible."""
        run.phase = "compaction"
        try:
            await self.compact(run.cursor, run.settings(), run.signal, run.tell)
        except CompactionError as error:
            run.cannot_compact = True
            self.notices.append(str(error))
            return False
        finally:
            run.phase = "turn"
        return True

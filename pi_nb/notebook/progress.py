"""Long things that are no prompt: compacting, summarising a branch that is left. They are seen to go on, and stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from html import escape
from typing import TYPE_CHECKING, Any

from pi_nb.errors import HarnessError, PiError, UserError
from pi_nb.harness.events import HarnessEvent, RetryEnd, RetryStart
from pi_nb.notebook.branch_settings import BranchSettings
from pi_nb.notebook.caption import clean, tokens
from pi_nb.notebook.doing import next_try, sentence
from pi_nb.notebook.jobs import Stopped, follow
from pi_nb.notebook.redraw import Redraw
from pi_nb.notebook.references import short
from pi_nb.notebook.status import leaf_line
from pi_nb.views.plain import UNTYPESET

if TYPE_CHECKING:
    from pi_nb.harness.navigation import NavigateResult
    from pi_nb.notebook.runtime import Runtime

__all__ = ["checkout_with_summary", "compact"]


class NothingWritten(Stopped):
    """The user stopped something that writes all or nothing."""

    def _render_traceback_(self) -> list[str]:
        return ["Stopped. Nothing was written, the leaf is where it was."]


class Work:
    """Something on the owner thread that takes a while; its cell says how long already."""

    out: str | None = None
    left = False

    def __init__(self, runtime: Runtime, what: str, work: Coroutine[Any, Any, Any], said: Callable[[Any], str]) -> None:
        self._runtime = runtime
        self._what = what
        self._said = said
        self._began = time.monotonic()
        self._output = Redraw(runtime.ip)
        self._trying = ""
        self._unsubscribe = runtime.harness.subscribe(self._hear)
        self.begun = threading.Event()
        self.future: Future[Any] = runtime.submit(work)

    def _hear(self, event: HarnessEvent) -> None:
        if isinstance(event, RetryStart):
            self._trying = f" · {sentence(event.error)} {next_try(event)}"
        elif isinstance(event, RetryEnd):
            self._trying = ""

    def draw(self) -> None:
        """Say what goes on, and for how long."""
        seconds = time.monotonic() - self._began
        if seconds > 0.3:
            self._output.draw(lambda: _bundle(f"{self._what} … {seconds:.0f} s{self._trying}"))

    async def stop(self) -> None:
        """Stop it; it writes nothing then."""
        await self._runtime.harness.abort()

    def finish(self) -> Any:
        """Say what came of it."""
        self._unsubscribe()
        if self.future.done() and not self.future.cancelled() and self.future.exception() is None:
            result = self.future.result()
            self._output.close(_bundle(self._said(result)))
            return result
        self._output.close(_bundle(""))
        return None

    def failure(self) -> PiError | None:
        """Return why nothing came of it, or None."""
        error = self.future.exception() if self.future.done() and not self.future.cancelled() else None
        if isinstance(error, HarnessError):
            return UserError(str(error), hint=error.hint)
        return error if isinstance(error, PiError) or error is None else PiError(str(error))


def _bundle(text: str) -> dict[str, str]:
    said = clean(text)
    return {"text/plain": said, "text/html": f'<span class="pi-progress {UNTYPESET}">{escape(said)}</span>'}


def _carry_out(runtime: Runtime, work: Work) -> Any:
    try:
        return follow(runtime, lambda: work)
    except Stopped:
        raise NothingWritten from None


def compact(runtime: Runtime, instructions: str | None) -> None:
    """Summarise the older part of the branch, and show that it goes on and what came of it.

    Raises:
        CompactionError: There is nothing to compact, or the model failed; nothing was written.
        UserError: A run is going on.
        Stopped: The user stopped it.
    """
    from pi_nb.harness.estimate import estimate_context

    runtime.check_idle()
    session = runtime.session

    def said(result: Any) -> str:
        after = estimate_context(session.context(), session.path()).tokens
        spent = tokens(result.usage) if result.usage else ""
        return (
            f"Summarised: about {result.tokens_before:,} tokens of context became {after:,}"
            + (f" ({spent} spent)" if spent else "")
            + ". %pi_context shows what the model gets now; %pi_checkout @^ goes back to before."
        )

    what = f"{runtime.harness.model} summarises the older part of the conversation"
    _carry_out(runtime, Work(runtime, what, runtime.harness.compact(instructions), said))


def checkout_with_summary(runtime: Runtime, target: str | None, instructions: str | None) -> NavigateResult:
    """Move the leaf and take a summary of the branch that is left along; show that it goes on and what came of it.

    Raises:
        BranchSummaryError: The summary could not be made; the leaf is where it was.
        UserError: A run is going on.
        Stopped: The user stopped it.
    """
    runtime.check_idle()
    session, settings = runtime.session, BranchSettings.of(runtime.harness)

    def said(result: NavigateResult) -> str:
        if result.cancelled:
            return "The leaf is where it was."
        entry = result.summary_entry
        summary = f" A summary of the branch that was left is there, as {short(entry.id)}." if entry else ""
        changed = BranchSettings.of(runtime.harness).since(settings)
        return f"Leaf: {leaf_line(session)}.{summary}" + (f" · {changed}" if changed else "")

    move = runtime.harness.navigate_tree(target, summarize=True, instructions=instructions)
    what = f"{runtime.harness.model} summarises the branch that is left"
    return _carry_out(runtime, Work(runtime, what, move, said))  # type: ignore[no-any-return]

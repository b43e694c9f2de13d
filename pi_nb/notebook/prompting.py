"""One prompt from a cell: where it goes, what it is asked with, the run, and what is left of it afterwards.

Whatever can be wrong with the request is found before anything is written. Then, on the owner thread: the leaf is
placed, the branch's settings are changed, the prompt is sent. The cell's thread draws and waits, or leaves it alone.
"""

from __future__ import annotations

import threading
from concurrent.futures import Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pi_nb.errors import PiError
from pi_nb.harness import events
from pi_nb.messages import AssistantMessage
from pi_nb.notebook.asks import Ask, check, check_key
from pi_nb.notebook.caption import Caption, clean
from pi_nb.notebook.display import CellOutput, output_for
from pi_nb.notebook.doing import doing
from pi_nb.notebook.jobs import Background, Unanswered, follow, leave
from pi_nb.notebook.placing import place_leaf
from pi_nb.notebook.references import give_label
from pi_nb.notebook.replay import begins_at_root, find_stored, show_stored
from pi_nb.notebook.reply import Reply
from pi_nb.notebook.siblings import sibling
from pi_nb.notebook.status import why_model
from pi_nb.notebook.trace import watch
from pi_nb.notebook.transcript import Snapshot, Transcript

if TYPE_CHECKING:
    from pi_nb.harness.agent import AgentHarness
    from pi_nb.notebook.runtime import Runtime

__all__ = ["configure", "prompt"]


def prompt(runtime: Runtime, ask: Ask) -> Reply | Background:
    """Send a prompt, show the answer in the cell, and return it; or return at once if it goes on in the background.

    Raises:
        UserError: Something in the request is unknown, or a run is going on; nothing was sent.
        Unanswered: The model did not answer; what had arrived is kept.
        Stopped: The user stopped the run.
    """
    check(runtime, ask)
    stored = find_stored(runtime, ask) if ask.replay else None
    if stored is not None:
        return show_stored(runtime, ask, stored)
    if begins_at_root(runtime, ask):
        ask = replace(ask, place="root")
    check_key(runtime, ask)
    runtime.begun = True
    if ask.background:
        return leave(runtime, PromptJob(runtime, ask))
    reply: Reply = follow(runtime, lambda: PromptJob(runtime, ask))
    return reply


class PromptJob:
    """A prompt that was sent, and its cell's output.

    Args:
        runtime: Where it is sent from.
        ask: What is asked.
        output: What shows it, where that is no cell.
    """

    def __init__(self, runtime: Runtime, ask: Ask, *, output: CellOutput | None = None) -> None:
        self.out = ask.out
        self.left = False
        self._runtime = runtime
        self._harness = runtime.harness
        self._ask = ask
        self._transcript = Transcript()
        self._output = output or output_for(runtime.ip, self._transcript, _caption(runtime, ask), quiet=ask.background)
        self._unsubscribe = self._harness.subscribe(self._hear)
        self._tracing = watch(runtime)
        self.begun = threading.Event()
        if ask.background:
            self.draw()  # whatever the run shows beside its answer comes below it
        self.future: Future[AssistantMessage] = runtime.submit(_run(runtime, ask, self._output))
        self.future.add_done_callback(lambda _: self.begun.set())

    def _hear(self, event: events.HarnessEvent) -> None:
        self._transcript.feed(event)
        if isinstance(event, events.AgentStart):
            self.begun.set()

    def draw(self) -> None:
        """Show what is new, and what goes on where nothing arrives."""
        self._output.caption = replace(self._output.caption, doing=doing(self._harness))
        self._output.draw()
        if self._tracing is not None:
            self._tracing.draw()

    async def stop(self) -> None:
        """Stop the run, also one that has not begun yet."""
        begun = not self._harness.is_idle
        await self._harness.abort()
        if not begun:
            self.future.cancel()

    def finish(self) -> Reply:
        """Label the answer, show the run as it ended, and return it as a value."""
        self._unsubscribe()
        self._transcript.settle()
        failure = self.failure()
        if self.left and failure is not None:
            self._output.caption = replace(self._output.caption, why=f"No answer: {failure} {failure.hint or ''}")
        reply = _finish(self._harness, self._ask, self._transcript.snapshot(), self._output)
        self._runtime.reply = reply
        if self._tracing is not None:
            self._tracing.close()
        return reply

    def failure(self) -> PiError | None:
        """Return why there is no answer, or None."""
        if not self.future.done() or self.future.cancelled():
            return None
        error = self.future.exception()
        if error is not None:
            return error if isinstance(error, PiError) else PiError(str(error))
        answer = self.future.result()
        if answer.stop_reason != "error":
            return None
        error = self._transcript.snapshot().error
        hints = [error.hint if error else "", "Run the cell to try again." if error and error.retryable else ""]
        said = clean(answer.error_message or "it said nothing of why")
        return Unanswered(said, hint=clean(" ".join(filter(None, hints))))


def _caption(runtime: Runtime, ask: Ask) -> Caption:
    """Return what is known before the run: which model, and for the first answer why it was chosen."""
    if ask.model is not None or runtime.session.context().model is not None:
        return Caption(model=ask.model or str(runtime.harness.model))
    return Caption(model=str(runtime.harness.model), why=why_model(runtime))


# ---------------------------------------------------------------- the run, on the owner thread


async def _run(runtime: Runtime, ask: Ask, output: CellOutput) -> AssistantMessage:
    harness = runtime.harness
    note = await place_leaf(harness, ask)
    await configure(runtime, harness, ask)
    output.caption = replace(_caption(runtime, ask), note=note, model=str(harness.model))
    before = harness.system_prompt, harness.max_turns
    extra = ask.beside(before[0])
    harness.system_prompt = before[0] if ask.system is None else ask.system
    harness.max_turns = ask.max_turns or before[1]
    try:
        return await harness.prompt(ask.content, extra=extra)
    finally:
        harness.system_prompt, harness.max_turns = before


async def configure(runtime: Runtime, harness: AgentHarness, ask: Ask) -> None:
    """Set on the branch what the prompt asks for and the branch does not say already."""
    if ask.model is not None and ask.model != str(harness.model):
        await harness.set_model(ask.model)
    if ask.thinking is not None and ask.thinking != harness.thinking_level:
        await harness.set_thinking_level(ask.thinking)
    if ask.tools is not None and ask.tools != harness.active_tool_names:
        await harness.set_tools(tuple(runtime.tools.values()), ask.tools)


# ---------------------------------------------------------------- after the run


def _finish(harness: AgentHarness, ask: Ask, run: Snapshot, output: CellOutput) -> Reply:
    session = harness.session
    if run.prompt_entry is not None:
        moved = give_label(session, run.answer_entry, ask.label) if ask.label and run.answer_entry else ""
        place = sibling(session, run.prompt_entry)
        why = " ".join(filter(None, (moved, _with_notices(harness, output.caption.why))))
        output.caption = replace(output.caption, sibling=place, why=why)
    output.caption = replace(output.caption, doing="")
    output.close(described(session.id, run))
    return Reply.of(run, session.id)


def described(session_id: str, run: Snapshot) -> dict[str, Any]:
    """Return what an output's metadata says of a run."""
    return {"session": session_id, "entries": list(run.entries), "model": run.model, "usage": run.usage.to_wire()}


def _with_notices(harness: AgentHarness, why: str) -> str:
    """Return what is said under an answer, together with what the harness has to say of the branch's settings."""
    notices, harness.notices[:] = list(harness.notices), []
    return " ".join([*dict.fromkeys(notices), *([why] if why else [])])

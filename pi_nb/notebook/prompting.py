"""One prompt from a cell: where it goes, what it is asked with, the run, and what is left of it afterwards.

Whatever can be wrong with the request is found before anything is written. Then, on the owner thread: the leaf is
placed, the branch's settings are changed, the prompt is sent. The cell's thread draws and waits.
"""

from __future__ import annotations

from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pi_nb.errors import ProviderError, UserError
from pi_nb.harness.navigation import destination
from pi_nb.messages import AssistantMessage, ToolCall
from pi_nb.notebook.caption import Caption, clean
from pi_nb.notebook.cells import Cell, written_by
from pi_nb.notebook.checks import check_level, check_tool, check_writable
from pi_nb.notebook.display import CellOutput, output_for
from pi_nb.notebook.pump import Pump
from pi_nb.notebook.references import find_entry, give_label, short
from pi_nb.notebook.reply import Reply
from pi_nb.notebook.siblings import sibling
from pi_nb.notebook.status import why_model
from pi_nb.notebook.transcript import Snapshot, Tool, Transcript

if TYPE_CHECKING:
    from pi_nb.harness.agent import AgentHarness
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.tree import Session

__all__ = ["Ask", "Stopped", "Unanswered", "check", "earlier_prompt", "parent_of", "prompt"]


class Stopped(KeyboardInterrupt):
    """The user stopped the run; like any interrupt it also keeps the cells queued behind this one from running."""

    def _render_traceback_(self) -> list[str]:
        return ["Stopped. What had arrived is kept; run the cell again for another answer."]


class Unanswered(ProviderError):
    """The model did not answer; what it said about that, and what to do."""

    def _render_traceback_(self) -> list[str]:
        return [f"No answer: {self}", self.hint]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a cell asks for.

    Attributes:
        text: The prompt, with its expressions already evaluated.
        cell: The cell that asks.
        model: ``provider:model`` from here on, or None to leave it.
        thinking: Thinking level from here on, or None.
        tools: Names of the active tools from here on, or None.
        place: Reference to move the leaf to first, or None.
        append: True to append at the leaf even if the cell was run before.
        label: Label for the answer, or None.
        system: System prompt for this run only, or None.
        max_turns: Limit for this run only, or None.
    """

    text: str
    cell: Cell
    model: str | None = None
    thinking: str | None = None
    tools: tuple[str, ...] | None = None
    place: str | None = None
    append: bool = False
    label: str | None = None
    system: str | None = None
    max_turns: int | None = None


def prompt(runtime: Runtime, ask: Ask) -> Reply:
    """Send a prompt, show the answer in the cell, and return it.

    Raises:
        UserError: Something in the request is unknown, or a run is going on; nothing was sent.
        Unanswered: The model did not answer; what had arrived is kept.
        Stopped: The user stopped the run.
    """
    check(runtime, ask)
    transcript = Transcript()
    output = output_for(runtime.ip, transcript, _caption(runtime, ask))
    unsubscribe = runtime.harness.subscribe(transcript.feed)
    run = runtime.submit(_run(runtime, ask, output))
    pump = runtime.pump = Pump(abort=lambda: runtime.submit(_stop(runtime.harness, run)))
    try:
        answer = pump.run(run, output.draw)
    except CancelledError:
        raise Stopped from None
    finally:
        runtime.pump = None
        unsubscribe()
        transcript.settle()
        reply = _finish(runtime, ask, transcript.snapshot(), output)
    if pump.interrupted:
        raise Stopped
    if answer.stop_reason == "error":
        raise Unanswered(clean(answer.error_message or "it said nothing of why"), hint="Run the cell to try again.")
    return reply


# ---------------------------------------------------------------- before the run


def check(runtime: Runtime, ask: Ask) -> None:
    """Find whatever is wrong with a request before anything is written.

    Raises:
        UserError: An empty prompt, an unknown place, level or tool, a session that cannot be written, a run going on.
        ProviderError: ``not_found``: the provider has no such model.
    """
    runtime.check_idle()
    if not ask.text.strip():
        raise UserError("The prompt is empty.", hint="Write it below %%pi, or after %pi.")
    check_writable(runtime.session)
    if ask.model is not None:
        runtime.registry.resolve(ask.model)
    elif runtime.harness.model is None:
        raise UserError(
            " ".join(runtime.harness.notices) or "There is no model.", hint="%pi_model provider:model sets one."
        )
    if ask.thinking is not None:
        check_level(ask.thinking)
    for name in ask.tools or ():
        check_tool(runtime.tools, name)
    if ask.place is not None:
        find_entry(runtime.session, ask.place)


def earlier_prompt(session: Session, ask: Ask) -> str | None:
    """Return the prompt that this cell wrote before, if it lies on the active path and a sibling is wanted."""
    if ask.append or ask.place is not None or not ask.cell.stable:
        return None
    return next((entry.id for entry in written_by(session, ask.cell)), None)


def parent_of(session: Session, ask: Ask) -> str | None:
    """Return the entry that the prompt will hang from."""
    if ask.place is not None:
        target = find_entry(session, ask.place)
        chosen = session.get(target) if target and target != session.leaf_id else None
        return destination(chosen)[0] if chosen else target
    earlier = earlier_prompt(session, ask)
    return session.entry(earlier).parent_id if earlier else session.leaf_id


def _caption(runtime: Runtime, ask: Ask) -> Caption:
    """Return what is known before the run: which model, and for the first answer why it was chosen."""
    if ask.model is not None or runtime.session.context().model is not None:
        return Caption(model=ask.model or str(runtime.harness.model))
    return Caption(model=str(runtime.harness.model), why=why_model(runtime))


# ---------------------------------------------------------------- the run, on the owner thread


async def _run(runtime: Runtime, ask: Ask, output: CellOutput) -> AssistantMessage:
    harness = runtime.harness
    note = await _place_leaf(harness, ask)
    await _configure(runtime, harness, ask)
    output.caption = replace(output.caption, note=note, model=str(harness.model))
    before = harness.system_prompt, harness.max_turns
    harness.system_prompt = before[0] if ask.system is None else ask.system
    harness.max_turns = ask.max_turns or before[1]
    try:
        return await harness.prompt(ask.text, extra=ask.cell.to_wire())
    finally:
        harness.system_prompt, harness.max_turns = before


async def _stop(harness: AgentHarness, run: Future[AssistantMessage]) -> None:
    """Stop a run, also one that has not begun yet."""
    begun = not harness.is_idle
    await harness.abort()
    if not begun:
        run.cancel()


async def _place_leaf(harness: AgentHarness, ask: Ask) -> str:
    """Move the leaf to where the prompt belongs; return what to say about it."""
    session, left = harness.session, harness.session.leaf_id
    if ask.place is not None:
        await harness.navigate_tree(find_entry(session, ask.place))
        return ""
    earlier = earlier_prompt(session, ask)
    if earlier is None:
        return ""
    if left == earlier:  # nothing was answered; the harness takes the leaf it is at for a place to stay
        session.move_to(session.entry(earlier).parent_id)
    else:
        await harness.navigate_tree(earlier)
    return f"Run again: a new branch beside the earlier answer, which stays. %pi_checkout {short(left)} returns to it."


async def _configure(runtime: Runtime, harness: AgentHarness, ask: Ask) -> None:
    if ask.model is not None and ask.model != str(harness.model):
        await harness.set_model(ask.model)
    if ask.thinking is not None and ask.thinking != harness.thinking_level:
        await harness.set_thinking_level(ask.thinking)
    if ask.tools is not None and ask.tools != harness.active_tool_names:
        await harness.set_tools(tuple(runtime.tools.values()), ask.tools)


# ---------------------------------------------------------------- after the run


def _finish(runtime: Runtime, ask: Ask, run: Snapshot, output: CellOutput) -> Reply:
    """Label the answer, show the run as it ended, and return it as a value."""
    session = runtime.session
    if run.prompt_entry is not None:
        if ask.label and run.answer_entry:
            give_label(session, run.answer_entry, ask.label)
        place = sibling(session, run.prompt_entry)
        output.caption = replace(output.caption, sibling=place, why=_with_notices(runtime, output.caption.why))
    metadata = {"session": session.id, "entries": list(run.entries), "model": run.model, "usage": run.usage.to_wire()}
    output.close(metadata)
    runtime.reply = Reply(
        text=run.text,
        tool_calls=tuple(
            ToolCall(id=part.call_id, name=part.name, arguments=part.args)
            for part in run.parts
            if isinstance(part, Tool)
        ),
        usage=run.usage,
        entry_id=run.answer_entry,
        prompt_id=run.prompt_entry,
        model=run.model,
        stop_reason=run.stop_reason,
        session_id=session.id,
    )
    return runtime.reply


def _with_notices(runtime: Runtime, why: str) -> str:
    """Return what is said under an answer, together with what the harness has to say of the branch's settings."""
    notices, runtime.harness.notices[:] = list(runtime.harness.notices), []
    return " ".join([*dict.fromkeys(notices), *([why] if why else [])])

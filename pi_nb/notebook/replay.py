"""``--replay``: an answer that is stored already is shown again, and nobody is asked.

A stored answer counts if the prompt was the same, byte for byte, with what was attached; if it hangs from the same
place; and if model, thinking level, tools and system prompt were the same. Cells without an id (nbclient, papermill)
begin at the root of a session that was opened, so that a whole notebook runs again along its own tree.

Afterwards the leaf is where the run would have put it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pi_nb.harness.events import MessageEnd
from pi_nb.messages import AssistantMessage, UserMessage, to_wire
from pi_nb.notebook.caption import Caption
from pi_nb.notebook.cells import cell_of
from pi_nb.notebook.display import output_for
from pi_nb.notebook.place import has_stdin
from pi_nb.notebook.placing import parent_of
from pi_nb.notebook.references import give_label
from pi_nb.notebook.reply import Reply
from pi_nb.notebook.siblings import prompts_from, sibling
from pi_nb.notebook.transcript import Transcript
from pi_nb.session.entries import MessageEntry
from pi_nb.session.storage import Trail

if TYPE_CHECKING:
    from pi_nb.notebook.asks import Ask
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.context import Context
    from pi_nb.session.tree import Session

__all__ = ["Stored", "begins_at_root", "find_stored", "place_for_replay", "show_stored", "transcript_of"]

NEWEST = 50  # sessions of this folder that are looked through where none is bound to the notebook


@dataclass(frozen=True, slots=True)
class Stored:
    """A run that is in the session: the prompt and all that followed it, the last one an answer."""

    run: tuple[MessageEntry, ...]

    @property
    def answer(self) -> AssistantMessage:
        """The last answer."""
        message = self.run[-1].message
        assert isinstance(message, AssistantMessage)
        return message


def find_stored(runtime: Runtime, ask: Ask) -> Stored | None:
    """Return the stored run that answers a prompt, or None if somebody has to be asked."""
    found = _in_session(runtime, runtime.session, ask)
    if found is None and runtime.place.kind == "headless" and not len(runtime.session):
        found = _elsewhere(runtime, ask)
    return found


def _elsewhere(runtime: Runtime, ask: Ask) -> Stored | None:
    """Look for it in the sessions that earlier runs without a front end left in this folder; go on in that one."""
    for info in runtime.repo.list(runtime.place.cwd)[:NEWEST]:
        if info.metadata.get("notebook") or info.metadata.get("terminal"):
            continue
        session = runtime.repo.open(info.file)
        found = None if session.read_only else _answered(runtime, session, None, ask)
        if found is not None:
            runtime.use(session)
            return found
        session.close()
    return None


def _in_session(runtime: Runtime, session: Session, ask: Ask) -> Stored | None:
    return _answered(runtime, session, place_for_replay(runtime, ask), ask)


def place_for_replay(runtime: Runtime, ask: Ask) -> str | None:
    """Return where the prompt belongs: as without replay, but for cells without an id the root to begin with."""
    return None if begins_at_root(runtime, ask) else parent_of(runtime.session, ask)


def begins_at_root(runtime: Runtime, ask: Ask) -> bool:
    """Return whether this is the first prompt of a notebook without cell ids that runs along an opened session."""
    alone = not ask.cell.stable and not has_stdin(runtime.ip)
    return alone and ask.replay and ask.place is None and runtime.is_fresh


def _answered(runtime: Runtime, session: Session, parent: str | None, ask: Ask) -> Stored | None:
    """Return the answer to the same question from the same place; one on the active path before any other."""
    active = set(Trail.of(session.path()).ids)
    prompts = [entry for entry in reversed(prompts_from(session, parent)) if _is_same(runtime, entry, ask)]
    runs = [run for entry in prompts if (run := _run_of(session, entry)) is not None]
    now = session.context(parent)
    runs = [run for run in runs if _same_settings(ask, now, session.context(run.run[0].parent_id), run.answer)]
    return max(runs, key=lambda run: run.run[0].id in active, default=None)


def _is_same(runtime: Runtime, entry: MessageEntry, ask: Ask) -> bool:
    """Return whether a prompt said the same thing under the same terms."""
    assert isinstance(entry.message, UserMessage)
    same = _wire(entry.message.content) == _wire(ask.content)
    cell = cell_of(entry)
    same = same and cell.get("branch") == ask.branch
    return bool(same and cell.get("terms", {}) == ask.terms(runtime.system_prompt))


def _same_settings(ask: Ask, now: Context, then: Context, answer: AssistantMessage) -> bool:
    """Return whether the prompt would be asked now with what it was asked with then."""
    model, tools = ask.model or _model(now), now.active_tool_names if ask.tools is None else ask.tools
    return bool(
        (model == _model(then) or model == f"{answer.provider}:{answer.model}")
        and (ask.thinking or now.thinking_level) == then.thinking_level
        and (tools or ()) == (then.active_tool_names or ())
    )


def _model(context: Context) -> str | None:
    return None if context.model is None else f"{context.model.provider}:{context.model.model_id}"


def _wire(content: Any) -> Any:
    return to_wire(content) if not isinstance(content, str) else [{"type": "text", "text": content}]


def _run_of(session: Session, prompt: MessageEntry) -> Stored | None:
    """Return what followed a prompt, up to the next one; None if it did not come to a good end."""
    run = tuple(_following(session, prompt))
    last = run[-1].message
    whole = isinstance(last, AssistantMessage) and last.stop_reason in ("stop", "length")
    return Stored(run) if whole else None


def _following(session: Session, prompt: MessageEntry) -> Iterator[MessageEntry]:
    place: Any = prompt
    while place is not None:
        if isinstance(place, MessageEntry):
            yield place
        below = [entry for entry in map(session.get, session.children(place.id)) if entry is not None]
        place = next((entry for entry in below if not _is_prompt(entry)), None)


def _is_prompt(entry: Any) -> bool:
    return isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)


def transcript_of(stored: Stored) -> Transcript:
    """Return a stored run as it was shown."""
    transcript = Transcript()
    for entry in stored.run:
        transcript.feed(MessageEnd(entry.message, entry.id))
    transcript.settle(stored=True)
    return transcript


def show_stored(runtime: Runtime, ask: Ask, stored: Stored) -> Reply:
    """Show a stored run in the cell, put the leaf behind it, and return its reply."""
    session, runtime.begun = runtime.session, True
    _place_leaf(session, stored)
    transcript = transcript_of(stored)
    run = transcript.snapshot()
    if ask.label and run.answer_entry and not session.read_only:
        give_label(session, run.answer_entry, ask.label)
    note = "Replayed: this is the stored answer; nothing was sent."
    output = output_for(runtime.ip, transcript, Caption(note=note, sibling=sibling(session, run.prompt_entry)))
    output.close({"session": session.id, "entries": list(run.entries), "model": run.model, "replayed": True})
    runtime.reply = Reply.of(run, session.id, replayed=True)
    if ask.out:
        runtime.ip.user_ns[ask.out] = runtime.reply
    return runtime.reply


def _place_leaf(session: Session, stored: Stored) -> None:
    """Put the leaf behind a run, unless it is there: settings and labels that follow it change nothing."""
    last = stored.run[-1].id
    path = Trail.of(session.path()).ids
    behind = path[path.index(last) + 1 :] if last in path else None
    if behind is not None and not any(isinstance(session.get(entry_id), MessageEntry) for entry_id in behind):
        return
    if not session.read_only:
        session.move_to(last)

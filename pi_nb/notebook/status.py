"""Where am I: the session, the leaf, the model and why, tools, tokens and cost."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pi_nb.harness.estimate import estimate_context
from pi_nb.notebook.caption import clean, money
from pi_nb.notebook.doing import doing
from pi_nb.notebook.references import seen, short
from pi_nb.notebook.sent import sent_of
from pi_nb.session.entries import MessageEntry, ModelChangeEntry
from pi_nb.views.entry_line import entry_line
from pi_nb.views.outline import outline
from pi_nb.views.plain import short_session, visible

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.context import Context
    from pi_nb.session.tree import Session

__all__ = ["brief", "facts", "last_message", "leaf_line", "status_html", "status_text", "why_model"]

PREVIEW = 70  # characters of an entry


def facts(runtime: Runtime) -> list[tuple[str, str]]:
    """Return the status as names and values."""
    session, harness = runtime.session, runtime.harness
    context = session.context()
    sent = sent_of(context, harness.model)
    model = str(harness.model) if harness.model else "none"
    tools = ", ".join(harness.active_tool_names) or "none"
    found = [
        ("session", session_line(session)),
        ("file", _file(session)),
        ("leaf", leaf_line(session)),
        ("model", model if context.model else f"{model}. {why_model(runtime)}"),
        ("run", _run(runtime)),
        ("question", _question(runtime)),
        ("thinking", harness.thinking_level),
        ("tools", tools),
        ("context", _size(context, sent.context, session)),
        ("cost", _cost(session)),
    ]
    notes = [("note", visible(text)) for text in (*session.warnings, *harness.notices)]
    return [(name, clean(value)) for name, value in (*found, *notes) if value]


def why_model(runtime: Runtime) -> str:
    """Return why the model of branches that name none is what it is, and how to change it."""
    chosen = _named_elsewhere(runtime.session)
    if chosen:
        return (
            f"The default: this place of the tree names no model; %pi_model {chosen} chooses the one named elsewhere."
        )
    reason = "PiMagics.model is configured" if runtime.settings.model else runtime.registry.default().reason
    return f"Chosen because {reason}; %pi_model provider:model chooses another."


def _named_elsewhere(session: Session) -> str:
    """Return the model that was chosen last, on whichever branch; nothing if none ever was."""
    types = session.storage.index.types
    at = next((place for place in reversed(range(len(types))) if types[place] == "model_change"), None)
    entry = None if at is None else session.storage.at(at)
    return f"{entry.provider}:{entry.model_id}" if isinstance(entry, ModelChangeEntry) else ""


def session_line(session: Session) -> str:
    """Return a session in one line; branches are those that the tree shows."""
    branches = outline(session, max_rows=1).branches
    return f"{session_name(session)}, {len(session)} entries, {branches} branch{'' if branches == 1 else 'es'}"


def session_name(session: Session) -> str:
    """Return the end of a session's id, and its name if it has one."""
    return f"{short_session(session.id)}{f' {session.name!r}' if session.name else ''}"


def leaf_line(session: Session) -> str:
    """Return where the leaf is, and what stands there."""
    leaf = session.leaf_id
    if leaf is None:
        return "root, before the first prompt"
    said = last_message(session) or leaf
    label = session.labels.get(said)
    place = seen(session, leaf)
    behind = "" if said in (place, leaf) else f", after {short(said)}"
    return f"{short(place)}{behind} {f'[{visible(label)}] ' if label else ''}{brief(session, said)}"


def last_message(session: Session) -> str | None:
    """Return the last message of the active path; settings and labels may follow it."""
    return next((entry.id for entry in reversed(session.path()) if isinstance(entry, MessageEntry)), None)


def brief(session: Session, entry_id: str | None) -> str:
    """Return an entry in a few words."""
    entry = session.get(entry_id) if entry_id else None
    if entry is None:
        return ""
    line = " ".join(str(entry_line(entry)).replace("\\n", " ").split())
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1] + "…"


def _size(context: Context, sent: Context, session: Session) -> str:
    """Return how much a model is sent: what the provider counted last, and a guess for what followed."""
    size = estimate_context(sent, session.path())
    count = len(context.items)
    some = f", {len(sent.items)} of them sent" if len(sent.items) < count else ""
    known = " as the provider counted" if size.usage_tokens and not size.trailing_tokens else ""
    known = f", {size.usage_tokens:,} of them counted by the provider" if size.usage_tokens and not known else known
    return f"{count} messages{some}, about {size.tokens:,} tokens{known}"


def _run(runtime: Runtime) -> str:
    """Return what goes on; nothing where nothing does."""
    what = doing(runtime.harness) or "going on"
    return f"{what}; %pi_steer TEXT speaks to it, %pi_abort stops it" if runtime.busy else ""


def _question(runtime: Runtime) -> str:
    question = runtime.approvals.question
    return f"{question.shown.asked} %pi_approve shows all of it, %pi_approve yes answers." if question else ""


def _file(session: Session) -> str:
    if session.file is None:
        return "in memory only"
    return str(session.file) if session.file.exists() else "not written before the first prompt"


def _cost(session: Session) -> str:
    from pi_nb.harness.totals import session_totals

    spent = session_totals(session)
    return f"{money(spent.cost) or '$0'} and {spent.tokens:,} tokens on all branches" if spent.calls else ""


def status_text(rows: list[tuple[str, str]]) -> str:
    """Return names and values as lines."""
    wide = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:{wide}}  {value}" for name, value in rows)


def status_html(rows: list[tuple[str, str]]) -> str:
    """Return names and values as a table."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"

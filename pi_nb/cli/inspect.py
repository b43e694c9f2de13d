"""``pi-nb inspect``: what a session file holds, for people and, as JSON, for scripts.

The JSON is a contract: all keys are always there. The file is only read, with ``--repair`` too. Whatever can be
read is told even when the path to the leaf is broken; its context is then that of the part below the break.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pi_nb.cli.output import say
from pi_nb.cli.sessions import add_file, open_untouched, session_file
from pi_nb.errors import PiError, SessionError, UserError
from pi_nb.messages import BashExecutionMessage, BranchSummaryMessage, CompactionSummaryMessage
from pi_nb.session.context import Context, project, reduce_state
from pi_nb.session.entries import Entry, UnknownEntry
from pi_nb.session.refs import resolve_ref
from pi_nb.session.tree import Session
from pi_nb.views.entry_line import content_text
from pi_nb.views.layout import Forest
from pi_nb.views.outline import nodes
from pi_nb.views.plain import short_session, visible
from pi_nb.views.text import render_context

__all__ = ["Report", "add", "report_on"]


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("inspect", help="say what a session file holds; the file is not touched")
    add_file(command)
    command.add_argument(
        "--leaf", metavar="ID", help="entry to show the context of: id, beginning of one, label, @~1, …"
    )
    command.add_argument("--repair", action="store_true", help="leave bad lines out instead of giving up")
    command.add_argument("--json", action="store_true", help="write JSON")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the report to standard output."""
    file = Path(args.file)
    try:
        file = session_file(args.file, args.root)
        report, context = report_on(file, leaf=args.leaf, repair=args.repair)
    except PiError as error:  # no session goes by that name
        report, context = Report(error=_error(error)), None
    if args.json:
        say(json.dumps(asdict(report), indent=2))
    else:
        _tell(file, report, context)
    return 0 if report.ok else 1


@dataclass(frozen=True)
class Report:
    """What ``--json`` writes.

    Attributes:
        ok: True if the file opens and the path to the leaf is whole.
        error: None, or ``code``, ``message`` and ``line`` (in the file; or None) of what is wrong.
        version: Version of the format, as read.
        id: Id of the session.
        name: Its name, or None.
        entries: How many entries it has.
        leaf: The entry the context ends at; None before the first.
        state: ``model`` (None, or ``provider`` and ``modelId``), ``thinkingLevel`` and ``activeToolNames`` there.
        context: ``role``, ``text`` and ``entry`` of each message a model would see there.
        labels: Labels by entry id.
        warnings: What is odd about the file, one sentence each.
        roots: How many entries hang from no other.
        branches: How many entries have nothing below them.
    """

    ok: bool = False
    error: dict[str, Any] | None = None
    version: int | float | None = None
    id: str | None = None
    name: str | None = None
    entries: int = 0
    leaf: str | None = None
    state: dict[str, Any] = field(
        default_factory=lambda: {"model": None, "thinkingLevel": "off", "activeToolNames": None}
    )
    context: list[dict[str, Any]] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    roots: int = 0
    branches: int = 0


def report_on(file: Path, *, leaf: str | None = None, repair: bool = False) -> tuple[Report, Context | None]:
    """Return what a session file holds, and the context at the leaf if there is one.

    Args:
        file: The file; it is only read.
        leaf: Entry to show the context of, as people refer to entries; None for the current leaf.
        repair: True to leave bad lines out.
    """
    try:
        with open_untouched(file, repair=repair) as session:
            return _report(session, leaf)
    except PiError as error:
        return Report(error=_error(error)), None


def _report(session: Session, ref: str | None) -> tuple[Report, Context | None]:
    forest = Forest.of(nodes(session))
    known = Report(
        version=session.header.version,
        id=session.id,
        name=session.name,
        entries=len(session),
        labels=dict(session.labels),
        warnings=list(session.warnings),
        roots=forest.roots,
        branches=forest.branches,
    )
    try:
        leaf = session.leaf_id if ref is None else resolve_ref(session, ref)
    except UserError as error:
        return replace(known, error=_error(error, code="not_found")), None
    context, fault = _context(session, leaf)
    found = replace(known, leaf=leaf, state=_state(context), context=list(_messages(context)))
    if fault is None:
        return replace(found, ok=True), context
    code = "invalid_session" if fault.code == "not_found" else fault.code
    note = "The path to the leaf is broken; state and context are those of what can be read of it."
    return replace(found, error=_error(fault, code=code), warnings=[*known.warnings, note]), context


def _error(error: PiError, *, code: str | None = None) -> dict[str, Any]:
    return {"code": code or error.code, "message": str(error), "line": getattr(error, "line", None)}


# ---------------------------------------------------------------- context, also of a broken path


def _context(session: Session, leaf: str | None) -> tuple[Context, SessionError | None]:
    """Return the context at an entry and, if the path to it is broken, why; then it is that of what can be read."""
    try:
        context = session.context(leaf)
        tuple(context.items)
        return context, None
    except SessionError as error:
        path = [entry for entry in _unbroken(session, leaf) if not isinstance(entry, UnknownEntry)]
        state = reduce_state(path)
        items = tuple(project(path))
        return Context(leaf, items, state.model, state.thinking_level, state.active_tool_names), error


def _unbroken(session: Session, leaf: str | None) -> Sequence[Entry]:
    """Return the path to an entry as far up as it can be walked: to a missing parent, or once around a cycle."""
    path: list[Entry] = []
    seen: set[str] = set()
    entry = None if leaf is None else session.get(leaf)
    while entry is not None and entry.id not in seen:
        path.append(entry)
        seen.add(entry.id)
        entry = None if entry.parent_id is None else session.get(entry.parent_id)
    return path[::-1]


def _state(context: Context) -> dict[str, Any]:
    model, tools = context.model, context.active_tool_names
    return {
        "model": None if model is None else {"provider": model.provider, "modelId": model.model_id},
        "thinkingLevel": context.thinking_level,
        "activeToolNames": None if tools is None else list(tools),
    }


def _messages(context: Context) -> Iterator[dict[str, Any]]:
    for item in context.items:
        yield {"role": item.message.role, "text": _text(item.message), "entry": item.entry_id}


def _text(message: Any) -> str:
    """Return what a message says; thinking, calls and pictures say nothing."""
    if isinstance(message, BranchSummaryMessage | CompactionSummaryMessage):
        return message.summary
    if isinstance(message, BashExecutionMessage):
        return f"$ {message.command}\n{message.output}"
    return content_text(getattr(message, "content", None))


# ---------------------------------------------------------------- for people


def _tell(file: Path, report: Report, context: Context | None) -> None:
    lines = [_summary(file, report)] if report.id is not None else []
    lines.extend(f"warning: {visible(warning)}" for warning in report.warnings)
    if context is not None:
        lines.extend(("", render_context(context)))
    if lines:
        say("\n".join(lines))
    if report.error is not None:
        sys.stderr.write(f"pi-nb: {visible(report.error['message'])}\n")


def _summary(file: Path, report: Report) -> str:
    name = f" “{visible(report.name)}”" if report.name else ""
    return (
        f"{visible(str(file))}: session {short_session(report.id or '')}{name}, version {report.version}, "
        f"entries {report.entries}, roots {report.roots}, branches {report.branches}, labels {len(report.labels)}"
    )

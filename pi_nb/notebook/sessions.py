"""``%pi_session``: where the session is kept, and the others beside it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pi_nb.errors import UserError
from pi_nb.notebook.arguments import near
from pi_nb.notebook.caption import clean
from pi_nb.notebook.checks import ask_to_write
from pi_nb.notebook.commands import SESSION_ACTIONS
from pi_nb.notebook.place import has_stdin
from pi_nb.notebook.references import short
from pi_nb.notebook.session_list import free_name, sessions_text
from pi_nb.notebook.status import facts, leaf_line, session_line, session_name, status_text
from pi_nb.notebook.whole_file import file_named
from pi_nb.views.plain import short_session, visible

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.tree import Session

__all__ = ["act"]

MOST_FOUND = 30  # hits of a search that are shown


def act(runtime: Runtime, action: str | None, words: list[str], *, yes: bool = False) -> str:
    """Do what ``%pi_session`` was asked for; return what to say about it.

    Raises:
        UserError: There is no such action, it lacks something, or a run is going on.
        SessionError: There is no such session, or it cannot be opened or deleted.
    """
    if action is None:
        return status_text([row for row in facts(runtime) if row[0] in ("session", "file", "leaf", "note")])
    if action not in SESSION_ACTIONS:
        known = near(action, SESSION_ACTIONS) or f"Known: {', '.join(SESSION_ACTIONS)}."
        raise UserError(f"%pi_session cannot {action!r}.", hint=known)
    if action not in ("list", "search", "export"):
        runtime.check_idle()
    text = " ".join(words)
    if action == "delete":
        return _delete(runtime, _needed(text, "Which session?"), yes)
    return _ACTIONS[action](runtime, text)


def _needed(text: str, question: str) -> str:
    if not text:
        raise UserError(question, hint="%pi_session list shows what there is.")
    return text


def _new(runtime: Runtime, name: str) -> str:
    session = runtime.new_session()
    runtime.use(session)
    if name:
        session.append_session_info(name)
    return f"New session {session.id[-8:]}; it is written with the first prompt."


def _open(runtime: Runtime, ref: str) -> str:
    session = runtime.repo.open(_needed(ref, "Open which session?"))
    runtime.use(session)
    ask_to_write(runtime)  # if it was the one here, it could be written only since that was closed
    session = runtime.session
    if session.file and session.metadata.get(runtime.place.kind) == runtime.place.name:
        os.utime(session.file)  # the one a kernel restart comes back to
        return f"Session {session_line(session)}. Leaf: {leaf_line(session)}."
    lines = [
        f"Session {session_line(session)}. Leaf: {leaf_line(session)}.",
        _whose(runtime, session),
        *map(visible, session.warnings),
    ]
    return "\n".join(lines)


def _whose(runtime: Runtime, session: Session) -> str:
    """Return what to know about a session of somebody else's."""
    bound = session.metadata.get("notebook")
    known = isinstance(bound, str) and bound.endswith(".ipynb")
    owner = f"belongs to {visible(Path(str(bound)).name)}" if known else "belongs elsewhere"
    if session.read_only:
        return f"It {owner}. %pi_session fork goes on in a copy of it, which is this notebook's own."
    return (
        f"It {owner}: prompts from here are added to it, and cells there are not taken for cells here. "
        "After a kernel restart this notebook is back in its own session. %pi_session fork makes a copy that stays."
    )


def _list(runtime: Runtime, _text: str) -> str:
    return sessions_text(runtime)


def _name(runtime: Runtime, name: str) -> str:
    runtime.session.append_session_info(name or None)
    return f"This session is called {runtime.session.name!r}." if name else "This session has no name any more."


def _fork(runtime: Runtime, ref: str) -> str:
    source = runtime.session
    at = runtime.find(ref or "@")
    if at is None:
        raise UserError("There is nothing to copy before the first entry.", hint="%pi_session new begins an empty one.")
    fork = runtime.repo.fork(source, at=at, cwd=runtime.place.cwd, metadata=runtime.place.metadata)
    origin = session_name(source)
    _use_copy(runtime, fork, "fork")
    return _now_in(fork, f"a copy of {origin}", source)


def _now_in(copy: Session, what: str, source: Session) -> str:
    """Return what to say when the notebook has gone over into a copy: that it has, and how it comes back."""
    return (
        f"You are now in {session_line(copy)}: {what}, which stays as it is. "
        f"Back: %pi_session open {short_session(source.id)}"
    )


def _use_copy(runtime: Runtime, copy: Session, kind: str) -> None:
    """Go on in a copy; if the other one has a name, under a name of its own."""
    name = free_name(runtime, copy.name, kind) if copy.name else ""
    runtime.use(copy)
    if name:
        copy.append_session_info(name)


def _clone(runtime: Runtime, _text: str) -> str:
    source = runtime.session
    if not len(source):
        raise UserError("There is nothing to copy yet.", hint="%pi_session new begins an empty session.")
    leaf, origin = source.leaf_id, session_name(source)
    clone = runtime.repo.fork(source, cwd=runtime.place.cwd, metadata=runtime.place.metadata)
    _use_copy(runtime, clone, "clone")
    if clone.leaf_id != leaf:
        clone.move_to(leaf)
    return _now_in(clone, f"a copy of all of {origin}", source)


def _export(runtime: Runtime, target: str) -> str:
    from pi_nb.notebook.exporting import export

    if not target:
        raise UserError("Export to which file?", hint="FILE.html, FILE.md (the active branch) or FILE.jsonl.")
    return f"Written: {export(runtime.session, target)}."


def _import(runtime: Runtime, source: str) -> str:
    if not source:
        raise UserError("Import which file?", hint="A session file, FILE.jsonl.")
    file = file_named(source)
    if not file.is_file():
        raise UserError(f"There is no file {source}.", hint="A session file, FILE.jsonl.")
    session = runtime.repo.fork(file, cwd=runtime.place.cwd, metadata=runtime.place.metadata)
    runtime.use(session)
    copy = f"a copy of {file.name}, which stays as it is"
    return f"You are now in {session_line(session)}: {copy}. Leaf: {leaf_line(session)}."


def _search(runtime: Runtime, text: str) -> str:
    if not text:
        raise UserError("Search for what?", hint="%pi_session search TEXT looks through all that was said.")
    found = runtime.repo.search(text, cwd=runtime.place.cwd, limit=MOST_FOUND + 1)
    if not found:
        return f"Nobody said {text!r} in the sessions of this folder."
    here = runtime.session.id if runtime.has_session else None
    lines = []
    for hit in found[:MOST_FOUND]:
        mark = "▸" if hit.session.id == here else " "
        name = visible(hit.session.name) if hit.session.name else short_session(hit.session.id)
        lines.append(clean(f"{mark} {name}  {short(hit.entry_id)}  {visible(_around(hit.text, text))}"))
    return "\n".join(lines + (["… and more"] if len(found) > MOST_FOUND else []))


def _around(text: str, needle: str) -> str:
    """Return the words around what was found."""
    line = " ".join(text.split())
    at = max(0, line.casefold().find(" ".join(needle.split()).casefold()) - 30)
    return ("…" if at else "") + line[at : at + 90] + ("…" if len(line) > at + 90 else "")


def _handoff(runtime: Runtime, _text: str) -> str:
    session = runtime.session
    if session.file is None or not session.file.exists():
        raise UserError("This session is not written before the first prompt.", hint="%%pi begins it.")
    if not session.read_only:
        session.handoff()
    return (
        f"pi --session {shlex.quote(str(session.file))}\n"
        f"goes on at this leaf: {leaf_line(session)}.\n"
        "One writes at a time: run %unload_ext pi_nb or end this kernel first, and %load_ext pi_nb to come back."
    )


def _delete(runtime: Runtime, ref: str, yes: bool) -> str:
    file = runtime.repo.resolve(ref)
    if runtime.has_session and file == runtime.session.file:
        raise UserError("This is the session you are in.", hint="%pi_session new, then delete the other.")
    if not yes and not has_stdin(runtime.ip):
        raise UserError("Nobody can be asked here.", hint=f"%pi_session delete {ref} --yes deletes it.")
    if not yes and input(f"Delete {file}? [y/N] ").strip().lower() not in ("y", "yes"):
        return "Nothing was deleted."
    runtime.repo.delete(file)
    return f"Deleted {file.name}."


_ACTIONS: dict[str, Callable[[Runtime, str], str]] = {
    "new": _new,
    "open": _open,
    "list": _list,
    "name": _name,
    "fork": _fork,
    "clone": _clone,
    "export": _export,
    "import": _import,
    "search": _search,
    "handoff": _handoff,
}

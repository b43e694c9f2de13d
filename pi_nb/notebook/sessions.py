"""``%pi_session``: where the session is kept, and the others beside it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pi_nb.errors import UserError
from pi_nb.notebook.arguments import near
from pi_nb.notebook.commands import SESSION_ACTIONS
from pi_nb.notebook.place import has_stdin
from pi_nb.notebook.references import find_entry
from pi_nb.notebook.status import facts, leaf_line, session_line, status_text

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime

__all__ = ["act"]


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
    if action != "list":
        runtime.check_idle()
    text = " ".join(words)
    if action == "delete":
        return _delete(runtime, _needed(text, "Which session?"), yes)
    return {"new": _new, "open": _open, "list": _list, "name": _name, "fork": _fork}[action](runtime, text)


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
    if session.file and session.metadata.get(runtime.place.kind) == runtime.place.name:
        os.utime(session.file)  # the one a kernel restart comes back to
        return f"Session {session_line(session)}. Leaf: {leaf_line(session)}."
    return (
        f"Session {session_line(session)}. Leaf: {leaf_line(session)}.\n"
        "It belongs elsewhere: after a kernel restart this notebook is back in its own. %pi_session fork makes a copy."
    )


def _list(runtime: Runtime, _text: str) -> str:
    infos = runtime.repo.list(runtime.place.cwd)
    if not infos:
        return f"There are no sessions in {runtime.repo.folder(runtime.place.cwd)}."
    here = runtime.session.id if runtime.has_session else None
    lines = []
    for info in infos:
        when = info.modified.astimezone().strftime("%Y-%m-%d %H:%M") if info.modified else "?"
        bound = next((str(info.metadata[key]) for key in ("notebook", "terminal") if key in info.metadata), "")
        lines.append(f"{'▸' if info.id == here else ' '} {info.id[-8:]}  {when}  {info.name or ''}  {bound}".rstrip())
    return "\n".join(lines)


def _name(runtime: Runtime, name: str) -> str:
    runtime.session.append_session_info(name or None)
    return f"This session is called {runtime.session.name!r}." if name else "This session has no name any more."


def _fork(runtime: Runtime, ref: str) -> str:
    source = runtime.session
    at = find_entry(source, ref or "@")
    if at is None:
        raise UserError("There is nothing to copy before the first entry.", hint="%pi_session new begins an empty one.")
    fork = runtime.repo.fork(source, at=at, cwd=runtime.place.cwd, metadata=runtime.place.metadata)
    origin = source.id[-8:]
    runtime.use(fork)
    return f"Session {session_line(fork)}: a copy of {origin}, which stays as it is."


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

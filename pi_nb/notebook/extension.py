"""What ``%load_ext pi_nb`` and ``%unload_ext pi_nb`` do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from pi_nb.errors import PiError, UserError
from pi_nb.notebook import completion, settings, typed
from pi_nb.notebook.commands import COMMANDS
from pi_nb.notebook.magics import CellMagics, say
from pi_nb.notebook.place import has_stdin
from pi_nb.notebook.run_magics import RunMagics
from pi_nb.notebook.runtime import Runtime
from pi_nb.notebook.sources import sources
from pi_nb.views.plain import visible

__all__ = ["load", "runtime_of", "unload"]

MAGICS = (CellMagics, RunMagics)

_loaded: WeakKeyDictionary[Any, Runtime] = WeakKeyDictionary()


def load(ip: Any) -> Runtime:
    """Add magics, completion and settings to a shell, and go back to the session of this notebook if there is one.

    Loading twice is the same as loading once.
    """
    if ip in _loaded:
        return _loaded[ip]
    runtime = Runtime(ip, settings.install(ip))
    _loaded[ip] = runtime
    typed.install(ip)
    for kind in MAGICS:
        ip.register_magics(kind(ip, runtime))
    completion.install(ip, sources(runtime))
    greeting = greet(runtime)
    if greeting:
        say(greeting)
    return runtime


def unload(ip: Any) -> None:
    """Take everything away again: magics, completion, settings, thread, session, widgets. Unloading twice is fine."""
    runtime = _loaded.pop(ip, None)
    completion.remove(ip)
    typed.remove(ip)
    settings.remove(ip)
    manager = ip.magics_manager
    for command in COMMANDS.values():
        manager.magics["cell" if command.name.startswith("%%") else "line"].pop(command.bare_name, None)
    names = [kind.__name__ for kind in MAGICS]
    for name in names:
        manager.registry.pop(name, None)
    ip.configurables[:] = [c for c in ip.configurables if type(c).__name__ not in names]
    if runtime is not None:
        runtime.close()


def runtime_of(ip: Any) -> Runtime:
    """Return what was loaded into a shell.

    Raises:
        UserError: The extension is not loaded there.
    """
    runtime = _loaded.get(ip)
    if runtime is None:
        raise UserError("pi_nb is not loaded here.", hint="%load_ext pi_nb loads it.")
    return runtime


def greet(runtime: Runtime) -> str:
    """Return to the session of this notebook, if there is one, and say so; nothing otherwise.

    What is said comes from the file. The session is opened right afterwards, beside whatever comes next.
    """
    file = runtime.bound_file()
    if file is None:
        return ""
    from pi_nb.notebook.glance import glance

    seen = glance(file)
    if seen is None:
        return _open_and_greet(runtime)
    writer = seen.who_writes()
    if writer and not has_stdin(runtime.ip):
        return ""  # a program inside a notebook inherits the notebook's name, not its session
    runtime.open_soon()
    lines = [
        *_back(runtime, seen.id, seen.session_line, seen.leaf_line),
        *_changes(runtime, seen.metadata, seen.last_cell),
    ]
    if writer:
        lines += [f"The session is read-only: it is being written by {writer}.", *_WAYS_ON]
    return "\n".join(lines)


def _open_and_greet(runtime: Runtime) -> str:
    """Do the same with a session that has to be opened to be understood."""
    try:
        session = runtime.find_session()
    except PiError as error:
        return f"{visible(str(error))}\n{error.hint}"
    if session is None:
        return ""
    from pi_nb.notebook.cells import last_cell
    from pi_nb.notebook.checks import leaf_fault
    from pi_nb.notebook.status import leaf_line, session_line

    fault = leaf_fault(session)
    if fault is not None:
        lines = [visible(str(fault)), fault.hint]
    else:
        lines = _back(runtime, session.id, session_line(session), leaf_line(session))
        lines += [*_changes(runtime, session.metadata, last_cell(session)), *map(visible, session.warnings)]
    runtime.use(session)
    return "\n".join(lines + (_WAYS_ON if session.read_only else []))


_WAYS_ON = ["%pi_session fork goes on in a copy; %pi_session new begins another."]


def _back(runtime: Runtime, session_id: str, session_line: str, leaf_line: str) -> list[str]:
    lines = [f"Back in session {session_line}.", f"Leaf: {leaf_line}"]
    if session_id not in runtime.visited:
        lines.append("The kernel is new: variables made before are gone, the conversation is not.")
    return lines


def _changes(runtime: Runtime, metadata: Mapping[str, Any], last_cell: Mapping[str, Any]) -> Iterator[str]:
    """Yield what has happened to the notebook or the session since."""
    before, other = metadata.get(runtime.place.kind), last_cell.get("notebook")
    if before != runtime.place.name:
        yield f"It was begun in {visible(str(before))}, before this notebook was renamed."
    if isinstance(other, str) and other != runtime.place.name:
        yield f"{visible(Path(other).name)} went on in it since; its cells are not taken for cells here."

"""What tab completion offers, taken from what there is: models, places in the session, tools, sessions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from pi_nb.notebook.cells import cell_of, is_in
from pi_nb.notebook.completion import Candidate, Sources

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime

__all__ = ["sources"]

RECENT = 100  # entries that are offered by id


def sources(runtime: Runtime) -> Sources:
    """Return what completes each kind of argument."""
    return {
        "model": lambda: models(runtime),
        "ref": lambda: references(runtime),
        "label": lambda: labels(runtime),
        "tools": lambda: tools(runtime),
        "active": lambda: (Candidate(name) for name in runtime.harness.active_tool_names),
        "session": lambda: sessions(runtime),
    }


def models(runtime: Runtime) -> Iterator[Candidate]:
    """Yield the models that are known by name, then every provider for those that are not."""
    from pi_nb.notebook.model_list import facts

    yield Candidate("scripted:demo", "answers from a script; no key, no network")
    yield from (Candidate(str(model), facts(model)) for model in runtime.registry.known_models())
    yield from (Candidate(f"{name}:", "provider") for name in runtime.registry.names())


def labels(runtime: Runtime) -> Iterator[Candidate]:
    """Yield the labels of the session."""
    from pi_nb.notebook.status import brief

    if runtime.has_session:
        session = runtime.session
        yield from (Candidate(label, brief(session, target)) for target, label in session.labels.items())


def references(runtime: Runtime) -> Iterator[Candidate]:
    """Yield labels, relative places, what cells wrote, and the newest messages by id, with their beginnings."""
    from pi_nb.notebook.status import brief

    yield from labels(runtime)
    yield from (Candidate("@", "the leaf"), Candidate("@~1", "one turn up"), Candidate("-", "the previous leaf"))
    yield Candidate("root", "before the first prompt")
    if not runtime.has_session:
        return
    session = runtime.session
    messages = [entry for entry in islice(reversed(session.entries()), RECENT) if entry.type == "message"]
    cells = [(cell_of(entry), entry.id) for entry in reversed(messages)]
    numbers = {_place(cell): entry_id for cell, entry_id in cells if "n" in cell and is_in(cell, runtime.guest)}
    yield from (Candidate(number, brief(session, entry_id)) for number, entry_id in numbers.items())
    yield from (Candidate(entry.id, brief(session, entry.id)) for entry in messages)


def _place(cell: dict[str, Any]) -> str:
    """Return how what a cell wrote is referred to: ``cell:7``, or ``cell:7.2`` of several answers."""
    return f"cell:{cell['n']}.{cell['branch']}" if "branch" in cell else f"cell:{cell['n']}"


def tools(runtime: Runtime) -> Iterator[Candidate]:
    """Yield the tools there are, and the functions of the user's that could be added."""
    from pi_nb.harness.tools import Tool

    yield from (Candidate(tool.name, tool.description) for tool in runtime.tools.values())
    space = [(name, value) for name, value in list(runtime.ip.user_ns.items()) if not name.startswith("_")]
    yield from (
        Candidate(name, "yours") for name, value in space if isinstance(value, Tool) and name not in runtime.tools
    )


def sessions(runtime: Runtime) -> Iterator[Candidate]:
    """Yield the sessions of this folder."""
    for info in runtime.repo.list(runtime.place.cwd):
        yield Candidate(info.name or info.id[-8:], str(info.file.name))

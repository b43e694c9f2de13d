"""Which cell is running, and which prompts it has written before.

The front end sends the id of the notebook cell with each execution; it stays the same when the cell is run again.
It is stored beside the prompt's message, so the map survives the kernel. Where there is none (nbclient, papermill) a
name is made of the cell's place in the run and its source: the same in each run of the same notebook.

A notebook that is copied has the same ids. So what a cell writes into the session of another notebook names its own
notebook as well, and neither takes the other's prompts for its own.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pi_nb.session.entries import Entry
    from pi_nb.session.tree import Session

__all__ = [
    "Cell",
    "CellClock",
    "cell_of",
    "is_in",
    "last_cell",
    "notebook_within",
    "written_anywhere",
    "written_by",
    "written_in",
]

FIELD = "cell"  # the extra field of a message entry
MARK = f'"{FIELD}"'.encode()  # how its line is told from others


@dataclass(frozen=True, slots=True)
class Cell:
    """A prompt's place in the notebook.

    Attributes:
        id: Name of the cell, and of the prompt in it when a cell sends several (``d4cd280e#2``); empty for a prompt
            that comes from no cell.
        number: The execution count, the ``7`` of ``[7]``; None in shells that do not count.
        stable: True if running the same cell again gives the same id.
        notebook: The notebook it is in, where the session belongs to another one; else None.
    """

    id: str
    number: int | None = None
    stable: bool = True
    notebook: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return what is stored beside the prompt's message; nothing where there is no cell."""
        if not self.id:
            return {}
        more = {"n": self.number, "notebook": self.notebook}
        return {FIELD: {"id": self.id} | {name: value for name, value in more.items() if value is not None}}


class CellClock:
    """Names the cells of one shell as they run."""

    def __init__(self) -> None:
        self._execution: object = None
        self._prompts = 0  # in this execution
        self._executions = 0  # with a prompt, since the extension was loaded

    def now(self, ip: Any, source: str, notebook: str | None = None) -> Cell:
        """Return the cell that is running.

        Args:
            ip: The shell.
            source: The prompt, which names cells that have no id.
            notebook: The notebook, where the session belongs to another one.
        """
        message = _request(ip)
        execution = (message.get("header", {}).get("msg_id"), ip.execution_count)
        if execution != self._execution:
            self._execution, self._prompts = execution, 0
            self._executions += 1
        self._prompts += 1
        front_end_id = message.get("metadata", {}).get("cellId")
        digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        name = str(front_end_id or f"{self._executions}-{digest}")
        name = name if self._prompts == 1 else f"{name}#{self._prompts}"
        return Cell(name, _number(ip), front_end_id is not None, notebook)


def _number(ip: Any) -> int:
    """Return the ``7`` of ``[7]``. The shell's own counter is one ahead while a cell runs, in some IPythons."""
    return len(ip.history_manager.input_hist_parsed) - 1


def _request(ip: Any) -> dict[str, Any]:
    """Return the front end's request that is being executed; empty outside a kernel."""
    message = ip.get_parent() if hasattr(ip, "get_parent") else None
    return message if isinstance(message, dict) else {}


def cell_of(entry: Any) -> dict[str, Any]:
    """Return what an entry says of the cell that wrote it; empty if nothing."""
    cell = (getattr(entry, "model_extra", None) or {}).get(FIELD)
    return cell if isinstance(cell, dict) else {}


def notebook_within(session: Session, notebook: str) -> str | None:
    """Return a notebook's name where a session belongs to another; None if it is its own, also under an older name."""
    bound = session.metadata.get("notebook")
    return None if bound == notebook or (isinstance(bound, str) and _is_gone(bound)) else notebook


def _is_gone(notebook: str) -> bool:
    return notebook.endswith(".ipynb") and not Path(notebook).exists()


def is_in(cell: Mapping[str, Any], notebook: str | None) -> bool:
    """Return whether what was written beside a prompt is of a cell in this notebook."""
    written = cell.get("notebook")
    renamed = notebook is not None and isinstance(written, str) and _is_gone(written)
    return bool(written == notebook or renamed)


def written_by(session: Session, cell: Cell) -> Iterator[Entry]:
    """Yield the prompts on the session's active path that a cell wrote, newest first."""
    from pi_nb.session.storage import Trail

    found = list(_written(session, cell))
    on_path = set(Trail.of(session.path()).ids) if found else set()
    return (entry for entry in found if entry.id in on_path)


def written_anywhere(session: Session, cell: Cell) -> Entry | None:
    """Return the newest prompt that a cell wrote, on whichever branch, or None."""
    return next(_written(session, cell), None)


def _written(session: Session, cell: Cell) -> Iterator[Entry]:
    return (
        session.storage.at(place)
        for place, found in reversed(_Prompts.of(session).by_id.get(cell.id, []))
        if is_in(found, cell.notebook)
    )


def last_cell(session: Session) -> dict[str, Any]:
    """Return which cell wrote the last prompt of the active path; empty if none did."""
    return next((cell for entry in reversed(session.path()) if (cell := cell_of(entry))), {})


def written_in(
    session: Session, number: int, branch: int | None = None, *, notebook: str | None = None
) -> Entry | None:
    """Return the newest prompt that cell ``[number]`` of a notebook wrote, as one of several branches or anywhere."""
    for place, cell in reversed(_Prompts.of(session).all):
        if cell.get("n") == number and branch in (None, cell.get("branch")) and is_in(cell, notebook):
            return session.storage.at(place)
    return None


class _Prompts:
    """The prompts of a session that cells wrote, by their places in the log: it only grows, so each is read once.

    Attributes:
        all: Place and cell of each, in order.
        by_id: The same, by the cell's id.
    """

    _known: ClassVar[WeakKeyDictionary[Session, _Prompts]] = WeakKeyDictionary()
    _lock = threading.Lock()

    def __init__(self) -> None:
        self.all: list[tuple[int, dict[str, Any]]] = []
        self.by_id: dict[str, list[tuple[int, dict[str, Any]]]] = {}
        self._read = 0

    @classmethod
    def of(cls, session: Session) -> _Prompts:
        """Return those of a session as it is now."""
        with cls._lock:
            found = cls._known.setdefault(session, cls())
            found._catch_up(session)
            return found

    def _catch_up(self, session: Session) -> None:
        storage, roles = session.storage, session.storage.index.roles
        for place in range(self._read, len(storage)):
            if roles[place] == "user" and MARK in storage.index.lines[place]:
                cell = cell_of(storage.at(place))
                if cell:
                    self.all.append((place, cell))
                    self.by_id.setdefault(str(cell.get("id")), []).append((place, cell))
            self._read = place + 1

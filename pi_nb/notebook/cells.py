"""Which cell is running, and which prompts it has written before.

The front end sends the id of the notebook cell with each execution; it stays the same when the cell is run again.
It is stored beside the prompt's message, so the map survives the kernel. Where there is none (nbclient, papermill) a
name is made of the cell's place in the run and its source: the same in each run of the same notebook.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_nb.session.entries import Entry
    from pi_nb.session.tree import Session

__all__ = ["Cell", "CellClock", "cell_of", "written_anywhere", "written_by", "written_in"]

FIELD = "cell"  # the extra field of a message entry


@dataclass(frozen=True, slots=True)
class Cell:
    """A prompt's place in the notebook.

    Attributes:
        id: Name of the cell, and of the prompt in it when a cell sends several (``d4cd280e#2``).
        number: The execution count, the ``7`` of ``[7]``; None in shells that do not count.
        stable: True if running the same cell again gives the same id.
    """

    id: str
    number: int | None = None
    stable: bool = True

    def to_wire(self) -> dict[str, Any]:
        """Return what is stored beside the prompt's message."""
        return {FIELD: {"id": self.id} | ({} if self.number is None else {"n": self.number})}


class CellClock:
    """Names the cells of one shell as they run."""

    def __init__(self) -> None:
        self._execution: object = None
        self._prompts = 0  # in this execution
        self._executions = 0  # with a prompt, since the extension was loaded

    def now(self, ip: Any, source: str) -> Cell:
        """Return the cell that is running; ``source`` is the prompt, which names cells that have no id."""
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
        return Cell(name, _number(ip), front_end_id is not None)


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


def written_by(session: Session, cell: Cell) -> Iterator[Entry]:
    """Yield the prompts on the session's active path that a cell wrote, newest first."""
    from pi_nb.session.storage import Trail

    on_path = set(Trail.of(session.path()).ids)
    return (entry for entry in _prompts(session) if cell_of(entry).get("id") == cell.id and entry.id in on_path)


def written_anywhere(session: Session, cell: Cell) -> Entry | None:
    """Return the newest prompt that a cell wrote, on whichever branch, or None."""
    return next((entry for entry in _prompts(session) if cell_of(entry).get("id") == cell.id), None)


def written_in(session: Session, number: int, branch: int | None = None) -> Entry | None:
    """Return the newest prompt that cell ``[number]`` wrote, anywhere or as one of several branches, or None."""
    for entry in _prompts(session):
        cell = cell_of(entry)
        if cell.get("n") == number and branch in (None, cell.get("branch")):
            return entry
    return None


def _prompts(session: Session) -> Iterator[Entry]:
    """Yield the entries that cells wrote, newest first; of the others no more than the line is looked at."""
    storage = session.storage
    mark = f'"{FIELD}"'.encode()
    return (storage.at(place) for place in reversed(range(len(storage))) if mark in storage.index.lines[place])

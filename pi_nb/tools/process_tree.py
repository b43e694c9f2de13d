"""All processes that came from one command, wherever they have gone, and how to end them.

A process that wants to get away makes a session of its own and lets its parent end; neither its group nor its parent
leads back to the command then. What it keeps is its environment. So each command gets a variable with a mark of its
own, and on Linux, where the environment of a process can be read, everything that carries the mark is found. Elsewhere
only the group and the children of children are.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["MARK", "Process", "ProcessTree", "end_all"]

MARK = "PI_NB_CALLS"
"""Name of the variable with the marks of the commands a process came from, outermost first."""

_PROC = Path("/proc")
_POLL = 0.02  # seconds between looks at whether processes have ended
_KILL_PATIENCE = 0.5  # seconds; a process in the middle of a broken disk access cannot be killed at all


@dataclass(frozen=True, slots=True)
class Process:
    """A process as the system lists it."""

    pid: int
    parent: int
    group: int
    session: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})"


class ProcessTree:
    """The processes of one command. All trees that may still have some are ended when Python ends."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self._root: int | None = None

    def __repr__(self) -> str:
        return f"<ProcessTree {self.mark[:8]} processes={len(self.members())}>"

    def environment(self, base: dict[str, str]) -> dict[str, str]:
        """Return the environment for the command: the given one, with this tree's mark added."""
        return {**base, MARK: f"{base.get(MARK, '')} {self.mark}".strip()}

    def grow(self, root: int) -> None:
        """Begin with the process ``root``, which leads a session."""
        self._root = root
        _TREES.append(self)

    def root_ended(self) -> None:
        """Forget the number of the first process: the system may give it to another from now on."""
        self._root = None

    def members(self) -> list[Process]:
        """Return the processes that run; those that have ended but were not waited for do not."""
        alive = list(_processes())
        found = {p.pid: p for p in alive if self._is_near(p) or self._is_marked(p)}
        size = -1
        while size != len(found):  # children of children
            size = len(found)
            found |= {p.pid: p for p in alive if p.parent in found}
        return sorted(found.values(), key=lambda process: process.pid)

    def end(self, grace: float) -> list[Process]:
        """End all: ask (SIGTERM), and after ``grace`` seconds kill (SIGKILL). Blocks until they are gone.

        Returns:
            Those that are still there.
        """
        left = self._send(signal.SIGTERM, grace, again=False)
        if left:
            left = self._send(signal.SIGKILL, _KILL_PATIENCE, again=True)
        if not left:
            self.release()
        return left

    def release(self) -> None:
        """Stop caring: nothing is left, or somebody else ends it."""
        with suppress(ValueError):
            _TREES.remove(self)

    def _send(self, number: int, patience: float, *, again: bool) -> list[Process]:
        until = time.monotonic() + patience
        told: set[int] = set()
        while left := self.members():
            for process in left:
                if again or process.pid not in told:
                    _tell(process, number)
                    told.add(process.pid)
            if time.monotonic() >= until:
                break
            time.sleep(_POLL)
        return left

    def _is_near(self, process: Process) -> bool:
        return self._root is not None and self._root in (process.pid, process.group, process.session)

    def _is_marked(self, process: Process) -> bool:
        try:
            return self.mark.encode() in (_PROC / str(process.pid) / "environ").read_bytes()
        except OSError:  # ended meanwhile, another user's, or no such folder on this system
            return False


_TREES: list[ProcessTree] = []


@atexit.register
def end_all(grace: float = 0.2) -> None:
    """End what commands have left running in the background. Called when Python ends."""
    for tree in list(_TREES):
        tree.end(grace)


def _tell(process: Process, number: int) -> None:
    try:
        os.kill(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _processes() -> Iterator[Process]:
    if (_PROC / "self" / "stat").exists():
        numbers = [entry.name for entry in _PROC.iterdir() if entry.name.isdigit()]
        return _from_proc(numbers)
    return _from_ps()


def _from_proc(numbers: Iterable[str]) -> Iterator[Process]:
    for number in numbers:
        try:
            line = (_PROC / number / "stat").read_bytes().decode("utf-8", "replace")
        except OSError:  # ended meanwhile
            continue
        name = line[line.index("(") + 1 : line.rindex(")")]  # may hold spaces and brackets itself
        state, parent, group, session = line[line.rindex(")") + 1 :].split()[:4]
        if state not in "ZX":
            yield Process(int(number), int(parent), int(group), int(session), name)


def _from_ps() -> Iterator[Process]:
    ps = shutil.which("ps")
    if ps is None:
        return
    command = [ps, "-A", "-o", "pid=,ppid=,pgid=,stat=,comm="]
    listing = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    for line in listing.stdout.decode("utf-8", "replace").splitlines():
        pid, parent, group, state, name = line.split(None, 4)
        if not state.startswith("Z") and name != ps:
            yield Process(int(pid), int(parent), int(group), 0, name.rsplit("/", 1)[-1])

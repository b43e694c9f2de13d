"""Where this kernel is: in a notebook, in a terminal, or run by a program; and which session belongs there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

__all__ = ["Place", "find_place", "has_kernel", "has_stdin"]

VS_CODE = "__vsc_ipynb_file__"  # a variable that VS Code's Jupyter extension sets in the user's namespace


@dataclass(frozen=True, slots=True)
class Place:
    """Where the extension runs.

    Attributes:
        kind: ``notebook``, ``terminal``, or ``headless`` for kernels that a program runs (nbclient, papermill).
        name: What the session is bound to, an absolute path; empty when headless, which binds to nothing.
        cwd: The working directory.
    """

    kind: Literal["notebook", "terminal", "headless"]
    name: str
    cwd: str

    @property
    def metadata(self) -> dict[str, str]:
        """What a session's header says of where it belongs."""
        return {self.kind: self.name} if self.name else {}


def find_place(ip: Any, environment: Mapping[str, str] = os.environ) -> Place:
    """Return where ``ip`` runs.

    Jupyter names the notebook in ``JPY_SESSION_NAME``, VS Code in a variable; where neither is known, the working
    directory stands for it. A kernel whose front end cannot answer ``input()`` and names no notebook is headless.
    """
    cwd = str(Path.cwd())
    if not has_kernel(ip):
        return Place("terminal", cwd, cwd)
    notebook = environment.get("JPY_SESSION_NAME") or ip.user_ns.get(VS_CODE)
    if notebook:
        return Place("notebook", str(notebook), cwd)
    return Place("notebook", cwd, cwd) if has_stdin(ip) else Place("headless", "", cwd)


def has_kernel(ip: Any) -> bool:
    """Return whether this shell belongs to a Jupyter kernel, and so can show and update rich output."""
    return getattr(ip, "kernel", None) is not None


def has_stdin(ip: Any) -> bool:
    """Return whether somebody is there to answer a question."""
    return bool(getattr(ip.kernel, "_allow_stdin", True)) if has_kernel(ip) else True

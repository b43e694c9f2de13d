"""How a widget is tied to its page and its session, so that clicks get through and nothing stays alive behind it."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["at_once", "static", "unroute", "weakly"]


@cache
def static(name: str) -> str:
    """Return a built file as text: a path would keep every closed widget alive (anywidget issue 929)."""
    return (Path(__file__).parent / "static" / name).read_text("utf-8")


def unroute(widget: Any) -> None:
    """Let a click be handled on the subshell the page names.

    ipykernel 7.4 sends a comm message to the shell that last published on that comm, which is busy while a cell
    runs. The attribute is private, hence the guard; without it clicks wait for the cell's end.
    """
    comm = getattr(widget, "comm", None)
    if comm is not None and hasattr(comm, "_reply_subshell_for"):
        with contextlib.suppress(AttributeError, TypeError):
            comm._reply_subshell_for = None


def weakly(owner: object, name: str) -> Callable[..., None]:
    """Return a function that calls a method of ``owner`` as long as there is one."""
    known = weakref.ref(owner)

    def call(*args: Any) -> None:
        alive = known()
        if alive is not None:
            getattr(alive, name)(*args)

    return call


def at_once(fn: Callable[..., Any], *args: Any) -> Any:
    """Run a function here and now."""
    return fn(*args)

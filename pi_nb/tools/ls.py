"""The tool ``ls``: what is in a folder."""

from __future__ import annotations

import os
from pathlib import Path

from pi_nb.errors import ToolError
from pi_nb.harness.signals import AbortSignal
from pi_nb.harness.tools import FunctionTool, ToolContext, ToolResult, tool
from pi_nb.tools.files import stop_if_aborted
from pi_nb.tools.paths import locate, missing, named_errors, printable, shown
from pi_nb.tools.truncate import noted, shorten, truncation_details

__all__ = ["ls_tool"]

LIMIT = 500
"""Names listed unless the call says otherwise."""


def ls_tool(cwd: str | Path | None = None) -> FunctionTool:
    """Return the tool; see :func:`pi_nb.tools.builtin_tools` for the argument."""

    @tool(name="ls")
    def ls(ctx: ToolContext, path: str = ".", limit: int = LIMIT) -> ToolResult:
        """List what is in a folder, hidden files too, in order of names. Folders end in /, links in @.

        Args:
            ctx: What is known of the call.
            path: The folder; the working directory if left out.
            limit: How many names at most.
        """
        base = cwd or ctx.cwd
        place = locate(path, base)
        if limit < 1:
            raise ToolError(f"limit must be at least 1, not {limit}.")
        names = _names(place, base, ctx.signal)
        return _report(names, limit, shown(place, base))

    return ls


def _names(place: Path, base: str | Path, signal: AbortSignal) -> list[str]:
    with named_errors(place, base):
        if not place.exists():
            raise missing(place, base)
        if not place.is_dir():
            raise ToolError(f"{shown(place, base)} is not a folder; read shows a file.")
        names = []
        with os.scandir(place) as entries:
            for entry in entries:
                stop_if_aborted(signal)
                names.append(printable(entry.name) + _ending(entry))
    return sorted(names, key=lambda name: (name.casefold(), name))


def _ending(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "@"
    return "/" if entry.is_dir() else ""


def _report(names: list[str], limit: int, where: str) -> ToolResult:
    if not names:
        return ToolResult(f"[{where} is empty.]")
    short = shorten("\n".join(names[:limit]))
    listed = min(short.lines, limit, len(names))
    if listed == len(names):
        return ToolResult(short.text)
    details = {"entryLimitReached": limit} if not short.cut else {"truncation": truncation_details(short)}
    return ToolResult(noted(short.text, [f"{listed} of {len(names)} names; set limit for more."]), details)

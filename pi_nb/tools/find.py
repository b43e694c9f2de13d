"""The tool ``find``: files and folders by a pattern of their path."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from pi_nb.errors import ToolError
from pi_nb.harness.tools import FunctionTool, ToolContext, ToolResult, tool
from pi_nb.tools.files import stop_if_aborted
from pi_nb.tools.paths import locate, missing, named_errors, printable, shown
from pi_nb.tools.patterns import PathPattern
from pi_nb.tools.truncate import MAX_LINES, noted, shorten, truncation_details
from pi_nb.tools.walk import Walk, ignored_note

__all__ = ["find_tool"]

LIMIT = 1_000
"""Paths listed unless the call says otherwise."""


def find_tool(cwd: str | Path | None = None) -> FunctionTool:
    """Return the tool; see :func:`pi_nb.tools.builtin_tools` for the argument."""

    @tool(name="find")
    def find(pattern: str, ctx: ToolContext, path: str = ".", limit: int = LIMIT) -> ToolResult:
        """Find files and folders by a glob pattern. Folders end in /. Hidden ones are found too, links not followed.

        Folders named .git, node_modules, __pycache__ and .venv are left out, and what .gitignore and .ignore say; give
        such a folder as path to search it.

        Args:
            pattern: Such as *.py (names, at any depth) or src/**/*.{ts,tsx} (paths from the folder searched).
            ctx: What is known of the call.
            path: The folder to search; the working directory if left out.
            limit: How many paths at most.
        """
        base = cwd or ctx.cwd
        place = locate(path, base)
        if limit < 1:
            raise ToolError(f"limit must be at least 1, not {limit}.")
        with named_errors(place, base):
            if not place.exists():
                raise missing(place, base)
            if not place.is_dir():
                raise ToolError(f"{shown(place, base)} is not a folder.")
        return _search(_compiled(pattern), place, base, min(limit, MAX_LINES), ctx)

    return find


def _compiled(pattern: str) -> PathPattern:
    try:
        return PathPattern(pattern)
    except ValueError as error:
        raise ToolError(f"{pattern!r}: {error}.") from None


def _search(pattern: PathPattern, place: Path, base: str | Path, limit: int, ctx: ToolContext) -> ToolResult:
    walk = Walk(str(place), partial(stop_if_aborted, ctx.signal))
    prefix = shown(place, base)
    prefix = "" if prefix == "." else prefix.rstrip("/") + "/"

    def found() -> Iterator[str]:
        for item in walk:
            stop_if_aborted(ctx.signal)
            if pattern.matches(item.path, is_folder=item.is_folder):
                yield f"{prefix}{printable(item.path)}{'/' if item.is_folder else ''}"

    paths = list(islice(found(), limit + 1))
    return _report(paths, limit, walk, prefix)


def _report(paths: list[str], limit: int, walk: Walk, prefix: str) -> ToolResult:
    short = shorten("\n".join(paths[:limit]))
    details: dict[str, Any] = {}
    examples = [f"{prefix}{printable(path)}" for path in walk.examples]
    notes = [] if paths else ["Nothing found.", *walk.skipped_note(), *ignored_note(walk.ignored, examples)]
    notes += walk.unreadable_note()
    if len(paths) > limit:
        details["resultLimitReached"] = limit
        notes.append(f"The first {limit}; there are more. Set limit, or narrow the pattern or path.")
    if short.cut:
        details["truncation"] = truncation_details(short)
        notes.append(f"Cut to {short.lines} paths; narrow the pattern or path.")
    return ToolResult(noted(short.text, notes), details or None)

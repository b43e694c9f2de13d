"""The tool ``grep``: lines of files that match a pattern."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any

from pydantic import Field

from pi_nb.errors import ToolError
from pi_nb.harness.threads import in_thread
from pi_nb.harness.tools import FunctionTool, ToolContext, ToolResult, tool
from pi_nb.tools.environment import child_environment
from pi_nb.tools.grep_worker import LINE_SECONDS, MAX_SHOWN
from pi_nb.tools.paths import locate, missing, named_errors, printable, shown
from pi_nb.tools.patterns import PathPattern
from pi_nb.tools.truncate import MAX_LINES, noted, shorten, truncation_details
from pi_nb.tools.waiting import Ending, first_of
from pi_nb.tools.walk import ignored_note

__all__ = ["grep_tool"]

LIMIT = 100
"""Matches shown unless the call says otherwise."""
DEADLINE = 60.0
"""Seconds a search may take."""

_PACKAGES = Path(__file__).resolve().parents[2]
_WORKER = "import sys; sys.path.insert(0, sys.argv[1]); from pi_nb.tools.grep_worker import main; main()"


def grep_tool(cwd: str | Path | None = None, *, deadline: float = DEADLINE) -> FunctionTool:
    """Return the tool.

    Args:
        cwd: See :func:`pi_nb.tools.builtin_tools`.
        deadline: Seconds after which a search is stopped, with what it has found.
    """

    @tool(name="grep")
    async def grep(
        pattern: str,
        ctx: ToolContext,
        path: str = ".",
        glob: str = "",
        ignore_case: Annotated[bool, Field(alias="ignoreCase")] = False,
        literal: bool = False,
        context: int = 0,
        limit: int = LIMIT,
    ) -> ToolResult:
        """Search files for lines that match a regular expression (Python's) or a text.

        Hidden files are searched too, links are not followed. Folders named .git, node_modules, __pycache__ and .venv
        are left out, and what .gitignore and .ignore say; give such a folder or file as path to search it. Lines are
        cut to 500 characters.

        Args:
            pattern: What to look for.
            ctx: What is known of the call.
            path: The folder or file to search; the working directory if left out.
            glob: Only files like this: *.py (names, at any depth) or src/**/*.ts (paths from the folder searched).
            ignore_case: Take upper and lower case as the same.
            literal: Take the pattern as it stands, not as a regular expression.
            context: How many lines to show before and after each match.
            limit: How many matches at most.
        """
        base = cwd or ctx.cwd
        place = locate(path, base)
        request = {
            "root": str(place),
            "pattern": pattern,
            "glob": glob,
            "ignoreCase": ignore_case,
            "literal": literal,
            "context": max(0, min(context, MAX_LINES)),
            "limit": min(limit, MAX_LINES),
        }
        await in_thread(_check, request=request, place=place, base=base)
        found, ending = await _search(request, ctx, deadline)
        return _report(found, ending, request, _prefix(place, base), deadline)

    return grep


def _check(request: dict[str, Any], place: Path, base: str | Path) -> None:
    """Refuse what cannot be searched.

    Raises:
        ToolError: With the reason.
    """
    if not request["pattern"]:
        raise ToolError("pattern is empty.")
    if request["limit"] < 1:
        raise ToolError(f"limit must be at least 1, not {request['limit']}.")
    try:
        PathPattern(request["glob"] or "*")
    except ValueError as error:
        raise ToolError(f"glob {request['glob']!r}: {error}.") from None
    with named_errors(place, base):
        if not place.exists():
            raise missing(place, base)
        if not place.is_dir() and not place.is_file():
            raise ToolError(f"{shown(place, base)} is neither a folder nor a regular file.")


# ---------------------------------------------------------------- the process


@dataclass(slots=True)
class _Found:
    """What the process has written so far."""

    rows: list[tuple[str, int, str, bool]] = field(default_factory=list)
    end: dict[str, Any] = field(default_factory=dict)


async def _search(request: dict[str, Any], ctx: ToolContext, deadline: float) -> tuple[_Found, Ending]:
    if not sys.executable:
        raise ToolError("There is no Python program here to search with.")
    found = _Found()
    process = subprocess.Popen(  # noqa: ASYNC220 - a few milliseconds
        [sys.executable, "-I", "-S", "-W", "ignore", "-c", _WORKER, str(_PACKAGES)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(os.environ),
    )
    talking = asyncio.ensure_future(in_thread(_talk, process=process, request=request, found=found))
    try:
        ending = await first_of(talking, ctx.signal, deadline)
        process.kill()
        await talking  # does not take long now
    finally:
        process.kill()
        talking.cancel()  # the thread itself goes on to the end of the process, so that none is left as a zombie
    if ending == "aborted":
        raise ToolError("Stopped: the run was aborted.")
    return found, ending


def _talk(process: subprocess.Popen[bytes], request: dict[str, Any], found: _Found) -> None:
    with process:
        if process.stdin is None or process.stdout is None:  # pragma: no cover - both are pipes
            return
        try:
            process.stdin.write(json.dumps(request).encode())
            process.stdin.close()
        except OSError:  # it has been killed already
            return
        _listen(process.stdout, found)


def _listen(lines: IO[bytes], found: _Found) -> None:
    for line in lines:
        try:
            message = json.loads(line)
        except ValueError:  # cut off in mid-line
            return
        if "row" in message:
            path, number, text, matched = message["row"]
            found.rows.append((path, number, text, matched))
        else:
            found.end = message


# ---------------------------------------------------------------- the result


def _prefix(place: Path, base: str | Path) -> str:
    name = shown(place, base)
    if place.is_file():
        return name
    return "" if name == "." else name.rstrip("/") + "/"


def _report(found: _Found, ending: Ending, request: dict[str, Any], prefix: str, deadline: float) -> ToolResult:
    if "error" in found.end:
        raise ToolError(
            f"{request['pattern']!r} is not a regular expression: {found.end['error']}. For a plain text set literal."
        )
    short = shorten("\n".join(_lines(found, prefix, spaced=request["context"] > 0)))
    details: dict[str, Any] = {}
    counts = found.end.get("done") or found.end.get("slow") or {}
    notes = [*_endings(found, ending, prefix, deadline), *_remarks(counts, request, prefix)]
    if counts.get("more"):
        details["matchLimitReached"] = request["limit"]
    if counts.get("long_lines"):
        details["linesTruncated"] = True
    if short.cut:
        details["truncation"] = truncation_details(short)
        notes.append(f"Cut to {short.lines} of {short.total_lines} lines; narrow the pattern or path.")
    if not found.rows:
        notes = ["No matches.", *notes]
    return ToolResult(noted(short.text, notes), details or None, is_error=not found.rows and "done" not in found.end)


def _lines(found: _Found, prefix: str, *, spaced: bool) -> Iterator[str]:
    last: tuple[str, int] | None = None
    for path, number, text, matched in found.rows:
        if spaced and last is not None and last != (path, number - 1):
            yield "--"
        last = (path, number)
        mark = ":" if matched else "-"
        yield f"{prefix}{printable(path)}{mark}{number}{mark} {text}"


def _endings(found: _Found, ending: Ending, prefix: str, deadline: float) -> Iterator[str]:
    if "slow" in found.end:
        path, number = found.end["slow"]["place"]
        yield (
            f"Stopped at {prefix}{printable(path)}:{number}: the pattern takes longer than {LINE_SECONDS:g} s on that"
            " line. Repeats within repeats, such as (a+)+, do that; simplify it, or set literal."
        )
    elif ending == "timeout":
        yield f"Stopped after {deadline:g} s; this is not all. Narrow the path, or simplify the pattern."
    elif "done" not in found.end:
        yield "The search ended before it was done; this is not all."


def _remarks(counts: dict[str, Any], request: dict[str, Any], prefix: str) -> Iterator[str]:
    if counts.get("more"):
        yield f"The first {request['limit']} matches; there are more. Set limit, or narrow the pattern or path."
    if counts.get("long_lines"):
        yield f"Lines longer than {MAX_SHOWN} characters are cut."
    if counts.get("binary") and not counts.get("files"):
        yield "Not searched: what is there is not text."
    if counts.get("unreadable"):
        yield f"Not readable: {counts['unreadable']} files."
    yield from counts.get("folders", ())
    if not counts.get("matches"):
        yield from counts.get("skipped", ())
        yield from ignored_note(
            counts.get("ignored", 0), [f"{prefix}{printable(path)}" for path in counts.get("examples", ())]
        )

"""The tool ``bash``: a shell command, with what it prints as it prints it."""

from __future__ import annotations

import asyncio
import math
import os
import re
import signal as signals
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from pi_nb.errors import ToolError
from pi_nb.harness.tools import FunctionTool, ToolContext, ToolResult, tool
from pi_nb.tools.environment import child_environment
from pi_nb.tools.paths import printable
from pi_nb.tools.shell import Shell
from pi_nb.tools.truncate import Shortened, Tail, noted, shorten, size_of, truncation_details
from pi_nb.tools.waiting import Ending

__all__ = ["bash_tool", "plain"]

UPDATE_INTERVAL = 0.1
"""Seconds between two updates at least."""

# ECMA-48 control sequences, operating system commands (titles, links) and the short escapes.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def bash_tool(cwd: str | Path | None = None, *, keep_environment: Collection[str] = ()) -> FunctionTool:
    """Return the tool; see :func:`pi_nb.tools.builtin_tools` for the arguments."""

    @tool(name="bash", keep="tail")
    async def bash(command: str, ctx: ToolContext, limit: Annotated[float, Field(alias="timeout")] = 0) -> ToolResult:
        """Run a shell command in the working directory and return what it prints, stdout and stderr in one.

        There is no input and no terminal. Long output is cut to its last 2,000 lines or 50 KB; the result then names
        a file with all of it. Variables that hold keys or tokens are not set. A process left in the background goes
        on until Python ends.

        Args:
            command: The command, for bash.
            ctx: What is known of the call.
            limit: Seconds after which the command and all its processes are ended; no limit if left out.
        """
        seconds = _seconds(limit)
        # Starting takes a few milliseconds. In a thread it could outlive a cancellation, and nobody would end it.
        return await _run(_start(command, Path(cwd or ctx.cwd), keep_environment), ctx, seconds)

    return bash


def _seconds(limit: float) -> float | None:
    if not math.isfinite(limit) or limit < 0:
        raise ToolError(f"timeout must be a number of seconds, not {limit}.")
    return limit or None


def _start(command: str, folder: Path, keep: Collection[str]) -> Shell:
    if not folder.is_dir():
        raise ToolError(f"The working directory {printable(folder)} does not exist.")
    return Shell(command, cwd=folder.absolute(), environment=child_environment(os.environ, keep=keep))


async def _run(shell: Shell, ctx: ToolContext, limit: float | None) -> ToolResult:
    begun = time.monotonic()
    updates = asyncio.create_task(_report(shell.output, ctx))
    try:
        ending = await shell.run(ctx.signal, limit)
    finally:
        updates.cancel()
    return _result(shell, ending, time.monotonic() - begun)


async def _report(output: Tail, ctx: ToolContext) -> None:
    told = 0
    while True:
        await asyncio.sleep(UPDATE_INTERVAL)
        if output.total_bytes != told:
            told = output.total_bytes
            ctx.update(ToolResult(noted(_shortened(output).text, ())))


def _result(shell: Shell, ending: Ending, seconds: float) -> ToolResult:
    short = _shortened(shell.output)
    file = shell.output.saved()
    notes = [*_cut_notes(shell.output, short), *_end_notes(shell, ending, seconds)]
    details: dict[str, Any] = {"exitCode": shell.exit_code, "seconds": round(seconds, 3)}
    if short.cut:
        details["truncation"] = truncation_details(short)
    if file is not None:
        details["fullOutputPath"] = str(file)
    if shell.left:
        details["background"] = [{"pid": process.pid, "name": process.name} for process in shell.left]
    text = short.text or ("" if notes else "(no output)")
    return ToolResult(noted(text, notes), details, is_error=ending != "done" or shell.exit_code != 0)


def _shortened(output: Tail) -> Shortened:
    data, begins_later = output.end()
    short = shorten(plain(data.decode("utf-8", "replace")).removesuffix("\n"), keep="tail")
    return replace(short, total_lines=output.lines, total_bytes=output.total_bytes) if begins_later else short


def plain(text: str) -> str:
    """Return output as a terminal would leave it: no colours, and of a line that was drawn over and over the last."""
    lines = _ESCAPES.sub("", text).split("\n")
    return "\n".join(_CONTROLS.sub("", line.rstrip("\r").rpartition("\r")[2]) for line in lines)


def _cut_notes(output: Tail, short: Shortened) -> Iterator[str]:
    if not short.cut:
        return
    size = size_of(len(short.text.encode("utf-8", "replace")))
    note = f"The last {size} of {size_of(short.total_bytes)}, {short.lines} of {short.total_lines} lines."
    if output.file is not None:
        note += f" {'All of it' if output.complete else 'More of it'} is in {printable(output.file)}."
    yield note


def _end_notes(shell: Shell, ending: Ending, seconds: float) -> Iterator[str]:
    names = ", ".join(map(str, shell.left))
    if ending != "done":
        why = "the run was aborted" if ending == "aborted" else "its time was over"
        yield f"Stopped after {seconds:.1f} s: {why}. Its processes were ended{f', but for {names}' if names else ''}."
        return
    if shell.exit_code:
        yield _status(shell.exit_code)
    if names:
        file = shell.output.file
        yield f"In the background: {names}.{f' Output goes to {printable(file)}.' if file else ''}"


def _status(code: int) -> str:
    if code > 0:
        return f"Exit code {code}."
    try:
        return f"Ended by {signals.Signals(-code).name}."
    except ValueError:
        return f"Ended by signal {-code}."

"""The tool ``write``: a whole file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pi_nb.errors import ToolError
from pi_nb.harness.tools import FunctionTool, ToolContext, ToolResult, tool
from pi_nb.tools.diff import compare
from pi_nb.tools.files import put_content, sole_writer, stop_if_aborted
from pi_nb.tools.paths import locate, named_errors, shown
from pi_nb.tools.truncate import size_of

__all__ = ["write_tool"]

_COMPARED = 1024 * 1024  # bytes up to which the difference to the old content is worked out


def write_tool(cwd: str | Path | None = None) -> FunctionTool:
    """Return the tool; see :func:`pi_nb.tools.builtin_tools` for the argument."""

    @tool(name="write", sequential=True)
    def write(path: str, content: str, ctx: ToolContext) -> ToolResult:
        """Write a file: create it, with the folders it needs, or replace all that is in it.

        Args:
            path: The file, relative to the working directory or absolute.
            content: The whole new content.
            ctx: What is known of the call.
        """
        base = cwd or ctx.cwd
        place = locate(path, base)
        name = shown(place, base)
        try:
            data = content.encode()
        except UnicodeEncodeError as error:
            raise ToolError(f"content is not valid text: character {error.start} is half of a pair.") from None
        with named_errors(place, base), sole_writer(place, ctx.signal):
            before = _content(place, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            stop_if_aborted(ctx.signal)
            put_content(place, data)
        return _report(before, data, name)

    return write


def _content(place: Path, name: str) -> bytes | None:
    """Return what is in the file, empty if that is too long to compare, or None if there is no such file."""
    if not place.exists():
        _refuse_file_as_folder(place)
        return None
    if place.is_dir():
        raise ToolError(f"{name} is a folder.")
    if not place.is_file():
        raise ToolError(f"{name} is not a regular file (a device, pipe or socket).")
    return place.read_bytes() if place.stat().st_size <= _COMPARED else b""


def _refuse_file_as_folder(place: Path) -> None:
    nearest = next(parent for parent in place.parents if parent.exists())
    if not nearest.is_dir():
        raise ToolError(f"{nearest} is a file, so nothing can be written below it.")


def _report(before: bytes | None, data: bytes, name: str) -> ToolResult:
    details: dict[str, Any] = {"bytes": len(data), "created": before is None}
    size = size_of(len(data))
    if before is None:
        return ToolResult(f"Created {name} ({size}).", details)
    if before and len(data) <= _COMPARED and b"\0" not in before:
        change = compare(before.decode("utf-8", "replace"), data.decode(), name)
        return ToolResult(f"Replaced {name} ({size}, {change.counts}).", {**details, **change.details()})
    return ToolResult(f"Replaced {name} ({size}).", details)

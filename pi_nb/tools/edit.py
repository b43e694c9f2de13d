"""The tool ``edit``: exact replacements in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from pi_nb.errors import ToolError
from pi_nb.harness.tools import FunctionTool, ToolContext, ToolResult, tool
from pi_nb.tools.diff import compare
from pi_nb.tools.files import open_regular, put_content, sole_writer, stop_if_aborted
from pi_nb.tools.paths import locate, named_errors, shown
from pi_nb.tools.replacing import Replacement, apply
from pi_nb.tools.truncate import size_of

__all__ = ["edit_tool"]

MAX_FILE = 32 * 1024 * 1024
"""Bytes up to which a file is edited."""

_BOM = "\ufeff"


class _Edit(BaseModel):
    old_text: Annotated[str, Field(alias="oldText")]
    new_text: Annotated[str, Field(alias="newText")]


_PARAMETERS: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, relative to the working directory or absolute."},
        "edits": {
            "type": "array",
            "description": "The replacements. Each is looked for in the file as it is now; they may not overlap.",
            "items": {
                "type": "object",
                "properties": {
                    "oldText": {
                        "type": "string",
                        "description": "Text that is in the file exactly once, white space included.",
                    },
                    "newText": {"type": "string", "description": "What to put in its place; may be empty."},
                },
                "required": ["oldText", "newText"],
            },
        },
        "oldText": {"type": "string", "description": "For a single replacement, instead of edits."},
        "newText": {"type": "string", "description": "For a single replacement, instead of edits."},
    },
    "required": ["path"],
}


def edit_tool(cwd: str | Path | None = None) -> FunctionTool:
    """Return the tool; see :func:`pi_nb.tools.builtin_tools` for the argument."""

    @tool(name="edit", sequential=True)
    def edit(
        path: str,
        ctx: ToolContext,
        edits: Sequence[_Edit] = (),
        old_text: Annotated[str | None, Field(alias="oldText")] = None,
        new_text: Annotated[str | None, Field(alias="newText")] = None,
    ) -> ToolResult:
        """Replace exact pieces of text in a file. All replacements of a call are made, or none.

        Put all changes to a file into one call. Give just enough of the text around a change to make it unique.
        """
        base = cwd or ctx.cwd
        place = locate(path, base)
        name = shown(place, base)
        wanted = _wanted(edits, old_text, new_text)
        with sole_writer(place, ctx.signal):
            old = _text(place, base)
            new = apply(old, wanted, name=name)
            stop_if_aborted(ctx.signal)
            with named_errors(place, base):
                put_content(place, new.encode("utf-8", "surrogateescape"))
        change = compare(_shown(old), _shown(new), name)
        count = f"{len(wanted)} replacement{'' if len(wanted) == 1 else 's'}"
        return ToolResult(f"Edited {name}: {count}, {change.counts}.", change.details())

    return replace(edit, parameters=_PARAMETERS)


def _wanted(edits: Sequence[_Edit], old: str | None, new: str | None) -> list[Replacement]:
    """Return the replacements, in whichever form they came.

    Raises:
        ToolError: One is incomplete, or its new text is not text.
    """
    if (old is None) != (new is None):
        raise ToolError("oldText and newText belong together; one is missing.")
    wanted = [Replacement(item.old_text, item.new_text) for item in edits]
    if old is not None and new is not None:
        wanted.append(Replacement(old, new))
    for item in wanted:
        try:
            item.new.encode()
        except UnicodeEncodeError as error:
            raise ToolError(f"newText is not valid text: character {error.start} is half of a pair.") from None
    return wanted


def _text(place: Path, base: str | Path) -> str:
    """Return the file's text; bytes that are none are kept as they are."""
    with open_regular(place, base) as file, named_errors(place, base):
        data = file.read(MAX_FILE + 1)
    name = shown(place, base)
    if len(data) > MAX_FILE:
        raise ToolError(f"{name} is longer than {size_of(MAX_FILE)}; change it with a command, such as sed.")
    if b"\0" in data:
        raise ToolError(f"{name} is not text in UTF-8.")
    return data.decode("utf-8", "surrogateescape")


def _shown(text: str) -> str:
    """Return a text that can be stored, without a mark at its start that nobody sees."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").removeprefix(_BOM)

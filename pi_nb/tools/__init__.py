"""What a model may call: one tool, one file, named and shaped as pi's.

========= ============================================ ==================================================
tool      parameters                                   does
========= ============================================ ==================================================
``read``  path, offset?, limit?                        a text file, or an image for the model to see
``bash``  command, timeout?                            a shell command, ended with all its processes
``edit``  path, edits: [{oldText, newText}]            exact replacements, all of them or none
``write`` path, content                                a whole file
``grep``  pattern, path?, glob?, ignoreCase?, …        lines that match
``find``  pattern, path?, limit?                       paths that match
``ls``    path?, limit?                                a folder
========= ============================================ ==================================================

Whether a call may run is decided elsewhere, by :class:`pi_nb.tools.policy.ToolPolicy` on the hook ``tool_call``.

Importing this package is cheap; the processes that search files do it every time.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_nb.harness.tools import FunctionTool

__all__ = ["builtin_tools"]


def builtin_tools(cwd: str | Path | None = None, *, keep_environment: Collection[str] = ()) -> tuple[FunctionTool, ...]:
    """Return the tools that work on files and run commands.

    Args:
        cwd: Folder that relative paths start from and commands run in; that of each call's session if None.
        keep_environment: Names of variables that commands see although they look like secrets.
    """
    from pi_nb.tools.bash import bash_tool
    from pi_nb.tools.edit import edit_tool
    from pi_nb.tools.find import find_tool
    from pi_nb.tools.grep import grep_tool
    from pi_nb.tools.ls import ls_tool
    from pi_nb.tools.read import read_tool
    from pi_nb.tools.write import write_tool

    return (
        read_tool(cwd),
        bash_tool(cwd, keep_environment=keep_environment),
        edit_tool(cwd),
        write_tool(cwd),
        grep_tool(cwd),
        find_tool(cwd),
        ls_tool(cwd),
    )

"""``%pi_tools``: which functions of this notebook a model may call."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from pi_nb.errors import UserError
from pi_nb.harness.tools import Tool, ToolContext
from pi_nb.notebook.checks import check_tool

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime

__all__ = ["NotebookTool", "add_tool", "change", "known_or_added", "names_of"]


class NotebookTool:
    """A tool by the name of its variable: running its cell again changes what the model calls."""

    def __init__(self, namespace: Mapping[str, Any], variable: str) -> None:
        self._namespace = namespace
        self._variable = variable
        self._last: Tool = namespace[variable]

    def __repr__(self) -> str:
        return f"<NotebookTool {self._variable}>"

    def __getattr__(self, attribute: str) -> Any:  # sequential, timeout, keep: a tool may have them
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return getattr(self._tool, attribute)

    @property
    def _tool(self) -> Tool:
        found = self._namespace.get(self._variable)
        if isinstance(found, Tool) and found.name == self._last.name:
            self._last = found
        return self._last

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self._last.name

    @property
    def description(self) -> str:
        """What it does, for the model."""
        return self._tool.description

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of the arguments."""
        return self._tool.parameters

    def run(self, args: dict[str, Any], ctx: ToolContext) -> Awaitable[Any]:
        """Run it as it is defined now."""
        return self._tool.run(args, ctx)


def names_of(words: list[str]) -> tuple[str, ...]:
    """Return the names in ``a,b`` or ``a b``."""
    return tuple(dict.fromkeys(name for word in words for name in word.split(",") if name))


def change(runtime: Runtime, words: list[str]) -> str:
    """Do what ``%pi_tools`` was asked for; return what to say about it.

    Raises:
        UserError: There is no such tool, or a run is going on.
    """
    if words:
        runtime.check_idle()
        wanted = _wanted(runtime, words)
        runtime.wait(runtime.harness.set_tools(tuple(runtime.tools.values()), wanted))
    active = runtime.harness.active_tool_names
    idle = [name for name in runtime.tools if name not in active]
    return f"Active: {', '.join(active) or 'none'}." + (f" Not active: {', '.join(idle)}." if idle else "")


def _wanted(runtime: Runtime, words: list[str]) -> tuple[str, ...]:
    """Return the tools that are to be active."""
    active = runtime.harness.active_tool_names
    if words[0] == "none":
        return ()
    if words[0] == "add":
        return tuple(dict.fromkeys((*active, *(add_tool(runtime, name) for name in names_of(words[1:])))))
    if words[0] != "remove":
        return known_or_added(runtime, names_of(words))
    for name in names_of(words[1:]):
        check_tool(active, name)
    return tuple(name for name in active if name not in names_of(words[1:]))


def known_or_added(runtime: Runtime, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names as the model calls them; tools of the user's namespace that are new are added.

    Raises:
        UserError: There is no such tool.
    """
    return tuple(name if name in runtime.tools else add_tool(runtime, name) for name in names)


def add_tool(runtime: Runtime, name: str) -> str:
    """Make a tool of the user's namespace known to the harness; return the name the model calls it by.

    Raises:
        UserError: There is no such variable, or it is no tool.
    """
    namespace = runtime.ip.user_ns
    if name not in namespace:
        variables = [key for key, value in namespace.items() if not key.startswith("_") and isinstance(value, Tool)]
        check_tool(variables, name)
    if not isinstance(namespace[name], Tool):
        raise UserError(f"{name} is not a tool.", hint="Put @pi_nb.tool above its definition and run that cell again.")
    tool = NotebookTool(namespace, name)
    runtime.tools[tool.name] = tool
    return tool.name

"""Every tool a notebook has: those that come with the package, the kernel's ``python``, the user's own functions."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from pi_nb.errors import UserError
from pi_nb.harness.tools import Tool, ToolContext
from pi_nb.notebook.checks import check_tool

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime

__all__ = ["NotebookTool", "add_tool", "configured_tools", "known_or_added", "names_of", "standard_tools"]


def standard_tools(runtime: Runtime) -> dict[str, Tool]:
    """Return the tools that are there without anybody adding them, by name."""
    from pi_nb.notebook.kernel_tool import python_tool
    from pi_nb.tools import builtin_tools

    tools: list[Tool] = [*builtin_tools(), python_tool(runtime)]
    return {tool.name: tool for tool in tools}


def configured_tools(runtime: Runtime) -> tuple[str, ...]:
    """Return the tools that are active on branches that choose none: the settings' list, less what there is not."""
    return tuple(name for name in names_of([runtime.settings.tools]) if name in runtime.tools)


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
    return tuple(dict.fromkeys(name.strip() for word in words for name in word.split(",") if name.strip()))


def known_or_added(runtime: Runtime, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names as the model calls them; tools of the user's namespace that are new are added.

    Raises:
        UserError: There is no such tool.
    """
    return tuple(name if name in runtime.tools else add_tool(runtime, name) for name in names)


def add_tool(runtime: Runtime, name: str) -> str:
    """Make a tool of the user's namespace known to the harness; return the name the model calls it by.

    It may run without asking: it is the user's own function.

    Raises:
        UserError: There is no such variable, or it is no tool, or its name is taken by one that comes with the package.
    """
    namespace = runtime.ip.user_ns
    if name not in namespace:
        variables = [key for key, value in namespace.items() if not key.startswith("_") and isinstance(value, Tool)]
        check_tool([*runtime.tools, *variables], name)
    if not isinstance(namespace[name], Tool):
        raise UserError(f"{name} is not a tool.", hint="Put @pi_nb.tool above its definition and run that cell again.")
    tool = NotebookTool(namespace, name)
    if isinstance(runtime.tools.get(tool.name), NotebookTool | None):
        runtime.tools[tool.name] = tool
        runtime.approvals.trust(tool.name)
        return tool.name
    raise UserError(
        f"There is a tool {tool.name} already.", hint=f"Give it another: @pi_nb.tool(name='my_{tool.name}')"
    )

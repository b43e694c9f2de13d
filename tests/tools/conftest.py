"""What the tests of the tools share: a working directory, tools in it, and a way to call them by hand."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import ToolError
from pi_nb.harness.signals import AbortSignal
from pi_nb.harness.tools import ToolContext, ToolResult
from pi_nb.messages import TextContent
from pi_nb.tools import builtin_tools


@dataclass
class Workbench:
    """A folder with the tools bound to it."""

    folder: Path
    updates: list[Any] = field(default_factory=list)
    signal: AbortSignal = field(default_factory=AbortSignal)

    def __post_init__(self) -> None:
        self.tools = {tool.name: tool for tool in builtin_tools(self.folder)}

    def put(self, name: str, content: str | bytes = "") -> Path:
        """Write a file, with its folders."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    async def run(self, name: str, **args: Any) -> ToolResult:
        """Call a tool on the running loop."""
        ctx = ToolContext("call-1", self.signal, self.updates.append, None, str(self.folder))
        return await self.tools[name].run(args, ctx)

    async def printed(self) -> None:
        """Wait for the first update of a running call."""
        async with asyncio.timeout(10):
            while not self.updates:  # noqa: ASYNC110 - updates may come from any thread
                await asyncio.sleep(0.01)

    def __call__(self, name: str, **args: Any) -> ToolResult:
        """Call a tool."""
        return asyncio.run(self.run(name, **args))

    def text(self, name: str, **args: Any) -> str:
        """Call a tool and return the text of its result, which must be no error."""
        result = self(name, **args)
        assert not result.is_error, text_of(result)
        return text_of(result)

    def error(self, name: str, **args: Any) -> str:
        """Call a tool that raises and return what it says."""
        with pytest.raises(ToolError) as caught:
            self(name, **args)
        return str(caught.value)


def text_of(result: ToolResult) -> str:
    """Return all text of a result."""
    return "".join(block.text for block in result.blocks if isinstance(block, TextContent))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    """Return a workbench whose temporary files stay in the test's own folder."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    folder = tmp_path / "work"
    folder.mkdir()
    return Workbench(folder)


@pytest.fixture
def says() -> Callable[[ToolResult], str]:
    """Return the function that takes the text out of a result."""
    return text_of

"""A program that is killed in the middle of a tool call; started by test_killed."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.tools import tool
from pi_nb.messages import ToolCall
from pi_nb.providers.registry import Registry
from pi_nb.providers.scripted import Reply, ScriptedProvider
from pi_nb.session.repo import SessionRepo


@tool
async def forever() -> str:
    """Say that it has begun, and never end."""
    print("running", flush=True)
    await asyncio.Event().wait()
    return "never"


async def main(folder: Path) -> None:
    session = SessionRepo(folder).create(str(folder))
    calls = Reply([ToolCall(id="c1", name="forever", arguments={}), ToolCall(id="c2", name="forever", arguments={})])
    provider = ScriptedProvider([Reply(calls.content, stop_reason="toolUse")])
    harness = AgentHarness(session, model="scripted:one", registry=Registry([provider]), tools=[forever])
    await harness.set_thinking_level("low")
    await harness.prompt("go")


asyncio.run(main(Path(sys.argv[1])))

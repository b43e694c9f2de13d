"""A program that is killed while its agent works; started by test_killed.

python killed_child.py FOLDER            says "running" in the middle of two tool calls, and never ends
python killed_child.py FOLDER everything  does what test_abort_anywhere's run does, and says each event's number
"""

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


async def everything(folder: Path) -> None:
    from tests.harness.test_abort_anywhere import Scene

    scene = Scene(folder)
    scene.harness.subscribe(lambda _event: print(len(scene.events), flush=True))
    await scene.harness.prompt("go")
    print("over", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    asyncio.run((everything if len(sys.argv) > 2 else main)(Path(sys.argv[1])))

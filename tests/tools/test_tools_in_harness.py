"""The tools as a model uses them: through a harness, with a policy on its hook."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.events import ToolExecutionUpdate
from pi_nb.messages import ToolCall, ToolResultMessage, text_of
from pi_nb.providers.registry import Registry
from pi_nb.providers.scripted import Reply, ScriptedProvider
from pi_nb.session.memory import InMemorySessionRepo
from pi_nb.tools import builtin_tools
from pi_nb.tools.policy import ToolPolicy


def calling(*calls: tuple[str, dict[str, Any]]) -> Reply:
    """Return an answer that calls tools."""
    blocks = [ToolCall(id=f"call-{n}", name=name, arguments=args) for n, (name, args) in enumerate(calls)]
    return Reply(blocks, stop_reason="toolUse")


def harness_in(folder: Path, replies: Sequence[Reply]) -> AgentHarness:
    """Return a harness with the tools and a scripted model."""
    registry = Registry([ScriptedProvider(replies)])
    session = InMemorySessionRepo().create(str(folder))
    return AgentHarness(session, model="scripted:scripted-1", registry=registry, tools=builtin_tools())


def results(harness: AgentHarness) -> list[ToolResultMessage]:
    """Return the results in the session."""
    return [m for m in harness.session.context().messages if isinstance(m, ToolResultMessage)]


def test_a_small_job(bench: Any) -> None:
    """A model writes, edits, runs and searches, in the folder of the session."""
    bench.put("todo.txt", "answer = 41\n")

    async def work() -> AgentHarness:
        harness = harness_in(
            bench.folder,
            [
                calling(("read", {"path": "todo.txt"})),
                calling(
                    ("edit", {"path": "todo.txt", "edits": [{"oldText": "41", "newText": "42"}]}),
                    ("bash", {"command": "cat todo.txt"}),
                    ("grep", {"pattern": "answer"}),
                ),
                Reply("Done."),
            ],
        )
        policy = ToolPolicy(bench.folder)
        policy.allow("edit", ".")
        policy.allow("bash")
        harness.on("tool_call", policy)
        await harness.prompt("Fix it.")
        return harness

    messages = results(asyncio.run(work()))
    assert [text_of(message.content) for message in messages] == [
        "answer = 41",
        "Edited todo.txt: 1 replacement, +1 -1 lines.",
        "answer = 42",
        "todo.txt:1: answer = 42",
    ]
    assert not any(message.is_error for message in messages)


def test_what_is_not_allowed_does_not_run(bench: Any) -> None:
    """A denied call is an error result that says how to allow it, and has no effect."""

    async def work() -> AgentHarness:
        harness = harness_in(bench.folder, [calling(("bash", {"command": "touch made"})), Reply("Oh.")])
        harness.on("tool_call", ToolPolicy(bench.folder))
        await harness.prompt("Make it.")
        return harness

    (message,) = results(asyncio.run(work()))
    assert message.is_error
    assert text_of(message.content) == (
        "Not run: bash may do anything. That needs the user's consent, and there is nobody to ask here."
        " The user can allow it beforehand: policy.allow('bash')"
    )
    assert list(bench.folder.iterdir()) == []


def test_an_abort_ends_a_command(bench: Any) -> None:
    """An abort ends a command within a second, and what it had printed is in the session."""

    async def work() -> AgentHarness:
        command = "trap '' TERM; echo begun; echo $$ > pid; sleep 60 & wait; sleep 60"
        harness = harness_in(bench.folder, [calling(("bash", {"command": command}))])
        begun = asyncio.Event()

        def watch(event: Any) -> None:
            if isinstance(event, ToolExecutionUpdate):
                begun.set()

        harness.subscribe(watch)
        run = asyncio.create_task(harness.prompt("Go."))
        await asyncio.wait_for(begun.wait(), 10)
        at = time.monotonic()
        await harness.abort()
        await asyncio.wait_for(run, 5)
        assert time.monotonic() - at < 3
        assert harness.is_idle
        return harness

    (message,) = results(asyncio.run(work()))
    assert message.is_error
    assert text_of(message.content).startswith("begun\n\n[Stopped after")
    pid = int((bench.folder / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


def test_long_results_are_left_alone(bench: Any) -> None:
    """What a tool has shortened the harness does not shorten again."""
    bench.put("long.txt", "".join(f"{n}\n" for n in range(5000)))

    async def work() -> AgentHarness:
        calls = calling(("read", {"path": "long.txt"}), ("bash", {"command": "cat long.txt; yes | head -c 200000"}))
        harness = harness_in(bench.folder, [calls, Reply("Long.")])
        await harness.prompt("Read.")
        return harness

    for message in results(asyncio.run(work())):
        assert "only:" not in text_of(message.content)
        assert len(message.content) == 2


@pytest.mark.parametrize("name", [tool.name for tool in builtin_tools()])
def test_tools_are_described(name: str) -> None:
    """Every tool says what it does and what each argument is, and the context of a call is no argument."""
    tool = next(tool for tool in builtin_tools() if tool.name == name)
    assert len(tool.description) > 30
    assert "ctx" not in tool.parameters["properties"]
    assert all(part.get("description") for part in tool.parameters["properties"].values())


def test_names_and_arguments_are_pis() -> None:
    """Names of tools and arguments are those of pi, so that sessions and models can go from one to the other."""
    assert {tool.name: list(tool.parameters["properties"]) for tool in builtin_tools()} == {
        "read": ["path", "offset", "limit"],
        "bash": ["command", "timeout"],
        "edit": ["path", "edits", "oldText", "newText"],
        "write": ["path", "content"],
        "grep": ["pattern", "path", "glob", "ignoreCase", "literal", "context", "limit"],
        "find": ["pattern", "path", "limit"],
        "ls": ["path", "limit"],
    }

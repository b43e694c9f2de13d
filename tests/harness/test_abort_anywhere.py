"""One run that does everything a run can do, aborted at fifty moments: at events, and at times in between."""

import asyncio
import random
import threading
import time
import uuid
from pathlib import Path

import pytest

from pi_nb.errors import ProviderError
from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.compaction import CompactionSettings
from pi_nb.harness.prompts import SUMMARISER
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.tools import ToolContext, tool
from pi_nb.messages import AssistantMessage, TextContent, ThinkingContent, Usage, UserMessage, text_of
from pi_nb.models import Model
from pi_nb.providers.registry import Registry
from pi_nb.providers.scripted import Reply, ScriptedProvider
from pi_nb.session.repo import SessionRepo
from pi_nb.tools.bash import bash_tool
from tests.harness.bench import OVERLOADED, calling, refusals, refused

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds processes in /proc")

POINTS = 50
IDLE_WITHIN = 1.0
"""Seconds in which the harness has to be idle after an abort, whatever the tools do."""
MARK = "ABORT_ANYWHERE"
TREE = """
trap '' TERM
sleep 300 &
(sleep 300; true) &
setsid nohup sleep 300 >/dev/null 2>&1 &
sh -c 'trap "" TERM; sleep 300 & (sleep 300 & wait; true) & wait' &
echo grown
wait
"""
BROKEN = ProviderError("it broke", code="truncated", retryable=True)
MODEL = Model("scripted", "one", context_window=10_000)
SMALL = CompactionSettings(keep_recent_tokens=300)
TRIES = RetryPolicy(max_attempts=4, base_delay=0.03, jitter=0)
RELEASE = threading.Event()


@tool
async def ignore() -> str:
    """Go on for a while, and on and on when cancelled."""
    until = time.monotonic() + 0.2
    while time.monotonic() < until:
        try:
            await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            until = time.monotonic() + 1.5
    return "never mind"


@tool
def block() -> str:
    """Block a thread and never look at the signal."""
    RELEASE.wait(0.15)
    return "blocked"


@tool
def poll(ctx: ToolContext) -> str:
    """Block a thread, looking at the signal and saying how far it is."""
    for step in range(5):
        ctx.update(f"step {step}")
        if ctx.signal.sleep(0.02):
            return "stopped by myself"
    return "polled"


@tool(sequential=True)
async def alone(seconds: float) -> str:
    """Wait while nobody else runs."""
    await asyncio.sleep(seconds)
    return "waited"


class StrictProvider(ScriptedProvider):
    """A scripted model that refuses what Anthropic or OpenAI would refuse, and whose summaries come at second try."""

    def __init__(self, *replies):
        super().__init__(replies, models=[MODEL], tokens_per_second=4_000)
        self.summaries = 0
        self.refusals = []

    def _take(self, request):
        found = refused(request.messages)
        if found:
            self.refusals += found
            return Reply(error=f"refused: {found}")
        if request.system == SUMMARISER:
            self.summaries += 1
            return Reply(error=OVERLOADED) if self.summaries == 1 else Reply("What was said before. " * 6)
        return super()._take(request)


def script():
    """Return the answers of the run: one that breaks, one refused, then calls side by side, one alone, and the end."""
    together = calling(("bash", {"command": TREE, "timeout": 0.2}), ("ignore", {}), ("block", {}), ("poll", {}))
    thought = [ThinkingContent(thinking="hm " * 40), TextContent(text="I shall look. " * 8)]
    return (
        Reply("Half of an answer, and then nothing. " * 4, error=BROKEN),
        Reply(error=OVERLOADED),
        Reply([*thought, *together.content], stop_reason="toolUse", usage=Usage.of(input=9_000, output=100)),
        calling(("alone", {"seconds": 0.03}), ("alone", {"seconds": 0.03}), text="One after another. " * 4),
        "And that is all there was to say. " * 8,
    )


class Scene:
    """The run over a session in a file that is worth compacting."""

    def __init__(self, folder):
        self.repo = SessionRepo(folder)
        self.session = self.repo.create(str(folder))
        for number in range(4):
            self.session.append_message(UserMessage(content=f"question {number} " * 50))
            self.session.append_message(AssistantMessage(content=(TextContent(text=f"answer {number} " * 50),)))
        self.provider = StrictProvider(*script())
        self.harness = self.harness_over(self.session)
        self.events = []
        self.harness.subscribe(self._heard)
        self.at = -1  # the number of an event
        self.reached = asyncio.Event()

    def harness_over(self, session):
        tools = [bash_tool(), ignore, block, poll, alone]
        registry = Registry([self.provider])
        return AgentHarness(session, model=str(MODEL), registry=registry, tools=tools, retry=TRIES, compaction=SMALL)

    async def _heard(self, event):
        if event.type == "tool_execution_start" and "tool_execution_start" not in self.types:
            await self.harness.steer("what came later")
        self.events.append(event)
        if len(self.events) > self.at >= 0:
            self.reached.set()

    @property
    def types(self):
        return [event.type for event in self.events]

    def said(self):
        return [text_of(getattr(m, "content", "")) for m in self.session.context().messages]


def alive(mark):
    """Return the processes that carry a mark in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                if mark.encode() in (folder / "environ").read_bytes() and state not in "ZX":
                    found.append((folder.name, (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except OSError:
                continue
    return found


async def none_left(mark):
    """Wait until no process carries a mark any more. On a busy machine killing a whole tree outlasts a tool's grace."""
    for _ in range(100):
        if not alive(mark):
            return True
        await asyncio.sleep(0.02)
    return False


@pytest.fixture
def mark(monkeypatch):
    """Mark all processes that are started from here on; nobody started before has it."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    yield mark
    RELEASE.set()
    RELEASE.clear()


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return how long the whole run takes, and how many events it has."""

    async def work():
        scene = Scene(tmp_path_factory.mktemp("whole"))
        begun = time.monotonic()
        answer = await scene.harness.prompt("go")
        took = time.monotonic() - begun
        assert (answer.stop_reason, scene.provider.pending) == ("stop", 0)
        scene.session.close()
        return took, scene.types

    return asyncio.run(work())


def test_the_run_does_everything(whole):
    """Undisturbed, the run streams, tries again, calls tools, is steered and compacted."""
    _took, types = whole
    for what in ("message_update", "retry_start", "tool_execution_update", "session_compact", "queue_update"):
        assert what in types
    assert types.count("tool_execution_end") == 6
    assert types.count("retry_start") == 3


@pytest.mark.parametrize("point", range(POINTS))
def test_an_abort_anywhere(point, whole, mark, tmp_path):
    """Idle within a second, no process left, nothing lost, the session valid, and the next prompt is taken."""
    source = random.Random(point)
    took, types = whole

    async def work():
        scene = Scene(tmp_path)
        task = asyncio.create_task(scene.harness.prompt("go"))
        if point % 2:
            scene.at = source.randrange(len(types))
            await asyncio.wait({task, asyncio.ensure_future(scene.reached.wait())}, return_when="FIRST_COMPLETED")
            scene.reached.set()
        else:
            await asyncio.sleep(source.uniform(0, took))
        begun = time.monotonic()
        result = await scene.harness.abort()
        assert time.monotonic() - begun <= IDLE_WITHIN
        assert scene.harness.is_idle
        assert await none_left(mark)
        await task
        check_kept(scene, result)
        await check_goes_on(scene)

    asyncio.run(work())


def test_the_tree_is_grown_when_it_is_aborted(mark, tmp_path):
    """Children, grandchildren, one in a session of its own and ones that ignore SIGTERM are there, and then are not."""

    async def work():
        scene = Scene(tmp_path)
        grown = asyncio.Event()

        def look(event):
            if event.type == "tool_execution_update" and event.tool_name == "bash":
                grown.set()

        scene.harness.subscribe(look)
        task = asyncio.create_task(scene.harness.prompt("go"))
        await asyncio.wait_for(grown.wait(), 20)
        sleeping = [command for _pid, command in alive(mark) if command.startswith("sleep 300")]
        result = await scene.harness.abort()
        assert await none_left(mark)
        assert len(sleeping) == 5
        assert (await task).stop_reason == "aborted"
        check_kept(scene, result)
        await check_goes_on(scene)

    asyncio.run(work())


def check_kept(scene, aborted):
    """Check that what was said is in the session or was handed back, and that both providers would take it."""
    steered = "tool_execution_start" in scene.types
    handed_back = [text_of(message.content) for message in aborted.cleared_steer]
    assert [*handed_back, *scene.said()].count("what came later") == steered
    assert refusals(scene.session) == []
    assert scene.types[-1] in ("abort", "settled")


async def check_goes_on(scene):
    """Check that the next prompt is answered, here and after opening the file again."""
    scene.provider._replies.clear()
    scene.provider.add("Here.", "There.")
    here = await scene.harness.prompt("next")
    assert (here.text, here.stop_reason) == ("Here.", "stop")
    entries = [entry.to_wire() for entry in scene.session.entries()]
    file = scene.session.file
    scene.session.close()
    with scene.repo.open(file) as again:
        assert again.warnings == ()
        assert [entry.to_wire() for entry in again.entries()] == entries
        there = await scene.harness_over(again).prompt("and next")
        assert (there.text, there.stop_reason) == ("There.", "stop")
        assert refusals(again) == []
    assert scene.provider.refusals == []

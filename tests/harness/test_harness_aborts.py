import asyncio
import threading
import time

import pytest

from pi_nb.errors import CompactionError, HarnessError
from pi_nb.harness.calls import CANCEL_GRACE, GRACE
from pi_nb.harness.compaction import CompactionSettings
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.tools import ToolContext, tool
from pi_nb.providers.scripted import Reply
from tests.harness.bench import OVERLOADED, bench, calling, refusals

IDLE_WITHIN = 1.0
"""Seconds in which a harness has to be idle after an abort, whatever a tool does."""


@tool
async def wait(seconds: float = 30) -> str:
    """Wait, and stop when cancelled."""
    await asyncio.sleep(seconds)
    return "waited"


@tool
async def obey(ctx: ToolContext) -> str:
    """Wait for the signal and say so."""
    await ctx.signal.wait()
    return "saw the signal"


@tool
async def ignore() -> str:
    """Go on, whatever happens."""
    until = time.monotonic() + 1.5
    while time.monotonic() < until:
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            continue
    return "never mind"


RELEASE = threading.Event()


@tool
def block(ctx: ToolContext) -> str:
    """Block a thread and never look at the signal."""
    RELEASE.wait(3)
    return "blocked"


@tool
def poll(ctx: ToolContext) -> str:
    """Block a thread, looking at the signal."""
    return "stopped by myself" if ctx.signal.sleep(30) else "slept"


TOOLS = [wait, obey, ignore, block, poll]


async def abort_after(made, seconds, work):
    """Begin some work, abort it a little later, and return its outcome and how long the abort took."""
    task = asyncio.ensure_future(work)
    await asyncio.sleep(seconds)
    begun = time.monotonic()
    await made.harness.abort()
    took = time.monotonic() - begun
    assert made.harness.is_idle
    return (await asyncio.gather(task, return_exceptions=True))[0], took


def test_what_had_arrived_is_kept():
    """An answer that is aborted stays as far as it came, and says so."""
    made = bench("0123456789abcdef" * 50, "Fine.", pace=400)

    async def work():
        arrived = asyncio.Event()
        made.harness.subscribe(
            lambda event: (
                arrived.set() if event.type == "message_update" and event.stream.type == "text_delta" else None
            )
        )
        task = asyncio.create_task(made.harness.prompt("go"))
        await arrived.wait()
        await made.harness.abort()
        return await task

    answer = asyncio.run(work())
    assert answer.stop_reason == "aborted"
    assert 0 < len(answer.text) < 800
    assert "0123456789abcdef".startswith(answer.text[:16])
    assert made.said() == ["user: go", f"assistant: {answer.text}"]
    assert refusals(made.session) == []
    assert asyncio.run(made.harness.prompt("again")).text == "Fine."


def test_an_abort_before_the_answer_begins_counts():
    """An abort that comes before anything was asked asks nobody, and is an answer of its own."""
    made = bench("never", "Fine.")

    async def work():
        task = asyncio.create_task(made.harness.prompt("go"))
        await asyncio.sleep(0)
        await made.harness.abort()
        return await task

    answer = asyncio.run(work())
    assert (answer.stop_reason, answer.content) == ("aborted", ())
    assert made.provider.requests == []
    assert made.said() == ["user: go", "assistant: "]
    assert asyncio.run(made.harness.prompt("again")).text == "never"


def test_an_abort_while_the_provider_thinks():
    """A provider that has not said anything yet is cancelled."""
    made = bench(Reply("x", delay=30), "Fine.")
    answer, took = asyncio.run(abort_after(made, 0.02, made.harness.prompt("go")))
    assert answer.stop_reason == "aborted"
    assert took < IDLE_WITHIN
    assert asyncio.run(made.harness.prompt("again")).text == "Fine."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("wait", "Stopped: the run was aborted."),
        ("obey", "saw the signal"),
        ("ignore", "Stopped: the run was aborted."),
        ("block", "Stopped: the run was aborted."),
        ("poll", "stopped by myself"),
    ],
)
def test_a_running_tool_is_stopped(name, text):
    """Every kind of tool gets the signal; one that ignores it is left alone, and the harness is idle in a second."""
    made = bench(calling((name, {})), "never", "Fine.", tools=TOOLS)

    async def work():
        return await abort_after(made, 0.05, made.harness.prompt("go"))

    try:
        answer, took = asyncio.run(work())
    finally:
        RELEASE.set()
        RELEASE.clear()
    assert answer.stop_reason == "aborted"
    assert took < IDLE_WITHIN
    assert GRACE + CANCEL_GRACE < IDLE_WITHIN
    assert made.said()[2] == f"toolResult: {text}"
    assert len(made.provider.requests) == 1
    assert refusals(made.session) == []


def test_every_call_gets_a_result():
    """Calls that were running, and calls that had not begun, all have results, in the order of the calls."""
    made = bench(calling(("obey", {}), ("wait", {}), ("obey", {})), "Fine.", tools=TOOLS)
    asyncio.run(abort_after(made, 0.05, made.harness.prompt("go")))
    results = [m for m in made.session.context().messages if m.role == "toolResult"]
    assert [m.tool_call_id for m in results] == ["c1", "c2", "c3"]
    assert refusals(made.session) == []


def test_calls_that_wait_for_their_turn_are_not_run():
    """Of calls that run one after another those behind the aborted one are answered without being run."""
    ran = []

    @tool(sequential=True)
    async def note(text: str) -> str:
        """Note."""
        ran.append(text)
        await asyncio.sleep(30)
        return text

    made = bench(calling(("note", {"text": "a"}), ("note", {"text": "b"})), tools=[note])
    asyncio.run(abort_after(made, 0.05, made.harness.prompt("go")))
    assert ran == ["a"]
    assert made.said()[3] == "toolResult: Not run: the run was aborted first."
    starts = [event.tool_call_id for event in made.events if event.type == "tool_execution_start"]
    assert starts == ["c1"]


def test_a_hook_that_waits_for_an_answer_is_interrupted():
    """An approval that nobody gives does not keep an aborted run."""
    made = bench(calling(("obey", {})), "Fine.", tools=TOOLS)
    made.harness.on("tool_call", lambda _call: asyncio.Event().wait())
    answer, took = asyncio.run(abort_after(made, 0.05, made.harness.prompt("go")))
    assert answer.stop_reason == "aborted"
    assert took < IDLE_WITHIN
    assert made.said()[2] == "toolResult: Not run: the run was aborted first."


@pytest.mark.parametrize("hook", ["before_agent_start", "context", "before_provider_request"])
def test_every_hook_of_a_run_is_interrupted(hook):
    """A hook that never answers does not keep an aborted run; the prompt is in the session."""
    made = bench("x", "y")
    remove = made.harness.on(hook, lambda _event: asyncio.Event().wait())
    answer, took = asyncio.run(abort_after(made, 0.02, made.harness.prompt("go")))
    assert answer.stop_reason == "aborted"
    assert took < IDLE_WITHIN
    assert made.said()[0] == "user: go"
    remove()
    assert asyncio.run(made.harness.prompt("again")).stop_reason == "stop"


def test_a_wait_before_another_try_is_interrupted():
    """An abort ends the wait between two tries; the answer is aborted, not failed."""
    made = bench(Reply(error=OVERLOADED), "never", retry=RetryPolicy(base_delay=60, jitter=0))
    waiting = asyncio.Event()
    made.harness.subscribe(lambda event: waiting.set() if event.type == "retry_start" else None)

    async def work():
        task = asyncio.ensure_future(made.harness.prompt("go"))
        await asyncio.wait_for(waiting.wait(), 5)
        assert made.harness.phase == "retry"
        begun = time.monotonic()
        await made.harness.abort()
        return await task, time.monotonic() - begun

    answer, took = asyncio.run(work())
    assert (answer.stop_reason, answer.error_message) == ("aborted", "Request was aborted")
    assert took < IDLE_WITHIN
    assert made.types[-6:] == ["message_end", "turn_end", "save_point", "agent_end", "settled", "abort"]
    assert [e.success for e in made.events if e.type == "retry_end"] == [False]


def long_talk(made, rounds=4):
    """Write a conversation that is worth compacting."""
    from pi_nb.messages import AssistantMessage, TextContent, UserMessage

    for number in range(rounds):
        made.session.append_message(UserMessage(content=f"question {number} " * 50))
        made.session.append_message(AssistantMessage(content=(TextContent(text=f"answer {number} " * 50),)))


SMALL = CompactionSettings(keep_recent_tokens=300)


def test_an_aborted_compaction_writes_nothing():
    """A compaction that is aborted is an error and leaves the session as it was."""
    made = bench(Reply("x", delay=30), compaction=SMALL)
    long_talk(made)
    before = len(made.session)
    outcome, took = asyncio.run(abort_after(made, 0.02, made.harness.compact()))
    assert isinstance(outcome, CompactionError)
    assert took < IDLE_WITHIN
    assert len(made.session) == before


def test_an_aborted_branch_summary_moves_nothing():
    """A move whose summary is aborted is cancelled; the leaf stays."""
    made = bench(Reply("x", delay=30))
    long_talk(made)
    leaf = made.session.leaf_id
    target = made.session.entries()[1].id
    outcome, took = asyncio.run(abort_after(made, 0.02, made.harness.navigate_tree(target, summarize=True)))
    assert outcome.cancelled
    assert took < IDLE_WITHIN
    assert made.session.leaf_id == leaf


def test_queued_messages_are_handed_back():
    """What waited to be said to an aborted run comes back; what waits for the next prompt stays."""
    made = bench(Reply("x", delay=30), "Fine.")

    async def work():
        task = asyncio.create_task(made.harness.prompt("go"))
        await asyncio.sleep(0.02)
        await made.harness.steer("s")
        await made.harness.follow_up("f")
        await made.harness.next_turn("n")
        result = await made.harness.abort()
        await task
        return result

    result = asyncio.run(work())
    assert [m.content[0].text for m in (*result.cleared_steer, *result.cleared_follow_up)] == ["s", "f"]
    asyncio.run(made.harness.prompt("again"))
    assert made.said()[-3:] == ["user: n", "user: again", "assistant: Fine."]


def test_an_abort_of_nothing():
    """An idle harness can be aborted: nothing is written, the event is told."""
    made = bench()
    result = asyncio.run(made.harness.abort())
    assert (result.cleared_steer, result.cleared_follow_up) == ((), ())
    assert made.types == ["queue_update", "abort"]
    assert made.kinds() == []


@pytest.mark.parametrize("where", ["message_start", "message_end", "tool_execution_start", "turn_end", "agent_end"])
def test_a_subscriber_may_abort_and_wait(where):
    """An abort from within the run does not wait for itself; the run ends."""
    made = bench(calling(("wait", {"seconds": 0.01})), "x", tools=TOOLS)

    async def abort(event):
        if event.type == where:
            await made.harness.abort()

    made.harness.subscribe(abort)

    async def work():
        answer = await asyncio.wait_for(made.harness.prompt("go"), 5)
        await asyncio.sleep(0.01)
        return answer

    assert asyncio.run(work()).stop_reason == ("stop" if where == "agent_end" else "aborted")
    assert made.types[-1] == "abort"


def test_a_tool_may_abort_its_own_run():
    """A tool that aborts and waits is not waited for by the abort it made."""

    @tool
    async def quit() -> str:
        """Quit."""
        await made.harness.abort()
        return "quitting"

    made = bench(calling(("quit", {})), "x", tools=[quit])
    answer = asyncio.run(asyncio.wait_for(made.harness.prompt("go"), 5))
    assert answer.stop_reason == "aborted"
    assert made.said()[2] == "toolResult: quitting"


def test_cancelling_the_caller_aborts_in_order_and_is_passed_on():
    """A cancelled prompt ends its run properly first: results, events, idle; then the cancellation goes on."""
    made = bench(calling(("wait", {})), "Fine.", tools=TOOLS)

    async def work():
        task = asyncio.create_task(made.harness.prompt("go"))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert made.harness.is_idle
        assert task.cancelled()

    asyncio.run(work())
    assert made.types[-2:] == ["agent_end", "settled"]
    assert made.kinds() == ["user", "assistant", "toolResult", "assistant"]
    assert refusals(made.session) == []


def test_a_loop_that_is_torn_down_leaves_a_valid_session():
    """When the event loop goes away in the middle of a tool, its call still has a result."""
    made = bench(calling(("wait", {})), tools=TOOLS)

    async def work():
        task = asyncio.create_task(made.harness.prompt("go"))
        await asyncio.sleep(0.05)
        assert not task.done()

    asyncio.run(work())  # asyncio.run cancels whatever is left
    assert made.kinds()[:3] == ["user", "assistant", "toolResult"]
    assert refusals(made.session) == []


def test_a_timeout_around_a_prompt():
    """A caller's own timeout works, and the harness is idle afterwards."""
    made = bench(Reply("x", delay=30), "Fine.")

    async def work():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await made.harness.prompt("go")
        assert made.harness.is_idle
        return await made.harness.prompt("again")

    assert asyncio.run(work()).text == "Fine."


def test_a_subscriber_that_raises_on_the_abort_does_not_keep_it():
    """The abort goes through, and then the subscriber's exception is raised."""
    made = bench(Reply("x", delay=30))

    def explode(event):
        if event.type == "queue_update":
            raise ValueError("boom")

    made.harness.subscribe(explode)

    async def work():
        task = asyncio.create_task(made.harness.prompt("go"))
        await asyncio.sleep(0.02)
        with pytest.raises(HarnessError):
            await made.harness.abort()
        assert made.harness.is_idle
        return await task

    assert asyncio.run(work()).stop_reason == "aborted"

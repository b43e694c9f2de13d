import asyncio

import pytest

from pi_nb.errors import HarnessError
from pi_nb.harness.queues import MessageQueue
from pi_nb.harness.tools import tool
from pi_nb.messages import UserMessage
from pi_nb.providers.scripted import Reply
from tests.harness.bench import bench, calling


@tool
async def echo(text: str) -> str:
    """Say it again."""
    return text


def message(text):
    return UserMessage(content=text)


def test_a_queue_gives_one_or_all():
    """One at a time is the default; what could not be delivered goes back to the front."""
    queue = MessageQueue()
    for text in "abc":
        queue.put(message(text))
    taken = queue.take()
    assert [m.content for m in taken] == ["a"]
    queue.put_back(taken)
    queue.mode = "all"
    assert [m.content for m in queue.take()] == ["a", "b", "c"]
    assert queue.take() == ()


def queueing(made, when, **texts):
    """Say things when an event of a kind comes for the first time."""
    done = []

    async def say(event):
        if event.type == when and not done:
            done.append(True)
            for text in texts.get("follow_up", ()):
                await made.harness.follow_up(text)
            for text in texts.get("steer", ()):
                await made.harness.steer(text)

    made.harness.subscribe(say)


def users(made):
    return [line.removeprefix("user: ") for line in made.said() if line.startswith("user: ")]


def test_steering_enters_between_turns():
    """Steering comes before the next answer, one message a turn, although the agent would have stopped."""
    made = bench(calling(("echo", {"text": "x"})), "one", "two", "three", tools=[echo])
    queueing(made, "tool_execution_start", steer=["s1", "s2"], follow_up=["f"])
    asyncio.run(made.harness.prompt("go"))
    assert made.said() == [
        *("user: go", "assistant: ", "toolResult: x", "user: s1", "assistant: one"),
        *("user: s2", "assistant: two", "user: f", "assistant: three"),
    ]


def test_all_steering_at_once():
    """In mode all everything enters before one answer."""
    made = bench("one", "two", steering_mode="all", follow_up_mode="all")
    queueing(made, "message_end", steer=["s1", "s2"])
    asyncio.run(made.harness.prompt("go"))
    assert made.said() == ["user: go", "user: s1", "user: s2", "assistant: one"]


def test_messages_stay_queued_after_a_failure():
    """A failed answer ends the run; steering enters after the next prompt, follow-ups after its answer."""
    made = bench(Reply(error="down"), "one", "two")
    queueing(made, "turn_start", steer=["s"], follow_up=["f"])
    made.harness.queues.steer.mode = "one-at-a-time"

    async def work():
        answer = await made.harness.prompt("go")
        assert answer.stop_reason == "error"
        await made.harness.prompt("again")

    asyncio.run(work())
    assert sorted(users(made)) == ["again", "f", "go", "s"]


def test_messages_for_the_next_turn_come_first():
    """They stand before the next prompt, whenever they were said."""
    made = bench("one", "two")

    async def work():
        await made.harness.next_turn("n1")
        await made.harness.next_turn("n2")
        await made.harness.prompt("go")

    asyncio.run(work())
    assert users(made) == ["n1", "n2", "go"]
    waiting = [len(event.next_turn) for event in made.events if event.type == "queue_update"]
    assert waiting == [1, 2, 0]


@pytest.mark.parametrize("method", ["steer", "follow_up"])
def test_there_must_be_a_run_to_steer(method):
    """An idle harness has nothing to steer or to follow."""
    made = bench()
    with pytest.raises(HarnessError) as caught:
        asyncio.run(getattr(made.harness, method)("x"))
    assert caught.value.code == "invalid_state"


def test_a_message_is_not_lost_when_telling_of_it_fails():
    """If a subscriber raises while a message is about to be delivered, it waits on."""
    made = bench("one", "two", "three")
    queueing(made, "message_start", steer=["s"])
    failed = []

    def explode(event):
        if event.type == "queue_update" and not event.steer and not failed:
            failed.append(True)
            raise ValueError("boom")

    made.harness.subscribe(explode)

    async def work():
        assert (await made.harness.prompt("go")).stop_reason == "error"
        await made.harness.prompt("again")

    asyncio.run(work())
    assert users(made) == ["go", "again", "s"]

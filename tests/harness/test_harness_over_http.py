import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.compaction import CompactionSettings
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.tools import tool
from pi_nb.models import Model
from pi_nb.providers.openai_chat import OpenAIChatProvider
from pi_nb.providers.registry import Registry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from tests.harness.bench import AT_ONCE, refusals
from tests.harness.test_harness_retries import talk
from tests.providers.raw_server import Answer, serving


def pieces(*payloads):
    return [f"data: {p if isinstance(p, str) else json.dumps(p)}\n\n".encode() for p in payloads]


def delta(finish=None, **fields):
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def saying(text):
    return Answer(pieces(delta(content=text), delta("stop"), "[DONE]"))


def calling(name, **args):
    call = {"index": 0, "id": "call_1", "function": {"name": name, "arguments": json.dumps(args)}}
    return Answer(pieces(delta(tool_calls=[call]), delta("tool_calls"), "[DONE]"))


def refusing(status, message, **headers):
    body = json.dumps({"error": {"message": message}}).encode()
    return Answer([body], status=status, headers={"content-type": "application/json", **headers})


@tool
async def echo(text: str) -> str:
    """Say it again."""
    return f"echo: {text}"


class Served:
    """A harness whose model is a real server."""

    def __init__(self, server, **options):
        self.provider = OpenAIChatProvider(base_url=server.url, api_key="test-key")
        self.session = Session(InMemorySessionStorage())
        self.events = []
        self.delays = []
        self.harness = AgentHarness(
            self.session,
            model=Model("openai", "m", api=self.provider.api),
            registry=Registry([self.provider]),
            **{"retry": AT_ONCE, **options},
        )
        self.harness.subscribe(self._heard)

    def _heard(self, event):
        self.events.append(event.type)
        if event.type == "retry_start":
            self.delays.append(event.delay)


def run(*answers, work, **options):
    """Serve answers to a harness, do some work with it, and return it with what the server received."""

    async def inside():
        with serving(*answers) as server:
            served = Served(server, **options)
            try:
                served.outcome = await work(served)
            finally:
                await served.provider.aclose()
            served.received = [received.json for received in server.received if received.method == "POST"]
            return served

    return asyncio.run(inside())


def prompt(served):
    return served.harness.prompt("go")


def test_a_tool_call_over_the_wire():
    """A question, a call, its result and the answer go over HTTP as the API wants them."""
    made = run(calling("echo", text="a"), saying("Done."), work=prompt, tools=[echo], system_prompt="Be brief.")
    assert made.outcome.text == "Done."
    roles = [message["role"] for message in made.received[1]["messages"]]
    assert roles[-3:] == ["user", "assistant", "tool"]
    assert made.received[1]["messages"][-1]["content"] == "echo: a"
    assert made.received[0]["tools"][0]["function"]["name"] == "echo"


def test_an_overloaded_server_is_asked_again():
    """A refusal that may pass is tried again and leaves no trace in the session."""
    made = run(refusing(503, "busy"), saying("Hello."), work=prompt)
    assert made.outcome.text == "Hello."
    assert len(made.session) == 2
    assert made.events.count("retry_start") == 1


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504, 529])
def test_statuses_that_may_pass(status):
    """These are tried three times in all, and leave one answer that says why."""
    made = run(*[refusing(status, "no")] * 3, saying("never"), work=prompt)
    assert made.outcome.stop_reason == "error"
    assert (len(made.received), len(made.session)) == (3, 2)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 422])
def test_statuses_that_will_not_pass(status):
    """These are the answer at once, whatever digits are in their text."""
    made = run(refusing(status, "error 429: 503 overloaded tokens (529)"), saying("never"), work=prompt)
    assert made.outcome.stop_reason == "error"
    assert len(made.received) == 1


@pytest.mark.parametrize("end", ["reset", "close", "vanish"])
def test_a_connection_that_breaks_before_a_word(end):
    """A connection that ends without an answer is tried again."""
    made = run(Answer([], end=end), saying("Hello."), work=prompt)
    assert made.outcome.text == "Hello."
    assert len(made.session) == 2


def date_in(seconds):
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    ("asked", "least", "most"),
    [
        ("0.02", 0.02, 0.02),
        ("99999999999", 0.08, 0.08),
        (date_in(3600), 0.08, 0.08),
        ("Wed, 21 Oct 2099 07:28:00 GMT", 0.08, 0.08),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0, 0),
        ("-5", 0, 0),
        ("nan", 0.04, 0.04),
        ("soon", 0.04, 0.04),
        ("Wed, 99 Foo 2015", 0.04, 0.04),
    ],
)
def test_retry_after(asked, least, most):
    """Seconds and dates are honoured up to a limit; what makes no sense is as if nothing was said."""
    policy = RetryPolicy(base_delay=0.04, max_delay=0.08, jitter=0)
    made = run(refusing(429, "slow", **{"retry-after": asked}), saying("Hello."), work=prompt, retry=policy)
    assert made.outcome.text == "Hello."
    assert least <= made.delays[0] <= most


def test_a_wrong_key_is_told_at_once():
    """A refusal that will not pass is the answer, and is not tried again."""
    made = run(refusing(401, "bad key"), saying("never"), work=prompt)
    assert made.outcome.stop_reason == "error"
    assert "bad key" in made.outcome.error_message
    assert len(made.received) == 1


DYING = Answer(pieces(delta(content="Half an ans")), end="reset")


def test_a_server_that_dies_in_the_middle_is_asked_again():
    """A connection that breaks in the middle of an answer leaves nothing; the next try gives the whole."""
    made = run(DYING, saying("Whole."), work=prompt)
    assert made.outcome.text == "Whole."
    assert len(made.session) == 2
    assert made.events.count("retry_start") == 1


def test_a_server_that_dies_each_time():
    """What had arrived at the last try is kept with one clear line, and the next prompt works."""

    async def work(served):
        answer = await served.harness.prompt("go")
        assert (answer.text, answer.stop_reason) == ("Half an ans", "error")
        assert "\n" not in answer.error_message
        assert len(served.session) == 2
        assert refusals(served.session) == []
        return await served.harness.prompt("again")

    made = run(DYING, DYING, DYING, saying("Fine."), work=work)
    assert made.outcome.text == "Fine."
    assert made.events.count("retry_start") == 2


def test_a_conversation_that_is_too_long_is_compacted():
    """A server's words for an overflow lead to a compaction and another try."""
    too_long = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."

    async def work(served):
        talk(served)
        return await served.harness.prompt("go")

    made = run(
        refusing(400, too_long),
        saying("SUMMARY"),
        saying("PREFIX"),
        saying("Hello."),
        work=work,
        compaction=CompactionSettings(keep_recent_tokens=300),
    )
    assert made.outcome.text == "Hello."
    assert "SUMMARY" in str(made.received[-1]["messages"])


def test_an_abort_closes_the_connection():
    """Aborting an answer lets go of the server at once."""

    async def inside():
        with serving(Answer(pieces(delta(content="Hi")), end="hold")) as server:
            served = Served(server)
            begun = asyncio.Event()
            served.harness.subscribe(lambda event: begun.set() if event.type == "message_update" else None)
            task = asyncio.create_task(served.harness.prompt("go"))
            await asyncio.wait_for(begun.wait(), 10)
            start = time.monotonic()
            await served.harness.abort()
            took = time.monotonic() - start
            left = await asyncio.to_thread(server.client_left.wait, 5)
            answer = await task
            await served.provider.aclose()
            return answer, took, left

    answer, took, left = asyncio.run(inside())
    assert (answer.text, answer.stop_reason) == ("Hi", "aborted")
    assert took < 1
    assert left


def test_the_body_of_a_request_can_be_changed():
    """A hook sees the JSON that is about to be sent and may send something else."""

    async def work(served):
        served.harness.on("before_provider_payload", lambda event: {**event.payload, "seed": 7})
        return await served.harness.prompt("go")

    made = run(saying("Hello."), work=work)
    assert made.received[0]["seed"] == 7

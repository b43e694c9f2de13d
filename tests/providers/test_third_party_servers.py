"""Whole conversations of each client with a server that nobody here wrote: with tools, and what goes wrong."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec

import pytest

from pi_nb.providers.timeouts import Timeouts
from tests.conftest import must
from tests.providers import third_party
from tests.providers.conversation import Client, interrupted, talk
from tests.providers.replay import FAMILIES

FIND = {"type": "reply", "tool_calls": [{"name": "find", "arguments": {"q": "boat ⛵", "n": 2}}]}
ANSWER = {"type": "reply", "text": "It is 12 m long."}


@pytest.fixture(scope="module")
def llmock_server(tmp_path_factory):
    if find_spec("llmock") is None:
        must("llmock: pip install llmock")
    with third_party.llmock(tmp_path_factory.mktemp("llmock")) as server:
        yield server


@pytest.fixture
def mock(llmock_server):
    """A server that forgets between tests, and finds nothing wrong with its client but what a test says."""
    llmock_server.reset()
    llmock_server.granted = ""
    yield llmock_server
    assert all(llmock_server.granted in line for line in llmock_server.verdict().splitlines())
    assert llmock_server.granted or not llmock_server.verdict()


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def test_a_conversation_with_tools(family, mock):
    """A call, its result, the answer, and another question: each request holds all that went before."""
    mock.script(FIND, ANSWER, {"type": "reply", "text": "You are welcome."})
    client = Client(family, mock.url, system_prompt="Be brief.")
    answers = talk(client, "How long is it?", "Thanks.")
    assert [answer.text for answer in answers] == ["It is 12 m long.", "You are welcome."]
    assert client.asked == [("boat ⛵", 2)]
    assert client.roles == ["user", "assistant", "toolResult", "assistant", "user", "assistant"]
    assert all(message.usage.output > 0 for message in client.messages if message.role == "assistant")
    assert [request["status"] for request in mock.requests()] == [200] * 3


def test_too_many_requests(family, mock):
    """A 429 is waited out as long as the server asks, and the conversation goes on."""
    mock.script({"type": "fail", "status": 429, "retry_after": 1, "times": 2}, FIND, ANSWER)
    client = Client(family, mock.url)
    assert talk(client, "How long?")[0].text == "It is 12 m long."
    assert client.events.count("retry_start") == 2
    assert client.roles == ["user", "assistant", "toolResult", "assistant"]


@pytest.mark.parametrize("status", [500, 503, 529])
def test_a_server_in_trouble(family, mock, status):
    """Overload and failures of the server's own pass, and leave nothing behind."""
    mock.script({"type": "fail", "status": status, "times": 2}, ANSWER)
    client = Client(family, mock.url)
    assert talk(client, "How long?")[0].text == "It is 12 m long."
    assert client.roles == ["user", "assistant"]


@pytest.mark.parametrize("status", [400, 401, 404])
def test_what_cannot_get_better_is_not_repeated(family, mock, status):
    """A wrong request is asked once."""
    mock.script({"type": "fail", "status": status, "times": None})
    client = Client(family, mock.url)
    (answer,) = talk(client, "How long?")
    assert (answer.stop_reason, client.events.count("retry_start")) == ("error", 0)
    posted = [request for request in mock.requests() if request["method"] == "POST"]
    assert len(posted) == 1


@pytest.mark.parametrize("kind", ["disconnect", "truncate", "malformed"])
def test_a_stream_that_breaks(family, mock, kind):
    """An answer that breaks off in the middle is an error, or asked for again; a part is never taken for the whole."""
    fault = {"type": "stream_fault", "kind": kind, "after_chunks": 2}
    mock.script(fault, {"type": "reply", "text": "a long answer that breaks off " * 5}, ANSWER)
    client = Client(family, mock.url)
    (answer,) = talk(client, "How long?")
    mock.granted = "retr"  # if something had been shown already, it is not repeated unasked
    if answer.stop_reason == "error":
        assert answer.error_message
        answer = talk(client, "Again.")[0]
    assert answer.text == "It is 12 m long."
    assert not any("breaks off" in m.text for m in client.messages if m.role == "assistant" and m.stop_reason == "stop")


def test_a_slow_stream(family, mock):
    """A server that thinks for a while before the first word, and stops for a moment, is waited for."""
    stall = {"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 0.5}
    mock.script({"type": "slow_first_token", "seconds": 0.5}, stall, ANSWER)
    client = Client(family, mock.url)
    assert talk(client, "How long?")[0].text == "It is 12 m long."
    assert client.events.count("retry_start") == 0


def test_a_stream_that_falls_silent(family, mock):
    """A server that says nothing more is a timeout, not a wait without end."""
    mock.script({"type": "stream_fault", "kind": "stall", "after_chunks": 0, "stall_seconds": 4}, ANSWER, ANSWER)
    client = Client(family, mock.url)
    client.provider._timeouts = Timeouts(first_token=0.5, idle=0.5)
    assert talk(client, "How long?")[0].text == "It is 12 m long."
    assert client.events.count("retry_start") == 1


def test_an_interrupt(family, mock):
    """Abort in the middle of an answer ends it at once, and the next question is answered."""
    stall = {"type": "stream_fault", "kind": "stall", "after_chunks": 4, "stall_seconds": 4}
    mock.script(stall, {"type": "reply", "text": "word " * 30}, ANSWER)
    client = Client(family, mock.url)
    client.provider._timeouts = Timeouts()

    async def run():
        first = await interrupted(client, "How long?")
        second = await client.harness.prompt("How long?")
        await client.aclose()
        return first, second

    first, second = asyncio.run(run())
    assert first.stop_reason == "aborted"
    assert second.text == "It is 12 m long."


def test_arguments_that_are_not_json(family, mock):
    """A call nobody can read is not run; the model is told, and answers."""
    mock.script({"type": "tool_fault", "kind": "malformed_arguments"}, FIND, ANSWER)
    client = Client(family, mock.url)
    answer = talk(client, "How long?")[0]
    if family == "gemini":  # its arguments cannot be malformed on the wire
        assert answer.stop_reason in ("stop", "error")
    else:
        assert client.asked == []
        assert "error" in {m.role if m.role != "toolResult" or not m.is_error else "error" for m in client.messages}

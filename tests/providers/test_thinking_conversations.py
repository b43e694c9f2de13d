"""Conversations with thoughts and tools, and all that goes wrong in them, with a server that nobody here wrote."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.conftest import must
from tests.providers import third_party
from tests.providers.conversation import Client, interrupted, talk, thoughts_of
from tests.providers.replay import FAMILIES

THOUGHT = {"reasoning": "I need a measure.", "reasoningSignature": "c2lnLW9uZQ=="}
CALLS = [{"name": "find", "arguments": {"q": "boat ⛵"}}, {"name": "find", "arguments": {"q": "quay", "n": 3}}]
LOOK = {**THOUGHT, "content": "Let me look.", "toolCalls": CALLS}
ANSWER = {"reasoning": "So.", "reasoningSignature": "c2lnLXR3bw==", "content": "It is 12 m long."}
LONG = {**THOUGHT, "content": "a word and another " * 20}


def fixture(said, response, *, match=None, **how):
    return {"match": {"userMessage": said, **(match or {})}, "response": response, **how}


ASKED = {"hasToolResult": False}
AFTER = {"hasToolResult": True}


def troubles(family):
    """Return what happens to one client, one after the other; the server counts by what the user said."""
    asked, again = f"{family}: how long", f"{family}: once more"
    refused = {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429, "retryAfter": 1}
    overloaded = {"error": {"message": "busy", "type": "overloaded_error"}, "status": 529}
    slowly = {"streamingProfile": {"ttft": 700, "tps": 12}}  # longer in all than a silence may be
    return [
        fixture(again, LONG, latency=100),
        fixture(asked, refused, match={**ASKED, "sequenceIndex": 0}),
        fixture(asked, overloaded, match={**ASKED, "sequenceIndex": 1}),
        fixture(asked, LOOK, match={**ASKED, "sequenceIndex": 2}, **slowly),
        fixture(asked, LONG, match={**AFTER, "sequenceIndex": 0}, truncateAfterChunks=9, latency=20),
        fixture(asked, ANSWER, match={**AFTER, "sequenceIndex": 1}),
    ]


FIXTURES = [
    fixture("Thanks", {"content": "You are welcome."}),
    fixture("Well?", ANSWER),
    fixture("How long", LOOK, match=ASKED),
    fixture("How long", ANSWER, match=AFTER),
    *(each for family in FAMILIES for each in troubles(family)),
]


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def aimock(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aimock")
    command = third_party.aimock_command(folder)
    if isinstance(command, str):
        must(command)
    (folder / "fixtures.json").write_text(json.dumps({"fixtures": FIXTURES}))
    port = third_party.free_port()
    options = ["-p", str(port), "-f", str(folder / "fixtures.json"), "--chunk-size", "7", "--log-level", "warn"]
    with third_party.process([*command, *options], port, folder / "aimock.log") as url:
        yield url


@pytest.mark.npm
def test_a_conversation_with_tools_and_thinking(family, aimock):
    """Thoughts come before calls and answers, go back with their proofs, and two calls at once are both run."""
    sent = []

    async def note(event):
        sent.append(event.payload)

    client = Client(family, aimock, third_party.AIMOCK_PATHS, thinking_level="high")
    client.harness.on("before_provider_payload", note)
    answers = talk(client, "How long is it?", "Thanks.")
    assert [answer.text for answer in answers] == ["It is 12 m long.", "You are welcome."]
    assert client.asked == [("boat ⛵", 1), ("quay", 3)]
    assert client.roles == ["user", "assistant", "toolResult", "toolResult", "assistant", "user", "assistant"]
    assert client.thoughts == ["I need a measure.", "So."]
    proof = {"anthropic": "c2lnLW9uZQ==", "openai_responses": "encrypted_content", "openai_chat": "reasoning_content"}
    assert proof.get(family, "I need a measure.") in json.dumps(sent[1], ensure_ascii=False)


@pytest.mark.npm
def test_one_conversation_through_all_troubles(family, aimock):
    """Refused for a second, overloaded, slow, cut in the middle, interrupted: the conversation goes on."""
    client = Client(family, aimock, third_party.AIMOCK_PATHS, thinking_level="high")

    async def run():
        answer = await client.harness.prompt(f"{family}: how long is it?")
        stopped = await interrupted(client, f"{family}: once more.", pieces=4)
        last = [await client.harness.prompt(text) for text in ("Well?", "Thanks.")]
        await client.aclose()
        return answer, stopped, last

    answer, stopped, last = asyncio.run(run())
    assert client.waits == [1.0, 0.4, 0.2]  # what the server asked for; our own second wait; our first, for the cut
    assert client.asked == [("boat ⛵", 1), ("quay", 3)]
    assert client.roles[:5] == ["user", "assistant", "toolResult", "toolResult", "assistant"]
    assert [thoughts_of(client.messages[place]) for place in (1, 4)] == [["I need a measure."], ["So."]]
    assert answer.text == "It is 12 m long."
    assert stopped.stop_reason == "aborted"
    assert thoughts_of(stopped)[0] in "I need a measure."
    assert [answer.text for answer in last] == ["It is 12 m long.", "You are welcome."]

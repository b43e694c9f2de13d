"""The server of llama.cpp, with a real model behind three formats: it thinks, calls a tool, answers, is asked again.

The model is very small; the chat template shows it by examples how that is done, and the server holds what it writes
to the shape of a call.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.tools import tool
from pi_nb.models import Model
from pi_nb.providers.openai_chat import OpenAIChatProvider
from pi_nb.providers.registry import Registry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from tests.providers.conversation import interrupted, thoughts_of
from tests.providers.replay import make_provider

FAMILIES = ("openai_chat", "anthropic", "openai_responses")


@pytest.fixture(scope="module")
def server(weights):
    """Return the address of a server that always says what is most likely."""
    runtime = pytest.importorskip("xllamacpp")
    params = runtime.CommonParams()
    params.model.path = str(weights)
    params.chat_template = Path(__file__).with_name("measuring.jinja").read_text()
    params.n_ctx, params.n_parallel, params.n_predict = 4096, 1, 200
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.warmup, params.verbosity, params.ui = False, 0, False
    params.sampling.temp = 0.0
    server = runtime.Server(params)
    yield server.listening_address
    del server


class Client:
    """A harness over the real model, with one tool that measures."""

    def __init__(self, family, url):
        self.asked = []
        self.sent = []

        @tool
        async def measure(thing: str) -> str:
            """Measure the length of a thing in metres."""
            self.asked.append(thing)
            return {"boat": "12 metres", "ship": "95 metres"}.get(thing, "1 metre")

        self.provider = (
            OpenAIChatProvider("llamacpp", base_url=f"{url}/v1", name="openai")
            if family == "openai_chat"
            else make_provider(family, url if family == "anthropic" else f"{url}/v1")
        )
        self.session = Session(InMemorySessionStorage())
        levels = ("off", "low", "medium", "high")
        registry = Registry([self.provider])
        registry.override(
            Model(self.provider.name, "smollm2", self.provider.api, reasoning=True, thinking_levels=levels)
        )
        self.harness = AgentHarness(
            self.session,
            model=f"{self.provider.name}:smollm2",
            registry=registry,
            tools=[measure],
            thinking_level="low",
        )
        self.harness.on("before_provider_payload", self._note)

    async def _note(self, event):
        self.sent.append(event.payload)

    @property
    def messages(self):
        return self.session.context().messages


@pytest.mark.parametrize("family", FAMILIES)
def test_a_real_model_thinks_calls_answers_and_is_asked_again(server, family):
    """Twice in one conversation: a thought, a call, its result, a thought and the answer that follows from it."""
    client = Client(family, server)

    async def run():
        answers = [await client.harness.prompt(f"How long is the {thing}?") for thing in ("boat", "ship")]
        await client.provider.aclose()
        return answers

    answers = asyncio.run(run())
    assert [message.role for message in client.messages] == ["user", "assistant", "toolResult", "assistant"] * 2
    said = [message for message in client.messages if message.role == "assistant"]
    assert [message.stop_reason for message in said] == ["toolUse", "stop"] * 2, [m.error_message for m in said]
    assert all(thoughts_of(message) for message in said)
    assert client.asked == ["boat", "ship"]
    assert "12" in answers[0].text
    assert "95" in answers[1].text
    assert all(message.usage.output > 0 for message in said)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_real_model_is_interrupted(server, family):
    """Abort in the middle of its thoughts ends them at once; the next question is answered, with a call."""
    client = Client(family, server)

    async def run():
        stopped = await interrupted(client, "How long is the train, the table and the rope?", pieces=3)
        answer = await client.harness.prompt("How long is the boat?")
        await client.provider.aclose()
        return stopped, answer

    stopped, answer = asyncio.run(run())
    assert stopped.stop_reason == "aborted"
    assert answer.stop_reason == "stop", answer.error_message
    assert answer.text

"""Any server by its address, and who may be sent a prompt because a session says so."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from pi_nb.messages import UserMessage
from pi_nb.providers.base import Request, StreamDone
from pi_nb.providers.compatible import CompatibleProvider
from pi_nb.providers.registry import default_registry
from tests.providers.raw_server import Answer, serving
from tests.providers.test_http_providers import WHOLE, environment

KEY = "sk-compatible-0123456789"


def ask(ref, **variables):
    async def run():
        provider, model = default_registry().resolve(f"openai-compatible:{ref}")
        request = Request(model, (UserMessage(content="go"),))
        last = [event async for event in provider.stream(request)][-1]
        await provider.aclose()
        return last

    with environment(**variables):
        return asyncio.run(run())


def test_a_server_by_its_address():
    """The model's name ends with the address, and the server is told only the name."""
    with serving(Answer(WHOLE["openai_chat"])) as server:
        last = ask(f"org/qwen3:8b@{server.url}/v1", OPENAI_COMPATIBLE_API_KEY=KEY)
        (received,) = server.received
    assert isinstance(last, StreamDone)
    assert received.path == "/v1/chat/completions"
    assert received.json["model"] == "org/qwen3:8b"
    assert received.headers["authorization"] == f"Bearer {KEY}"
    assert last.message.model == f"org/qwen3:8b@{server.url}/v1"


def test_a_server_by_the_environment():
    """Without an address, the environment's is used; no key is needed."""
    with serving(Answer(WHOLE["openai_chat"])) as server:
        last = ask("m", OPENAI_COMPATIBLE_BASE_URL=f"{server.url}/v1", OPENAI_COMPATIBLE_API_KEY=None)
        assert "authorization" not in server.received[0].headers
    assert isinstance(last, StreamDone)


def test_strangers_are_not_sent_prompts():
    """An address out in the world must be named by the user, not only by a session that somebody handed on."""
    last = ask("m@https://models.example.com/v1")
    assert (last.error.code, last.error.retryable) == ("invalid_request", False)
    assert "OPENAI_COMPATIBLE_BASE_URL=https://models.example.com/v1" in last.error.hint


@pytest.mark.parametrize(
    ("url", "trusted", "signed"),
    [
        ("http://localhost:8000/v1", True, True),
        ("http://[::1]:8000/v1", True, True),
        ("http://10.1.2.3/v1", True, False),
        ("http://gpu-box:8000/v1", True, False),
        ("http://models.local/v1", True, False),
        ("https://named.example.com/v1", True, True),
        ("https://other.example.com/v1", False, False),
        ("http://8.8.8.8/v1", False, False),
    ],
)
def test_who_is_trusted_with_what(url, trusted, signed):
    """This machine and the named server get prompts and key, the network gets prompts, others nothing."""
    with environment(OPENAI_COMPATIBLE_BASE_URL="https://named.example.com/v1"):
        provider = CompatibleProvider()
        assert provider._is_trusted(url) == trusted
        assert provider.may_sign(httpx.URL(url)) == signed

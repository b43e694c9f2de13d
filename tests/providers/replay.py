"""Plays bytes to a provider: over HTTP as the network would, or straight into its reader."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from pi_nb.errors import ProviderError
from pi_nb.messages import UserMessage
from pi_nb.providers.base import Request, StreamEvent
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.client import _is_whole
from pi_nb.providers.sse import SseDecoder
from tests.providers.raw_server import Answer, serving

FAMILIES = ("anthropic", "openai_chat", "openai_responses", "gemini")


def make_provider(family: str, url: str, **options: Any) -> Any:
    options.setdefault("api_key", "test-key")
    if family == "anthropic":
        from pi_nb.providers.anthropic import AnthropicProvider

        return AnthropicProvider(base_url=url, **options)
    if family == "openai_chat":
        from pi_nb.providers.openai_chat import OpenAIChatProvider

        return OpenAIChatProvider(base_url=url, **options)
    if family == "openai_responses":
        from pi_nb.providers.openai_responses import OpenAIResponsesProvider

        return OpenAIResponsesProvider(base_url=url, **options)
    if family == "gemini":
        from pi_nb.providers.google import GoogleProvider

        return GoogleProvider(base_url=url, **options)
    raise LookupError(family)


def ask(provider: Any, text: str = "go", model: str = "model-x", **fields: Any) -> Request:
    return Request(provider.model(model), (UserMessage(content=text, timestamp=1),), **fields)


async def collect(provider: Any, request: Request | None = None) -> list[StreamEvent]:
    return [event async for event in provider.stream(request or ask(provider))]


def over_http(family: str, *answers: Answer, request: Any = None, **options: Any) -> list[StreamEvent]:
    """Return the events that a provider makes of answers sent by a real server."""

    async def run() -> list[StreamEvent]:
        with serving(*answers) as server:
            provider = make_provider(family, server.url, **options)
            try:
                return await collect(provider, request and request(provider))
            finally:
                await provider.aclose()

    return asyncio.run(run())


def into_reader(family: str, chunks: Sequence[bytes]) -> list[StreamEvent]:
    """Return the events that a provider's reader makes of a body."""
    provider = make_provider(family, "http://127.0.0.1:9")
    builder = MessageBuilder(provider.model("model-x"), provider=provider.name, api=provider.api)
    reader, decoder, events = provider.reader(builder), SseDecoder(), []
    try:
        for chunk in chunks:
            for sse in decoder.decode(chunk):
                events.extend(reader.feed(sse))
        last = decoder.flush()
        if last is not None and _is_whole(last):
            events.extend(reader.feed(last))
        events.extend(reader.finish())
    except ProviderError as error:
        events.append(builder.failed(error))
    return events

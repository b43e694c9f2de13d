"""What the official SDKs make of a stream, in the shape of ``expected.json`` of a folder of recorded streams."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

from tests.providers.raw_server import Answer, serving

KEY = "test-key-0123456789"
# the SDKs leave their connections to the garbage collector, also when they are told to close
LEAKS = "ignore::ResourceWarning"


def understood(family: str, answer: Answer) -> dict[str, Any]:
    """Return what the SDK of a family makes of an answer; an exception is a result too."""

    async def run() -> dict[str, Any]:
        with serving(answer) as server, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return {"ok": True, "result": await OFFICIAL[family](server.url)}
            except Exception as error:
                return {"ok": False, "exception": type(error).__name__, "message": str(error)}

    return asyncio.run(run())


async def _anthropic(url: str) -> dict[str, Any]:
    from anthropic import AsyncAnthropic

    async with AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0) as client:
        asked: Any = {"model": "x", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]}
        async with client.beta.messages.stream(**asked) as stream:
            async for _ in stream:
                pass
            return (await stream.get_final_message()).model_dump(mode="json", exclude_none=True)


async def _openai_chat(url: str) -> dict[str, Any]:
    from openai import AsyncOpenAI

    out: dict[str, Any] = {"content": "", "reasoning": "", "finish_reason": None, "usage": None}
    calls: dict[int, dict[str, str]] = {}
    async with AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        asked: Any = {"model": "x", "messages": [{"role": "user", "content": "go"}], "stream": True}
        async for chunk in await client.chat.completions.create(**asked):
            out["usage"] = chunk.usage.model_dump(mode="json") if chunk.usage else out["usage"]
            for choice in chunk.choices:
                if choice.index:
                    continue
                out["finish_reason"] = choice.finish_reason or out["finish_reason"]
                delta = choice.delta.model_dump(mode="json")
                out["content"] += delta.get("content") or ""
                out["reasoning"] += delta.get("reasoning_content") or delta.get("reasoning") or ""
                for part in delta.get("tool_calls") or ():
                    call = calls.setdefault(part["index"], {"id": "", "name": "", "arguments": ""})
                    call["id"] += part.get("id") or ""
                    for name in ("name", "arguments"):
                        call[name] += (part.get("function") or {}).get(name) or ""
    return {**out, "tool_calls": list(calls.values())}


async def _openai_responses(url: str) -> dict[str, Any]:
    from openai import AsyncOpenAI

    response: Any = None
    async with AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
        asked: Any = {"model": "x", "input": "go", "stream": True}
        async for event in await client.responses.create(**asked):
            response = getattr(event, "response", response)
    return {"response": response.model_dump(mode="json", exclude_none=True)}


async def _gemini(url: str) -> dict[str, Any]:
    from google.genai import Client, types

    client = Client(api_key=KEY, http_options=types.HttpOptions(base_url=url))
    parts: list[Any] = []
    usage: Any = {}
    finish = None
    async for chunk in await client.aio.models.generate_content_stream(model="x", contents="go"):
        usage = chunk.usage_metadata.model_dump(mode="json", exclude_none=True) if chunk.usage_metadata else usage
        for candidate in chunk.candidates or ():
            content = candidate.content.parts or () if candidate.content else ()
            parts += [part.model_dump(mode="json", exclude_none=True) for part in content]
            finish = candidate.finish_reason or finish
    return {"parts": parts, "usage": usage, "finish": str(finish)}


OFFICIAL: dict[str, Callable[[str], Awaitable[dict[str, Any]]]] = {
    "anthropic": _anthropic,
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "gemini": _gemini,
}

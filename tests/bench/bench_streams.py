"""Measure what reading a stream costs, beside the official SDKs, in the same run.

    python tests/bench/bench_streams.py [--deltas 5000] [--rounds 5] [FAMILY ...]

A server in another process sends one recorded stream; each client reads it to the end, in turns. What counts is this
process's CPU time, the best of the rounds, per delta.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
FAMILIES = ("anthropic", "openai_chat", "openai_responses", "gemini")
Read = Callable[[], Awaitable[str]]
Reader = tuple[Read, Callable[[], Awaitable[object]]]  # and what closes its connections


@contextmanager
def server(family: str, deltas: int) -> Iterator[str]:
    """Serve a stream from another process; gives the URL."""
    command = [sys.executable, str(Path(__file__).with_name("stream_server.py")), family, str(deltas)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{(process.stdout.readline() if process.stdout else '').strip()}"
        finally:
            process.kill()


def ours(family: str, url: str) -> Reader:
    """Return a reader of one answer through pi_nb's provider."""
    from tests.providers.replay import ask, make_provider

    provider = make_provider(family, url, api_key="test-key-0123456789")

    async def read() -> str:
        async for event in provider.stream(ask(provider)):
            last = event
        return str(last.message.text)

    return read, provider.aclose


# ---------------------------------------------------------------- the official SDKs


def _anthropic(url: str) -> Reader:
    from anthropic import AsyncAnthropic

    client = AsyncAnthropic(base_url=url, api_key="test-key-0123456789")

    async def read() -> str:
        asked: Any = {"model": "claude-sonnet-5-5", "max_tokens": 9, "messages": [{"role": "user", "content": "go"}]}
        async with client.messages.stream(**asked) as stream:
            async for _ in stream:
                pass
            return "".join(block.text for block in (await stream.get_final_message()).content if block.type == "text")

    return read, client.close


def _openai_chat(url: str) -> Reader:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="test-key-0123456789")

    async def read() -> str:
        said = []
        asked: Any = {"model": "gpt-6-sol", "messages": [{"role": "user", "content": "go"}], "stream": True}
        async for chunk in await client.chat.completions.create(**asked):
            said += [choice.delta.content or "" for choice in chunk.choices]
        return "".join(said)

    return read, client.close


def _openai_responses(url: str) -> Reader:
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="test-key-0123456789")

    async def read() -> str:
        asked: Any = {"model": "gpt-6-sol", "input": "go", "stream": True}
        async for event in await client.responses.create(**asked):
            last = event
        return str(last.response.output_text)

    return read, client.close


def _gemini(url: str) -> Reader:
    from google.genai import Client, types

    client = Client(api_key="test-key-0123456789", http_options=types.HttpOptions(base_url=url))

    async def read() -> str:
        said = []
        async for chunk in await client.aio.models.generate_content_stream(model="gemini-3.8-flash", contents="go"):
            said.append(chunk.text or "")
        return "".join(said)

    return read, client.aio.aclose


OFFICIAL: dict[str, Callable[[str], Reader]] = {
    "anthropic": _anthropic,
    "openai_chat": _openai_chat,
    "openai_responses": _openai_responses,
    "gemini": _gemini,
}


# ---------------------------------------------------------------- measuring


def measure(family: str, *, deltas: int = 5000, rounds: int = 5) -> tuple[float, float]:
    """Return microseconds of CPU per delta: ours, and the official SDK's."""
    with server(family, deltas) as url:
        return asyncio.run(_measure([ours(family, url), OFFICIAL[family](url)], deltas, rounds))


async def _measure(readers: list[Reader], deltas: int, rounds: int) -> tuple[float, float]:
    best = [float("inf")] * len(readers)
    texts = {await read() for read, _ in readers}  # also warms up
    assert len(texts) == 1, "they read different texts"
    for _ in range(rounds):
        for number, (read, _) in enumerate(readers):
            begin = time.process_time()
            await read()
            best[number] = min(best[number], time.process_time() - begin)
    for _, close in readers:
        await close()
    return best[0] / deltas * 1e6, best[1] / deltas * 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*", default=FAMILIES)
    parser.add_argument("--deltas", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for family in given.families:
        mine, theirs = measure(family, deltas=given.deltas, rounds=given.rounds)
        print(f"{family:17} pi_nb {mine:6.1f} µs  official SDK {theirs:6.1f} µs  ratio {mine / theirs:.2f}", flush=True)


if __name__ == "__main__":
    main()

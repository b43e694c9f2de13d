"""A harness with one tool over a real server, and conversations with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.tools import tool
from pi_nb.messages import AssistantMessage, Message, ThinkingContent
from pi_nb.providers.registry import Registry
from pi_nb.providers.timeouts import Timeouts
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from tests.providers import third_party
from tests.providers.replay import make_provider


class Client:
    """A harness over a real server, with one tool."""

    def __init__(
        self, family: str, url: str, paths: Mapping[str, str] = third_party.LLMOCK_PATHS, **options: Any
    ) -> None:
        self.asked: list[tuple[str, int]] = []
        asked = self.asked

        @tool
        async def find(q: str, n: int = 1) -> str:
            """Find a thing."""
            asked.append((q, n))
            return f"{q}: 12 m"

        self.provider = make_provider(family, url + paths[family], timeouts=Timeouts(idle=1.0, first_token=5.0))
        self.session = Session(InMemorySessionStorage())
        self.harness = AgentHarness(
            self.session,
            model=f"{self.provider.name}:{third_party.MODELS[family]}",
            registry=Registry([self.provider]),
            tools=[find],
            retry=RetryPolicy(max_attempts=3, base_delay=0.2, jitter=0.0),
            **options,
        )
        self.events: list[str] = []
        self.waits: list[float] = []
        self.harness.subscribe(self._note)

    def _note(self, event: Any) -> None:
        self.events.append(event.type)
        if event.type == "retry_start":
            self.waits.append(event.delay)

    async def aclose(self) -> None:
        await self.provider.aclose()

    @property
    def messages(self) -> tuple[Message, ...]:
        return self.session.context().messages

    @property
    def roles(self) -> list[str]:
        return [message.role for message in self.messages]

    @property
    def thoughts(self) -> list[str]:
        return [thought for message in self.messages for thought in thoughts_of(message)]


def thoughts_of(message: Message) -> list[str]:
    if not isinstance(message, AssistantMessage) or isinstance(message.content, str):
        return []
    return [b.thinking for b in message.content if isinstance(b, ThinkingContent) and b.thinking]


def talk(client: Client, *prompts: str) -> list[AssistantMessage]:
    async def run() -> list[AssistantMessage]:
        answers = [await client.harness.prompt(prompt) for prompt in prompts]
        await client.aclose()
        return answers

    return asyncio.run(run())


async def interrupted(client: Client, prompt: str, *, pieces: int = 1) -> AssistantMessage:
    """Ask, abort once some pieces of the answer have been seen, and return what is left of it."""
    seen = asyncio.Semaphore(0)
    forget = client.harness.subscribe(lambda event: seen.release() if event.type == "message_update" else None)
    asking = asyncio.create_task(client.harness.prompt(prompt))
    for _ in range(pieces):
        await asyncio.wait_for(seen.acquire(), 60)
    await client.harness.abort()
    answer = await asyncio.wait_for(asking, 10)
    forget()
    return answer

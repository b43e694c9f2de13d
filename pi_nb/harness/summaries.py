"""Asking a model for a summary."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pi_nb.errors import ProviderError
from pi_nb.harness.events import HarnessEvent, RetryEnd, RetryStart
from pi_nb.harness.prompts import SUMMARISER
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.signals import AbortSignal, interruptible
from pi_nb.messages import AssistantMessage, TextContent, Usage, UserMessage, now_ms
from pi_nb.models import Model
from pi_nb.providers.base import Provider, Request, StreamDone, StreamError

__all__ = ["Summariser", "Summary", "add_usage"]

_INSTRUCTIONS = 1_000  # tokens kept free for what is said about the conversation


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary and what it cost."""

    text: str
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Summariser:
    """A model that summarises.

    Attributes:
        model: Which model.
        provider: Returns who serves it.
        retry: How a failed request is repeated.
        signal: Aborts it.
        tell: Tells subscribers that it is tried again.
        thinking_level: How much it may think.
    """

    model: Model
    provider: Callable[[], Provider]
    retry: RetryPolicy
    signal: AbortSignal
    tell: Callable[[HarnessEvent], Awaitable[None]]
    thinking_level: str = "off"

    async def summarise(
        self, conversation: str, instructions: str, *, max_tokens: int, previous: str | None = None
    ) -> Summary:
        """Return a summary of a conversation.

        Args:
            conversation: The text to summarise.
            instructions: What to write about it.
            max_tokens: Most tokens of the summary.
            previous: Summary of what came before, to be continued.

        Raises:
            ProviderError: The model failed, was cut by the output limit, or said nothing.
            Aborted: The signal was given.
        """
        parts = [f"<conversation>\n{self._fitting(conversation, max_tokens)}\n</conversation>"]
        if previous:
            parts.append(f"<previous-summary>\n{previous}\n</previous-summary>")
        prompt = "\n\n".join([*parts, instructions])
        request = Request(
            model=self.model,
            messages=(UserMessage(content=(TextContent(text=prompt),), timestamp=now_ms()),),
            system=SUMMARISER,
            thinking_level=self.thinking_level if self.model.reasoning else "off",
            max_tokens=min(max_tokens, self.model.max_tokens) if self.model.max_tokens > 0 else max_tokens,
        )
        message = await self._answer(request)
        return Summary(_text(message), message.usage)

    def _fitting(self, conversation: str, max_tokens: int) -> str:
        """Return the conversation without its middle, if all of it and the summary would not fit into the window."""
        window = self.model.context_window
        room = max(window - max_tokens - _INSTRUCTIONS, window // 4)
        if len(conversation) <= 4 * room:
            return conversation
        half = 3 * room // 2
        left_out = len(conversation) - 2 * half
        return f"{conversation[:half]}\n\n[{left_out} characters left out]\n\n{conversation[-half:]}"

    async def _answer(self, request: Request) -> AssistantMessage:
        attempt, success = 1, False
        try:
            while True:
                try:
                    answer = await interruptible(_ask(self.provider(), request), self.signal)
                    success = True
                    return answer
                except ProviderError as error:
                    if not self.retry.allows(error, attempt):
                        raise
                    await self._wait(error, attempt)
                attempt += 1
        finally:
            if attempt > 1:
                await self.tell(RetryEnd(attempt, success))

    async def _wait(self, error: ProviderError, attempt: int) -> None:
        delay = self.retry.delay(error, attempt)
        await self.tell(RetryStart(attempt + 1, self.retry.max_attempts, delay, str(error)))
        await interruptible(asyncio.sleep(delay), self.signal)


async def _ask(provider: Provider, request: Request) -> AssistantMessage:
    stream = provider.stream(request)
    try:
        async for event in stream:
            if isinstance(event, StreamError):
                raise event.error
            if isinstance(event, StreamDone):
                return event.message
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    raise ProviderError("The answer ended without an end.", code="truncated", retryable=True)


def _text(message: AssistantMessage) -> str:
    if message.stop_reason == "length":
        raise ProviderError("The summary was cut off at the output limit.", code="truncated")
    blocks = (TextContent(text=message.content),) if isinstance(message.content, str) else message.content
    text = "\n".join(block.text for block in blocks if isinstance(block, TextContent))
    if not text.strip():
        raise ProviderError("The model returned an empty summary.", code="bad_response")
    return text


def add_usage(*parts: Usage | None) -> Usage | None:
    """Return the tokens and costs of several calls together; None if nothing is known."""
    known = [part for part in parts if part is not None]
    if not known:
        return None
    total = known[0]
    for part in known[1:]:
        total = _plus(total, part)
    return total


def _plus(one: Usage, other: Usage) -> Usage:
    numbers = ("input", "output", "cache_read", "cache_write", "total_tokens")
    prices = ("input", "output", "cache_read", "cache_write", "total")
    cost = type(one.cost)(**{name: getattr(one.cost, name) + getattr(other.cost, name) for name in prices})
    sums = {name: getattr(one, name) + getattr(other, name) for name in numbers}
    return Usage(**sums, cost=cost)

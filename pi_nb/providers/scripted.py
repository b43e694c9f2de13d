"""A provider that says what it was told to: for tests, lessons and demos, without key or network.

    >>> provider = ScriptedProvider([Reply("Hello."), Reply(error="overloaded")])

Replies are used in order, one per model call; a reply may be a function of the request. Every request is kept in
:attr:`ScriptedProvider.requests`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pi_nb.errors import ProviderError
from pi_nb.messages import TextContent, ThinkingContent, ToolCall, Usage, to_wire
from pi_nb.models import Model
from pi_nb.providers.base import BlockDelta, BlockStart, Request, StreamEvent, StreamResponse
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.catalogue import unknown_model

__all__ = [
    "Reply",
    "ReplySource",
    "ScriptedProvider",
    "compact_json",
    "estimate_tokens",
    "utf16_chunks",
    "utf16_length",
]

ScriptedBlock: TypeAlias = TextContent | ThinkingContent | ToolCall


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer to give.

    Attributes:
        content: Text, or blocks (strings among them are text blocks): text, thinking, tool calls.
        stop_reason: ``stop``, ``length`` or ``toolUse``; with an error ``aborted``, or else ``error`` is meant.
        error: What goes wrong after the content has been streamed; a text is an error not worth trying again.
        delay: Seconds before the first event.
        usage: Tokens to report; None for an estimate.
        hang: True to wait after the content until the call is cancelled.
        status: HTTP status to report.
        headers: HTTP headers to report.
        slowness: How many times as long as the provider's pace says its pieces take.
    """

    content: str | Sequence[ScriptedBlock | str] = ()
    stop_reason: str = "stop"
    error: str | ProviderError | None = None
    delay: float = 0.0
    usage: Usage | None = None
    hang: bool = False
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    slowness: float = 1.0

    @property
    def blocks(self) -> tuple[ScriptedBlock, ...]:
        """The content as blocks."""
        parts = (self.content,) if isinstance(self.content, str) else self.content
        return tuple(TextContent(text=part) if isinstance(part, str) else part for part in parts)

    @property
    def begins(self) -> bool:
        """False if the message never starts: a :class:`ProviderError` and no content, such as a refused request."""
        return bool(self.blocks) or not isinstance(self.error, ProviderError)


ReplySource: TypeAlias = Reply | str | Callable[[Request], "Reply | str | Awaitable[Reply | str]"]


class ScriptedProvider:
    """Gives prepared replies, streamed in small pieces like a real model's.

    Each block comes in pieces of ``chunk_size`` UTF-16 units, tool calls as compact argument JSON. When no reply is
    left the answer is an error. Cancelling the reading task stops it at once; ``partial()`` then holds exactly what
    was streamed.

    Args:
        replies: What to answer, in order.
        name: The provider's name, stored in its messages.
        api: The wire format's name, stored in its messages.
        models: Models it has; empty to accept any name.
        tokens_per_second: Pace (a token is four UTF-16 units); None for no waiting.
        chunk_size: Size of a piece in UTF-16 units.

    Attributes:
        requests: What was asked, in order.
    """

    def __init__(
        self,
        replies: Sequence[ReplySource] = (),
        *,
        name: str = "scripted",
        api: str = "scripted",
        models: Sequence[Model | str] = (),
        tokens_per_second: float | None = None,
        chunk_size: int = 16,
    ) -> None:
        self.requests: list[Request] = []
        self._replies: deque[ReplySource] = deque(replies)
        self._name = name
        self._api = api
        self._models = {m.id: m for m in (_as_model(m, name, api) for m in models)}
        self._tokens_per_second = tokens_per_second
        self._chunk_size = chunk_size

    def __repr__(self) -> str:
        return f"<ScriptedProvider {self._name} replies={len(self._replies)} requests={len(self.requests)}>"

    @property
    def name(self) -> str:
        """The part before the colon in ``provider:model``."""
        return self._name

    @property
    def pending(self) -> int:
        """How many replies are left."""
        return len(self._replies)

    def add(self, *replies: ReplySource) -> None:
        """Queue more replies."""
        self._replies.extend(replies)

    def models(self) -> tuple[Model, ...]:
        """Return the models it was given."""
        return tuple(self._models.values())

    def model(self, model_id: str) -> Model:
        """Return a model by name; any name is good if none were declared.

        Raises:
            ProviderError: ``not_found``, when models were declared and this is none of them.
        """
        if not self._models:
            return Model(self._name, model_id, api=self._api)
        if model_id not in self._models:
            raise unknown_model(self._name, model_id, self._models)
        return self._models[model_id]

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Yield the events of the next reply."""
        self.requests.append(request)
        reply = await self._answer(request)
        builder = self._builder(request, reply)
        await asyncio.sleep(reply.delay)
        yield StreamResponse(reply.status, reply.headers)
        if reply.begins:
            async for event in self._play(builder, reply):
                yield event
        if reply.hang:
            await asyncio.Event().wait()
        if reply.error is None:
            yield builder.done()
        else:
            yield builder.failed(_as_error(reply.error), stop_reason=builder.stop_reason)

    async def _answer(self, request: Request) -> Reply:
        try:
            source = self._take(request)
            if callable(source):
                given = source(request)
                source = await given if inspect.isawaitable(given) else given
        except Exception as error:  # a provider does not raise, it answers with an error
            source = Reply(error=ProviderError(str(error)))
        return Reply(source) if isinstance(source, str) else source

    def _take(self, request: Request) -> ReplySource:
        """Return what answers ``request``; a subclass may decide here."""
        if self._replies:
            return self._replies.popleft()
        return Reply(error=ProviderError(f"No more {self._name} responses queued"))

    def _builder(self, request: Request, reply: Reply) -> MessageBuilder:
        builder = MessageBuilder(request.model, provider=self._name, api=self._api, show_arguments=False)
        builder.usage = reply.usage or _estimate(request, reply)
        builder.stop_reason = reply.stop_reason
        if reply.error is not None:
            builder.stop_reason = "aborted" if reply.stop_reason == "aborted" else "error"
            builder.error_message = str(reply.error)
        return builder

    async def _play(self, builder: MessageBuilder, reply: Reply) -> AsyncIterator[StreamEvent]:
        yield builder.start()
        for block in reply.blocks:
            kind, text = _script(block)
            opened = _open(builder, kind, block)
            yield opened
            for chunk in utf16_chunks(text, self._chunk_size):
                await asyncio.sleep(self._pause(chunk) * reply.slowness)
                yield builder.append(opened.index, chunk) or BlockDelta(kind, opened.index, "", builder.partial)
            yield builder.close(opened.index, content=block)

    def _pause(self, chunk: str) -> float:
        return estimate_tokens(chunk) / self._tokens_per_second if self._tokens_per_second else 0.0


def _as_model(model: Model | str, provider: str, api: str) -> Model:
    return model if isinstance(model, Model) else Model(provider, model, api=api)


def _as_error(error: str | ProviderError) -> ProviderError:
    return error if isinstance(error, ProviderError) else ProviderError(error)


def _open(builder: MessageBuilder, kind: str, block: ScriptedBlock) -> BlockStart:
    if isinstance(block, ToolCall):
        return builder.open(kind, id=block.id, name=block.name)
    return builder.open(kind)


def _script(block: ScriptedBlock) -> tuple[str, str]:
    """Return what kind of block this is and what is streamed of it."""
    if isinstance(block, ToolCall):
        return "toolcall", compact_json(block.arguments)
    if isinstance(block, ThinkingContent):
        return "thinking", block.thinking
    return "text", block.text


def compact_json(value: Any) -> str:
    """Return JSON without spaces and without ASCII escapes, as JavaScript writes it."""
    return json.dumps(to_wire(value), ensure_ascii=False, separators=(",", ":"))


def utf16_length(text: str) -> int:
    """Return the length of ``text`` in UTF-16 units, which is how JavaScript counts."""
    return len(text) if text.isascii() else len(text) + sum(c > "\uffff" for c in text)


def estimate_tokens(text: str) -> int:
    """Return about how many tokens ``text`` is: a quarter of its UTF-16 units, rounded up."""
    return math.ceil(utf16_length(text) / 4)


def utf16_chunks(text: str, size: int) -> Iterator[str]:
    """Yield ``text`` in pieces of ``size`` UTF-16 units; one empty piece for an empty text.

    A character that would lie across the border begins the next piece.
    """
    if utf16_length(text) == len(text):
        yield from (text[at : at + size] for at in range(0, len(text) or 1, size))
        return
    start = units = 0
    for position, char in enumerate(text):
        width = 2 if char > "\uffff" else 1
        if units and units + width > size:
            yield text[start:position]
            start, units = position, 0
        units += width
    yield text[start:]


def _estimate(request: Request, reply: Reply) -> Usage:
    asked = "\n\n".join([request.system, *(compact_json(message) for message in request.messages)])
    said = "\n".join(_script(block)[1] for block in reply.blocks)
    return Usage.of(input=estimate_tokens(asked), output=estimate_tokens(said))

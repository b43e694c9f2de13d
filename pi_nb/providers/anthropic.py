"""Anthropic's Messages API: https://docs.anthropic.com/en/api/messages-streaming."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from pi_nb.errors import ProviderError
from pi_nb.messages import (
    AssistantMessage,
    ContentBlock,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    to_wire,
)
from pi_nb.models import Model
from pi_nb.providers.base import Request, StreamEvent, ToolSpec
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.catalogue import look_up
from pi_nb.providers.failures import failure
from pi_nb.providers.http import HttpProvider, Options, Reader, event_json
from pi_nb.providers.loose import as_index, as_list, as_object, as_text
from pi_nb.providers.other_block import OtherBlock
from pi_nb.providers.service import ANTHROPIC
from pi_nb.providers.sse import ServerSentEvent
from pi_nb.providers.thinking import anthropic_levels, anthropic_thinking, takes_temperature
from pi_nb.providers.transform import LlmMessage, acceptable, framed

__all__ = ["AnthropicProvider"]

_VERSION = "2023-06-01"
_USUAL_ANSWER = 32_000  # prompt and answer must fit together, so the longest possible answer is not asked for
_CACHED = {"type": "ephemeral"}


class AnthropicProvider(HttpProvider):
    """Claude, or whoever speaks its API.

    Args:
        options: As :class:`~pi_nb.providers.http.HttpProvider` has them.
    """

    api = "anthropic-messages"
    service = ANTHROPIC

    def __init__(self, **options: Unpack[Options]) -> None:
        super().__init__(**options)
        self._base_url = self._base_url.removesuffix("/v1")  # which its own client does not want

    def model(self, model_id: str) -> Model:
        """Return what is known of a model."""
        found = look_up(self.name, model_id, api=self.api, context_window=200_000)
        return found if found.thinking_levels else replace(found, thinking_levels=anthropic_levels(found))

    def path(self, request: Request) -> str:
        """Return where messages are asked for."""
        return "/v1/messages"

    def auth(self, key: str) -> Mapping[str, str]:
        """Return the key's header."""
        return {"x-api-key": key, "anthropic-version": _VERSION}

    async def model_names(self) -> list[str]:
        """Return the names of the models there are."""
        return [str(model["id"]) for model in (await self.get_json("/v1/models?limit=1000"))["data"]]

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the request's body."""
        messages = _wire_messages(framed(acceptable(request.messages, request.model)))
        limit = request.max_tokens or min(request.model.max_tokens, _USUAL_ANSWER)
        thinking = anthropic_thinking(request.model, request.thinking_level, max_tokens=limit)
        if thinking.get("thinking", {}).get("type") == "enabled" and _is_within_unthought_turn(messages):
            thinking = {}
        body: dict[str, Any] = {"model": request.model.id, "max_tokens": limit, "stream": True, **thinking}
        if request.temperature is not None and not thinking and takes_temperature(request.model):
            body["temperature"] = request.temperature
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        if request.system.strip():
            body["system"] = [{"type": "text", "text": request.system}]
        body["messages"] = messages
        _mark_for_cache(body)
        return body

    def reader(self, builder: MessageBuilder) -> Reader:
        """Return what reads the answer."""
        return _AnthropicReader(builder)


# ---------------------------------------------------------------- request


def _tool(tool: ToolSpec) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, **to_wire(dict(tool.parameters))}
    return {"name": tool.name, "description": tool.description, "input_schema": schema}


def _wire_messages(messages: Sequence[LlmMessage]) -> list[dict[str, Any]]:
    """Return wire messages, results and what the user says next in one message of the user."""
    out: list[dict[str, Any]] = []
    for message in messages:
        role = "assistant" if isinstance(message, AssistantMessage) else "user"
        content = _wire_content(message)
        if out and out[-1]["role"] == role:
            out[-1]["content"].extend(content)
        else:
            out.append({"role": role, "content": content})
    return out


def _wire_content(message: LlmMessage) -> list[dict[str, Any]]:
    match message:
        case ToolResultMessage():
            result: dict[str, Any] = {"type": "tool_result", "tool_use_id": message.tool_call_id}
            result["content"] = _blocks(message.content)
            return [{**result, "is_error": True} if message.is_error else result]
        case UserMessage() | AssistantMessage():
            return _blocks(message.content)


def _blocks(content: str | Sequence[ContentBlock]) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_block(block) for block in content]


def _block(block: ContentBlock) -> dict[str, Any]:
    match block:
        case TextContent():
            return {"type": "text", "text": block.text}
        case ImageContent():
            source = {"type": "base64", "media_type": block.mime_type, "data": block.data}
            return {"type": "image", "source": source}
        case ToolCall():
            return {"type": "tool_use", "id": block.id, "name": block.name, "input": to_wire(block.arguments)}
        case ThinkingContent(thinking_signature=str(signature)) if signature:
            if block.redacted:
                return {"type": "redacted_thinking", "data": signature}
            return {"type": "thinking", "thinking": block.thinking, "signature": signature}
        case ThinkingContent():  # without its proof it is only text
            return {"type": "text", "text": block.thinking}
    raise TypeError(f"{type(block).__name__} cannot be sent")  # acceptable() lets none through


def _is_within_unthought_turn(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a turn is under way whose answer began without thinking: it must go on without."""
    if not messages or messages[-1]["content"][0]["type"] != "tool_result":
        return False
    answer = next((m for m in reversed(messages) if m["role"] == "assistant"), None)
    return answer is not None and answer["content"][0]["type"] not in ("thinking", "redacted_thinking")


def _mark_for_cache(body: dict[str, Any]) -> None:
    """Mark where the provider should cut its cache: after the instructions, and after the last two user messages."""
    fixed = body.get("system") or body.get("tools")
    if fixed:
        fixed[-1]["cache_control"] = _CACHED
    said = [message for message in body["messages"] if message["role"] == "user"]
    for message in said[-2:]:
        message["content"][-1]["cache_control"] = _CACHED


# ---------------------------------------------------------------- answer

_STOP_REASONS = {"max_tokens": "length", "model_context_window_exceeded": "length", "tool_use": "toolUse"}


class _AnthropicReader:
    def __init__(self, builder: MessageBuilder) -> None:
        self.complete = False
        self._builder = builder
        self._started = False
        self._open: dict[int, int] = {}  # their block index to ours
        self._other: dict[int, OtherBlock] = {}
        self._numbers: set[int] = set()
        self._taken: frozenset[int] = frozenset()
        self._usage: dict[str, Any] = {}
        self._refused: str | None = None

    def feed(self, event: ServerSentEvent) -> Iterable[StreamEvent]:
        data = event_json(event)
        kind = data.get("type", event.event) if isinstance(data, dict) else None
        if kind == "error":
            raise failure(data)
        handler = _HANDLERS.get(str(kind))
        return () if handler is None else handler(self, data)

    def finish(self) -> Iterator[StreamEvent]:
        if not self.complete:
            raise ProviderError("The answer ended before its message_stop.", code="truncated", retryable=True)
        yield from self._builder.close_all()
        if self._refused is not None:
            raise ProviderError(self._refused, code="content_filter")
        yield self._builder.done()

    def _message_start(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        """Begin; a further message in one body, as only recordings have, adds its blocks.

        As in the official client, pieces belong to the first block of their number.
        """
        self.complete = False
        message = as_object(data.get("message"))
        self._count(message.get("usage"))
        self._taken = frozenset(self._numbers)
        if self._started:
            return
        self._started = True
        yield self._builder.start()
        for index, block in enumerate(as_list(message.get("content"))):  # what an interrupted turn goes on from
            yield from self._block_start({"index": index, "content_block": block})
            yield from self._block_stop({"index": index})

    def _message_delta(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        self._count(data.get("usage"))
        delta = as_object(data.get("delta"))
        reason = as_text(delta.get("stop_reason"))
        if reason in ("refusal", "sensitive"):
            details = as_object(delta.get("stop_details"))
            self._refused = as_text(details.get("explanation")) or "The model refused to answer."
        elif reason:
            self._builder.stop_reason = _STOP_REASONS.get(reason, "stop")
        yield from ()

    def _message_stop(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        self.complete = True
        self._builder.mark_damaged()
        yield from ()

    def _count(self, usage: Any) -> None:
        """Take what is said about tokens; later numbers are totals, and replace earlier ones."""
        self._usage.update({name: value for name, value in as_object(usage).items() if value is not None})
        details = as_object(self._usage.get("output_tokens_details"))
        self._builder.count(
            input=self._usage.get("input_tokens"),
            output=self._usage.get("output_tokens"),
            cache_read=self._usage.get("cache_read_input_tokens"),
            cache_write=self._usage.get("cache_creation_input_tokens"),
            reasoning=details.get("thinking_tokens"),
        )

    # ------------------------------------------------------------ blocks

    def _block_start(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        theirs, block = as_index(data.get("index")), as_object(data.get("content_block"))
        kind = _KINDS.get(as_text(block.get("type")))
        self._numbers.add(theirs)
        self._open.pop(theirs, None)
        if kind is None:
            self._other[theirs] = OtherBlock(block)
            return
        id, name = as_text(block.get("id")), as_text(block.get("name"))
        started = self._builder.open(kind, id=id, name=name, arguments=block.get("input"))
        if theirs not in self._taken:
            self._open[theirs] = started.index
        yield started
        yield from self._append(started.index, as_text(block.get("text")) or as_text(block.get("thinking")))
        if signature := as_text(block.get("signature")):
            self._builder.sign(started.index, signature)
        if block.get("type") == "redacted_thinking":
            self._builder.sign(started.index, as_text(block.get("data")), redacted=True)

    def _block_delta(self, data: dict[str, Any]) -> Iterable[StreamEvent]:
        theirs, delta = as_index(data.get("index")), as_object(data.get("delta"))
        kind = as_text(delta.get("type"))
        opened: list[StreamEvent] = []
        if theirs not in self._open:
            if theirs in self._other:
                self._other[theirs].take(delta)
            if theirs in self._numbers or kind not in _DELTA_KINDS:
                return ()
            self._numbers.add(theirs)
            started = self._builder.open(_DELTA_KINDS[kind])  # its start was left out
            self._open[theirs] = started.index
            opened.append(started)
        if kind == "signature_delta":
            self._builder.sign(self._open[theirs], as_text(delta.get("signature")))
            return opened
        if kind == "citations_delta":
            self._builder.note(self._open[theirs], "citations", delta.get("citation"))
            return opened
        piece = as_text(delta.get(_PIECES.get(kind, "text")))
        event = self._builder.append(self._open[theirs], piece) if piece else None
        return opened if event is None else [*opened, event]

    def _append(self, index: int, text: str) -> Iterator[StreamEvent]:
        event = self._builder.append(index, text) if text else None
        if event is not None:
            yield event

    def _block_stop(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        theirs = as_index(data.get("index"))
        if theirs in self._other:
            self._builder.keep(self._other.pop(theirs).whole())
        index = self._open.pop(theirs, None)
        if index is not None:
            yield self._builder.close(index)


_KINDS = {"text": "text", "thinking": "thinking", "redacted_thinking": "thinking", "tool_use": "toolcall"}
_DELTA_KINDS = {"text_delta": "text", "thinking_delta": "thinking"}
_PIECES = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_HANDLERS: Mapping[str, Callable[[_AnthropicReader, dict[str, Any]], Iterable[StreamEvent]]] = {
    "message_start": _AnthropicReader._message_start,
    "message_delta": _AnthropicReader._message_delta,
    "message_stop": _AnthropicReader._message_stop,
    "content_block_start": _AnthropicReader._block_start,
    "content_block_delta": _AnthropicReader._block_delta,
    "content_block_stop": _AnthropicReader._block_stop,
}

"""Reads an answer in Chat Completions chunks, whatever server they come from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeGuard
from uuid import uuid4

from pi_nb.errors import ProviderError
from pi_nb.providers.base import StreamEvent
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.failures import ErrorBody, failure
from pi_nb.providers.http import event_json
from pi_nb.providers.loose import as_count, as_index, as_list, as_object, as_text
from pi_nb.providers.sse import ServerSentEvent

__all__ = ["ChatReader"]

_STOP_REASONS: Mapping[str, str] = {
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "toolUse",
    "tool_use": "toolUse",
    "function_call": "toolUse",
}
_FAILURES: Mapping[str, ErrorBody] = {
    "content_filter": ErrorBody("The answer was stopped by a content filter.", "content_filter"),
    "sensitive": ErrorBody("The answer was stopped by a content filter.", "content_filter"),
    "network_error": ErrorBody("The provider lost the connection to its model.", "network_error"),
    "insufficient_system_resource": ErrorBody("The provider is overloaded.", "overloaded"),
    "error": ErrorBody("The provider failed while answering.", "server_error"),
    "abort": ErrorBody("The provider gave up the answer.", "server_error"),
    "model_context_window_exceeded": ErrorBody("The context window is full.", "context_window_exceeded"),
}


class ChatReader:
    """Turns chunks into stream events.

    Thinking has no place in OpenAI's format, so servers invented fields for it; which one it came in is kept as the
    block's signature, to be sent back in the same.
    """

    THINKING_FIELDS: ClassVar[tuple[str, ...]] = ("reasoning_content", "reasoning", "reasoning_text")

    def __init__(self, builder: MessageBuilder) -> None:
        self.complete = False
        self._builder = builder
        self._started = False
        self._done = False
        self._prose: tuple[str, int] | None = None  # kind and index of the open text or thinking block
        self._text: int | None = None
        self._calls: dict[object, int] = {}  # by what tells calls apart: the index, or the id
        self._ids: dict[int, str] = {}
        self._named: set[int] = set()
        self._latest_call: int | None = None
        self._details: dict[str, Any] = {}
        self._reason = ""
        self._failed: ErrorBody | None = None

    def feed(self, event: ServerSentEvent) -> Iterator[StreamEvent]:
        """Yield what one chunk brings."""
        if self._done:
            return
        if event.data.strip() == "[DONE]":
            self.complete = self._done = True
            return
        chunk = event_json(event)
        if not isinstance(chunk, dict):
            return  # some servers send null
        if chunk.get("error") and not chunk.get("choices"):
            raise failure(chunk)
        if not self._started:
            self._started = True
            yield self._builder.start()
        self._count(chunk)
        for choice in map(as_object, as_list(chunk.get("choices"))):
            if as_index(choice.get("index")) == 0:  # others are further answers, which nobody asked for
                yield from self._choice(choice)
        if chunk.get("error"):
            raise failure(chunk)

    def finish(self) -> Iterator[StreamEvent]:
        """Yield the ends of all blocks, then the message."""
        if not self.complete or not (self._reason or len(self._builder)):
            raise ProviderError("The answer ended without a finish reason.", code="truncated", retryable=True)
        yield from self._builder.close_all()
        if self._failed is not None:
            raise failure(self._failed)
        if not self._builder.has_calls and self._builder.stop_reason == "toolUse":
            self._builder.stop_reason = "stop"
        elif self._builder.has_calls and self._builder.stop_reason == "stop":
            self._builder.stop_reason = "toolUse"  # servers that say nothing, or "stop", when a tool is to be called
        self._attach_details()
        self._builder.mark_damaged()
        yield self._builder.done()

    def _choice(self, choice: Mapping[str, Any]) -> Iterator[StreamEvent]:
        self._count(choice)
        yield from self._delta(as_object(choice.get("delta") or choice.get("message")))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.complete, self._reason = True, reason
            self._failed = _FAILURES.get(reason)
            self._builder.stop_reason = _STOP_REASONS.get(reason, "stop")

    def _delta(self, delta: Mapping[str, Any]) -> Iterator[StreamEvent]:
        for field in self.THINKING_FIELDS:
            if _is_text(thought := delta.get(field)):
                yield from self._write("thinking", thought, field)
                break  # some send the same text in two fields
        yield from self._content(delta.get("content"))
        if _is_text(delta.get("refusal")):
            yield from self._write("text", delta["refusal"])
        legacy = delta.get("function_call")
        for part in as_list(delta.get("tool_calls")) or ([{"index": 0, "function": legacy}] if legacy else []):
            yield from self._call_part(as_object(part))
        for detail in map(as_object, as_list(delta.get("reasoning_details"))):
            if detail.get("type") == "reasoning.encrypted" and as_text(detail.get("id")):
                self._details[detail["id"]] = detail

    # ------------------------------------------------------------ text and thinking

    def _content(self, content: Any) -> Iterator[StreamEvent]:
        if _is_text(content):
            yield from self._write("text", content)
        elif isinstance(content, list):  # Mistral's thinking models
            for part in content:
                yield from self._part(as_object(part))

    def _part(self, part: Mapping[str, Any]) -> Iterator[StreamEvent]:
        thinking = part.get("thinking")
        if isinstance(thinking, list):
            thinking = "".join(as_text(as_object(piece).get("text")) for piece in thinking)
        if _is_text(thinking):
            yield from self._write("thinking", thinking, "")
        elif _is_text(part.get("text")):
            yield from self._write("text", part["text"])

    def _write(self, kind: str, text: str, signature: str = "") -> Iterator[StreamEvent]:
        if self._prose is None or self._prose[0] != kind:
            if self._prose is not None:
                yield self._builder.close(self._prose[1])
            started = self._builder.open(kind)
            self._prose = (kind, started.index)
            yield started
            if signature:
                self._builder.sign(started.index, signature)
        event = self._builder.append(self._prose[1], text)
        if event is not None:
            yield event

    # ------------------------------------------------------------ tool calls

    def _call_part(self, part: Mapping[str, Any]) -> Iterator[StreamEvent]:
        function = as_object(part.get("function"))
        id, name = as_text(part.get("id")), as_text(function.get("name"))
        position = part.get("index") if isinstance(part.get("index"), int) else None
        index = self._find_call(position, id, name)
        if index is None:
            started = self._builder.open("toolcall", id=self._free_id(id), name=name)
            index = started.index
            self._calls[id or index if position is None else position] = index
            self._ids[index] = id
            yield started
        else:
            self._learn(index, id, name)
        if name:
            self._named.add(index)
        self._latest_call = index
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # not encoded, as Ollama's own API has it
            arguments = json.dumps(arguments, ensure_ascii=False)
        event = self._builder.append(index, arguments) if _is_text(arguments) else None
        if event is not None:
            yield event

    def _find_call(self, position: int | None, id: str, name: str) -> int | None:
        """Return which call a piece belongs to, or None if it begins one."""
        if position is None:
            return self._calls.get(id) if id else (None if name else self._latest_call)
        index = self._calls.get(position)
        if index is not None and id and name and self._ids[index] and id != self._ids[index]:
            return None  # servers that give every call the position 0
        return index

    def _learn(self, index: int, id: str, name: str) -> None:
        if id and not self._ids[index]:
            self._builder.name_call(index, id=self._free_id(id))
            self._ids[index] = id
        if name and index not in self._named:
            self._builder.name_call(index, name=name)

    def _free_id(self, id: str) -> str:
        """Return the id, or a new one if there is none or another call of this answer has it."""
        return id if id and id not in self._ids.values() else f"call_{uuid4().hex[:16]}"

    def _attach_details(self) -> None:
        """Keep what OpenRouter wants back with a call: the model's encrypted thoughts about it."""
        for index, id in self._ids.items():
            if id in self._details:
                self._builder.sign(index, json.dumps(self._details[id]))

    # ------------------------------------------------------------ tokens

    def _count(self, source: Mapping[str, Any]) -> None:
        groq = source.get("x_groq")
        usage = source.get("usage") or (groq.get("usage") if isinstance(groq, dict) else None)
        if not isinstance(usage, dict):
            return
        asked, said = as_object(usage.get("prompt_tokens_details")), as_object(usage.get("completion_tokens_details"))
        cached = as_count(asked.get("cached_tokens")) or as_count(usage.get("prompt_cache_hit_tokens"))
        cached = cached or as_count(usage.get("cached_tokens"))
        written = as_count(asked.get("cache_write_tokens"))
        self._builder.count(
            input=as_count(usage.get("prompt_tokens")) - cached - written,
            output=usage.get("completion_tokens"),
            cache_read=cached,
            cache_write=written,
            reasoning=said.get("reasoning_tokens"),
        )


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and value != ""

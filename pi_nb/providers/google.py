"""Google's Gemini API: https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, TypeGuard
from uuid import uuid4

from pi_nb.errors import ProviderError
from pi_nb.messages import (
    AssistantMessage,
    ContentBlock,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    text_of,
    to_wire,
)
from pi_nb.models import Model
from pi_nb.providers.base import Request, StreamEvent, ToolSpec
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.catalogue import look_up
from pi_nb.providers.failures import failure
from pi_nb.providers.http import HttpProvider, Reader, event_json
from pi_nb.providers.loose import as_count, as_index, as_list, as_object, as_text
from pi_nb.providers.service import GOOGLE
from pi_nb.providers.sse import ServerSentEvent
from pi_nb.providers.thinking import gemini_levels, gemini_thinking
from pi_nb.providers.transform import LlmMessage, acceptable, framed

__all__ = ["GoogleProvider"]

# Gemini 3 refuses calls of the present turn without a signature, and documents this one for calls it did not make
_NO_SIGNATURE = "skip_thought_signature_validator"


class GoogleProvider(HttpProvider):
    """Gemini."""

    api = "google-generative-ai"
    service = GOOGLE

    def model(self, model_id: str) -> Model:
        """Return what is known of a model."""
        found = look_up(self.name, model_id, api=self.api, context_window=1_048_576)
        return found if found.thinking_levels else replace(found, thinking_levels=gemini_levels(found))

    def path(self, request: Request) -> str:
        """Return where content is asked for."""
        return f"/models/{request.model.id.removeprefix('models/')}:streamGenerateContent?alt=sse"

    def auth(self, key: str) -> Mapping[str, str]:
        """Return the key's header; in the address it would end up in logs."""
        return {"x-goog-api-key": key}

    async def model_names(self) -> list[str]:
        """Return the names of the models there are."""
        listed = (await self.get_json("/models?pageSize=1000"))["models"]
        return [str(model["name"]).removeprefix("models/") for model in listed]

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the request's body."""
        messages = framed(acceptable(request.messages, request.model))
        body: dict[str, Any] = {"contents": _contents(messages, needs_signatures=_generation(request.model) >= 3)}
        if request.system.strip():
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in request.tools]}]
        config: dict[str, Any] = dict(gemini_thinking(request.model, request.thinking_level))
        if request.max_tokens is not None:
            config["maxOutputTokens"] = request.max_tokens
        if request.temperature is not None:
            config["temperature"] = request.temperature
        if config:
            body["generationConfig"] = config
        return body

    def reader(self, builder: MessageBuilder) -> Reader:
        """Return what reads the answer."""
        return _GeminiReader(builder)


# ---------------------------------------------------------------- request


def _generation(model: Model) -> int:
    match = re.search(r"gemini-(\d+)", model.id)
    return int(match.group(1)) if match else 0


def _tool(tool: ToolSpec) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, **to_wire(dict(tool.parameters))}
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": schema}


def _contents(messages: Sequence[LlmMessage], *, needs_signatures: bool) -> list[dict[str, Any]]:
    """Return contents: all results of one answer's calls in one of them, as Gemini insists, and then their pictures."""
    out: list[dict[str, Any]] = []
    for is_result, run in groupby(messages, lambda message: isinstance(message, ToolResultMessage)):
        if not is_result:
            out.extend(_content(message, needs_signatures) for message in run if not _is_result(message))
            continue
        results = [message for message in run if _is_result(message)]
        out.append({"role": "user", "parts": [{"functionResponse": _response(result)} for result in results]})
        pictures = [_part(b) for result in results for b in result.content if isinstance(b, ImageContent)]
        if pictures:
            out.append({"role": "user", "parts": [{"text": "Pictures from the tool results above:"}, *pictures]})
    return out


def _is_result(message: LlmMessage) -> TypeGuard[ToolResultMessage]:
    return isinstance(message, ToolResultMessage)


def _content(message: LlmMessage, needs_signatures: bool) -> dict[str, Any]:
    content = message.content
    parts = [{"text": content}] if isinstance(content, str) else [_part(block) for block in content]
    calls = [part for part in parts if "functionCall" in part]
    if needs_signatures and calls and "thoughtSignature" not in calls[0]:
        calls[0]["thoughtSignature"] = _NO_SIGNATURE
    return {"role": "model" if isinstance(message, AssistantMessage) else "user", "parts": parts}


def _response(message: ToolResultMessage) -> dict[str, Any]:
    text = text_of(message.content) or "(a picture, which follows)"
    return {"name": message.tool_name, "response": {"error" if message.is_error else "output": text}}


def _part(block: ContentBlock) -> dict[str, Any]:
    match block:
        case TextContent():
            return {"text": block.text, **_signed(block.text_signature)}
        case ThinkingContent():
            return {"text": block.thinking, "thought": True, **_signed(block.thinking_signature)}
        case ImageContent():
            return {"inlineData": {"mimeType": block.mime_type, "data": block.data}}
        case ToolCall():
            call = {"name": block.name, "args": to_wire(block.arguments)}
            return {"functionCall": call, **_signed(block.thought_signature)}
    raise TypeError(f"{type(block).__name__} cannot be sent")  # acceptable() lets none through


def _signed(signature: str | None) -> dict[str, str]:
    return {"thoughtSignature": signature} if signature else {}


# ---------------------------------------------------------------- answer

_BLOCKED = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE", "MODEL_ARMOR"}
)
_ENDED = frozenset({"STOP", "MAX_TOKENS", "FINISH_REASON_UNSPECIFIED", "FUNCTION_CALL"})  # the last is not Google's own
_PART_MARKS = frozenset({"text", "thought", "thoughtSignature", "functionCall"})


class _GeminiReader:
    def __init__(self, builder: MessageBuilder) -> None:
        self.complete = False
        self._builder = builder
        self._started = False
        self._prose: tuple[str, int] | None = None  # kind and index of the open text or thinking block
        self._failed: ProviderError | None = None

    def feed(self, event: ServerSentEvent) -> Iterator[StreamEvent]:
        chunk = event_json(event)
        if not isinstance(chunk, dict):
            return
        if chunk.get("error"):
            raise failure(chunk)
        if not self._started:
            self._started = True
            yield self._builder.start()
        self._count(chunk.get("usageMetadata"))
        blocked = as_object(chunk.get("promptFeedback")).get("blockReason")
        if blocked:
            raise ProviderError(f"The prompt was blocked ({blocked}).", code="content_filter")
        for candidate in map(as_object, as_list(chunk.get("candidates"))):
            if as_index(candidate.get("index")) == 0:  # others are further answers, which nobody asked for
                yield from self._candidate(candidate)

    def finish(self) -> Iterator[StreamEvent]:
        if not self.complete:
            raise ProviderError("The answer ended without a finish reason.", code="truncated", retryable=True)
        yield from self._builder.close_all()
        if self._failed is not None:
            raise self._failed
        if self._builder.has_calls and self._builder.stop_reason == "stop":
            self._builder.stop_reason = "toolUse"
        yield self._builder.done()

    def _candidate(self, candidate: Mapping[str, Any]) -> Iterator[StreamEvent]:
        for part in as_list(as_object(candidate.get("content")).get("parts")):
            yield from self._part(as_object(part))
        reason = candidate.get("finishReason")
        if reason:
            self.complete = True
            self._builder.stop_reason = "length" if reason == "MAX_TOKENS" else "stop"
            self._failed = _failure(str(reason), str(candidate.get("finishMessage") or ""))

    def _part(self, part: Mapping[str, Any]) -> Iterator[StreamEvent]:
        signature = as_text(part.get("thoughtSignature"))
        if isinstance(part.get("functionCall"), dict):
            yield from self._call(part["functionCall"], signature)
        elif isinstance(part.get("text"), str):
            yield from self._write("thinking" if part.get("thought") else "text", part["text"], signature)
        elif kind := next((name for name in part if name not in _PART_MARKS and part[name]), None):
            yield from self._end_prose()
            self._builder.keep({"type": kind, **part})  # a picture, or code that ran at the provider
        elif signature and self._prose is not None:
            self._builder.sign(self._prose[1], signature)

    def _write(self, kind: str, text: str, signature: str) -> Iterator[StreamEvent]:
        if not text and not signature:
            return
        if self._prose is None or self._prose[0] != kind:
            yield from self._end_prose()
            started = self._builder.open(kind)
            self._prose = (kind, started.index)
            yield started
        if signature:
            self._builder.sign(self._prose[1], signature)
        event = self._builder.append(self._prose[1], text) if text else None
        if event is not None:
            yield event

    def _call(self, call: Mapping[str, Any], signature: str) -> Iterator[StreamEvent]:
        yield from self._end_prose()
        id = as_text(call.get("id")) or f"call_{uuid4().hex[:16]}"
        started = self._builder.open("toolcall", id=id, name=as_text(call.get("name")))
        yield started
        if signature:
            self._builder.sign(started.index, signature)
        event = self._builder.append(started.index, json.dumps(as_object(call.get("args")), ensure_ascii=False))
        if event is not None:
            yield event
        yield self._builder.close(started.index)

    def _end_prose(self) -> Iterator[StreamEvent]:
        if self._prose is not None:
            yield self._builder.close(self._prose[1])
            self._prose = None

    def _count(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        count = {name: as_count(value) for name, value in usage.items()}
        cached, thought = count.get("cachedContentTokenCount", 0), count.get("thoughtsTokenCount", 0)
        self._builder.count(
            input=count.get("promptTokenCount", 0) + count.get("toolUsePromptTokenCount", 0) - cached,
            output=count.get("candidatesTokenCount", 0) + thought,
            cache_read=cached,
            reasoning=count.get("thoughtsTokenCount"),
        )


def _failure(reason: str, said: str) -> ProviderError | None:
    """Return what a finish reason means, unless it means that all is well."""
    if reason in _ENDED:
        return None
    words = said or f"Gemini ended its answer with {reason}."
    if reason in _BLOCKED:
        return ProviderError(words, code="content_filter")
    return ProviderError(words, code="server", retryable=True)  # such as MALFORMED_FUNCTION_CALL: chance decides

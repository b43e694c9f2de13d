"""OpenAI's Chat Completions, and the many servers that speak it.

https://platform.openai.com/docs/api-reference/chat/streaming. What differs between servers is in
:mod:`pi_nb.providers.dialects`; what they get wrong is forgiven in the reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Unpack

from pi_nb.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
    to_wire,
)
from pi_nb.models import Model
from pi_nb.providers.base import Request, ToolSpec
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.catalogue import look_up
from pi_nb.providers.chat_reader import ChatReader
from pi_nb.providers.dialects import DIALECTS, Dialect
from pi_nb.providers.http import HttpProvider, Options, Reader
from pi_nb.providers.transform import LlmMessage, acceptable, framed, merge_users

__all__ = ["OpenAIChatProvider", "chat_payload"]


class OpenAIChatProvider(HttpProvider):
    """OpenAI, or a server that speaks its Chat Completions.

    Args:
        dialect: Which one: ``openai``, ``openrouter``, ``deepseek``, ``groq``, ``mistral``, ``ollama``, ``vllm``,
            ``llamacpp``, ``lmstudio``; or a :class:`~pi_nb.providers.dialects.Dialect`.
        options: As :class:`~pi_nb.providers.http.HttpProvider` has them.
    """

    api = "openai-completions"

    def __init__(self, dialect: str | Dialect = "openai", **options: Unpack[Options]) -> None:
        self.service = self.dialect = DIALECTS[dialect] if isinstance(dialect, str) else dialect
        super().__init__(**options)

    def model(self, model_id: str) -> Model:
        """Return what is known of a model."""
        found = look_up(self.name, model_id, api=self.api, context_window=self.dialect.context_window)
        return found if found.thinking_levels else replace(found, thinking_levels=self.dialect.levels(found))

    def path(self, request: Request) -> str:
        """Return where completions are asked for."""
        return "/chat/completions"

    def auth(self, key: str) -> Mapping[str, str]:
        """Return the key's header."""
        return {"authorization": f"Bearer {key}"} if key else {}

    async def model_names(self) -> list[str]:
        """Return the names of the models the server has."""
        listed = await self.get_json("/models")
        rows = listed.get("data", []) if isinstance(listed, dict) else listed
        return [str(row["id"]) for row in rows]

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the request's body."""
        return chat_payload(request, self.dialect)

    def reader(self, builder: MessageBuilder) -> Reader:
        """Return what reads the answer."""
        return ChatReader(builder)


# ---------------------------------------------------------------- request


def chat_payload(request: Request, dialect: Dialect) -> dict[str, Any]:
    """Return the body of a request in a server's dialect."""
    messages = framed(acceptable(request.messages, request.model))
    messages = merge_users(messages) if dialect.turns else messages
    system = [{"role": "system", "content": request.system}] if request.system.strip() else []
    body: dict[str, Any] = {"model": request.model.id, "stream": True}
    if dialect.ask_usage:
        body["stream_options"] = {"include_usage": True}
    if request.max_tokens is not None:
        body[dialect.max_tokens] = request.max_tokens
    if request.temperature is not None:
        body["temperature"] = request.temperature
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    body.update(dialect.thinking(request.model, request.thinking_level))
    wire = [*system, *_wire_messages(messages)]
    body["messages"] = _for_mistral(wire) if dialect.name == "mistral" else wire
    return body


def _tool(tool: ToolSpec) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, **to_wire(dict(tool.parameters))}
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": schema},
    }


def _wire_messages(messages: Sequence[LlmMessage]) -> Iterator[dict[str, Any]]:
    """Yield wire messages; pictures in results follow them as the user's, because results hold only text."""
    shown: list[ImageContent] = []
    for message in messages:
        if not isinstance(message, ToolResultMessage):
            yield from _shown_by_tools(shown)
            shown = []
        match message:
            case UserMessage():
                yield {"role": "user", "content": _user_content(message)}
            case AssistantMessage():
                yield _answer(message)
            case ToolResultMessage():
                images = [block for block in message.content if isinstance(block, ImageContent)]
                text = _joined(message.content) or "(a picture, which follows)"
                yield {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
                shown += images
    yield from _shown_by_tools(shown)


def _shown_by_tools(images: Sequence[ImageContent]) -> Iterator[dict[str, Any]]:
    if images:
        head = {"type": "text", "text": "Pictures from the tool results above:"}
        yield {"role": "user", "content": [head, *map(_image, images)]}


def _user_content(message: UserMessage) -> str | list[dict[str, Any]]:
    if isinstance(message.content, str) or not any(isinstance(b, ImageContent) for b in message.content):
        return _joined(message.content)  # a plain string is what every server understands
    return [
        _image(block) if isinstance(block, ImageContent) else {"type": "text", "text": text_of([block])}
        for block in message.content
    ]


def _joined(content: str | Sequence[Any]) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(block.text for block in content if isinstance(block, TextContent))


def _image(block: ImageContent) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": f"data:{block.mime_type};base64,{block.data}"}}


def _answer(message: AssistantMessage) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    for block in message.content:
        if isinstance(block, ThinkingContent) and block.thinking_signature in ChatReader.THINKING_FIELDS:
            field = block.thinking_signature
            wire[field] = wire.get(field, "") + block.thinking
    calls = message.tool_calls
    if calls:
        wire["tool_calls"] = [_call(call) for call in calls]
    details = [detail for call in calls if (detail := _reasoning_detail(call)) is not None]
    if details:
        wire["reasoning_details"] = details
    return wire


def _reasoning_detail(call: ToolCall) -> dict[str, Any] | None:
    """Return what OpenRouter wants back with a call, if the call has such a thing."""
    try:
        detail = json.loads(call.thought_signature or "null")
    except ValueError:
        return None
    return detail if isinstance(detail, dict) else None


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(to_wire(call.arguments), ensure_ascii=False)
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _for_mistral(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages as Mistral insists: ids of nine letters, and no user right after a result."""
    out: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "user" and out and out[-1]["role"] == "tool":
            out.append({"role": "assistant", "content": "Noted."})
        out.append(_with_short_ids(message))
    return out


def _with_short_ids(message: dict[str, Any]) -> dict[str, Any]:
    if message["role"] == "tool":
        return {**message, "tool_call_id": _nine(message["tool_call_id"])}
    if "tool_calls" in message:
        return {**message, "tool_calls": [{**call, "id": _nine(call["id"])} for call in message["tool_calls"]]}
    return message


def _nine(id: str) -> str:
    return id if re.fullmatch(r"[A-Za-z0-9]{9}", id) else sha256(id.encode()).hexdigest()[:9]

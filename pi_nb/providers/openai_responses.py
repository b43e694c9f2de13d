"""OpenAI's Responses API: https://platform.openai.com/docs/api-reference/responses-streaming.

Nothing is stored at the provider: the whole conversation is sent each time, with the model's encrypted thoughts,
which it wants back with the calls they led to. They are kept where pi keeps them: a thought's signature is its whole
item as JSON, a text's signature holds its item's id, a call's id is ``call_id|item_id``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

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
from pi_nb.providers.base import Request, ToolSpec
from pi_nb.providers.blocks import is_native
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.catalogue import look_up
from pi_nb.providers.http import HttpProvider, Reader
from pi_nb.providers.responses_reader import ResponsesReader
from pi_nb.providers.service import OPENAI_RESPONSES
from pi_nb.providers.thinking import openai_effort, openai_levels
from pi_nb.providers.transform import LlmMessage, acceptable, framed

__all__ = ["OpenAIResponsesProvider"]


class OpenAIResponsesProvider(HttpProvider):
    """OpenAI, or a server that speaks its Responses API."""

    api = "openai-responses"
    service = OPENAI_RESPONSES

    def model(self, model_id: str) -> Model:
        """Return what is known of a model."""
        found = look_up(self.name, model_id, api=self.api)
        return found if found.thinking_levels else replace(found, thinking_levels=openai_levels(found))

    def path(self, request: Request) -> str:
        """Return where responses are asked for."""
        return "/responses"

    def auth(self, key: str) -> Mapping[str, str]:
        """Return the key's header."""
        return {"authorization": f"Bearer {key}"}

    async def model_names(self) -> list[str]:
        """Return the names of the models there are."""
        return [str(model["id"]) for model in (await self.get_json("/models"))["data"]]

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the request's body."""
        body: dict[str, Any] = {"model": request.model.id, "stream": True, "store": False}
        if request.system.strip():
            body["instructions"] = request.system
        if request.max_tokens is not None:
            body["max_output_tokens"] = max(16, request.max_tokens)  # fewer are refused
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.session_id:
            body["prompt_cache_key"] = request.session_id[:64]
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
        effort = openai_effort(request.model, request.thinking_level)
        if effort is not None:
            body["reasoning"] = {"effort": effort} if effort == "none" else {"effort": effort, "summary": "auto"}
        if request.model.reasoning:
            body["include"] = ["reasoning.encrypted_content"]
        messages = framed(acceptable(request.messages, request.model))
        body["input"] = [item for message in messages for item in _items(message, request.model)]
        return body

    def reader(self, builder: MessageBuilder) -> Reader:
        """Return what reads the answer."""
        return ResponsesReader(builder)


def _tool(tool: ToolSpec) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}, **to_wire(dict(tool.parameters))}
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": schema,
        "strict": False,  # strict mode would forbid optional arguments
    }


def _items(message: LlmMessage, model: Model) -> Iterator[dict[str, Any]]:
    match message:
        case UserMessage():
            yield {"role": "user", "content": _inputs(message.content)}
        case ToolResultMessage():
            output = _inputs(message.content)
            if all(part["type"] == "input_text" for part in output):
                output = "\n\n".join(part["text"] for part in output)
            call_id = message.tool_call_id.partition("|")[0]
            yield {"type": "function_call_output", "call_id": call_id, "output": output}
        case AssistantMessage():
            native = is_native(message, model)
            for block in message.content:
                yield from _answer_items(block, native)  # type: ignore[arg-type]


def _inputs(content: str | Sequence[ContentBlock]) -> Any:
    if isinstance(content, str):
        return [{"type": "input_text", "text": content}]
    return [_input(block) for block in content]


def _input(block: ContentBlock) -> dict[str, Any]:
    if isinstance(block, ImageContent):
        url = f"data:{block.mime_type};base64,{block.data}"
        return {"type": "input_image", "detail": "auto", "image_url": url}
    return {"type": "input_text", "text": block.text if isinstance(block, TextContent) else ""}


def _answer_items(block: ContentBlock, native: bool) -> Iterator[dict[str, Any]]:
    match block:
        case ThinkingContent():
            item = _signed_item(block.thinking_signature)
            if native and item.get("type") == "reasoning":
                yield {name: item[name] for name in item if name != "status"}
        case TextContent():
            yield _said(block, native)
        case ToolCall():
            yield _called(block, native)


def _said(block: TextContent, native: bool) -> dict[str, Any]:
    signed = _signed_item(block.text_signature) if native else {}
    item: dict[str, Any] = {"type": "message", "role": "assistant"}
    if isinstance(signed.get("phase"), str):
        item["phase"] = signed["phase"]
    if not isinstance(signed.get("id"), str):  # what is not an item of theirs has no id, and then a simpler form
        return {**item, "content": block.text}
    content = [{"type": "output_text", "text": block.text, "annotations": []}]
    return {**item, "id": signed["id"], "status": "completed", "content": content}


def _called(call: ToolCall, native: bool) -> dict[str, Any]:
    call_id, _, item_id = call.id.partition("|")
    arguments = json.dumps(to_wire(call.arguments), ensure_ascii=False)
    item = {"type": "function_call", "call_id": call_id, "name": call.name, "arguments": arguments}
    if native and item_id.startswith("fc_") and len(item_id) <= 64:
        item["id"] = item_id
    return item


def _signed_item(signature: str | None) -> dict[str, Any]:
    """Return the item a signature holds; one that is only an id is an id."""
    try:
        item = json.loads(signature or "{}")
    except ValueError:
        return {"id": signature}
    return item if isinstance(item, dict) else {}

"""Content blocks as a given model can take them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pi_nb.messages import (
    AssistantMessage,
    ContentBlock,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi_nb.models import Model
from pi_nb.providers.arguments import parse_arguments

__all__ = ["clean_answer", "clean_result", "clean_user", "is_native"]

IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # what every provider reads
_IMAGE_LEFT_OUT = "(image omitted: model does not support images)"
_TOOL_IMAGE_LEFT_OUT = "(tool image omitted: model does not support images)"
_NO_OUTPUT = "(no output)"
_NAME = re.compile(r"[^A-Za-z0-9_-]")


def is_native(message: AssistantMessage, model: Model) -> bool:
    """Return whether ``model`` itself wrote the answer, so that its signatures mean something to it."""
    return (message.provider, message.api, message.model) == (model.provider, model.api, model.id)


def clean_user(message: UserMessage, model: Model) -> UserMessage | None:
    """Return the message without blank or unknown blocks; None if nothing is left."""
    if isinstance(message.content, str):
        return message if message.content.strip() else None
    blocks = tuple(_readable(message.content, model, _IMAGE_LEFT_OUT))
    return message.model_copy(update={"content": blocks}) if blocks else None


def clean_result(message: ToolResultMessage, model: Model, *, call_id: str, name: str) -> ToolResultMessage:
    """Return a tool result with content that is not empty, under the call's present id and name."""
    given: Sequence[ContentBlock] = message.content if not isinstance(message.content, str) else _text(message.content)
    blocks = tuple(_readable(given, model, _TOOL_IMAGE_LEFT_OUT)) or _text(_NO_OUTPUT)
    return message.model_copy(update={"content": blocks, "tool_call_id": call_id, "tool_name": name})


def _text(text: str) -> tuple[TextContent, ...]:
    return (TextContent(text=text),)


def _readable(blocks: Iterable[Any], model: Model, placeholder: str) -> Iterator[TextContent | ImageContent]:
    """Yield text that is not blank and pictures the model can see; a run of others is one placeholder."""
    run = ""
    for block in blocks:
        left_out = ""
        if isinstance(block, TextContent) and block.text.strip():
            yield block
        elif isinstance(block, ImageContent):
            left_out = _why_left_out(block, model, placeholder)
            if left_out and left_out != run:
                yield TextContent(text=left_out)
            elif not left_out:
                yield block
        run = left_out


def _why_left_out(image: ImageContent, model: Model, placeholder: str) -> str:
    if not model.vision:
        return placeholder
    if image.mime_type not in IMAGE_TYPES or not image.data:
        return f"(image omitted: {image.mime_type or 'unknown type'} cannot be shown to a model)"
    return ""


# ---------------------------------------------------------------- answers


def clean_answer(message: AssistantMessage, model: Model) -> tuple[ContentBlock, ...]:
    """Return an answer's blocks as ``model`` may be shown them; empty if nothing is left."""
    content = _text(message.content) if isinstance(message.content, str) else message.content
    native = is_native(message, model)
    blocks = [b for b in (_answer_block(block, native) for block in content) if b is not None]
    while blocks and isinstance(blocks[-1], ThinkingContent):  # a thought that led to nothing is refused
        blocks.pop()
    return tuple(blocks)


def _answer_block(block: ContentBlock, native: bool) -> ContentBlock | None:
    match block:
        case ThinkingContent():
            return _thought(block, native)
        case TextContent() if block.text.strip():
            return block if native else TextContent(text=block.text)
        case ToolCall():
            return _call(block, native)
    return None  # pictures, unknown kinds and blank text are not for a model's own side


def _thought(block: ThinkingContent, native: bool) -> ThinkingContent | TextContent | None:
    if native and block.thinking_signature:
        return block  # also without text: the signature may hold all of it, encrypted
    if block.redacted or not block.thinking.strip():
        return None
    return block if native else TextContent(text=block.thinking)


def _call(block: ToolCall, native: bool) -> ToolCall:
    name = _NAME.sub("_", block.name)[:64] or "unknown"
    signed = {"thought_signature": block.thought_signature} if native and block.thought_signature else {}
    return ToolCall(id=block.id, name=name, arguments=_object(block.arguments), **signed)


def _object(arguments: Any) -> dict[str, Any]:
    if isinstance(arguments, dict):
        return arguments
    if isinstance(arguments, str):
        return parse_arguments(arguments).value
    return {} if arguments is None else {"value": arguments}

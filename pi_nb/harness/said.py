"""What a user says, as a message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from pi_nb.errors import HarnessError
from pi_nb.messages import ImageContent, TextContent, UserMessage, now_ms

__all__ = ["Prompt", "user_message"]

Prompt: TypeAlias = str | Sequence[TextContent | ImageContent]


def user_message(content: Prompt, images: Sequence[ImageContent] = ()) -> UserMessage:
    """Return what the user says as a message.

    Raises:
        HarnessError: ``invalid_argument``: it says nothing.
    """
    blocks = (TextContent(text=content),) if isinstance(content, str) else tuple(content)
    message = UserMessage(content=(*blocks, *images), timestamp=now_ms())
    if not any(_says_something(block) for block in message.content):
        raise HarnessError("The prompt is empty.", code="invalid_argument", hint="Say something, or send a picture.")
    return message


def _says_something(block: object) -> bool:
    return bool(block.text.strip()) if isinstance(block, TextContent) else True

"""A strict double: says what Anthropic's and OpenAI's APIs would refuse in a request body, one line per reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

ANTHROPIC_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
ALLOWED = {
    "user": ("text", "image", "tool_result"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
}
IMAGE_TYPES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


# ---------------------------------------------------------------- Anthropic


def anthropic_refusals(body: dict[str, Any]) -> Iterator[str]:
    messages = body["messages"]
    if not messages:
        yield "messages: at least one message is required"
        return
    if messages[0]["role"] != "user":
        yield "messages: the first message must be the user's"
    if messages[-1]["role"] != "user":
        yield "messages: the conversation must end with a user message"
    seen: set[str] = set()
    for index, message in enumerate(messages):
        before = messages[index - 1] if index else None
        after = messages[index + 1] if index + 1 < len(messages) else None
        if before and before["role"] == message["role"]:
            yield f"messages.{index}: not merged with the one before"
        yield from _anthropic_message(message, before, after, seen)
    marks = str(body).count("'cache_control'")
    if marks > 4:
        yield f"{marks} cache marks; four are allowed"


def _anthropic_message(message: Any, before: Any, after: Any, seen: set[str]) -> Iterator[str]:
    content = message["content"]
    if not isinstance(content, list) or not content:
        yield "content is empty"
        return
    for block in content:
        yield from _anthropic_block(block, message["role"])
    if message["role"] == "assistant":
        calls = [block["id"] for block in content if block["type"] == "tool_use"]
        answered = [b["tool_use_id"] for b in (after or {"content": []})["content"] if b["type"] == "tool_result"]
        if sorted(calls) != sorted(answered):
            yield f"calls {calls} without their results {answered} right after"
        for id in calls:
            if id in seen:
                yield f"tool_use ids must be unique: {id}"
            seen.add(id)
        if content[-1]["type"] in ("thinking", "redacted_thinking"):
            yield "the final block cannot be thinking"
    else:
        kinds = [block["type"] == "tool_result" for block in content]
        if kinds != sorted(kinds, reverse=True):
            yield "results must come first"
        if any(kinds) and (before is None or before["role"] != "assistant"):
            yield "a result without a call"
        ids = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if len(ids) != len(set(ids)):
            yield "a call with two results"


def _anthropic_block(block: dict[str, Any], role: str) -> Iterator[str]:
    kind = block["type"]
    allowed = {
        "user": ("text", "image", "tool_result"),
        "assistant": ("text", "thinking", "redacted_thinking", "tool_use"),
    }
    if kind not in allowed[role]:
        yield f"{kind} in a message of the {role}"
    if kind == "text" and not block["text"].strip():
        yield "text must contain non-whitespace"
    if kind == "image" and (block["source"]["media_type"] not in IMAGE_TYPES or not block["source"]["data"]):
        yield "an image nobody can read"
    if kind == "thinking" and not block.get("signature"):
        yield "thinking without signature"
    if kind == "redacted_thinking" and not block.get("data"):
        yield "redacted thinking without data"
    if kind == "tool_use":
        if not ANTHROPIC_ID.fullmatch(block["id"]):
            yield f"id {block['id']!r}"
        if not TOOL_NAME.fullmatch(block["name"]):
            yield f"name {block['name']!r}"
        if not isinstance(block["input"], dict):
            yield "input must be an object"
    if kind == "tool_result":
        if not ANTHROPIC_ID.fullmatch(block["tool_use_id"]):
            yield f"id {block['tool_use_id']!r}"
        for inner in block["content"]:
            yield from _anthropic_block(inner, "user")


# ---------------------------------------------------------------- OpenAI Chat Completions


def openai_refusals(body: dict[str, Any]) -> Iterator[str]:
    messages = body["messages"]
    if not messages:
        yield "messages is empty"
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] not in waiting:
                yield "a tool message must follow the call it answers"
            else:
                waiting.remove(message["tool_call_id"])
            if not isinstance(message["content"], str):
                yield "tool content must be a string"
            continue
        if waiting:
            yield f"calls without results: {waiting}"
            waiting = []
        if role == "assistant":
            calls = message.get("tool_calls")
            if calls == [] or (not calls and not message["content"]):
                yield "an assistant message needs content or calls"
            for call in calls or ():
                if not call["id"] or len(call["id"]) > 40 or call["id"] in seen:
                    yield f"id {call['id']!r}"
                if not TOOL_NAME.fullmatch(call["function"]["name"]):
                    yield f"name {call['function']['name']!r}"
                seen.add(call["id"])
                waiting.append(call["id"])
        elif role == "user" and not message["content"]:
            yield "empty user message"
    if waiting:
        yield f"calls without results at the end: {waiting}"
    if messages and messages[-1]["role"] == "assistant":
        yield "nothing to answer"
    if body.get("tools") == []:
        yield "tools must not be empty"

"""OpenAI's Responses: what is sent, what is kept for the next request, and the corners of what is read."""

from __future__ import annotations

import json

import pytest

from pi_nb.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi_nb.providers.base import Request, ToolSpec
from pi_nb.providers.openai_responses import OpenAIResponsesProvider
from tests.providers.replay import into_reader

PROVIDER = OpenAIResponsesProvider()
MODEL = PROVIDER.model("model-x")
TOOL = ToolSpec("ls", "List files.", {"properties": {}})
CREATED = {"type": "response.created", "response": {}}


def payload(*messages, model=MODEL, **fields):
    return PROVIDER.payload(Request(model, messages or (UserMessage(content="go"),), **fields))


def read(*events):
    return into_reader("openai_responses", [f"data: {json.dumps(event)}\n\n".encode() for event in events])


def completed(status="completed", **fields):
    return {"type": f"response.{status}", "response": {"status": status, **fields}}


def done(position, **item):
    return {"type": "response.output_item.done", "output_index": position, "item": item}


def test_what_is_read_is_sent_back():
    """Thoughts, texts and calls come back as the items they were, so that the model can go on from them."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "blob"}
    said = {
        "type": "message",
        "id": "msg_1",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "I look"}],
    }
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "ls", "arguments": "{}"}
    message = read(CREATED, done(0, **thought), done(1, **said), done(2, **call), completed())[-1].message
    assert message.stop_reason == "toolUse"
    result = ToolResultMessage(tool_call_id=message.tool_calls[0].id, content=(TextContent(text="out"),))
    body = payload(UserMessage(content="go"), message, result)
    assert body["input"] == [
        {"role": "user", "content": [{"type": "input_text", "text": "go"}]},
        thought,
        {
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "I look", "annotations": []}],
            "id": "msg_1",
            "phase": "commentary",
        },
        {"type": "function_call", "call_id": "call_1", "name": "ls", "arguments": "{}", "id": "fc_1"},
        {"type": "function_call_output", "call_id": "call_1", "output": "out"},
    ]


def test_answers_of_other_models_lose_their_ids():
    """Items of another model are plain: no id, no thoughts."""
    foreign = AssistantMessage(
        content=(
            ThinkingContent(thinking="hm", thinking_signature='{"type":"reasoning"}'),
            TextContent(text="so", text_signature='{"v":1,"id":"msg_1"}'),
            ToolCall(id="call_1|fc_1", name="ls", arguments={}),
        ),
        provider="openai",
        model="other",
        api="openai-responses",
    )
    items = payload(UserMessage(content="go"), foreign)["input"]
    assert [item.get("id") for item in items] == [None] * 5
    assert [item.get("type") for item in items] == [None, "message", "message", "function_call", "function_call_output"]
    assert items[3]["call_id"] == items[4]["call_id"]


def test_a_whole_request():
    """Nothing is stored, thoughts are asked for encrypted, and the session is the cache's key."""
    model = PROVIDER.model("gpt-5.2")
    body = payload(
        model=model, system="S", tools=(TOOL,), thinking_level="high", max_tokens=5, session_id="s1", temperature=0.1
    )
    assert body == {
        "model": "gpt-5.2",
        "stream": True,
        "store": False,
        "instructions": "S",
        "max_output_tokens": 16,
        "temperature": 0.1,
        "prompt_cache_key": "s1",
        "tools": [
            {
                "type": "function",
                "name": "ls",
                "description": "List files.",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            }
        ],
        "reasoning": {"effort": "high", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "go"}]}],
    }
    assert payload(model=model)["reasoning"] == {"effort": "none"}
    assert "reasoning" not in payload(model=PROVIDER.model("gpt-4o"))


def test_pictures():
    """Pictures go in with prompts and with results."""
    model = PROVIDER.model("gpt-4o")
    image = ImageContent(data="AA", mime_type="image/png")
    call = AssistantMessage(
        content=(ToolCall(id="c", name="ls", arguments={}),), provider="openai", model="gpt-4o", api=PROVIDER.api
    )
    body = payload(
        UserMessage(content=(image,)), call, ToolResultMessage(tool_call_id="c", content=(image,)), model=model
    )
    shown = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AA"}
    assert body["input"][0]["content"] == [shown]
    assert body["input"][2]["output"] == [shown]


def test_parts_of_a_summary_are_paragraphs():
    """A thought's parts are told apart."""

    def part(text):
        return [
            {"type": "response.reasoning_summary_part.added", "output_index": 0},
            {"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": text},
        ]

    added = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1"}}
    message = read(CREATED, added, *part("one"), *part("two"), done(0, type="reasoning", id="rs_1"), completed())[
        -1
    ].message
    assert message.content[0].thinking == "one\n\ntwo"


@pytest.mark.parametrize(
    ("event", "code", "retryable"),
    [
        (completed("failed", error={"code": "server_error", "message": "x"}), "server", True),
        (completed("failed", error={"code": "rate_limit_exceeded", "message": "x"}), "rate_limit", True),
        (completed("incomplete", incomplete_details={"reason": "content_filter"}), "content_filter", False),
        ({"type": "error", "code": "context_length_exceeded", "message": "x"}, "context_overflow", False),
        ({"type": "response.output_text.delta", "delta": "Hi"}, "truncated", True),
    ],
)
def test_failures(event, code, retryable):
    """Each way an answer fails has its code."""
    error = read(CREATED, event)[-1].error
    assert (error.code, error.retryable) == (code, retryable)


def test_cut_by_the_output_limit():
    """An incomplete response is an answer that was cut."""
    stopped = completed("incomplete", incomplete_details={"reason": "max_output_tokens"})
    assert read(CREATED, stopped)[-1].message.stop_reason == "length"


def test_items_without_numbers():
    """A server that numbers nothing, and ends its items only when all have begun, is read by their ids."""
    thought, call = {"type": "reasoning", "id": "rs_1"}, {"type": "function_call", "id": "fc_1", "call_id": "call_1"}
    events = [
        {"type": "response.output_item.added", "item": thought},
        {"type": "response.reasoning_text.delta", "item_id": "rs_1", "delta": "hm"},
        {"type": "response.output_item.added", "item": {**call, "name": "ls"}},
        {"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": "{}"},
        {"type": "response.output_item.done", "item": thought},
        {"type": "response.output_item.done", "item": {**call, "name": "ls", "arguments": "{}"}},
    ]
    message = read(CREATED, *events, completed())[-1].message
    signed = json.dumps(thought, separators=(",", ":"))
    assert message.content == (
        ThinkingContent(thinking="hm", thinking_signature=signed),
        ToolCall(id="call_1|fc_1", name="ls", arguments={}),
    )

"""Anthropic's Messages: what is sent, and the corners of what is read."""

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
from pi_nb.providers.anthropic import AnthropicProvider
from pi_nb.providers.base import Request, StreamDone, ToolSpec
from tests.providers.replay import into_reader

PROVIDER = AnthropicProvider()
MODEL = PROVIDER.model("claude-sonnet-4-5")
TOOL = ToolSpec("ls", "List files.", {"properties": {"path": {"type": "string"}}})
MARK = {"type": "ephemeral"}


def payload(*messages, model=MODEL, **fields):
    return PROVIDER.payload(Request(model, messages or (UserMessage(content="go"),), **fields))


def native(*blocks, model=MODEL):
    return AssistantMessage(content=blocks, provider="anthropic", model=model.id, api=PROVIDER.api)


def result(id, *blocks, **fields):
    return ToolResultMessage(tool_call_id=id, content=blocks or (TextContent(text="out"),), **fields)


def read(*events):
    return into_reader("anthropic", [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in events])


START = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 100}}}
END = ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"})


def block(index, **fields):
    return {"type": "content_block_start", "index": index, "content_block": fields}


def delta(index, **fields):
    return {"type": "content_block_delta", "index": index, "delta": fields}


# ---------------------------------------------------------------- requests


def test_a_whole_request():
    """Blocks, results, tools and cache marks are what the API documents."""
    image = ImageContent(data="AAAA", mime_type="image/png")
    thought = ThinkingContent(thinking="hm", thinking_signature="sig")
    secret = ThinkingContent(thinking="", thinking_signature="blob", redacted=True)
    body = payload(
        UserMessage(content=(TextContent(text="look"), image)),
        native(thought, secret, TextContent(text="I look."), ToolCall(id="c1", name="ls", arguments={"path": "."})),
        result("c1", is_error=True),
        UserMessage(content="and?"),
        system="Be brief.",
        tools=(TOOL,),
        temperature=0.5,
        max_tokens=99,
    )
    assert body == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 99,
        "stream": True,
        "temperature": 0.5,
        "tools": [
            {
                "name": "ls",
                "description": "List files.",
                "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
            }
        ],
        "system": [{"type": "text", "text": "Be brief.", "cache_control": MARK}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "look"},
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"},
                        "cache_control": MARK,
                    },
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "redacted_thinking", "data": "blob"},
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c1", "name": "ls", "input": {"path": "."}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "c1",
                        "content": [{"type": "text", "text": "out"}],
                        "is_error": True,
                    },
                    {"type": "text", "text": "and?", "cache_control": MARK},
                ],
            },
        ],
    }


def test_at_most_four_cache_marks():
    """However long the conversation, three places are marked."""
    history = [m for n in range(9) for m in (UserMessage(content="q"), native(TextContent(text="a")))]
    assert json.dumps(payload(*history, system="S", tools=(TOOL,))).count("cache_control") == 3


def test_usual_answers_leave_room_for_the_prompt():
    """The limit of an answer is not the model's longest, unless asked for."""
    assert payload()["max_tokens"] == 32_000
    assert payload(max_tokens=60_000)["max_tokens"] == 60_000


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("claude-sonnet-4-5", "off", {}),
        ("claude-sonnet-4-5", "low", {"thinking": {"type": "enabled", "budget_tokens": 2048}}),
        ("claude-sonnet-4-5-20250929", "xhigh", {"thinking": {"type": "enabled", "budget_tokens": 30_976}}),
        (
            "claude-sonnet-4-6",
            "xhigh",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
        ),
        (
            "claude-opus-5-5",
            "xhigh",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "xhigh"}},
        ),
        (
            "claude-haiku-5-5",
            "minimal",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "low"}},
        ),
    ],
)
def test_thinking(name, level, expected):
    """Old models get a budget below the limit, new ones an effort they have."""
    body = payload(model=PROVIDER.model(name), thinking_level=level)
    assert {key: body[key] for key in ("thinking", "output_config") if key in body} == expected


def test_no_temperature_while_thinking():
    """The API refuses a temperature together with thinking."""
    assert "temperature" not in payload(thinking_level="high", temperature=0.1)


def test_a_turn_begun_without_thinking_goes_on_without():
    """Thinking cannot be switched on between a call and its result; in the next turn it can."""
    call = native(ToolCall(id="c1", name="ls", arguments={}))
    assert "thinking" not in payload(UserMessage(content="go"), call, result("c1"), thinking_level="high")
    after = (call, result("c1"), native(TextContent(text="done")), UserMessage(content="next"))
    assert "thinking" in payload(UserMessage(content="go"), *after, thinking_level="high")


def test_unsigned_thinking_is_text():
    """Without its signature a thought is only text."""
    body = payload(UserMessage(content="go"), native(ThinkingContent(thinking="hm"), TextContent(text="so")))
    assert body["messages"][1]["content"] == [{"type": "text", "text": "hm"}, {"type": "text", "text": "so"}]


def test_base_urls(monkeypatch):
    """The version in a base URL is not doubled."""
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://proxy.example/v1/")
    assert AnthropicProvider().base_url == "http://proxy.example"
    assert repr(AnthropicProvider()) == "<AnthropicProvider anthropic http://proxy.example key=ANTHROPIC_API_KEY>"


# ---------------------------------------------------------------- answers


def test_redacted_thinking_and_late_signature():
    """Secret thoughts and signatures are kept to be sent back."""
    events = read(
        START,
        block(0, type="redacted_thinking", data="blob"),
        block(1, type="thinking", thinking="", signature=""),
        delta(1, type="thinking_delta", thinking="hm"),
        delta(1, type="signature_delta", signature="sig"),
        {"type": "content_block_stop", "index": 1},
        *END,
    )
    assert events[-1].message.content == (
        ThinkingContent(thinking="", thinking_signature="blob", redacted=True),
        ThinkingContent(thinking="hm", thinking_signature="sig"),
    )


def test_input_given_at_once():
    """Arguments in the block's start count if no pieces follow."""
    last = read(START, block(0, type="tool_use", id="a", name="ls", input={"p": 1}), *END)[-1]
    assert last.message.tool_calls == (ToolCall(id="a", name="ls", arguments={"p": 1}),)


def test_blocks_without_start_or_stop():
    """Proxies leave out starts and stops; every block still begins and ends once."""
    events = read(START, delta(0, type="text_delta", text="Hi"), *END)
    assert [e.type for e in events] == ["start", "text_start", "text_delta", "text_end", "done"]


def test_usage_adds_up_over_events():
    """Later numbers replace earlier ones; what is not repeated stays."""
    tail = {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 7}}
    message = read(START, tail, {"type": "message_stop"})[-1].message
    assert (message.usage.input, message.usage.output, message.usage.cache_read) == (5, 7, 100)
    assert message.stop_reason == "length"


def test_refusal_is_a_content_filter_error():
    """A refusal says why."""
    details = {"explanation": "This request was blocked."}
    stop = {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}}
    last = read(START, stop, {"type": "message_stop"})[-1]
    assert (last.error.code, str(last.error)) == ("content_filter", "This request was blocked.")


def test_deltas_of_unknown_kinds_are_passed_over():
    """Citations and whatever comes next year do not break an answer."""
    events = read(START, block(0, type="text", text="Hi"), delta(0, type="citations_delta", citation={}), *END)
    assert isinstance(events[-1], StreamDone)
    assert events[-1].message.text == "Hi"


def test_an_error_event_keeps_what_came():
    """An overloaded error in the middle may be retried and keeps the text."""
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    last = read(START, delta(0, type="text_delta", text="Hel"), error)[-1]
    assert (last.error.code, last.error.retryable, last.message.text) == ("overloaded", True, "Hel")


def test_what_keeps_a_connection_open_says_nothing():
    """Pings and other events with nothing in them, and a gateway's [DONE], are passed over."""
    noise = [b"event: ping\ndata:\n\n", b"event: ping\ndata: {}\n\n", b"event: x\ndata: \n\n", b"data: [DONE]\n\n"]
    said = [START, block(0, type="text", text=""), delta(0, type="text_delta", text="Hi"), *END]
    chunks = [f"event: {e['type']}\ndata: {json.dumps(e)}\n\n".encode() for e in said]
    last = into_reader("anthropic", [*chunks[:1], *noise[:3], *chunks[1:], *noise[3:]])[-1]
    assert isinstance(last, StreamDone)
    assert last.message.text == "Hi"
    assert into_reader("anthropic", [*chunks[:3], *noise[3:]])[-1].error.code == "truncated"

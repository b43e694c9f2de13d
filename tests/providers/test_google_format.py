"""Gemini: what is sent, and the corners of what is read."""

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
from pi_nb.providers.google import GoogleProvider
from tests.providers.raw_server import Answer
from tests.providers.replay import into_reader, over_http

PROVIDER = GoogleProvider()
OLD, NEW = PROVIDER.model("gemini-2.5-flash"), PROVIDER.model("gemini-3.5-flash")
TOOL = ToolSpec("ls", "List files.", {"properties": {}})


def payload(*messages, model=OLD, **fields):
    return PROVIDER.payload(Request(model, messages or (UserMessage(content="go"),), **fields))


def native(*blocks, model=OLD):
    return AssistantMessage(content=blocks, provider="google", model=model.id, api=PROVIDER.api)


def result(id, *blocks, **fields):
    return ToolResultMessage(tool_call_id=id, content=blocks or (TextContent(text="out"),), **fields)


def call(id="c", **fields):
    return ToolCall(id=id, name="ls", arguments={"p": 1}, **fields)


def read(*chunks):
    return into_reader("gemini", [f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks])


def candidate(*parts, reason=None, **fields):
    found = {"content": {"parts": list(parts), "role": "model"}}
    return {"candidates": [{**found, **({"finishReason": reason} if reason else {})}], **fields}


# ---------------------------------------------------------------- requests


def test_a_whole_request():
    """Roles, calls, results, pictures and tools are what the API documents."""
    image = ImageContent(data="AA", mime_type="image/png")
    body = payload(
        UserMessage(content=(TextContent(text="look"), image)),
        native(TextContent(text="I look", text_signature="s1"), call("a", thought_signature="s2"), call("b")),
        result("a"),
        result("b", image, is_error=True),
        UserMessage(content="and?"),
        system="S",
        tools=(TOOL,),
        max_tokens=9,
        temperature=0.5,
    )
    picture = {"inlineData": {"mimeType": "image/png", "data": "AA"}}
    used = {"functionCall": {"name": "ls", "args": {"p": 1}}}
    assert body == {
        "systemInstruction": {"parts": [{"text": "S"}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "ls",
                        "description": "List files.",
                        "parametersJsonSchema": {"type": "object", "properties": {}},
                    }
                ]
            }
        ],
        "generationConfig": {
            "thinkingConfig": {"includeThoughts": False, "thinkingBudget": 0},
            "maxOutputTokens": 9,
            "temperature": 0.5,
        },
        "contents": [
            {"role": "user", "parts": [{"text": "look"}, picture]},
            {
                "role": "model",
                "parts": [{"text": "I look", "thoughtSignature": "s1"}, {**used, "thoughtSignature": "s2"}, used],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "ls", "response": {"output": "out"}}},
                    {"functionResponse": {"name": "ls", "response": {"error": "(a picture, which follows)"}}},
                ],
            },
            {"role": "user", "parts": [{"text": "Pictures from the tool results above:"}, picture]},
            {"role": "user", "parts": [{"text": "and?"}]},
        ],
    }


def test_calls_without_signature():
    """Gemini 3 wants a signature on the first call of an answer, also on one it did not write."""
    parts = payload(UserMessage(content="go"), native(call("a"), call("b"), model=NEW), model=NEW)["contents"][1][
        "parts"
    ]
    assert parts[0]["thoughtSignature"] == "skip_thought_signature_validator"
    assert "thoughtSignature" not in parts[1]
    old = payload(UserMessage(content="go"), native(call("a")))["contents"][1]["parts"]
    assert "thoughtSignature" not in old[0]


@pytest.mark.parametrize(
    ("name", "level", "expected"),
    [
        ("gemini-2.5-pro", "off", {"includeThoughts": False, "thinkingBudget": 128}),
        ("gemini-2.5-flash", "xhigh", {"includeThoughts": True, "thinkingBudget": 24_576}),
        ("gemini-3.1-pro-preview", "minimal", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-3.5-flash", "xhigh", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
    ],
)
def test_thinking(name, level, expected):
    """Gemini 2 gets a budget, later ones a level."""
    assert payload(model=PROVIDER.model(name), thinking_level=level)["generationConfig"]["thinkingConfig"] == expected


# ---------------------------------------------------------------- answers


def test_thoughts_text_and_calls():
    """Parts become blocks, with their signatures, and a call means that it is to be run."""
    last = read(
        candidate({"text": "h", "thought": True}),
        candidate({"text": "m", "thought": True}, {"text": "so"}),
        candidate({"text": "", "thoughtSignature": "s"}),
        candidate({"functionCall": {"name": "ls", "args": {"p": 1}, "id": "x"}, "thoughtSignature": "t"}),
        candidate(
            reason="STOP", usageMetadata={"promptTokenCount": 9, "thoughtsTokenCount": 2, "candidatesTokenCount": 3}
        ),
    )[-1]
    assert last.message.content == (
        ThinkingContent(thinking="hm"),
        TextContent(text="so", text_signature="s"),
        ToolCall(id="x", name="ls", arguments={"p": 1}, thought_signature="t"),
    )
    assert last.message.stop_reason == "toolUse"
    assert (last.message.usage.output, last.message.usage.reasoning) == (5, 2)


def test_calls_get_ids():
    """Gemini names calls by their function; ours have ids of their own."""
    part = {"functionCall": {"name": "ls", "args": {}}}
    calls = read(candidate(part, part, reason="STOP"))[-1].message.tool_calls
    assert len({call.id for call in calls}) == 2


@pytest.mark.parametrize(
    ("chunk", "code", "retryable"),
    [
        (candidate(reason="SAFETY"), "content_filter", False),
        (candidate(reason="MALFORMED_FUNCTION_CALL"), "server", True),
        ({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}, "content_filter", False),
        ({"error": {"code": 503, "status": "UNAVAILABLE", "message": "x"}}, "overloaded", True),
        (candidate({"text": "half"}), "truncated", True),
    ],
)
def test_failures(chunk, code, retryable):
    """Each way an answer fails has its code."""
    error = read(chunk)[-1].error
    assert (error.code, error.retryable) == (code, retryable)


def test_errors_with_details():
    """How long to wait, and that a key is wrong, stand in the details."""
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}
    body = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "x", "details": [delay]}}
    error = over_http("gemini", Answer([json.dumps(body).encode()], status=429))[-1].error
    assert (error.code, error.retry_after) == ("rate_limit", 34.4)
    bad_key = {"code": 400, "status": "INVALID_ARGUMENT", "message": "x", "details": [{"reason": "API_KEY_INVALID"}]}
    error = over_http("gemini", Answer([json.dumps({"error": bad_key}).encode()], status=400))[-1].error
    assert error.code == "auth"


def test_an_array_instead_of_a_stream():
    """A server that answers with an array of chunks is understood."""
    body = json.dumps([candidate({"text": "Hi"}), candidate(reason="STOP")]).encode()
    assert over_http("gemini", Answer([body], headers={"content-type": "application/json"}))[-1].message.text == "Hi"


def test_an_end_as_openai_has_it():
    """What a gateway adds to a stream, an event with nothing in it and [DONE], is passed over."""
    said = json.dumps(candidate({"text": "Hi"}, reason="STOP"))
    last = into_reader("gemini", [f"data:\n\ndata: {said}\n\ndata: [DONE]\n\n".encode()])[-1]
    assert last.message.text == "Hi"
    assert last.message.stop_reason == "stop"


def test_base_url_of_the_environment(monkeypatch):
    """``GEMINI_BASE_URL`` moves the provider."""
    monkeypatch.setenv("GEMINI_BASE_URL", "http://proxy.example/v1beta")
    assert repr(GoogleProvider()) == "<GoogleProvider google http://proxy.example/v1beta key=GEMINI_API_KEY>"

"""Chat Completions as servers really send it, and what each of them wants to be sent."""

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
from pi_nb.providers.base import Request, StreamDone, StreamError, ToolSpec
from pi_nb.providers.dialects import DIALECTS
from pi_nb.providers.openai_chat import OpenAIChatProvider
from tests.providers.replay import into_reader

TOOL = ToolSpec("ls", "List files.", {"properties": {"path": {"type": "string"}}})


def read(*chunks):
    return into_reader(
        "openai_chat", [f"data: {c if isinstance(c, str) else json.dumps(c)}\n\n".encode() for c in chunks]
    )


def delta(reason=None, **fields):
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": reason}]}


def part(index=0, id=None, name=None, arguments=None):
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    out = {"function": function}
    if index is not None:
        out["index"] = index
    if id is not None:
        out["id"] = id
    return out


def calls(*chunks, reason="tool_calls"):
    last = read(*[delta(tool_calls=list(c) if isinstance(c, tuple) else [c]) for c in chunks], delta(reason))[-1]
    assert isinstance(last, StreamDone), last.error
    return [(call.id, call.name, call.arguments) for call in last.message.tool_calls]


# ---------------------------------------------------------------- answers


def test_calls_that_all_have_position_zero():
    """Servers that number every call 0 are told apart by the ids."""
    found = calls(part(0, "a", "ls", '{"p":1}'), part(0, "b", "cat", '{"q":2}'))
    assert found == [("a", "ls", {"p": 1}), ("b", "cat", {"q": 2})]


def test_calls_without_position():
    """Without positions, ids tell calls apart, and pieces without id belong to the latest call."""
    found = calls(part(None, "a", "ls", '{"p"'), part(None, None, None, ":1}"), part(None, "b", "cat", "{}"))
    assert found == [("a", "ls", {"p": 1}), ("b", "cat", {})]


def test_id_and_name_repeated_in_each_piece():
    """A server may repeat id and name; the name is not doubled."""
    assert calls(part(0, "a", "ls", '{"p"'), part(0, "a", "ls", ":1}")) == [("a", "ls", {"p": 1})]


def test_late_id_and_name():
    """Id and name may come after the first piece of arguments."""
    assert calls(part(0, None, None, '{"p"'), part(0, "a", "ls", ":1}")) == [("a", "ls", {"p": 1})]


def test_missing_and_equal_ids_are_made_up():
    """Each call has an id of its own, whatever the server sent."""
    found = calls((part(0, "", "ls", "{}"), part(1, "", "cat", "{}")))
    assert len({id for id, _, _ in found}) == 2
    assert all(id for id, _, _ in found)
    again = calls((part(0, "x", "ls", "{}"), part(1, "x", "cat", "{}")))
    assert again[0][0] == "x"
    assert again[1][0] != "x"


def test_arguments_that_are_not_encoded():
    """An object instead of JSON text is taken as it is."""
    assert calls(part(0, "a", "ls", {"p": 1})) == [("a", "ls", {"p": 1})]


def test_a_finish_reason_of_stop_after_a_call():
    """An answer with a call means that it is to be run, whatever the reason says; and the other way round."""
    last = read(delta(tool_calls=[part(0, "a", "ls", "{}")]), delta("stop"), "[DONE]")[-1]
    assert last.message.stop_reason == "toolUse"
    assert read(delta(content="x"), delta("tool_calls"))[-1].message.stop_reason == "stop"


def test_a_call_cut_by_the_output_limit_is_not_whole():
    """A call whose arguments are cut ends the answer as ``length``, even if the server says otherwise."""
    last = read(delta(tool_calls=[part(0, "a", "rm", '{"path": "/ho')]), delta("tool_calls"))[-1]
    assert last.message.stop_reason == "length"


def test_function_call_of_old():
    """The field before tool calls is still understood."""
    last = read(delta(function_call={"name": "ls", "arguments": "{}"}), delta("function_call"))[-1]
    assert last.message.tool_calls[0].name == "ls"


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning", "reasoning_text"])
def test_thinking_fields(field):
    """Thinking comes in the fields that servers invented, once even if two of them say the same."""
    events = read(delta(**{field: "hm", "reasoning_text": "hm"}), delta(content="so"), delta("stop"))
    assert events[-1].message.content == (
        ThinkingContent(thinking="hm", thinking_signature=field),
        TextContent(text="so"),
    )
    assert [e.type for e in events if "delta" not in e.type] == [
        *("start", "thinking_start", "thinking_end", "text_start", "text_end", "done")
    ]


def test_content_in_parts():
    """Mistral's thinking models send lists of parts."""
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "so"}]
    message = read(delta(content=parts), delta("stop"))[-1].message
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.text == "so"


def test_refusal_is_text():
    """A refusal is what the model says."""
    assert read(delta(refusal="I will not."), delta("stop"))[-1].message.text == "I will not."


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"usage": {"prompt_tokens": 10, "completion_tokens": 2}}, (10, 2, 0)),
        ({"usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}}, (6, 2, 4)),
        ({"usage": {"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 4}}}, (5, 0, 4)),
        ({"x_groq": {"usage": {"prompt_tokens": 10, "completion_tokens": 2}}}, (10, 2, 0)),
        ({"usage": None}, (0, 0, 0)),
        ({"usage": {"prompt_tokens": "many"}}, (0, 0, 0)),
    ],
)
def test_usage_in_its_shapes(usage, expected):
    """Tokens are found where each server puts them."""
    counted = read(delta(content="x"), {**delta("stop"), **usage}, "[DONE]")[-1].message.usage
    assert (counted.input, counted.output, counted.cache_read) == expected


@pytest.mark.parametrize(
    ("reason", "code", "retryable"),
    [
        ("content_filter", "content_filter", False),
        ("network_error", "connection", True),
        ("insufficient_system_resource", "overloaded", True),
        ("error", "server", True),
        ("model_context_window_exceeded", "context_overflow", False),
    ],
)
def test_finish_reasons_that_are_failures(reason, code, retryable):
    """Some finish reasons say that the answer failed; what came is kept."""
    last = read(delta(content="Hi"), delta(reason), "[DONE]")[-1]
    assert (last.error.code, last.error.retryable, last.message.text) == (code, retryable, "Hi")


def test_error_in_the_middle():
    """An error object in a chunk ends the answer, with the status it carries."""
    last = read(delta(content="Hi"), {"error": {"code": 502, "message": "upstream", "metadata": {"raw": "died"}}})[-1]
    assert (last.error.code, last.error.retryable, last.error.status) == ("server", True, 502)
    assert "died" in str(last.error)
    assert isinstance(read({"error": "just text"})[-1], StreamError)


def test_nothing_but_done():
    """An answer without a word and without a reason is no answer."""
    assert read("[DONE]")[-1].error.code == "truncated"


def test_nothing_comes_after_done():
    """What follows [DONE] is no part of the answer, and an event with nothing in it is none."""
    last = read(delta(content="Hi"), "", delta("stop"), "[DONE]", delta(content="more"), "junk")[-1]
    assert isinstance(last, StreamDone)
    assert last.message.text == "Hi"


def test_an_event_that_is_called_error():
    """An error event ends the answer, whatever shape it has."""
    said = f"data: {json.dumps(delta(content='Hi'))}\n\nevent: error\ndata: {json.dumps({'message': 'went wrong'})}\n\n"
    last = into_reader("openai_chat", [said.encode()])[-1]
    assert isinstance(last, StreamError)
    assert "went wrong" in str(last.error)
    assert last.message.text == "Hi"


def test_encrypted_reasoning_goes_with_its_call():
    """What OpenRouter wants back with a call is kept there, and sent back."""
    detail = {"type": "reasoning.encrypted", "id": "a", "data": "secret"}
    chunk = delta(tool_calls=[part(0, "a", "ls", "{}")], reasoning_details=[detail])
    message = read(chunk, delta("tool_calls"))[-1].message
    provider = OpenAIChatProvider()
    body = payload(provider, UserMessage(content="go"), message, result("a"), model=provider.model("model-x"))
    assert body["messages"][1]["reasoning_details"] == [detail]


# ---------------------------------------------------------------- requests


def payload(provider, *messages, model=None, **fields):
    model = model or provider.model("qwen3:4b")
    return provider.payload(Request(model, messages or (UserMessage(content="go"),), **fields))


def result(id, *blocks):
    return ToolResultMessage(tool_call_id=id, content=blocks or (TextContent(text="out"),))


def native(provider, model, *blocks):
    return AssistantMessage(content=blocks, provider=provider.name, model=model.id, api=provider.api)


def test_a_whole_request():
    """Roles, calls, results and tools are what the API documents."""
    provider = OpenAIChatProvider()
    model = provider.model("gpt-4o")
    asked = native(provider, model, TextContent(text="I look."), ToolCall(id="c1", name="ls", arguments={"path": "é"}))
    body = payload(
        provider,
        UserMessage(content="go"),
        asked,
        result("c1"),
        model=model,
        system="Be brief.",
        tools=(TOOL,),
        max_tokens=50,
        temperature=0.5,
    )
    assert body == {
        "model": "gpt-4o",
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_completion_tokens": 50,
        "temperature": 0.5,
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "ls",
                    "description": "List files.",
                    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "é"}'}}
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "out"},
        ],
    }


def test_pictures():
    """A picture is a data URL; one from a tool follows the results as the user's."""
    provider = OpenAIChatProvider()
    model = provider.model("gpt-4o")
    image = ImageContent(data="AAAA", mime_type="image/png")
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    body = payload(
        provider,
        UserMessage(content=(TextContent(text="look"), image)),
        native(provider, model, ToolCall(id="c1", name="ls", arguments={})),
        result("c1", image),
        model=model,
    )
    user, _, tool, after = body["messages"]
    assert user["content"] == [{"type": "text", "text": "look"}, shown]
    assert tool["content"]
    assert after["role"] == "user"
    assert after["content"][1] == shown


def test_thinking_goes_back_in_the_field_it_came_in():
    """DeepSeek insists on its own thinking; nobody else gets it."""
    provider = OpenAIChatProvider("deepseek")
    model = provider.model("deepseek-flash")
    thought = ThinkingContent(thinking="hm", thinking_signature="reasoning_content")
    body = payload(provider, native(provider, model, thought, TextContent(text="so")), model=model)
    assert body["messages"][1] == {"role": "assistant", "content": "so", "reasoning_content": "hm"}


@pytest.mark.parametrize(
    ("dialect", "model", "level", "expected"),
    [
        ("openai", "gpt-4o", "high", {}),
        ("openai", "gpt-5", "off", {"reasoning_effort": "minimal"}),
        ("openai", "gpt-5.1", "off", {"reasoning_effort": "none"}),
        ("openai", "gpt-5.2", "xhigh", {"reasoning_effort": "xhigh"}),
        ("openai", "o3", "xhigh", {"reasoning_effort": "high"}),
        ("openrouter", "x/reasoner", "xhigh", {"reasoning": {"effort": "high"}}),
        ("openrouter", "x/reasoner", "off", {"reasoning": {"enabled": False}}),
        ("deepseek", "deepseek-flash", "off", {"thinking": {"type": "disabled"}}),
        ("deepseek", "deepseek-flash", "minimal", {"thinking": {"type": "enabled"}, "reasoning_effort": "low"}),
        ("groq", "openai/gpt-oss-20b", "minimal", {"reasoning_effort": "low"}),
        ("groq", "qwen/qwen3-32b", "off", {"reasoning_effort": "none", "reasoning_format": "parsed"}),
        ("mistral", "magistral-medium-latest", "medium", {"reasoning_effort": "high"}),
        ("ollama", "llama3.2", "high", {}),
        ("vllm", "Qwen3-8B", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
def test_thinking_levels(dialect, model, level, expected):
    """Each provider is asked in its own words, at a level the model has."""
    provider = OpenAIChatProvider(dialect)
    body = payload(provider, model=provider.model(model), thinking_level=level)
    usual = {"model", "stream", "stream_options", "messages"}
    assert {name: value for name, value in body.items() if name not in usual} == expected


def test_mistral():
    """Mistral gets ids of nine letters, no user right after a result, and is not asked for usage."""
    provider = OpenAIChatProvider("mistral")
    model = provider.model("codestral-latest")
    call = native(provider, model, ToolCall(id="call_123456789", name="ls", arguments={}))
    body = payload(provider, call, result("call_123456789"), UserMessage(content="and?"), model=model)
    first, asked, answered, between, last = body["messages"]
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "tool", "assistant", "user"]
    assert len(asked["tool_calls"][0]["id"]) == 9
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert (first["role"], between["role"], last["content"]) == ("user", "assistant", "and?")
    assert "stream_options" not in body


def test_local_servers_get_turns():
    """User messages in a row are one for servers whose templates insist on turns."""
    for dialect, count in (("ollama", 1), ("openai", 2)):
        body = payload(OpenAIChatProvider(dialect), UserMessage(content="a"), UserMessage(content="b"))
        assert len(body["messages"]) == count


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("gpu.example:8080", "http://gpu.example:8080/v1"),
        (":8080", "http://127.0.0.1:8080/v1"),
        ("https://gpu.example/", "https://gpu.example/v1"),
        ("http://gpu.example:1/v1", "http://gpu.example:1/v1"),
    ],
)
def test_ollama_host(monkeypatch, host, url):
    """``OLLAMA_HOST`` means what Ollama takes it to mean."""
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert OpenAIChatProvider("ollama").base_url == url


def test_base_url_of_the_environment(monkeypatch):
    """``OPENAI_BASE_URL`` moves the provider; an argument moves it further."""
    monkeypatch.setenv("OPENAI_BASE_URL", "http://proxy.example/v1/")
    assert OpenAIChatProvider().base_url == "http://proxy.example/v1"
    assert OpenAIChatProvider(base_url="http://x/v1", name="mine").name == "mine"
    assert repr(OpenAIChatProvider()) == "<OpenAIChatProvider openai http://proxy.example/v1 key=OPENAI_API_KEY>"


def test_every_dialect_makes_a_request():
    """No dialect breaks on the plainest request, and models may have any name."""
    for name in DIALECTS:
        provider = OpenAIChatProvider(name)
        body = payload(provider, model=provider.model("any:name/at-all"), tools=(TOOL,))
        assert body["model"] == "any:name/at-all"

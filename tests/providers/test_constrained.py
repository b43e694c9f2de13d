"""A model held to a schema: what it is offered, what it is told, and what is read from its words."""

from __future__ import annotations

import json

import pytest

from pi_nb.messages import AssistantMessage, TextContent, ToolCall, ToolResultMessage, UserMessage
from pi_nb.models import Model
from pi_nb.providers.base import Request, StreamDone, ToolSpec
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.constrained import ConstrainedReader, constrained, offered
from pi_nb.providers.dialects import DIALECTS
from pi_nb.providers.openai_chat import chat_payload
from pi_nb.providers.sse import ServerSentEvent

MODEL = Model("local", "smollm2", api="openai-completions")
PARAMETERS = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
FIND, NOW = ToolSpec("find", "Find a thing.", PARAMETERS), ToolSpec("now", "The time.", {})
ASK = UserMessage(content="Please find a boat.")


def answer(*blocks):
    by = {"api": MODEL.api, "provider": MODEL.provider, "model": MODEL.id}
    return AssistantMessage(content=tuple(blocks), stop_reason="toolUse", **by)


def round_of(number):
    call = ToolCall(id=f"call_{number}", name="find", arguments={"q": "boat"})
    return answer(call), ToolResultMessage(tool_call_id=call.id, tool_name="find", content="12 m")


@pytest.mark.parametrize(
    ("messages", "names"),
    [
        ((ASK,), ["find"]),
        ((UserMessage(content="Find out what time it is NOW"),), ["find", "now"]),
        ((UserMessage(content="Hello"),), []),
        ((UserMessage(content="I know it, finder"),), []),
        ((ASK, answer(TextContent(text="x")), UserMessage(content="Thanks")), []),
        ((ASK, *round_of(1)), ["find"]),
        ((ASK, *round_of(1), *round_of(2)), []),
        ((ASK, *round_of(1), *round_of(2), ASK), ["find"]),
        ((), []),
    ],
)
def test_what_is_offered(messages, names):
    """Tools that the latest prompt names, and none after two rounds: then an answer must come."""
    assert [tool.name for tool in offered(Request(MODEL, messages, tools=(FIND, NOW)))] == names


def test_what_is_asked():
    """The schema is a call of an offered tool or an answer; calls and results of before are told as text."""
    request = Request(MODEL, (ASK, *round_of(1)), system="Be brief.", tools=(FIND, NOW))
    body = constrained(chat_payload(request, DIALECTS["llamacpp"]), (FIND,))
    assert "tools" not in body
    call, said = body["response_format"]["json_schema"]["schema"]["oneOf"]
    assert call["properties"]["tool"] == {"const": "find"}
    assert call["properties"]["arguments"]["required"] == ["q"]
    assert said["required"] == ["answer"]
    system, user, assistant, result = body["messages"]
    assert system["content"].startswith("Be brief.\n\nYou can use these tools:\n- find: Find a thing.")
    assert user["content"] == "Please find a boat."
    assert assistant == {"role": "assistant", "content": '{"tool": "find", "arguments": {"q": "boat"}}'}
    assert result == {"role": "user", "content": "Result of the tool:\n12 m"}


def test_without_tools_the_model_is_free():
    """Nothing is demanded, and nothing is said about tools."""
    body = constrained(chat_payload(Request(MODEL, (ASK,), tools=(FIND,)), DIALECTS["llamacpp"]), ())
    assert "response_format" not in body
    assert [message["role"] for message in body["messages"]] == ["user"]


def read(*pieces, reason="stop"):
    reader = ConstrainedReader(MessageBuilder(MODEL))
    events = []
    for piece in pieces:
        chunk = {"choices": [{"index": 0, "delta": {"content": piece}}]}
        events += reader.feed(ServerSentEvent(data=json.dumps(chunk)))
    usage = {"prompt_tokens": 5, "completion_tokens": 7}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}
    events += reader.feed(ServerSentEvent(data=json.dumps(end)))
    assert reader.complete
    return [*events, *reader.finish()]


def test_an_answer_is_shown_as_it_grows():
    """The text inside the JSON comes piece by piece, escapes and all."""
    events = read('{\n "ans', 'wer": "It is ', "12\\u00a0m", ' \\"long\\"', '."}')
    deltas = [event.delta for event in events if event.type == "text_delta"]
    assert deltas == ["It is ", "12\u00a0m", ' "long"', "."]
    assert [event.type for event in events if event.type != "text_delta"] == ["start", "text_start", "text_end", "done"]
    message = events[-1].message
    assert (message.text, message.stop_reason, message.usage.output) == ('It is 12\u00a0m "long".', "stop", 7)


def test_a_call_is_a_call():
    """The JSON of a call becomes one, with nothing shown as text."""
    events = read('{"tool": "find", "argu', 'ments": {"q": "boat"}}')
    message = events[-1].message
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("find", {"q": "boat"})]
    assert (message.text, message.stop_reason) == ("", "toolUse")
    assert "toolcall_end" in [event.type for event in events]


@pytest.mark.parametrize(
    ("pieces", "text", "calls"),
    [(['{"tool": "find", "arguments": {"q": "bo'], "", 1), (['{"answer": "It is'], "It is", 0), ([], "", 0)],
)
def test_cut_by_the_limit(pieces, text, calls):
    """What is cut is shown as far as it came; such a call is not run."""
    last = read(*pieces, reason="length")[-1]
    assert isinstance(last, StreamDone)
    assert (last.message.text, last.message.stop_reason, len(last.message.tool_calls)) == (text, "length", calls)

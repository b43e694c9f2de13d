import asyncio
import json
from pathlib import Path

import pytest

from pi_nb.errors import ProviderError
from pi_nb.messages import TextContent, ThinkingContent, ToolCall, UserMessage
from pi_nb.models import Model
from pi_nb.providers.base import Request, StreamDone, StreamError, StreamResponse
from pi_nb.providers.scripted import Reply, ScriptedProvider, utf16_chunks

MODEL = Model("faux", "faux-1", api="faux")


def request(text="go"):
    return Request(MODEL, (UserMessage(content=text, timestamp=1),))


async def _collect(provider, ask=None):
    return [event async for event in provider.stream(ask or request())]


def collect(provider, ask=None):
    return asyncio.run(_collect(provider, ask))


def faux(*replies, **options):
    return ScriptedProvider(replies, name="faux", api="faux", **options)


def test_text_comes_in_sixteen_unit_pieces():
    """A text block is start, pieces of 16 UTF-16 units, end, then done."""
    events = collect(faux(Reply("Hi there, this is an answer.")))
    assert [e.type for e in events] == [
        "response",
        "start",
        "text_start",
        "text_delta",
        "text_delta",
        "text_end",
        "done",
    ]
    assert [e.delta for e in events if e.type == "text_delta"] == ["Hi there, this i", "s an answer."]
    assert events[-1].message.text == "Hi there, this is an answer."


def test_message_names_provider_api_and_requested_model():
    """The message carries api, provider, model id, stop reason and usage."""
    message = collect(faux("x"))[-1].message
    assert (message.api, message.provider, message.model, message.stop_reason) == ("faux", "faux", "faux-1", "stop")
    assert message.usage.output == 1
    assert "errorMessage" not in message.to_wire()


def test_tool_call_streams_compact_json():
    """Arguments are streamed as compact JSON without ASCII escapes and arrive unchanged."""
    call = ToolCall(id="c1", name="echo", arguments={"text": "héllo", "n": [1, 2]})
    events = collect(faux(Reply([call], stop_reason="toolUse")))
    assert "".join(e.delta for e in events if e.type == "toolcall_delta") == '{"text":"héllo","n":[1,2]}'
    assert next(e for e in events if e.type == "toolcall_end").content == call
    assert events[-1].message.tool_calls == (call,)


def test_empty_text_gives_one_empty_delta():
    """An empty block still has exactly one, empty, piece."""
    events = collect(faux(Reply([ThinkingContent(thinking="")])))
    assert [e.delta for e in events if e.type == "thinking_delta"] == [""]


def test_error_reply_streams_its_content_first():
    """An error reply ends with the whole message and the error's text."""
    events = collect(faux(Reply("par", error="overloaded")))
    assert isinstance(events[-1], StreamError)
    assert (events[-1].message.text, events[-1].message.error_message) == ("par", "overloaded")
    assert events[-1].message.stop_reason == "error"


def test_refused_request_never_starts():
    """A provider error without content ends the stream right after the response."""
    error = ProviderError("slow down", code="rate_limit", status=429, retryable=True)
    events = collect(faux(Reply(error=error, status=429)))
    assert [e.type for e in events] == ["response", "error"]
    assert events[0] == StreamResponse(429, {})
    assert events[-1].error is error


def test_no_reply_left():
    """When replies run out the answer is an error without start."""
    events = collect(faux())
    assert [e.type for e in events] == ["response", "error"]
    assert events[-1].message.error_message == "No more faux responses queued"
    assert events[-1].message.content == ()


def test_reply_function_sees_the_request():
    """A reply may be computed, also asynchronously, from the request."""

    async def later(ask):
        return Reply(f"you said {ask.messages[-1].content}")

    assert collect(faux(later), request("boo"))[-1].message.text == "you said boo"
    assert collect(faux(lambda ask: "sync"))[-1].message.text == "sync"


def test_raising_reply_function_is_an_error_answer():
    """A function that raises gives an error event, not an exception."""

    def broken(ask):
        raise RuntimeError("no auth")

    assert collect(faux(broken))[-1].message.error_message == "no auth"


def test_cancelling_leaves_exactly_what_was_streamed():
    """After a cancel the last partial holds the pieces that were yielded."""
    provider = faux(Reply("0123456789abcdef" * 8), tokens_per_second=2000)
    seen = []

    async def read():
        async for event in provider.stream(request()):
            seen.append(event)
            if len([e for e in seen if e.type == "text_delta"]) == 3:
                asyncio.current_task().cancel()

    async def main():
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(read())

    asyncio.run(main())
    assert seen[-1].partial().text == "0123456789abcdef" * 3


def test_hanging_reply_waits_for_the_cancel():
    """``hang`` keeps the call open after its content."""
    provider = faux(Reply("pa", hang=True))
    seen = []

    async def read():
        async for event in provider.stream(request()):
            seen.append(event)

    async def main():
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(read(), 0.05)

    asyncio.run(main())
    assert seen[-1].type == "text_end"


def test_partial_call_has_no_arguments_yet():
    """Until a scripted call is complete its arguments are empty."""
    events = collect(faux(Reply([ToolCall(id="a", name="x", arguments={"k": "v" * 40})])))
    assert events[-1].message.tool_calls[0].arguments == {"k": "v" * 40}


def test_unknown_model_names_near_ones():
    """With declared models an unknown one is refused, naming what is near."""
    provider = ScriptedProvider(models=["demo"])
    with pytest.raises(ProviderError, match="no model 'dmeo'") as caught:
        provider.model("dmeo")
    assert caught.value.code == "not_found"
    assert "scripted:demo" in caught.value.hint


def test_requests_are_kept():
    """Every request can be looked at afterwards."""
    provider = faux("a", "b")
    collect(provider, request("one"))
    collect(provider, request("two"))
    assert [r.messages[0].content for r in provider.requests] == ["one", "two"]
    assert repr(provider) == "<ScriptedProvider faux replies=0 requests=2>"


def test_chunks_do_not_split_a_character():
    """A character outside the BMP counts two units and stays whole."""
    assert list(utf16_chunks("abc😀def", 4)) == ["abc", "😀de", "f"]
    assert list(utf16_chunks("", 4)) == [""]


def golden(name, shared):
    path = shared / "golden" / f"{name}.json"
    if not path.exists():
        pytest.skip("golden runs are not here (PI_NB_SHARED)")
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", ["text_answer", "thinking_and_text", "tool_single", "provider_error_then_retry"])
def test_streams_like_the_recorded_run(name):
    """Events and messages of each model call are those of the recorded run."""
    import os

    run = golden(name, Path(os.environ.get("PI_NB_SHARED", Path(__file__).parents[3] / "shared")))
    kinds = {"text": TextContent, "thinking": ThinkingContent, "toolCall": ToolCall}
    recorded = [e["assistantMessageEvent"] for e in run["events"] if e["type"] == "message_update"]
    ours = []
    for reply in run["replies"]:
        blocks = [kinds[b["type"]].model_validate(b) for b in reply["content"]]
        provider = faux(Reply(blocks, reply.get("stopReason", "stop"), reply.get("errorMessage")))
        events = collect(provider)
        ours += [_as_recorded(e) for e in events if e.type.split("_")[0] in ("text", "thinking", "toolcall")]
        assert isinstance(events[-1], StreamDone if "errorMessage" not in reply else StreamError)
    assert ours == recorded


def _as_recorded(event):
    out = {"type": event.type, "contentIndex": event.index}
    if event.type.endswith("_delta"):
        out["delta"] = event.delta
    if event.type.endswith("_end"):
        call = isinstance(event.content, ToolCall)
        out["toolCall" if call else "content"] = event.content.to_wire() if call else event.content
    return out

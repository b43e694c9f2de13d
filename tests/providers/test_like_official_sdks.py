"""Kinds of answers that the recorded streams lack, read side by side with the official SDKs from the same bytes."""

from __future__ import annotations

import json
from importlib.util import find_spec

import pytest

from pi_nb.messages import ToolCall, UnknownContent
from pi_nb.providers.base import StreamDone, StreamError
from tests import check_streams
from tests.conftest import must
from tests.providers.raw_server import Answer, cut
from tests.providers.replay import over_http


@pytest.fixture(autouse=True, scope="module")
def sdks():
    """Need the official SDKs."""
    if not all(map(find_spec, ("anthropic", "openai", "google.genai"))):
        must("the official SDKs: pip install anthropic openai google-genai")


def body(*payloads, done=False):
    out = b""
    for payload in payloads:
        name = f"event: {payload['type']}\n" if "type" in payload else ""
        out += f"{name}data: {json.dumps(payload, ensure_ascii=False)}\n\n".encode()
    return out + (b"data: [DONE]\n\n" if done else b"")


# ---------------------------------------------------------------- the four formats' events


def claude(*blocks, stop="end_turn", content=(), usage=None, **delta):
    """Return an Anthropic stream: each block is (its start, its deltas)."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": list(content), "model": "claude-x"}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 7, "output_tokens": 1}}
    events = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for number, (start, *deltas) in enumerate(blocks, start=len(content)):
        events.append({"type": "content_block_start", "index": number, "content_block": start})
        events += [{"type": "content_block_delta", "index": number, "delta": d} for d in deltas]
        events.append({"type": "content_block_stop", "index": number})
    ended = {"stop_reason": stop, "stop_sequence": None, **delta}
    counts = {"output_tokens": 12, **(usage or {})}
    return body(*events, {"type": "message_delta", "delta": ended, "usage": counts}, {"type": "message_stop"})


def said(text):
    return {"type": "text", "text": ""}, *({"type": "text_delta", "text": piece} for piece in text.split("|"))


def chunk(delta=None, reason=None, *, index=0, **fields):
    choice = {"index": index, "delta": delta or {}, "finish_reason": reason, "logprobs": fields.pop("logprobs", None)}
    common = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x"}
    return {**common, "choices": [choice], **fields}


COUNTED = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-x", "choices": []}
COUNTED |= {"usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}


def responses(*items, status="completed", last="response.completed", **fields):
    """Return a Responses stream: each item is (its added form, its deltas' events, its done form)."""
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "output": [], "tools": []}
    response |= {"parallel_tool_calls": True, "tool_choice": "auto", "status": "in_progress"}
    events = [
        {"type": "response.created", "response": response},
        {"type": "response.in_progress", "response": response},
    ]
    for position, (added, pieces, done) in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": position, "item": added})
        events += [{"output_index": position, "item_id": added["id"], **piece} for piece in pieces]
        events.append({"type": "response.output_item.done", "output_index": position, "item": done})
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0}}
    usage |= {"output_tokens": 6, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15}
    whole = {**response, "status": status, "output": [done for *_, done in items], "usage": usage, **fields}
    events.append({"type": last, "response": whole})
    return body(*({**event, "sequence_number": number} for number, event in enumerate(events)))


def wrote(text, id="msg_1"):
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    item = {"id": id, "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    delta = {"type": "response.output_text.delta", "content_index": 0, "delta": text, "logprobs": []}
    return {**item, "status": "in_progress", "content": []}, [delta], item


def called(name, arguments, number=1):
    item = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}", "name": name, "arguments": ""}
    deltas = [
        {"type": "response.function_call_arguments.delta", "delta": arguments[i : i + 5]} for i in range(0, 30, 5)
    ]
    return item, [d for d in deltas if d["delta"]], {**item, "arguments": arguments, "status": "completed"}


def pictured(*chunks, usage=None):
    counts = usage or {"promptTokenCount": 9, "candidatesTokenCount": 4, "totalTokenCount": 13}
    return body(*({"usageMetadata": counts, "modelVersion": "gemini-x", "responseId": "r1", **c} for c in chunks))


def part(*parts, finish=None, **fields):
    candidate = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **fields}
    return {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}]}


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
CITED = {"type": "web_search_result_location", "url": "https://x.test", "title": "X", "cited_text": "x"}
CITED |= {"encrypted_index": "e"}
MCP = {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "echo", "server_name": "s", "input": {}}
THOUGHT = {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}
TOOL = {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {}}

SAME = {
    "anthropic": {
        "pause_turn": claude(said("Let me look."), (SEARCH,), stop="pause_turn"),
        "server tool with streamed input": claude(
            (
                SEARCH,
                {"type": "input_json_delta", "partial_json": '{"query": "bo'},
                {"type": "input_json_delta", "partial_json": 'ats"}'},
            ),
            (FOUND,),
            said("Boats."),
        ),
        "citations": claude(
            (
                {"type": "text", "text": "", "citations": []},
                {"type": "citations_delta", "citation": CITED},
                {"type": "text_delta", "text": "Cited."},
            )
        ),
        "redacted thinking": claude(({"type": "redacted_thinking", "data": "AAAA"},), said("Yes.")),
        "thinking left out of sight": claude(
            ({"type": "thinking", "thinking": "", "signature": ""}, {"type": "signature_delta", "signature": "c2ln"}),
            said("So|."),
        ),
        "fallback": claude(
            (
                {
                    "type": "fallback",
                    "from": {"model": "a"},
                    "to": {"model": "b"},
                    "trigger": {"type": "refusal", "category": "cyber"},
                },
            ),
            said("From another model."),
        ),
        "compaction": claude(
            (
                {"type": "compaction", "content": None},
                {"type": "compaction_delta", "content": "What was said", "encrypted_content": None},
            ),
            said("On."),
            stop="compaction",
        ),
        "mcp": claude((MCP, {"type": "input_json_delta", "partial_json": '{"a": 1}'}), said("ok")),
        "context window exceeded": claude(said("as far as it"), stop="model_context_window_exceeded"),
        "stop sequence": claude(said("until"), stop="stop_sequence"),
        "parallel calls": claude(
            (
                TOOL,
                {"type": "input_json_delta", "partial_json": ""},
                {"type": "input_json_delta", "partial_json": '{"q": "ü\\u00fc"}'},
            ),
            ({**TOOL, "id": "toolu_2"}, {"type": "input_json_delta", "partial_json": '{"q": [1, 2.5, null]}'}),
            stop="tool_use",
        ),
        "input at once": claude(({**TOOL, "input": {"q": "all"}},), stop="tool_use"),
        "content in message_start": claude(said("after"), content=[{"type": "text", "text": "before "}]),
        "cache": claude(
            said("x"), usage={"input_tokens": 3, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 50}
        ),
        "unknown event and delta": claude((*said("a|b"), {"type": "new_delta", "x": 1})).replace(
            b'event: ping\ndata: {"type": "ping"}', b'event: later\ndata: {"type": "later"}'
        ),
    },
    "openai_chat": {
        "content filter": body(chunk({"content": "I"}), chunk(reason="content_filter"), COUNTED, done=True),
        "length": body(chunk({"content": "cut"}), chunk(reason="length"), COUNTED, done=True),
        "logprobs": body(
            chunk(
                {"content": "Hi"},
                logprobs={
                    "content": [{"token": "Hi", "logprob": -0.1, "bytes": [72], "top_logprobs": []}],
                    "refusal": None,
                },
            ),
            chunk(reason="stop"),
            done=True,
        ),
        "several choices": body(
            chunk({"content": "one "}),
            chunk({"content": "two "}, index=1),
            chunk({"content": "more"}),
            chunk({"content": "other"}, index=1),
            chunk(reason="length", index=1),
            chunk(reason="stop"),
            COUNTED,
            done=True,
        ),
        "audio": body(
            chunk({"audio": {"id": "a1", "transcript": "hello"}}),
            chunk({"audio": {"data": "AAAA"}}),
            chunk(reason="stop"),
            done=True,
        ),
        "annotations": body(
            chunk(
                {
                    "content": "See.",
                    "annotations": [{"type": "url_citation", "url_citation": {"url": "https://x.test"}}],
                }
            ),
            chunk(reason="stop"),
            COUNTED,
            done=True,
        ),
        "parallel calls": body(
            chunk(
                {
                    "tool_calls": [
                        {"index": 0, "id": "call_a", "type": "function", "function": {"name": "f", "arguments": ""}}
                    ]
                }
            ),
            chunk(
                {
                    "tool_calls": [
                        {"index": 1, "id": "call_b", "type": "function", "function": {"name": "g", "arguments": "{"}}
                    ]
                }
            ),
            chunk(
                {
                    "tool_calls": [
                        {"index": 0, "function": {"arguments": '{"x": 1}'}},
                        {"index": 1, "function": {"arguments": "}"}},
                    ]
                }
            ),
            chunk(reason="tool_calls"),
            COUNTED,
            done=True,
        ),
        "text before a call": body(
            chunk({"role": "assistant", "content": "I'll look. "}),
            chunk(
                {
                    "tool_calls": [
                        {"index": 0, "id": "call_a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
                    ]
                }
            ),
            chunk(reason="tool_calls"),
            done=True,
        ),
        "reasoning": body(
            chunk({"reasoning_content": "Hm, "}),
            chunk({"reasoning_content": "yes"}),
            chunk({"content": "Yes."}),
            chunk(reason="stop"),
            done=True,
        ),
        "usage beside choices": body(
            chunk({"content": "x"}),
            chunk(
                reason="stop",
                usage={
                    "prompt_tokens": 10,
                    "completion_tokens": 2,
                    "total_tokens": 12,
                    "prompt_tokens_details": {"cached_tokens": 8},
                },
            ),
            done=True,
        ),
    },
    "openai_responses": {
        "incomplete": responses(
            wrote("cut sho"),
            status="incomplete",
            last="response.incomplete",
            incomplete_details={"reason": "max_output_tokens"},
        ),
        "parallel calls": responses(called("f", '{"q": 1}'), called("g", "{}", 2)),
        "web search": responses(
            (
                {
                    "id": "ws_1",
                    "type": "web_search_call",
                    "status": "in_progress",
                    "action": {"type": "search", "query": "x", "queries": ["x"]},
                },
                [{"type": "response.web_search_call.searching"}, {"type": "response.web_search_call.completed"}],
                {
                    "id": "ws_1",
                    "type": "web_search_call",
                    "status": "completed",
                    "action": {"type": "search", "query": "x", "queries": ["x"]},
                },
            ),
            wrote("Found."),
        ),
        "encrypted reasoning without summary": responses((THOUGHT, [], THOUGHT), wrote("So.")),
        "two parts of a summary": responses(
            (
                THOUGHT,
                [
                    {
                        "type": "response.reasoning_summary_part.added",
                        "summary_index": 0,
                        "part": {"type": "summary_text", "text": ""},
                    },
                    {"type": "response.reasoning_summary_text.delta", "summary_index": 0, "delta": "first"},
                    {
                        "type": "response.reasoning_summary_part.added",
                        "summary_index": 1,
                        "part": {"type": "summary_text", "text": ""},
                    },
                    {"type": "response.reasoning_summary_text.delta", "summary_index": 1, "delta": "second"},
                ],
                {
                    **THOUGHT,
                    "summary": [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}],
                },
            ),
            wrote("So."),
        ),
        "raw reasoning": responses(
            (
                THOUGHT,
                [
                    {
                        "type": "response.content_part.added",
                        "content_index": 0,
                        "part": {"type": "reasoning_text", "text": ""},
                    },
                    {"type": "response.reasoning_text.delta", "content_index": 0, "delta": "one"},
                    {
                        "type": "response.content_part.added",
                        "content_index": 1,
                        "part": {"type": "reasoning_text", "text": ""},
                    },
                    {"type": "response.reasoning_text.delta", "content_index": 1, "delta": "two"},
                ],
                {
                    **THOUGHT,
                    "content": [{"type": "reasoning_text", "text": "one"}, {"type": "reasoning_text", "text": "two"}],
                },
            ),
            wrote("So."),
        ),
        "two messages": responses(wrote("One. "), wrote("Two.", "msg_2")),
    },
    "gemini": {
        "MAX_TOKENS": pictured(part({"text": "cut"}), part({"text": " sho"}, finish="MAX_TOKENS")),
        "SAFETY": pictured(part({"text": "I"}), part(finish="SAFETY")),
        "RECITATION": pictured(part({"text": "It was the"}, finish="RECITATION")),
        "MALFORMED_FUNCTION_CALL": pictured(part(finish="MALFORMED_FUNCTION_CALL")),
        "blocked prompt": pictured({"promptFeedback": {"blockReason": "SAFETY"}}),
        "parallel calls": pictured(
            part(
                {"functionCall": {"name": "f", "args": {"x": 1, "y": 2.5}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "g", "args": {}}},
            ),
            part(finish="STOP"),
        ),
        "call without arguments": pictured(part({"functionCall": {"name": "f"}}, finish="STOP")).replace(
            b'"name": "f"', b'"name": "f", "args": {}'
        ),
        "thoughts": pictured(
            part({"text": "Let me see", "thought": True}),
            part({"text": "It is. "}),
            part({"text": "Yes.", "thoughtSignature": "c2ln"}, finish="STOP"),
            usage={
                "promptTokenCount": 9,
                "candidatesTokenCount": 4,
                "thoughtsTokenCount": 30,
                "cachedContentTokenCount": 5,
                "totalTokenCount": 43,
            },
        ),
        "code at the provider": pictured(
            part(
                {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1\n"}},
            ),
            part({"text": "One."}, finish="STOP"),
        ),
        "grounding": pictured(part({"text": "Found."}, finish="STOP", groundingMetadata={"webSearchQueries": ["x"]})),
        "a picture": pictured(
            part({"inlineData": {"mimeType": "image/png", "data": "aGk="}}, {"text": "There."}, finish="STOP")
        ),
    },
}
KINDS = [(family, kind) for family, kinds in SAME.items() for kind in kinds]


@pytest.mark.parametrize(("family", "kind"), KINDS, ids=[f"{f}: {k}" for f, k in KINDS])
def test_reads_as_the_official_sdk_reads(family, kind):
    """Text, thinking, calls, stop reason and usage are those that the provider's own SDK finds in the same bytes."""
    answer = Answer(cut(SAME[family][kind], 7))
    from tests.providers.official import understood

    theirs = understood(family, answer)
    assert theirs["ok"], theirs
    events = over_http(family, answer)
    assert list(check_streams.compare(family, theirs, events)) == []


# ---------------------------------------------------------------- what is kept of it


def answer_to(family, kind):
    return over_http(family, Answer([SAME[family][kind]]))[-1]


def test_a_server_tools_input_is_kept():
    """What a tool at the provider was asked arrives in pieces and is kept whole."""
    blocks = answer_to("anthropic", "server tool with streamed input").message.content
    assert [b.model_extra for b in blocks[:1]] == [
        {"id": "srvtoolu_1", "name": "web_search", "input": {"query": "boats"}}
    ]


def test_citations_stay_with_their_text():
    """Where a statement comes from is kept beside it."""
    (block,) = answer_to("anthropic", "citations").message.content
    assert (block.text, block.to_wire()["citations"]) == ("Cited.", [CITED])


def test_a_compaction_by_the_provider_is_kept():
    """A block whose content comes in one piece is whole."""
    assert answer_to("anthropic", "compaction").message.content[0].model_extra["content"] == "What was said"


def test_parts_nobody_knows_are_kept():
    """Code that ran at Google, its output, and pictures are kept as they came."""
    blocks = answer_to("gemini", "code at the provider").message.content
    assert [block.type for block in blocks] == ["executableCode", "codeExecutionResult", "text"]
    picture = answer_to("gemini", "a picture").message.content[0]
    assert isinstance(picture, UnknownContent)
    assert picture.model_extra["inlineData"]["data"] == "aGk="


@pytest.mark.parametrize("kind", ["SAFETY", "RECITATION", "blocked prompt"])
def test_blocked_answers_are_content_filter_errors(kind):
    """A filter's stop is an error of its own, which is not retried."""
    last = answer_to("gemini", kind)
    assert isinstance(last, StreamError)
    assert (last.error.code, last.error.retryable) == ("content_filter", False)


# ---------------------------------------------------------------- where we differ on purpose


def test_a_legacy_function_call_is_a_call():
    """Servers of the time before tools: the SDK hands out raw deltas, a run needs the call."""
    first = chunk({"function_call": {"name": "f", "arguments": '{"x": '}})
    last = over_http(
        "openai_chat",
        Answer([body(first, chunk({"function_call": {"arguments": "1}"}}), chunk(reason="function_call"), done=True)]),
    )[-1]
    assert [(c.name, c.arguments) for c in last.message.tool_calls] == [("f", {"x": 1})]
    assert last.message.stop_reason == "toolUse"


@pytest.mark.parametrize("family", ["openai_chat", "openai_responses"])
def test_a_refusal_is_said(family):
    """What the model says when it refuses is its answer."""
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed"}
    pieces = [{"type": "response.refusal.delta", "content_index": 0, "delta": "I can't."}]
    done = {**item, "content": [{"type": "refusal", "refusal": "I can't."}]}
    bodies = {
        "openai_chat": body(chunk({"refusal": "I "}), chunk({"refusal": "can't."}), chunk(reason="stop"), done=True),
        "openai_responses": responses(({**item, "content": []}, pieces, done)),
    }
    last = over_http(family, Answer([bodies[family]]))[-1]
    assert isinstance(last, StreamDone)
    assert last.message.text == "I can't."


def test_content_as_a_list():
    """Mistral's thinking models write their content as parts, which the SDK hands on unread."""
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    first = chunk({"content": [thought, {"type": "text", "text": "Yes."}]})
    message = over_http("openai_chat", Answer([body(first, chunk(reason="stop"), done=True)]))[-1].message
    assert [block.to_wire() for block in message.content] == [
        {"type": "thinking", "thinking": "Hm."},
        {"type": "text", "text": "Yes."},
    ]


def test_a_failed_response_is_an_error():
    """A response that failed at the provider is not a short answer."""
    failed = responses(
        wrote("Well"), status="failed", last="response.failed", error={"code": "server_error", "message": "x"}
    )
    last = over_http("openai_responses", Answer([failed]))[-1]
    assert (last.error.code, last.error.retryable, last.message.text) == ("server", True, "Well")
    filtered = responses(
        wrote("I"), status="incomplete", last="response.incomplete", incomplete_details={"reason": "content_filter"}
    )
    assert over_http("openai_responses", Answer([filtered]))[-1].error.code == "content_filter"


def test_a_call_cut_by_the_limit_is_not_run():
    """Arguments that are not whole make the stop reason ``length``, so that nobody runs them."""
    cut_off = claude((TOOL, {"type": "input_json_delta", "partial_json": '{"q": "unfini'}), stop="max_tokens")
    message = over_http("anthropic", Answer([cut_off]))[-1].message
    assert message.stop_reason == "length"
    assert message.tool_calls == (ToolCall(id="toolu_1", name="find", arguments={"q": "unfini"}),)

"""Providers against a real server that is slow, refuses, dies, or lets go."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import contextmanager

import pytest

from pi_nb.errors import UserError
from pi_nb.providers.base import StreamDone, StreamError
from pi_nb.providers.registry import Registry
from pi_nb.providers.timeouts import Timeouts
from tests.providers.raw_server import Answer, serving
from tests.providers.replay import FAMILIES, ask, collect, make_provider, over_http

KEY = "sk-test-0123456789abcdefghij"


def sse(*payloads):
    return [f"data: {p if isinstance(p, str) else json.dumps(p)}\n\n".encode() for p in payloads]


def chat(text="Hi", **choice):
    return {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None, **choice}]}


def finish(reason="stop", **fields):
    return {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], **fields}


WHOLE = {
    "openai_chat": sse(chat("Hi"), finish(), "[DONE]"),
    "anthropic": sse(
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ),
    "openai_responses": sse(
        {"type": "response.created", "response": {}},
        {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "msg_1"}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"},
        {"type": "response.output_item.done", "output_index": 0, "item": {"type": "message", "id": "msg_1"}},
        {"type": "response.completed", "response": {"status": "completed", "usage": {"input_tokens": 3}}},
    ),
    "gemini": sse(
        {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]},
        {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3}},
    ),
}
BEGUN = {"anthropic": 3, "openai_chat": 1, "openai_responses": 3, "gemini": 1}  # pieces until "Hi" has been said
NAME = {"anthropic": "anthropic", "openai_chat": "openai", "openai_responses": "openai", "gemini": "google"}
VARIABLE = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai_chat": "OPENAI_API_KEY",
    "openai_responses": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
}
JSON = {"content-type": "application/json"}


def without_key(family):
    """Return the variables in which a client looks for its key, unset."""
    return dict.fromkeys([VARIABLE[family], "GOOGLE_API_KEY"])


def refusal(status, body, **headers):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Answer([raw], status=status, headers={**JSON, **headers})


@contextmanager
def environment(**values):
    saved = {name: os.environ.get(name) for name in values}
    for name, value in values.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    try:
        yield
    finally:
        for name, value in saved.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


# ---------------------------------------------------------------- what is refused


def error_of(family, status, body, **headers):
    last = over_http(family, refusal(status, body, **headers))[-1]
    assert isinstance(last, StreamError)
    assert last.message.stop_reason == "error"
    assert last.message.error_message == str(last.error)
    return last.error


CASES = [
    (401, {"error": {"message": "bad key", "code": "invalid_api_key"}}, "auth", False),
    (402, {"error": {"message": "pay"}}, "auth", False),
    (403, {"error": {"type": "permission_error", "message": "no"}}, "auth", False),
    (404, {"error": {"type": "not_found_error", "message": "model: x"}}, "not_found", False),
    (408, {}, "timeout", True),
    (409, {"error": {"message": "conflict"}}, "server", True),
    (413, {"error": {"type": "request_too_large", "message": "big"}}, "context_overflow", False),
    (422, {"detail": "wrong field"}, "invalid_request", False),
    (429, {"error": {"type": "rate_limit_error", "message": "slow down"}}, "rate_limit", True),
    (429, {"error": {"message": "no money", "code": "insufficient_quota"}}, "rate_limit", False),
    (429, {"error": {"type": "FreeUsageLimitError", "message": "Monthly usage limit reached"}}, "rate_limit", False),
    (400, b"", "context_overflow", False),
    (429, {"error": {"message": "Request too large: maximum context length"}}, "rate_limit", True),
    (400, {"error": {"type": "invalid_request_error", "message": "temperature: 429"}}, "invalid_request", False),
    (400, {"error": {"code": "context_length_exceeded", "message": "x"}}, "context_overflow", False),
    (400, {"error": {"type": "rate_limit_error", "message": "Token limit exceeded"}}, "rate_limit", True),
    (400, {"error": {"type": "ThrottlingException", "message": "Too many tokens"}}, "rate_limit", True),
    (400, {"error": {"code": "content_filter", "message": "x"}}, "content_filter", False),
    (500, {"error": {"type": "api_error", "message": "oops"}}, "server", True),
    (502, b"<html><head><title>Bad gateway</title></head><body>nginx</body></html>", "server", True),
    (503, b"", "overloaded", True),
    (529, {"error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded", True),
    (418, [{"error": {"message": "wrapped", "status": "INVALID_ARGUMENT"}}], "invalid_request", False),
]


@pytest.mark.parametrize(("status", "body", "code", "retryable"), CASES)
def test_refusals_are_classified(family, status, body, code, retryable):
    """Status and error type decide the code and whether to try again; digits in the text do not."""
    error = error_of(family, status, body)
    assert (error.code, error.retryable, error.status) == (code, retryable, status)
    assert str(error).startswith(f"{NAME[family]}: ")
    assert "<html" not in str(error)


OVERFLOWS = [
    "prompt is too long: 213462 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "Your input exceeds the context window of this model.",
    "the request exceeds the available context size, try increasing it",
    "request (9031 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "Please reduce the length of the messages or completion.",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
    "The decoder prompt (length 4097) is longer than the maximum model length of 4096.",
    "trying to keep the first 9000 tokens when context overflows: greater than the context length",
    "Prompt contains 9000 tokens, too large for model with 8192 maximum context length",
    "prompt too long; exceeded max context length by 12 tokens",
    "Your request exceeded model token limit: 8192 (requested: 9000)",
    "invalid params, context window exceeds limit",
    "Requested token count exceeds the model's maximum context length of 131072 tokens",
    "Range of input length should be [1, 8192]",
    "Too many input tokens: 9000",
    "Token limit exceeded",
]


@pytest.mark.parametrize("text", OVERFLOWS)
def test_overflow_texts_are_known(text):
    """Every known way of saying that the context is too long is recognised."""
    assert error_of("openai_chat", 400, {"error": {"message": text}}).code == "context_overflow"


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens is too large: 9000",
        "context must be an object",
        "Invalid prompt",
        "Too many tokens, please wait before trying again.",
        "Monthly token limit exceeded",
        "Too many tokens per minute",
    ],
)
def test_other_bad_requests_are_no_overflow(text):
    """Bad requests that speak of tokens or prompts are not mistaken for an overflow."""
    assert error_of("openai_chat", 400, {"error": {"message": text}}).code == "invalid_request"


def test_request_id_and_retry_after(family):
    """The error knows what support will ask for, and how long to wait."""
    error = error_of(family, 429, {}, **{"request-id": "req_1", "retry-after": "7"})
    assert (error.request_id, error.retry_after) == ("req_1", 7.0)


def test_unknown_model_names_near_ones(family):
    """A model that does not exist is answered with those that do."""
    names = ["claude-sonnet-5-5", "gpt-6-sol", "embed"]
    listed = {"data": [{"id": name} for name in names], "models": [{"name": f"models/{name}"} for name in names]}
    missing = refusal(
        404, {"error": {"code": "model_not_found", "type": "not_found_error", "message": "no such model"}}
    )
    name = "claude-sonet-5-5" if family == "anthropic" else "gpt-6-sool"
    last = over_http(family, missing, refusal(200, listed), request=lambda p: ask(p, model=name))[-1]
    assert last.error.code == "not_found"
    assert f"{NAME[family]}:{'claude-sonnet-5-5' if family == 'anthropic' else 'gpt-6-sol'}" in last.error.hint


def test_near_names_without_a_list(family):
    """If the server does not tell its models, the well-known ones are looked through."""
    wrong = {"anthropic": "claude-sonet-5", "gemini": "gemini-3.5-flsh"}.get(family, "gpt-5-mni")
    refused = refusal(404, {"error": {"type": "not_found_error", "message": "no such model"}})
    error = over_http(family, refused, request=lambda p: ask(p, model=wrong))[-1].error
    right = {"anthropic": "claude-sonnet-5", "gemini": "gemini-3.5-flash"}.get(family, "gpt-5-mini")
    assert f"{NAME[family]}:{right}" in error.hint


def test_redirects_are_not_followed(family):
    """A key is not carried to another address."""
    last = over_http(family, Answer([], status=307, headers={"location": "http://127.0.0.1:9/"}))[-1]
    assert (last.error.code, last.error.status) == ("invalid_request", 307)


# ---------------------------------------------------------------- keys


def test_no_key_is_one_clear_line(family):
    """Without a key nothing is sent, and the error names the variable."""
    variable = VARIABLE[family]

    async def run():
        with serving(Answer()) as server, environment(**without_key(family)):
            provider = make_provider(family, server.url, api_key=None)
            last = (await collect(provider))[-1]
            await provider.aclose()
            return last.error, server.received

    error, received = asyncio.run(run())
    assert (error.code, error.retryable, received) == ("auth", False, [])
    assert variable in str(error)
    assert "\n" not in str(error)


def test_key_is_read_when_a_request_is_made(family):
    """A key set after the provider was made is used."""
    variable = VARIABLE[family]

    async def run():
        with serving(Answer(WHOLE[family])) as server, environment(**without_key(family)):
            provider = make_provider(family, server.url, api_key=None)
            os.environ[variable] = f" {KEY}\n"
            await collect(provider)
            await provider.aclose()
            return server.received[0].headers

    headers = asyncio.run(run())
    bearer = headers.get("authorization", "").removeprefix("Bearer ")
    assert KEY in (headers.get("x-api-key"), headers.get("x-goog-api-key"), bearer)


def test_key_is_told_to_nobody(family):
    """Not in the repr, not in the error that quotes it, not half of it."""
    quoting = {"error": {"message": f"Incorrect API key provided: {KEY}, that is {KEY[:8]}****{KEY[-4:]}.", "x": KEY}}
    last = over_http(family, refusal(401, quoting), api_key=KEY)[-1]
    for text in (str(last.error), repr(last.error), last.error.hint, json.dumps(last.message.to_wire())):
        assert KEY not in text
        assert KEY[:8] not in text
    assert last.error.__cause__ is None
    assert KEY not in repr(make_provider(family, "http://127.0.0.1:9", api_key=KEY))


@pytest.mark.parametrize("key", ["schlüssel", "a\x00b"])
def test_a_key_that_cannot_be_one(family, key):
    """A key with odd characters is refused before anything is sent."""
    assert over_http(family, Answer(), api_key=key)[-1].error.code == "auth"


def test_a_key_may_be_a_function(family):
    """A key can come from a keyring."""
    assert isinstance(over_http(family, Answer(WHOLE[family]), api_key=lambda: KEY)[-1], StreamDone)


# ---------------------------------------------------------------- time


def test_waiting_times_from_the_environment(family):
    """Without code, the environment says how long to wait; what is no time is told."""
    with environment(PI_NB_IDLE_TIMEOUT="0.5", PI_NB_FIRST_TOKEN_TIMEOUT=" 7 "):
        assert make_provider(family, "http://127.0.0.1:9").timeouts == Timeouts(first_token=7, idle=0.5)
    with environment(PI_NB_CONNECT_TIMEOUT="soon"), pytest.raises(UserError, match="PI_NB_CONNECT_TIMEOUT=soon"):
        make_provider(family, "http://127.0.0.1:9")
    with pytest.raises(UserError, match="no time to wait"):
        Timeouts(idle=0)


def test_waiting_times_of_a_registry(family):
    """A registry tells its providers how long to wait, and may change its mind while they are in use."""
    registry = Registry([make_provider(family, "http://127.0.0.1:9")], timeouts=Timeouts(idle=1))
    provider = registry.get(NAME[family])
    assert provider.timeouts.idle == 1
    with serving(Answer([*WHOLE[family][: BEGUN[family]], 1.0])) as server:
        provider._base_url = server.url
        registry.wait_for(Timeouts(idle=0.1))

        async def run():
            last = (await collect(provider))[-1]
            await provider.aclose()
            return last

        assert asyncio.run(run()).error.code == "timeout"


def test_proxies_and_certificates_are_the_environments(family):
    """A proxy that the environment names is used, as by everything that uses httpx."""

    async def run():
        provider = make_provider(family, "http://provider.invalid", api_key=KEY)
        last = (await collect(provider))[-1]
        await provider.aclose()
        return last

    with serving(Answer(WHOLE[family])) as proxy, environment(HTTP_PROXY=proxy.url, NO_PROXY=None):
        assert isinstance(asyncio.run(run()), StreamDone)
        assert proxy.received[0].path.startswith("http://provider.invalid/")


def test_slow_first_token(family):
    """A server that does not begin is a timeout, which may be retried."""
    last = over_http(family, Answer([1.0, b""]), timeouts=Timeouts(first_token=0.1))[-1]
    assert (last.error.code, last.error.retryable) == ("timeout", True)


def test_silence_in_the_middle(family):
    """A server that stops in the middle is a timeout that keeps what came."""
    pieces = WHOLE[family][: BEGUN[family]]
    last = over_http(family, Answer([*pieces, 1.0]), timeouts=Timeouts(idle=0.1))[-1]
    assert (last.error.code, last.message.text) == ("timeout", "Hi")


def test_keep_alives_are_life(family):
    """Comments keep a slow answer from timing out."""
    pieces = [piece for _ in range(14) for piece in (b": wait\n\n", 0.06)]
    last = over_http(family, Answer([*pieces, *WHOLE[family]]), timeouts=Timeouts(idle=0.6))[-1]
    assert isinstance(last, StreamDone)


def test_a_complete_answer_does_not_wait_for_its_connection(family):
    """After the final event a server that holds the connection open, or breaks it, is left."""
    for end in ("hold", "reset", "close"):
        assert isinstance(over_http(family, Answer(WHOLE[family], end=end))[-1], StreamDone)


def test_nobody_there(family):
    """A refused connection is a connection error that names the address."""

    async def run():
        provider = make_provider(family, "http://127.0.0.1:9", api_key=KEY)
        events = await collect(provider)
        await provider.aclose()
        return events[-1].error

    error = asyncio.run(run())
    assert (error.code, error.retryable) == ("connection", True)
    assert "127.0.0.1:9" in str(error)


@pytest.mark.parametrize("url", ["nonsense", "ftp://host/", "http://"])
def test_a_base_url_that_is_none(family, url):
    """A wrong address is said to be wrong, and not retried."""

    async def run():
        provider = make_provider(family, url, api_key=KEY)
        events = await collect(provider)
        await provider.aclose()
        return events[-1].error

    error = asyncio.run(run())
    assert (error.code, error.retryable) == ("invalid_request", False)


# ---------------------------------------------------------------- what is no stream


@pytest.mark.parametrize("body", [b"<html>welcome</html>", b'{"hello": 1}', b"hello"])
def test_a_body_that_is_no_event_stream(family, body):
    """A page or an object instead of a stream is a bad response."""
    assert over_http(family, refusal(200, body))[-1].error.code == "bad_response"


def test_an_error_with_status_200(family):
    """An error object instead of a stream is that error."""
    last = over_http(family, refusal(200, {"error": {"type": "overloaded_error", "message": "x"}}))[-1]
    assert (last.error.code, last.error.retryable) == ("overloaded", True)


def test_a_piece_that_is_not_json(family):
    """A garbled piece fails the answer, which may be retried, and keeps what came."""
    pieces = WHOLE[family][: BEGUN[family]]
    last = over_http(family, Answer([*pieces, b"data: {broken\n\n"]))[-1]
    assert (last.error.code, last.error.retryable, last.message.text) == ("bad_response", True, "Hi")


@pytest.mark.parametrize(
    "payload",
    [[], 7, '"x"', {"choices": 3}, {"choices": [None]}, {"choices": [{"delta": 5}]}, {"type": "new_event"}, {}],
)
def test_odd_json_is_passed_over(family, payload):
    """JSON of an unexpected shape neither crashes nor ends the answer."""
    assert isinstance(over_http(family, Answer([*sse(payload), *WHOLE[family]]))[-1], StreamDone)


def test_empty_body(family):
    """A body of nothing is an answer that ended too early."""
    assert over_http(family, Answer([]))[-1].error.code == "truncated"


# ---------------------------------------------------------------- cancelling, loops, closing


def test_cancelling_closes_the_connection_at_once(family):
    """When the reading task is cancelled the server sees the client leave, and the partial answer is there."""
    pieces = WHOLE[family][: BEGUN[family]]
    seen = []

    async def run():
        with serving(Answer(pieces, end="hold")) as server:
            provider = make_provider(family, server.url, api_key=KEY)

            begun = asyncio.Event()

            async def read():
                async for event in provider.stream(ask(provider)):
                    seen.append(event)
                    if event.type == "text_delta":
                        begun.set()

            task = asyncio.create_task(read())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            left = await asyncio.to_thread(server.client_left.wait, 5)
            await provider.aclose()
            return left

    assert asyncio.run(run())
    assert seen[-1].partial().text == "Hi"


def test_a_reader_that_breaks_off_leaves_nothing_open(family):
    """Leaving the loop early and closing the stream closes the connection."""

    async def run():
        with serving(Answer(WHOLE[family][:1], end="hold")) as server:
            provider = make_provider(family, server.url, api_key=KEY)
            stream = provider.stream(ask(provider))
            await anext(stream)
            await stream.aclose()
            left = await asyncio.to_thread(server.client_left.wait, 5)
            await provider.aclose()
            return left

    assert asyncio.run(run())


def test_connections_are_reused(family):
    """Two answers in a row use one connection."""

    async def run():
        with serving(Answer(WHOLE[family])) as server:
            provider = make_provider(family, server.url, api_key=KEY)
            await collect(provider)
            await collect(provider)
            await provider.aclose()
            return server.connections

    assert asyncio.run(run()) == 1


def test_a_kept_connection_that_the_server_has_closed(family):
    """A server that closes a connection just as the next request is sent is asked again, on a new one."""

    async def run():
        with serving(Answer(WHOLE[family]), Answer(end="vanish"), Answer(WHOLE[family])) as server:
            provider = make_provider(family, server.url, api_key=KEY)
            events = [(await collect(provider))[-1] for _ in range(2)]
            await provider.aclose()
            return events, server.connections

    events, connections = asyncio.run(run())
    assert all(isinstance(event, StreamDone) for event in events)
    assert connections == 2


def test_a_server_that_always_hangs_up(family):
    """A server that never answers is a connection error, after two tries."""

    async def run():
        with serving(Answer(end="vanish")) as server:
            provider = make_provider(family, server.url, api_key=KEY)
            last = (await collect(provider))[-1]
            await provider.aclose()
            return last.error, len(server.received)

    error, asked = asyncio.run(run())
    assert (error.code, error.retryable, asked) == ("connection", True, 2)


def test_one_provider_in_several_loops(family):
    """A provider outlives the loop it was used in, without a word about open connections, and works in the next."""
    with serving(Answer(WHOLE[family])) as server:
        provider = make_provider(family, server.url, api_key=KEY)
        for _ in range(3):
            assert isinstance(asyncio.run(collect(provider))[-1], StreamDone)


def test_a_closed_provider_may_be_used_again(family):
    """Closing is not the end."""

    async def run():
        with serving(Answer(WHOLE[family])) as server:
            provider = make_provider(family, server.url, api_key=KEY)
            last = []
            for _ in range(2):
                last.append((await collect(provider))[-1])
                await provider.aclose()
            return last

    assert all(isinstance(event, StreamDone) for event in asyncio.run(run()))


def test_several_answers_at_once(family):
    """Requests of one provider do not disturb each other."""

    async def run():
        with serving(Answer([*WHOLE[family][:-1], 0.05, WHOLE[family][-1]])) as server:
            provider = make_provider(family, server.url, api_key=KEY)
            results = await asyncio.gather(*(collect(provider) for _ in range(8)))
            await provider.aclose()
            return [events[-1] for events in results]

    assert all(isinstance(event, StreamDone) for event in asyncio.run(run()))


def test_first_delta_arrives_while_the_server_still_sends(family):
    """Pieces are passed on as they come, not at the end: this answer has no end."""

    async def run():
        with serving(Answer(WHOLE[family][: BEGUN[family]], end="hold")) as server:
            provider = make_provider(family, server.url, api_key=KEY)
            stream = provider.stream(ask(provider))
            async for event in stream:
                if event.type == "text_delta":
                    break
            await stream.aclose()
            await provider.aclose()
            return event.delta

    assert asyncio.run(run()) == "Hi"

"""Exchanges with real servers, written down without secrets and played again byte by byte."""

from __future__ import annotations

import asyncio
import gzip
import json

import httpx
import pytest

from pi_nb import recording
from pi_nb.errors import UserError
from pi_nb.messages import ToolResultMessage, UserMessage
from pi_nb.providers.base import Request, StreamDone, StreamError
from pi_nb.providers.exchange import Exchange, difference
from pi_nb.providers.record import Recording, active_recording
from pi_nb.providers.registry import Registry, default_registry
from tests.providers.raw_server import Answer, cut, serving
from tests.providers.replay import FAMILIES, ask, collect, make_provider
from tests.providers.test_http_providers import BEGUN, NAME, VARIABLE, WHOLE, environment, sse

KEY = "sk-canary-0123456789abcdefghij"
JSON = {"content-type": "application/json"}


@pytest.fixture
def tape(tmp_path):
    return tmp_path / "tape.jsonl"


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def answers(family, url, *requests, tape=None, **options):
    """Return the last event of each request, made by one provider."""

    async def run():
        provider = make_provider(family, url, **{"api_key": KEY, **options})
        provider.recording = tape
        try:
            return [(await collect(provider, make(provider)))[-1] for make in requests or (ask,)]
        finally:
            await provider.aclose()

    return asyncio.run(run())


def pieces_of(transport, url, **request):
    """Return status and pieces of an answer as a client of httpx sees them."""

    async def run():
        async with (
            httpx.AsyncClient(transport=transport) as client,
            client.stream("POST", url, **request) as response,
        ):
            return response.status_code, [piece async for piece in response.aiter_raw()]

    return asyncio.run(run())


# ---------------------------------------------------------------- playing what was recorded


def test_an_answer_is_played_without_network_or_key(family, tape):
    """Recorded once, an answer comes again from the file alone: no server, no key."""
    with serving(Answer(cut(b"".join(WHOLE[family]), 7))) as server:
        url = server.url
        (first,) = answers(family, url, tape=Recording(tape))
    with environment(**{VARIABLE[family]: None}):
        (again,) = answers(family, url, tape=Recording(tape, mode="replay"), api_key=None)
    assert isinstance(again, StreamDone)
    assert again.message.model_copy(update={"timestamp": 0}) == first.message.model_copy(update={"timestamp": 0})


def test_bytes_and_cuts_are_the_same(tape):
    """Every byte comes again, in the pieces it came in, also where a character is cut in two."""
    pieces = [b"data: gr\xc3", b"\xbcn\r", b"\n\r\n: \xe2\x80\xa8 ", b"\x00\xff end"]
    with serving(Answer([pieces[0], 0.02, *pieces[1:]])) as server:
        url = server.url
        recorded = pieces_of(Recording(tape).transport(), url, json={"q": 1})
    played = pieces_of(Recording(tape, mode="replay").transport(), url, json={"q": 1})
    assert recorded == played == (200, pieces)


def test_the_pace_is_kept(tape):
    """The file says when each piece came, and with pace 1 it is played like that."""
    with serving(Answer([b"a", 0.05, b"b"])) as server:
        url = server.url
        pieces_of(Recording(tape).transport(), url)
    (exchange,) = [Exchange.of_line(line) for line in tape.read_text().splitlines()]
    assert exchange.chunks[1][0] >= 0.04
    assert pieces_of(Recording(tape, pace=1.0).transport(), url) == (200, [b"a", b"b"])


def test_refusals_are_recorded_too(family, tape):
    """A 429 and the answer that follows it come again in their order, and the last one stays."""
    limited = Answer([b'{"error": {"message": "slow"}}'], status=429, headers={**JSON, "retry-after": "7"})
    with serving(limited, Answer(WHOLE[family])) as server:
        url = server.url
        recorded = answers(family, url, ask, ask, tape=Recording(tape))
        assert len(server.received) == 2
    played = answers(family, url, ask, ask, ask, tape=Recording(tape, mode="replay"))
    assert [type(event) for event in recorded] == [StreamError, StreamDone]
    assert [type(event) for event in played] == [StreamError, StreamDone, StreamDone]
    assert (played[0].error.code, played[0].error.retry_after) == ("rate_limit", 7.0)


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_broken_connection_breaks_again(family, tape, end):
    """An answer that broke off while it was recorded breaks off at the same byte."""
    with serving(Answer([*WHOLE[family][: BEGUN[family]], 0.05], end=end)) as server:
        url = server.url
        (first,) = answers(family, url, tape=Recording(tape))
    (again,) = answers(family, url, tape=Recording(tape, mode="replay"))
    assert first.error.code == again.error.code == "truncated"
    assert again.message.text == first.message.text == "Hi"


def test_an_interrupted_answer_is_not_kept(family, tape):
    """Who leaves in the middle asks again: half an answer is not what the file should hold."""

    async def run():
        with serving(Answer(WHOLE[family][:-1], end="hold")) as server:
            provider = make_provider(family, server.url, api_key=KEY)
            provider.recording = Recording(tape)
            stream = provider.stream(ask(provider))
            await anext(stream)
            await stream.aclose()
            await provider.aclose()

    asyncio.run(run())
    assert not tape.exists()


def test_a_whole_answer_on_an_open_connection_is_kept(family, tape):
    """A server that does not close after the last event has answered all the same."""
    with serving(Answer(WHOLE[family], end="hold")) as server:
        url = server.url
        answers(family, url, tape=Recording(tape))
    assert isinstance(answers(family, url, tape=Recording(tape, mode="replay"))[0], StreamDone)


def test_a_packed_body_is_kept_unpacked(tape):
    """A server that packs although it was asked not to is written down in the clear."""
    packed = Answer([gzip.compress(b"hello")], headers={"content-encoding": "gzip"})
    with serving(packed) as server:
        url = server.url
        assert pieces_of(Recording(tape).transport(), url) == (200, [b"hello"])
    assert pieces_of(Recording(tape).transport(), url) == (200, [b"hello"])


# ---------------------------------------------------------------- what matches


def test_two_questions_two_answers(tape):
    """Which answer is played depends on what is asked, not on the order."""
    texts = {"red": "A fire.", "green": "A field."}

    def asking(text):
        return lambda provider: ask(provider, text)

    def chat(text):
        return Answer(sse({"choices": [{"delta": {"content": text}, "finish_reason": "stop"}]}, "[DONE]"))

    with serving(*map(chat, texts.values())) as server:
        url = server.url
        answers("openai_chat", url, *map(asking, texts), tape=Recording(tape))
    played = answers("openai_chat", url, asking("green"), asking("red"), tape=Recording(tape, mode="replay"))
    assert [event.message.text for event in played] == ["A field.", "A fire."]


def test_nothing_matches(tape):
    """The error names the file, the nearest line and the place that differs; it is not retried."""
    with serving(Answer(WHOLE["openai_chat"])) as server:
        url = server.url
        answers("openai_chat", url, lambda p: ask(p, "red"), tape=Recording(tape))
    (last,) = answers("openai_chat", url, lambda p: ask(p, "green"), tape=Recording(tape, mode="replay"))
    assert (last.error.code, last.error.retryable) == ("invalid_request", False)
    assert "tape.jsonl holds no answer" in str(last.error)
    assert 'line 1 comes nearest: messages[0].content: "red" there, "green" here' in str(last.error)
    assert "mode='auto'" in last.error.hint


def test_what_does_not_count(tape):
    """Keys, the session's name, and ids this package made up for calls may differ."""
    call = sse({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "f"}}]}}]})
    end = sse({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}, "[DONE]")

    async def converse(url, recorder, key):
        provider = make_provider("openai_chat", url, api_key=key)
        provider.recording = recorder
        question = UserMessage(content="go")
        request = Request(provider.model("x"), (question,))
        answer = (await collect(provider, request))[-1].message
        result = ToolResultMessage(tool_call_id=answer.tool_calls[0].id, tool_name="f", content="ok")
        last = (await collect(provider, Request(provider.model("x"), (question, answer, result))))[-1]
        await provider.aclose()
        return last

    with serving(Answer([*call, *end]), Answer(WHOLE["openai_chat"])) as server:
        url = server.url
        asyncio.run(converse(url, Recording(tape), KEY))
    assert isinstance(asyncio.run(converse(url, Recording(tape, mode="replay"), "another-key-9876")), StreamDone)

    with serving(Answer(WHOLE["openai_responses"])) as server:
        asking = [lambda p, name=name: ask(p, session_id=name) for name in ("one", "two")]
        url = server.url
        answers("openai_responses", url, asking[0], tape=Recording(tape))
        assert isinstance(answers("openai_responses", url, asking[1], tape=Recording(tape))[0], StreamDone)
        assert len(server.received) == 1


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}, "a[1].b: 2 there, 3 here"),
        ({"a": [1]}, {"a": [1, 2]}, "a has 1 parts there and 2 here"),
        ({"a": 1}, {}, "a: 1 there, null here"),
        ("x" * 100, "y", f'the body: "{"x" * 78}… there, "y" here'),
        ({"a": 1}, {"a": 1}, ""),
    ],
)
def test_differences_are_told(old, new, told):
    """Where two bodies differ is said in a few words."""
    assert difference(old, new) == told


# ---------------------------------------------------------------- modes


def test_auto_adds_what_is_missing(tape):
    """What is there is played, what is not is asked and added."""
    with serving(Answer(WHOLE["openai_chat"])) as server:
        for texts in (["a"], ["a", "b"], ["a", "b"]):
            asking = [lambda p, text=text: ask(p, text) for text in texts]
            answers("openai_chat", server.url, *asking, tape=Recording(tape))
        assert len(server.received) == 2
    assert len(Recording(tape)) == 2


def test_while_recording_every_request_is_asked(tape):
    """Samples of one question are recorded as the several answers they are."""
    with serving(Answer(WHOLE["openai_chat"])) as server:
        answers("openai_chat", server.url, ask, ask, ask, tape=Recording(tape))
        assert len(server.received) == 3


def test_record_begins_anew(tape):
    """``record`` replaces what was there with the first answer it gets, not before."""
    with serving(Answer(WHOLE["openai_chat"])) as server:
        answers("openai_chat", server.url, ask, ask, tape=Recording(tape))
        recorder = Recording(tape, mode="record")
        assert len(Recording(tape)) == 2
        answers("openai_chat", server.url, ask, tape=recorder)
    assert len(Recording(tape)) == 1


def test_mistakes_are_told(tape):
    """An unknown mode, a missing file, a line that is none."""
    with pytest.raises(UserError, match="no way to record"):
        Recording(tape, mode="play")
    with pytest.raises(UserError, match="There is no recording"):
        Recording(tape, mode="replay")
    tape.write_text('{"hello": 1}\n')
    with pytest.raises(UserError, match="line 1"):
        Recording(tape)


def test_without_key_the_network_is_not_asked(tape):
    """In auto mode, a question that is not in the file and has no key is the usual error about the key."""
    with serving(Answer()) as server, environment(OPENAI_API_KEY=None):
        (last,) = answers("openai_chat", server.url, tape=Recording(tape), api_key=None)
        assert (last.error.code, server.received) == ("auth", [])


# ---------------------------------------------------------------- switching it on


def test_a_recording_for_the_whole_process(tape):
    """Between start and stop, or inside ``with``, every provider uses it; its repr says what it holds."""
    with serving(Answer(WHOLE["openai_chat"])) as server, recording(tape) as recorder:
        assert active_recording() is recorder
        answers("openai_chat", server.url)
        assert repr(recorder) == "<Recording tape.jsonl mode=auto exchanges=1>"
    assert active_recording() is None
    recorder.stop()


def test_a_recording_named_by_the_environment(tape):
    """Whoever runs a notebook without touching it says so from outside."""
    with serving(Answer(WHOLE["openai_chat"])) as server:
        url = server.url
        with environment(PI_NB_RECORDING=str(tape)):
            answers("openai_chat", url)
    with environment(PI_NB_RECORDING=str(tape), PI_NB_RECORDING_MODE="replay"):
        assert isinstance(answers("openai_chat", url)[0], StreamDone)


def test_a_recording_for_one_registry(family, tape):
    """A registry hands its recording to providers it is given and to those it makes."""
    recorder = Recording(tape)
    given = make_provider(family, "http://127.0.0.1:9")
    assert Registry([given], recording=recorder).get(NAME[family]).recording is recorder
    made = default_registry(recording=recorder)
    assert all(made.get(name).recording is recorder for name in ("anthropic", "openai", "google", "ollama"))
    assert made.get("scripted").name == "scripted"


def test_a_provider_changes_over_in_the_middle(tape):
    """A provider that has open connections takes up a recording that begins later."""

    async def run(url):
        provider = make_provider("openai_chat", url, api_key=KEY)
        await collect(provider)
        with recording(tape):
            await collect(provider)
        await collect(provider)
        await provider.aclose()

    with serving(Answer(WHOLE["openai_chat"])) as server:
        asyncio.run(run(server.url))
        assert len(server.received) == 3
    assert len(Recording(tape)) == 1


# ---------------------------------------------------------------- secrets


def test_keys_are_not_written(family, tape):
    """Not from headers, nor where a server quotes it back whole, half masked, cut by the network or escaped."""
    quoted = json.dumps({"error": {"message": f"Wrong key {KEY}, that is {KEY[:8]}****{KEY[-4:]}", "x": KEY}}).encode()
    refused = Answer(
        cut(quoted, 5), status=401, headers={**JSON, "x-your-key": KEY, "set-cookie": "session=secret1234"}
    )
    with serving(refused) as server:
        url = server.url
        (first,) = answers(family, url, lambda p: ask(p, f"my key is {KEY}"), tape=Recording(tape))
    written = tape.read_text()
    joined = b"".join(chunk for _, chunk in Exchange.of_line(written).chunks).decode()
    for text in (written, joined, str(first.error)):
        assert KEY not in text
        assert KEY[:8] not in text
    assert "secret1234" not in written
    assert len(joined) == len(quoted)
    again = answers(family, url, lambda p: ask(p, f"my key is {KEY}"), tape=Recording(tape, mode="replay"))
    assert again[0].error.code == "auth"


def test_keys_in_addresses_and_in_the_environment_are_not_written(tape):
    """A key that is a parameter or a password, and one of another provider, stay out."""
    other = "gsk_other/0123456789+abcdef"
    escaped = other.replace("/", "\\/")  # as PHP writes JSON
    body = f'{{"seen": "{other}", "escaped": "{escaped}"}}'.encode()
    with serving(Answer([body])) as server, environment(GROQ_API_KEY=other):
        address = server.url.replace("http://", "http://me:pass-word-123@")
        transport = Recording(tape).transport()
        status, _ = pieces_of(
            transport, f"{address}/v1?alt=sse&key={KEY}", headers={"x-goog-api-key": KEY}, content=body
        )
    written = tape.read_text()
    assert status == 200
    assert json.loads(written)["request"]["url"].endswith("/v1?alt=sse")
    for secret in (KEY, other, "0123456789+abcdef", "pass-word-123"):
        assert secret not in written


def test_a_recording_is_read_like_any_text(tape):
    """A line is plain JSON whose chunks are the text that came, so that two recordings can be compared."""
    with serving(Answer(WHOLE["openai_chat"])) as server:
        answers("openai_chat", server.url, tape=Recording(tape))
    line = json.loads(tape.read_text())
    assert line["request"]["method"] == "POST"
    assert line["request"]["body"]["messages"] == [{"role": "user", "content": "go"}]
    assert "".join(text for _, text in line["response"]["chunks"]) == b"".join(WHOLE["openai_chat"]).decode()

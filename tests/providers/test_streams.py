"""Recorded streams, handed cases, and both cut short at any place."""

from __future__ import annotations

import json

import pytest

from pi_nb.messages import AssistantMessage
from pi_nb.providers.base import StreamDone, StreamError
from pi_nb.providers.timeouts import Timeouts
from tests import check_provider_cases, check_streams
from tests.providers.raw_server import Answer
from tests.providers.replay import FAMILIES, into_reader, over_http


def test_recorded_streams_read_as_the_official_sdks_read_them(shared):
    """Text, calls, stop reason and usage of each recorded stream are those that the provider's own SDK finds."""
    results = list(check_streams.check(shared / "streams"))
    assert len(results) >= 20
    assert {result.name: result.differences for result in results if result.differences} == {}


def test_handed_cases(shared):
    """Each handed case about providers comes out as it was judged right."""
    results = dict(check_provider_cases.check(shared / "cases"))
    assert len(results) >= 21
    assert {name: differences for name, differences in results.items() if differences} == {}


def bodies(shared):
    for family in FAMILIES:
        for path in sorted((shared / "streams" / family).glob("*.txt")):
            yield family, path.name, check_streams.body(path)


def content_of(message):
    """Return the blocks without the ids of calls, which are made up where a provider gives none."""
    return [{**block.to_wire(), "id": ""} for block in message.content]


def prefix(short, long):
    return long[: len(short)] == short


def test_a_stream_cut_anywhere_is_an_error_or_valid(shared):
    """A body that ends at any byte gives a truncated error with a beginning of the answer, or the whole answer."""
    for family, name, body in bodies(shared):
        whole = into_reader(family, [body])[-1].message
        positions = {*range(0, len(body), max(1, len(body) // 150)), *range(max(0, len(body) - 40), len(body))}
        for position in sorted(positions):
            last = into_reader(family, [body[:position]])[-1]
            where = f"{name} at {position}"
            assert isinstance(last, StreamDone | StreamError), where
            assert isinstance(last.message, AssistantMessage), where
            json.dumps(last.message.to_wire())
            if isinstance(last, StreamError):
                assert last.error.code in ("truncated", "content_filter", "invalid_request"), where
                assert last.error.retryable == (last.error.code == "truncated"), where
                assert prefix(last.message.text, whole.text), where
            elif "programmatic" not in name:
                assert content_of(last.message) == content_of(whole), where


@pytest.mark.parametrize("end", ["finish", "close", "reset"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_connection_that_ends_in_the_middle(shared, family, end):
    """However a connection ends in the middle of an answer, the partial answer is kept and the error may be retried."""
    names = {"anthropic": "thinking_text.sse.txt", "gemini": "grounding_search.sse.txt"}
    name = names.get(family, "after_tool_result.sse.txt")
    body = (shared / "streams" / family / name).read_bytes()
    events = over_http(family, Answer([body[: len(body) // 2], 0.05], end=end))
    assert isinstance(events[-1], StreamError)
    assert (events[-1].error.code, events[-1].error.retryable) == ("truncated", True)
    assert events[-1].message.content != ()


CODES = ("truncated", "bad_response", "server", "overloaded", "rate_limit", "not_found", "invalid_request")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_recording_cut_on_the_way(shared, family):
    """Streams, arrays and error bodies that a connection cuts anywhere give a typed error or an answer, and no wait."""
    expected = json.loads((shared / "streams" / "expected.json").read_text())
    names = [name for name in sorted(expected) if name.startswith(f"{family}/")]
    assert len(names) >= 6
    for number, name in enumerate(names):
        whole = check_streams.answer(shared / "streams" / name, expected[name])
        body = b"".join(whole.pieces)
        for step in range(9):
            end = ("finish", "close", "reset")[(number + step) % 3]
            piece = body[: len(body) * step // 9 + step]
            cut = Answer([piece, 0.01] if piece else [], whole.status, whole.headers, end)
            last = over_http(family, cut, timeouts=Timeouts(first_token=20, idle=20))[-1]
            where = f"{name} after {len(piece)} of {len(body)}, {end}"
            assert isinstance(last, StreamDone | StreamError), where
            if isinstance(last, StreamError):
                assert last.error.code in (*CODES, "content_filter", "connection", "context_overflow"), (
                    f"{where}: {last.error.code}"
                )
                assert str(last.error).strip(), where
            json.dumps(last.message.to_wire())


def test_pieces_of_one_byte(shared):
    """A body in pieces of one byte reads like the same body at once."""
    for family, name, body in bodies(shared):
        if len(body) < 12_000:
            small = into_reader(family, [body[i : i + 1] for i in range(len(body))])[-1].message
            large = into_reader(family, [body])[-1].message
            assert content_of(small) == content_of(large), name
            assert small.usage == large.usage, name

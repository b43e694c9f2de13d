"""Server-sent events by the rules of the standard, wherever the network cuts them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_nb.providers.sse import ServerSentEvent, SseDecoder


def decode(*chunks, flush=False):
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.decode(chunk)]
    if flush and (last := decoder.flush()):
        events.append(last)
    return events


def data_of(*chunks):
    return [event.data for event in decode(*chunks)]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_each_line_end_works(end):
    """LF, CR and CRLF end a line alike."""
    body = f"event: a{end}data: 1{end}data: 2{end}id: 7{end}retry: 30{end}{end}data: 3{end}{end}".encode()
    assert decode(body) == [ServerSentEvent("a", "1\n2", "7", 30), ServerSentEvent("message", "3", "7", 30)]


def test_cr_ends_a_line_without_waiting():
    """A CR at the end of a piece completes the event; the LF that may follow is not a second line end."""
    decoder = SseDecoder()
    assert [e.data for e in decoder.decode(b"data: 1\r\n\r")] == ["1"]
    assert [e.data for e in decoder.decode(b"\ndata: 2\r\n\r\n")] == ["2"]


def test_comments_and_unknown_fields_are_ignored():
    """Keep-alives bring nothing."""
    assert data_of(b": OPENROUTER PROCESSING\n\nfoo: bar\ndata\n\n:\n\n") == [""]


def test_one_space_after_the_colon_goes():
    """Only the first space is syntax."""
    assert data_of(b"data:x\n\ndata:  y\n\ndata: z: w\n\n") == ["x", " y", "z: w"]


def test_other_unicode_line_ends_are_data():
    """U+2028, U+0085 and form feed do not end a line."""
    text = "a\u2028b\u0085c\fd\x1ee"
    assert data_of(f"data: {text}\n\n".encode()) == [text]


def test_byte_order_mark_is_ignored_once():
    """A BOM before the first line is not part of it; elsewhere it is data."""
    assert data_of(b"\xef\xbb\xbf", b"data: \xef\xbb\xbfx\n\n") == ["\ufeffx"]


def test_invalid_utf8_is_replaced():
    """Bytes that are no UTF-8 do not break the stream."""
    assert data_of(b"data: a\xffb\n\n") == ["a\ufffdb"]


def test_event_without_data_is_none():
    """An event name alone dispatches nothing and does not stick."""
    assert decode(b"event: x\n\ndata: 1\n\n") == [ServerSentEvent("message", "1")]


def test_bad_ids_and_retries_are_ignored():
    """An id with NUL and a retry that is no number do not count."""
    assert decode(b"id: a\0b\nretry: 1s\nretry: \xc2\xb2\ndata: 1\n\n") == [ServerSentEvent("message", "1")]


def test_missing_last_blank_line():
    """The standard drops an event without its blank line; flush gives it to who wants it."""
    assert decode(b"data: 1\n\ndata: 2") == [ServerSentEvent("message", "1")]
    assert [e.data for e in decode(b"data: 1\n\ndata: 2", flush=True)] == ["1", "2"]
    assert decode(b"data: 1\n\n\n", flush=True) == [ServerSentEvent("message", "1")]


lines = st.sampled_from(
    ["data: a", "data:é😀", "data: ", "event: e", ": c", "id: 1", "retry: 5", "", "", "data: {\u2028}"]
)


@given(st.lists(lines, max_size=12), st.sampled_from(["\n", "\r", "\r\n"]), st.data())
def test_cuts_change_nothing(parts, end, data):
    """However a body is cut into pieces, also inside a character or a CRLF, the events are the same."""
    body = "".join(part + end for part in parts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert decode(*pieces, flush=True) == decode(body, flush=True)
    assert decode(*[body[i : i + 1] for i in range(len(body))]) == decode(body)


def test_a_long_line_in_small_pieces_takes_linear_time():
    """A megabyte in seven-byte pieces is joined once."""
    body = b"data: " + b"x" * 1_000_000 + b"\n\n"
    assert len(data_of(*[body[i : i + 7] for i in range(0, len(body), 7)])[0]) == 1_000_000

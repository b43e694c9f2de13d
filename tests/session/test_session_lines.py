"""Lines of JSON: what JavaScript reads is read, and what is written is JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_nb.messages import TextContent, UserMessage
from pi_nb.session.lines import decode, encode, is_blank

DEPTH = 3_000
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec=None))
)
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(values)
def test_what_is_written_can_be_read(value: Any) -> None:
    """Any JSON value, lone surrogates included, comes back as it was."""
    assert decode(encode(value)) == json.loads(json.dumps(value))


@given(values)
def test_a_line_is_one_line_of_utf8(value: Any) -> None:
    """No value breaks the line it is on, and every line is UTF-8."""
    data = encode(value)
    assert b"\n" not in data
    data.decode("utf-8", "strict")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'"caf\xe9 \xff"', "caf� �"),
        (b'"\xed\xa0\x80"', "���"),
        (rb'"\ud83d"', "\ud83d"),
        (rb'{"\udc00":"\ud83d\ude00"}', {"\udc00": "\U0001f600"}),
        (b"\xef\xbb\xbf[1]", [1]),
        (b'["\xe2\x80\xa8","\xe2\x80\xa9","\xc2\x85"]\r\n', ["\u2028", "\u2029", "\x85"]),
        (b"1e999", math.inf),
        (b"123456789012345678901234567890", 1.2345678901234568e29),
        (b'{"a":1,"a":2}', {"a": 2}),
    ],
)
def test_odd_lines_that_javascript_reads(line: bytes, value: Any) -> None:
    """Bad bytes become U+FFFD, lone surrogates stay, byte order marks and separators do no harm."""
    assert decode(line) == value


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"NaN",
        b"[Infinity]",
        b'{"a":-Infinity}',
        b"[1,]",
        b'{"a" 1}',
        b'{"a":1}x',
        b"[1 2]",
        b'"\x01"',
        b"\0\0",
        b"'a'",
        b"{",
    ],
)
def test_what_is_not_json_is_refused(line: bytes) -> None:
    """Whatever JavaScript refuses is refused, NaN literals too."""
    with pytest.raises(ValueError, match=r"."):
        decode(line)


@pytest.mark.parametrize("kind", ["list", "object", "mixed"])
def test_deep_nesting_is_read_and_written(kind: str) -> None:
    """Three thousand levels are no problem, and no recursion."""
    opening = {"list": b"[", "object": b'{"k":', "mixed": b'[{"k\\n":'}[kind] * DEPTH
    closing = {"list": b"]", "object": b"}", "mixed": b"}]"}[kind] * DEPTH
    text = opening + b'[1,-2.5e3,true,null,"x",{},[]]' + closing
    assert encode(decode(text)) == text.replace(b"-2.5e3", b"-2500.0")


@pytest.mark.parametrize("inner", [b"", b"NaN", b"1,", b'1 "a"', b'{"a":}', b"{1:2}", b'{"a" 1}', b"01", b"tru"])
def test_deep_nesting_that_is_no_json_is_refused(inner: bytes) -> None:
    """The reader for deep nesting is as strict as the quick one."""
    fault = b"" if inner else b"]"
    with pytest.raises(ValueError, match=r"."):
        decode(b"[" * DEPTH + inner + b"]" * DEPTH + fault)


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": [None, {"b": -math.inf}]}])
def test_numbers_that_json_does_not_have_are_refused(value: Any) -> None:
    """NaN and infinity are an error, not a silent null."""
    with pytest.raises(ValueError, match="is not JSON"):
        encode(value)


@pytest.mark.parametrize("value", [object(), {"a": {1, 2}}, b"bytes", {(1, 2): 3}, ["\ud800", object()]])
def test_things_that_json_does_not_have_are_refused(value: Any) -> None:
    """What is no JSON says so by its type."""
    with pytest.raises(ValueError, match="cannot be"):
        encode(value)


def test_values_are_written_wherever_they_are() -> None:
    """Messages inside plain data are written under their wire names, also in the slow way."""
    message = UserMessage(content=(TextContent(text="x"),), timestamp=None)
    wanted = {"m": {"role": "user", "content": [{"type": "text", "text": "x"}], "timestamp": None}}
    assert decode(encode({"m": message})) == wanted
    assert decode(encode({"m": message, "s": "\ud800"})) == {**wanted, "s": "\ud800"}


def test_long_lines() -> None:
    """Ten megabytes on one line are just a line, also when a byte in it is bad."""
    text = b'"' + b"x" * 10_000_000 + b'"'
    assert encode(decode(text)) == text
    assert decode(text[:-1] + b'\xff"')[-1] == "�"


@pytest.mark.parametrize(
    ("line", "blank"),
    [(b"", True), (b" \t\r\n", True), (b"\xef\xbb\xbf \xc2\xa0\n", True), (b"0", False), (b"\0", False)],
)
def test_blank_lines(line: bytes, blank: bool) -> None:
    """White space of any kind is blank; NUL bytes are not."""
    assert is_blank(line) is blank

"""What fits into a result, and the end of a stream."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_nb.tools.truncate import MAX_BYTES, MAX_LINES, Tail, noted, shorten, size_of, truncation_details

LINES = st.lists(st.tuples(st.sampled_from(["a", "ä", "€", "𝄞", "ab cd"]), st.integers(0, 40_000)), max_size=8).map(
    lambda parts: "\n".join(char * count for char, count in parts)
)
MANY = st.integers(0, 5_000).map(lambda count: "".join(f"{n}\n" for n in range(count)))
TEXTS = st.one_of(LINES, MANY)


@pytest.mark.parametrize("keep", ["head", "tail"])
@given(text=TEXTS)
@settings(max_examples=60, deadline=None)
def test_what_is_kept_is_an_end(keep: str, text: str) -> None:
    """What is kept is within both limits, one end of the text, whole characters, and as much as fits."""
    short = shorten(text, keep=keep)
    assert len(short.text.encode()) <= MAX_BYTES
    assert short.text.count("\n") < MAX_LINES
    assert text.startswith(short.text) if keep == "head" else text.endswith(short.text)
    assert short.cut == (short.text != text)
    if short.cut:
        assert short.lines == short.text.count("\n") + 1
    else:
        assert (len(text.encode()), text.count("\n") + 1) == (short.total_bytes, short.total_lines)


@given(text=TEXTS, cuts=st.lists(st.integers(0, 400_000), max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_tail_is_the_tail(text: str, cuts: list[int], tmp_path_factory: Any) -> None:
    """A stream in any pieces ends as its text ends, and its file has all of it."""
    data = text.encode()
    folder = tmp_path_factory.mktemp("tail")
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    try:
        tail = Tail()
        for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
            tail.feed(data[start:stop])
        tail.close()
    finally:
        tempfile.tempdir = before
    kept, begins_later = tail.end()
    assert data.endswith(kept)
    assert begins_later == (len(kept) < len(data))
    assert shorten(kept.decode(), keep="tail").text == shorten(text, keep="tail").text
    assert tail.total_bytes == len(data)
    assert tail.lines == len(text.removesuffix("\n").split("\n")) if text else tail.lines == 0
    assert (tail.file is not None) == (len(data) > MAX_BYTES or tail.lines > MAX_LINES)
    if tail.file is not None:
        assert tail.file.read_bytes() == data
        tail.file.unlink()


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where no file can be made the tail is kept all the same, and it is known that the file is not complete."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    tail = Tail()
    tail.feed(b"x\n" * 100_000)
    tail.feed(b"end")
    assert tail.save() is None
    assert not tail.complete
    assert tail.end()[0].endswith(b"x\nend")
    tail.close()


def test_a_file_that_takes_no_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A stream without end fills no disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("pi_nb.tools.truncate._SPILL_LIMIT", 300_000)
    tail = Tail()
    for _ in range(100):
        tail.feed(b"x" * 9_999 + b"\n")
    tail.close()
    assert not tail.complete
    assert tail.file is not None
    assert tail.file.stat().st_size < 400_000
    assert tail.total_bytes == 1_000_000
    assert repr(tail) == f"<Tail bytes=1000000 lines=100 file={tail.file}>"


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1023, "1023 bytes"),
        (51200, "50.0 KB"),
        (3 << 20, "3.0 MB"),
        (5 << 40, "5120.0 GB"),
    ],
)
def test_sizes(count: int, text: str) -> None:
    """Sizes are shown for people."""
    assert size_of(count) == text


def test_notes_are_blocks_of_their_own() -> None:
    """Notes do not make a text that just fits too long, and no block is empty."""
    assert [block.text for block in noted("text", [])] == ["text"]
    assert [block.text for block in noted("text", ["one.", "two."])] == ["text", "\n\n[one.]\n[two.]"]
    assert [block.text for block in noted("\n ", ["one."])] == ["[one.]"]


def test_details() -> None:
    """The details say which limit was met."""
    by_lines = truncation_details(shorten("x\n" * 3000))
    by_bytes = truncation_details(shorten("x" * 60_000))
    assert (by_lines["truncatedBy"], by_lines["outputLines"], by_lines["totalLines"]) == ("lines", 2000, 3001)
    assert (by_bytes["truncatedBy"], by_bytes["outputBytes"], by_bytes["totalBytes"]) == ("bytes", 51200, 60000)
    assert truncation_details(shorten("x"))["truncatedBy"] is None

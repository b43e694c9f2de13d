"""A file that is read in pieces is the same as one that is read at once."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import SessionError
from pi_nb.session import scan
from pi_nb.session.loading import load
from pi_nb.session.pieces import PIECE, read_pieces
from pi_nb.session.scan import Scan

HEADER = b'{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}'


def entry(id: str, parent: str | None, **fields: Any) -> bytes:
    data = {"type": "message", "id": id, "parentId": parent, "timestamp": "t", "message": {"role": "user"}, **fields}
    return json.dumps(data, ensure_ascii=False).encode()


ODD = {
    "whole": [HEADER, entry("a", None), entry("b", "a", type="label", targetId="a", label="one"), entry("c", "b"), b""],
    "no last line feed": [HEADER, entry("a", None), entry("b", "a")],
    "torn": [HEADER, entry("a", None), entry("b", "a")[:-9]],
    "NUL bytes at the end": [HEADER, entry("a", None), b"\0" * 50],
    "a torn line and NUL bytes": [HEADER, entry("a", None), entry("b", "a")[:-3] + b"\0" * 20],
    "blank lines": [b"", HEADER, b"", b"  ", entry("a", None), b"\r", entry("b", "a"), b"", b""],
    "CRLF": [HEADER + b"\r", entry("a", None) + b"\r", entry("b", "a") + b"\r", b""],
    "not UTF-8": [HEADER, entry("a", None).replace(b"user", b"us\xffer"), entry("b", "a", x="日本\u2028"), b""],
    "a bad line": [HEADER, entry("a", None), b"{oops}", entry("b", "a"), b""],
    "NUL bytes in the middle": [HEADER, entry("a", None), b"\0" * 30, entry("b", "a"), b""],
    "words behind an entry": [HEADER, entry("a", None), entry("b", "a") + b" oops", b""],
    "header only": [HEADER],
    "version 1": [HEADER.replace(b'"version":3,', b""), b'{"type":"message","message":{"role":"user"}}', b""],
}


def seen(pieces: list[bytes]) -> Any:
    """Return all that a reading finds, or how it fails."""
    try:
        found = Scan("s.jsonl", iter(pieces), repair=False)
    except SessionError as error:
        return str(error), error.line
    index = found.index
    index.link_all()
    columns = index.ids, index.parents, index.types, index.roles, index.labels, index.leaf_id
    ends = found.head, found.tail, found.ends_open, found.size, found.warnings, found.skipped
    return columns, list(index.lines), [index.lines[place] for place in range(len(index))], ends


@pytest.mark.parametrize("lines", ODD.values(), ids=ODD)
def test_pieces_of_any_size(lines: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a piece ends, in a line, between lines, in a character, the same is found."""
    content = b"\n".join(lines)
    whole = seen([content])
    head = content.index(HEADER[:9]) + len(HEADER) + 2
    for size in range(head, len(content) + 2):
        monkeypatch.setattr(scan, "PIECE", size)
        assert seen(list(read_pieces(io.BytesIO(content), size))) == whole, size


@pytest.mark.parametrize("size", [1, 7, 60])
def test_small_pieces(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line may go on over many pieces."""
    body = b"\n".join([HEADER, *(entry(f"{number}", None, x="y" * number) for number in range(200))])
    monkeypatch.setattr(scan, "PIECE", 91)
    pieces = list(read_pieces(io.BytesIO(body), 91))
    assert len(pieces) > 100
    assert seen(pieces) == seen_whole(body, monkeypatch)
    assert b"".join(read_pieces(io.BytesIO(body), size)) == body


def seen_whole(body: bytes, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(scan, "PIECE", len(body) + 1)
    return seen([body])


def test_a_file_of_several_pieces(tmp_path: Path) -> None:
    """Lines of a file longer than a piece are where they were written, also those longer than a piece."""
    texts = ["x" * 5_000_000, "y" * (PIECE + 10), *["z" * 999_999] * 25, "é" * 9]
    file = tmp_path / "s.jsonl"
    written = [entry(str(place), None, x=text) for place, text in enumerate(texts)]
    file.write_bytes(b"\n".join([HEADER, *written, b""]))
    index = load(file).scan.index
    assert list(index.lines) == written
    assert [index.lines[place] for place in (26, 1, 0)] == [written[26], written[1], written[0]]

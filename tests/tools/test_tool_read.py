"""The tool ``read``."""

from __future__ import annotations

import asyncio
import base64
import os
import resource
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import ToolError
from pi_nb.messages import ImageContent


def chunk(kind: bytes, data: bytes) -> bytes:
    """Return a chunk of a PNG file."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    + chunk(b"IEND", b"")
)
GIF = (
    b"GIF89a\x01\x00\x01\x00\x80\x00\x00\x00\x00\x00\xff\xff\xff,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;"
)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(32) + b"\xff\xd9"
WEBP = b"RIFF" + struct.pack("<I", 12) + b"WEBPVP8 " + bytes(4)


def test_a_text_comes_as_it_is(bench: Any) -> None:
    """Lines come without numbers, as they are in the file."""
    bench.put("a.txt", "eins\nzwei ü\n\tdrei\n")
    assert bench.text("read", path="a.txt") == "eins\nzwei ü\n\tdrei"


def test_parts(bench: Any) -> None:
    """Offset and limit give some lines, and the note says which and how to go on."""
    bench.put("a.txt", "".join(f"{n}\n" for n in range(1, 11)))
    assert bench.text("read", path="a.txt", offset=3, limit=2) == ("3\n4\n\n[Lines 3 to 4 of 10; go on with offset=5.]")
    assert bench.text("read", path="a.txt", offset=10) == "10\n\n[Lines 10 to 10 of 10.]"
    assert bench.text("read", path="a.txt", limit=10) == "\n".join(map(str, range(1, 11)))


@pytest.mark.parametrize(
    ("content", "offset", "end"), [("a\nb\n", 3, 2), ("a\nb", 3, 2), ("a\nb", 99, 2), ("", 5, 0), ("a", 2, 1)]
)
def test_beyond_the_end(bench: Any, content: str, offset: int, end: int) -> None:
    """An offset behind the last line is refused with the number of that line."""
    bench.put("a.txt", content)
    assert (
        bench.error("read", path="a.txt", offset=offset) == f"a.txt ends at line {end}; offset {offset} is beyond that."
    )


def test_empty(bench: Any) -> None:
    """An empty file, and one of empty lines, give a text that is not empty."""
    bench.put("none")
    bench.put("blank", "\n\n")
    assert bench.text("read", path="none") == "[none is empty.]"
    assert bench.text("read", path="blank") == "[There is nothing but white space.]"


def test_too_many_lines(bench: Any) -> None:
    """At most 2,000 lines come at once."""
    bench.put("a.txt", "".join(f"{n}\n" for n in range(1, 5001)))
    result = bench("read", path="a.txt")
    first, note = result.blocks
    assert first.text.split("\n") == [str(n) for n in range(1, 2001)]
    assert note.text == "\n\n[Lines 1 to 2000 of 5000; go on with offset=2001.]"
    assert result.details["truncation"]["totalLines"] == 5000


def test_too_many_bytes(bench: Any) -> None:
    """At most 50 KB come at once, in whole lines, and reading on gives the rest without a gap."""
    lines = [f"{n:03}" + "ä" * 500 for n in range(100)]
    bench.put("a.txt", "\n".join(lines))
    seen: list[str] = []
    while len(seen) < len(lines):
        first = bench("read", path="a.txt", offset=len(seen) + 1).blocks[0].text
        assert len(first.encode()) <= 50 * 1024
        seen += first.split("\n")
    assert seen == lines


def test_one_long_line(bench: Any) -> None:
    """Of a line that is too long the beginning comes, in whole characters, and what follows has the right number."""
    bench.put("a.txt", "x" + "ä" * 200_000 + "\nlast\n")
    text = bench.text("read", path="a.txt")
    assert text.startswith("xää")
    assert "\ufffd" not in text
    assert "[Lines 1 to 1 of 2; go on with offset=2.]\n[Line 1 is longer than 50.0 KB; this is its beginning.]" in text
    assert bench.text("read", path="a.txt", offset=2) == "last\n\n[Lines 2 to 2 of 2.]"


@pytest.mark.parametrize("extra", [-1, 0, 1, 2])
@pytest.mark.parametrize("end", ["", "\n", "\nb", "\nb\n"])
def test_around_the_limit(bench: Any, extra: int, end: str) -> None:
    """Lines about as long as the limit are counted rightly."""
    bench.put("a.txt", "x" * (50 * 1024 + extra) + end)
    text = bench.text("read", path="a.txt")
    assert ("longer than" in text) == (extra > 0)
    assert ("Lines 1 to 1 of 2;" in text) == ("b" in end)


def test_a_huge_file_is_not_slurped(bench: Any) -> None:
    """Reading in a file of 100 MB takes little memory."""
    with bench.put("big.txt").open("r+b") as file:
        block = b"0123456789abcde\n" * 65536
        for _ in range(100):
            file.write(block)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text = bench.text("read", path="big.txt", offset=6_000_000, limit=1)
    assert text == "0123456789abcde\n\n[Lines 6000000 to 6000000 of 6553600; go on with offset=6000001.]"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KB


@pytest.mark.parametrize(
    ("data", "kind"), [(PNG, "image/png"), (GIF, "image/gif"), (JPEG, "image/jpeg"), (WEBP, "image/webp")]
)
def test_images(bench: Any, data: bytes, kind: str) -> None:
    """Images come as images, whatever their name is."""
    bench.put("picture.txt", data)
    _, picture = bench("read", path="picture.txt").blocks
    assert picture == ImageContent(data=base64.b64encode(data).decode(), mime_type=kind)


@pytest.mark.parametrize("data", [PNG[:40], JPEG[:-2], GIF[:-1], WEBP[:-1]])
def test_broken_images(bench: Any, data: bytes) -> None:
    """An image without its end is refused, since a provider would refuse the whole session for it."""
    bench.put("picture.png", data)
    assert "is a broken image" in bench.error("read", path="picture.png")


def test_image_too_large(bench: Any) -> None:
    """An image that no provider takes is refused with its size."""
    bench.put("p.png", PNG + bytes(4_000_000))
    assert bench.error("read", path="p.png").startswith("p.png is an image of 3.8 MB; models take 3.6 MB.")


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.pdf", b"%PDF-1.4\n" + bytes(range(128, 256)) * 4, "is not text in UTF-8 (application/pdf)."),
        ("a.bin", b"ab\0cd", "is not text in UTF-8"),
        ("a.txt", "\ufeffhello".encode("utf-16-le"), "is text in UTF-16. Convert it first"),
    ],
)
def test_not_text(bench: Any, name: str, data: bytes, says: str) -> None:
    """What is not text is refused, with what it seems to be."""
    bench.put(name, data)
    assert says in bench.error("read", path=name)


def test_some_other_encoding(bench: Any) -> None:
    """A few wrong bytes in a text are shown as such, with a note."""
    bench.put("a.txt", "caf\xe9 au lait, garçon".encode("latin-1"))
    text = bench.text("read", path="a.txt")
    assert text.startswith("caf\ufffd au lait")
    assert "Not all of it is UTF-8" in text


def test_byte_order_mark(bench: Any) -> None:
    """A mark at the start that nobody sees is not shown to the model either."""
    bench.put("a.txt", b"\xef\xbb\xbfa\nb\n")
    assert bench.text("read", path="a.txt") == "a\nb"


def test_missing(bench: Any) -> None:
    """A file that is missing is answered with the names near to it."""
    bench.put("src/Settings.py")
    bench.put("src/other.py")
    assert bench.error("read", path="src/setings.py") == (
        "src/setings.py: there is no such file or folder. Near it: src/Settings.py."
    )
    assert bench.error("read", path="scr/other.py") == "scr/other.py: there is no such file or folder. Near it: src."
    assert "Near" not in bench.error("read", path="zzz")


def test_not_files(bench: Any) -> None:
    """Folders, pipes and devices are refused at once."""
    os.mkfifo(bench.folder / "pipe")
    assert bench.error("read", path=".") == ". is a folder; ls lists it."
    assert bench.error("read", path="pipe").startswith("pipe is not a regular file")
    assert bench.error("read", path="/dev/zero").startswith("/dev/zero is not a regular file")


@pytest.mark.parametrize("path", ["", "  ", "a\0b", "\ud800", "x" * 5000, "a.txt/b"])
def test_impossible_paths(bench: Any, path: str) -> None:
    """Paths that cannot be are errors, never crashes."""
    bench.put("a.txt", "a")
    assert bench.error("read", path=path)


def test_paths(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may be absolute, start at home, or go up."""
    monkeypatch.setenv("HOME", str(tmp_path))
    outside = tmp_path / "outside.txt"
    outside.write_text("there")
    for path in (str(outside), "~/outside.txt", "../outside.txt"):
        assert bench.text("read", path=path) == "there"


def test_abort(bench: Any, says: Callable[..., str]) -> None:
    """An aborted read ends in the midst of a long file."""
    bench.put("a.txt", "x\n" * 100)
    bench.signal.abort()
    with pytest.raises(ToolError, match="aborted"):
        asyncio.run(bench.run("read", path="a.txt", offset=50))


def test_limit_must_be_positive(bench: Any) -> None:
    """A limit below one is refused."""
    bench.put("a.txt", "x")
    assert "at least 1" in bench.error("read", path="a.txt", limit=0)
    assert bench.text("read", path="a.txt", offset=-3) == "x"

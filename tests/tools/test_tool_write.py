"""The tool ``write``."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from pi_nb.harness.signals import AbortSignal
from pi_nb.tools.files import put_content, sole_writer


def test_new_file_with_folders(bench: Any) -> None:
    """A new file is made with the folders it needs and exactly the given content."""
    result = bench("write", path="a/b/c.txt", content="é\r\nx")
    assert (bench.folder / "a/b/c.txt").read_bytes() == "é\r\nx".encode()
    assert result.blocks[0].text == "Created a/b/c.txt (5 bytes)."
    assert result.details == {"bytes": 5, "created": True}


def test_replaced_file(bench: Any) -> None:
    """A file that was there keeps its mode, and the result has the difference."""
    path = bench.put("run.sh", "one\ntwo\n")
    path.chmod(0o750)
    result = bench("write", path="run.sh", content="one\nTWO\n")
    assert path.read_text() == "one\nTWO\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert result.blocks[0].text == "Replaced run.sh (8 bytes, +1 -1 lines)."
    assert result.details["diff"] == " 1 one\n-2 two\n+2 TWO"


def test_mode_of_a_new_file(bench: Any) -> None:
    """A new file gets the mode the user's umask gives."""
    before = os.umask(0o027)
    try:
        bench("write", path="a", content="")
    finally:
        os.umask(before)
    assert stat.S_IMODE((bench.folder / "a").stat().st_mode) == 0o640


def test_nothing_else_is_left(bench: Any) -> None:
    """No temporary file stays behind, also not after a failure."""
    bench("write", path="a", content="x")
    bench.put("folder/x")
    assert bench.error("write", path="folder", content="x") == "folder is a folder."
    assert sorted(path.name for path in bench.folder.iterdir()) == ["a", "folder"]


def test_links_are_followed(bench: Any, tmp_path: Path) -> None:
    """Writing to a link changes what it leads to, and the link stays."""
    target = bench.put("target.txt", "old")
    (bench.folder / "link").symlink_to(target)
    bench("write", path="link", content="new")
    assert (bench.folder / "link").is_symlink()
    assert target.read_text() == "new"


def test_dangling_link(bench: Any) -> None:
    """Writing to a link that leads nowhere makes the file it names."""
    (bench.folder / "link").symlink_to("there.txt")
    bench("write", path="link", content="new")
    assert (bench.folder / "there.txt").read_text() == "new"


def test_what_cannot_be_written(bench: Any) -> None:
    """Devices, pipes, files taken for folders and broken text are refused."""
    bench.put("file", "x")
    os.mkfifo(bench.folder / "pipe")
    assert "not a regular file" in bench.error("write", path="/dev/null", content="x")
    assert "not a regular file" in bench.error("write", path="pipe", content="x")
    assert "is a file, so nothing can be written below it" in bench.error("write", path="file/x", content="x")
    assert "character 1 is half of a pair" in bench.error("write", path="new", content="a\ud800")
    assert not (bench.folder / "new").exists()


def test_binary_and_large_files(bench: Any) -> None:
    """No difference is worked out to what is not text or very long."""
    bench.put("a", b"\0\1")
    bench.put("b", b"x" * 2_000_000)
    assert "diff" not in bench("write", path="a", content="text").details
    assert "diff" not in bench("write", path="b", content="text").details


def test_in_place_where_the_folder_is_closed(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no other file can be put beside it, a file is written in place."""
    path = bench.put("a", "a longer text than the new one")
    number = path.stat().st_ino

    def refuse(*_: Any) -> None:
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(Path, "replace", refuse)
    put_content(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_ino == number


def test_a_full_disk(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """If there is no room for the new content the old stays, and nothing half of it."""
    path = bench.put("a", "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert bench.error("write", path="a", content="new and longer") == "a: No space left on device."
    assert [entry.read_text() for entry in bench.folder.iterdir()] == ["old"]
    assert path.read_text() == "old"


def test_links_in_a_circle(bench: Any) -> None:
    """A link that leads to itself is an error."""
    (bench.folder / "loop").symlink_to("loop")
    assert "loop" in bench.error("write", path="loop", content="x")
    assert "loop" in bench.error("edit", path="loop", oldText="x", newText="y")
    assert "loop" in bench.error("read", path="loop")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_read_only_file(bench: Any) -> None:
    """A file that may not be written is not replaced."""
    bench.put("a", "x").chmod(0o444)
    assert "It may not be written" in bench.error("write", path="a", content="y")


def test_abort(bench: Any) -> None:
    """After an abort nothing is written."""
    bench.signal.abort()
    assert "aborted" in bench.error("write", path="a", content="x")
    assert list(bench.folder.iterdir()) == []


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    """Writers of one file wait for each other, under whatever name they know it."""
    path = tmp_path / "n"
    path.write_text("0")
    link = tmp_path / "link"
    link.symlink_to(path)

    def add(name: Path) -> None:
        for _ in range(20):
            with sole_writer(name, AbortSignal()):
                put_content(name, str(int(name.read_text()) + 1).encode())

    threads = [threading.Thread(target=add, args=(name,)) for name in (path, link, path)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "60"

"""``pi-nb export``: a page, Markdown or lines, from a file that stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pi_nb.cli import main

Write = Callable[..., Path]


def test_every_format(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What OUT ends in, or ``--format``, says what is written; lines come out as they went in."""
    file = write(("a", None), ("b", "a"))
    before = file.read_bytes()
    for name in ("x.html", "x.md", "x.jsonl"):
        assert main(["export", str(file), "-o", str(tmp_path / name)]) == 0
        assert capsys.readouterr().out.strip().endswith(name)
    page, text, lines = ((tmp_path / name).read_text() for name in ("x.html", "x.md", "x.jsonl"))
    assert page.startswith("<!doctype html>")
    assert "says b" in page
    assert "> says a" in text
    assert lines.splitlines()[1:] == before.decode().splitlines()[1:]
    assert main(["export", str(file), "--format", "md", "-o", str(tmp_path / "plain.txt")]) == 0
    assert (tmp_path / "plain.txt").read_text() == text
    assert file.read_bytes() == before


def test_without_a_name_it_is_the_sessions(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page goes into the current folder, named after the end of the session's id."""
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(write(("a", None), id="01234567-89abcdef"))]) == 0
    assert capsys.readouterr().out == "session-89abcdef.html\n"
    assert (tmp_path / "session-89abcdef.html").exists()


def test_what_cannot_be_written_is_one_line(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The session's own file, an ending that says nothing and a folder that is not there are errors."""
    file = write(("a", None))
    before = file.read_bytes()
    for name in ("session.jsonl", "x.doc", "nowhere/x.html"):
        assert main(["export", str(file), "-o", str(tmp_path / name)]) == 1
        out, err = capsys.readouterr()
        assert (out, len(err.splitlines())) == ("", 1)
    assert file.read_bytes() == before

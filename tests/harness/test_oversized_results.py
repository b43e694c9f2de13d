import asyncio
import re
import tempfile
from pathlib import Path

import pytest

from pi_nb.harness.tools import ToolResult, tool
from pi_nb.harness.truncation import MAX_BYTES, MAX_LINES, shorten, shorten_result
from tests.harness.bench import PICTURE, bench, calling


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_what_fits_is_not_touched():
    """A result within both limits is the same object afterwards."""
    result = ToolResult("short")
    assert shorten_result(result) is result
    assert not shorten("x" * MAX_BYTES).cut


@pytest.mark.parametrize(("keep", "first", "last"), [("head", "0", "1999"), ("tail", "1000", "2999")])
def test_one_end_is_kept(keep, first, last):
    """Whole lines of the head or of the tail stay."""
    short = shorten("\n".join(str(number) for number in range(3_000)), keep=keep)
    lines = short.text.split("\n")
    assert (lines[0], lines[-1], short.lines, short.total_lines) == (first, last, MAX_LINES, 3_000)


@pytest.mark.parametrize("keep", ["head", "tail"])
def test_one_endless_line(keep):
    """A single line over the limit is cut at a character."""
    short = shorten("é" * MAX_BYTES, keep=keep)
    assert len(short.text.encode()) <= MAX_BYTES
    assert set(short.text) == {"é"}
    assert short.cut


def test_the_whole_is_where_the_note_says():
    """What was left out can be read in the file that the note names; images are left alone."""
    text = "line\n" * 5_000

    @tool
    def much() -> list[object]:
        """Much."""
        return [text, PICTURE]

    made = bench(calling(("much", {})), "Done.", tools=[much])
    asyncio.run(made.harness.prompt("go"))
    shown, picture = made.session.context().messages[2].content
    assert picture == PICTURE
    assert len(shown.text) < 20_000
    path = re.search(r"whole text is in (\S+)\]", shown.text).group(1)
    assert Path(path).read_text() == text

"""The tool ``edit``, and exact replacement."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pi_nb.errors import ToolError
from pi_nb.tools.diff import compare
from pi_nb.tools.replacing import Replacement, apply

SMALL = st.text(alphabet="ab\n \r", max_size=30)
LF = st.text(alphabet="ab\n ", max_size=30)


def test_single_and_many(bench: Any) -> None:
    """Both forms of a call do the same, also with the list as a string."""
    for args in (
        {"edits": [{"oldText": "b", "newText": "B"}]},
        {"edits": json.dumps([{"oldText": "b", "newText": "B"}])},
        {"oldText": "b", "newText": "B"},
    ):
        path = bench.put("f", "a\nb\nc\n")
        result = bench("edit", path="f", **args)
        assert path.read_text() == "a\nB\nc\n"
        assert result.blocks[0].text == "Edited f: 1 replacement, +1 -1 lines."
        assert result.details["firstChangedLine"] == 2
        assert result.details["diff"] == " 1 a\n-2 b\n+2 B\n 3 c"


def test_several_against_the_original(bench: Any) -> None:
    """All are looked for in the file as it was, so that one may bring what another replaces."""
    path = bench.put("f", "one two three")
    edits = [{"oldText": "three", "newText": "one"}, {"oldText": "one", "newText": "two"}]
    bench("edit", path="f", edits=edits)
    assert path.read_text() == "two two one"


def test_all_or_nothing(bench: Any) -> None:
    """If one does not fit the file stays as it was."""
    path = bench.put("f", "one two")
    edits = [{"oldText": "one", "newText": "1"}, {"oldText": "three", "newText": "3"}]
    assert bench.error("edit", path="f", edits=edits).startswith("edits[1].oldText is not in f.")
    assert path.read_text() == "one two"


@pytest.mark.parametrize(
    ("content", "edits", "says"),
    [
        ("a\n  total = x\n", [("total = y", "z")], "Nearest is line 2:\n  total = x"),
        (
            "a\n\tif x:\n",
            [("    if x:", "z")],
            "Line 2 begins like it, but its white space or what follows differs:\n\tif x:",
        ),
        ("a\n", [("zzzzz", "z")], "nothing in it is similar"),
        ("x\ny\nx\n", [("x", "z")], "oldText is in f 2 times, in lines 1, 3. Add lines"),
        ("aaa", [("aa", "z")], "oldText is in f 2 times, in lines 1, 1."),
        ("x\n" * 20, [("x", "z")], "more than 10 times, in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10."),
        ("abc", [("ab", "x"), ("bc", "y")], "edits[0] and edits[1] overlap in f; make them one."),
        ("abc", [("c", "x"), ("b", "y"), ("c", "z")], "edits[0] and edits[2] overlap"),
        ("abc", [("", "x")], "oldText is empty. To create or fill a file use write."),
        ("abc", [("b", "b")], "Nothing would change in f"),
        ("abc", [], "No replacement was given."),
    ],
)
def test_refused(bench: Any, content: str, edits: list[tuple[str, str]], says: str) -> None:
    """What cannot be done is said with what to do about it, and nothing is written."""
    path = bench.put("f", content)
    assert says in bench.error("edit", path="f", edits=[{"oldText": old, "newText": new} for old, new in edits])
    assert path.read_text() == content


def test_incomplete_calls(bench: Any) -> None:
    """Half a replacement, and none, are refused."""
    bench.put("f", "abc")
    assert "one is missing" in bench.error("edit", path="f", oldText="a")
    assert "No replacement" in bench.error("edit", path="f")
    assert "newText" in bench.error("edit", path="f", edits=[{"oldText": "a"}])
    assert "half of a pair" in bench.error("edit", path="f", oldText="a", newText="\udc80")


def test_files_that_are_not_edited(bench: Any) -> None:
    """Missing files, folders and binaries are refused."""
    bench.put("file.txt", "x")
    bench.put("bin", b"a\0b")
    args = {"oldText": "a", "newText": "b"}
    assert "Near it: file.txt" in bench.error("edit", path="fil.txt", **args)
    assert "is a folder" in bench.error("edit", path=".", **args)
    assert "is not text" in bench.error("edit", path="bin", **args)


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"\xef\xbb\xbfa\nb\n", "a", "A", b"\xef\xbb\xbfA\nb\n"),
        (b"a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc\r\n"),
        (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
        (b"a\nb\n", "a\r\nb", "a\r\nc", b"a\nc\n"),
        (b"a\r\nb\nc\nd\n", "a", "1\n2", b"1\n2\r\nb\nc\nd\n"),
        (b"a\r\nb\nc\n", "a\nb", "a\nB", b"a\r\nB\nc\n"),
        (b"a\r\nb", "\nb", "\nc", b"a\r\nc"),
        (b"no end", "end", "newline", b"no newline"),
        (b"caf\xe9 a", "a", "", b""),
        (b"caf\xe9 b", "b", "c", b"caf\xe9 c"),
    ],
)
def test_the_rest_stays(bench: Any, before: bytes, old: str, new: str, after: bytes) -> None:
    """Marks, line ends, a missing last newline and bytes that are no text stay as they were."""
    path = bench.put("f", before)
    if not after:
        assert "2 times" in bench.error("edit", path="f", oldText=old, newText=new)
        return
    bench("edit", path="f", oldText=old, newText=new)
    assert path.read_bytes() == after


def test_abort(bench: Any) -> None:
    """After an abort nothing is changed."""
    path = bench.put("f", "abc")
    bench.signal.abort()
    assert "aborted" in bench.error("edit", path="f", oldText="b", newText="x")
    assert path.read_text() == "abc"


def occurrences(text: str, part: str) -> int:
    """Return how often a part is in a text, overlapping places too."""
    return sum(text.startswith(part, at) for at in range(len(text)))


@given(LF, LF.filter(bool), LF)
def test_one_is_like_str_replace(text: str, old: str, new: str) -> None:
    """A replacement that may be made gives what ``str.replace`` gives."""
    if occurrences(text, old) == 1 and old != new:
        assert apply(text, [Replacement(old, new)], name="f") == text.replace(old, new)
    else:
        with pytest.raises(ToolError):
            apply(text, [Replacement(old, new)], name="f")


@given(st.data())
def test_many_are_like_slices(data: st.DataObject) -> None:
    """Several replacements, in any order, give the text cut and joined at their places."""
    text = data.draw(st.lists(st.sampled_from("abcdefghij\n"), min_size=4, max_size=40, unique=True).map("".join))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2, max_size=6)))
    spans = [span for span in pairwise(cuts) if data.draw(st.booleans())]
    assume(spans)
    news = [data.draw(LF) for _ in spans]
    edits = [Replacement(text[a:b], new) for (a, b), new in zip(spans, news, strict=True)]
    expected, at = "", 0
    for (a, b), new in zip(spans, news, strict=True):
        expected += text[at:a] + new
        at = b
    expected += text[at:]
    assume(expected != text)
    assert apply(text, data.draw(st.permutations(edits)), name="f") == expected


@given(SMALL.filter(bool), st.integers(0, 29), st.integers(1, 10), LF)
def test_line_ends_elsewhere_stay(text: str, start: int, length: int, new: str) -> None:
    """Whatever the line ends are, what is before and after a replacement stays byte for byte."""
    start %= len(text)
    old = text[start : start + length]
    assume(not old.startswith("\n") and not old.endswith("\r"))
    try:
        result = apply(text, [Replacement(old, new)], name="f")
    except ToolError:
        return
    before, after = text[:start], text[start + length :]
    assert result.startswith(before)
    assert result.endswith(after)
    assert result[len(before) : len(result) - len(after)].replace("\r\n", "\n") == new


@given(LF, LF)
def test_patches_apply(text: str, other: str) -> None:
    """A difference counts what changed, and is empty only if nothing did."""
    change = compare(text, other, "f")
    assert bool(change.patch) == (text != other)
    assert change.added == sum(line.startswith("+") for line in change.patch.split("\n")[2:])
    assert change.removed == sum(line.startswith("-") for line in change.patch.split("\n")[2:])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\nb\nc\n", "a\nB\nc\n"),
        ("a\nb", "a\nb\n"),
        ("", "a\n"),
        ("a\n", ""),
        ("a\r\nb\r\n", "a\r\nc\r\n"),
        ("\n".join(map(str, range(100))), "\n".join(map(str, [*range(5), "x", *range(8, 60), *range(61, 101)]))),
        ("x\n" * 3000, "y\n" * 3000),
        ("k\n" * 9 + "a\u2028b\fc\n", "k\n" * 9 + "a\u2028B\fc\n"),
    ],
)
def test_git_takes_the_patch(bench: Any, old: str, new: str) -> None:
    """Git makes the new text from the old one and the patch."""
    path = bench.put("f.txt", old)
    patch = compare(old, new, "f.txt").patch
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=bench.folder, input=patch.encode(), check=True)
    assert path.read_bytes().decode() == new

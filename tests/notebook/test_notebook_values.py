"""The pure parts: words that differ, options that may come twice, notebooks under another name."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pi_nb.notebook.commands import COMMANDS
from pi_nb.notebook.renamed import find_renamed
from pi_nb.notebook.worddiff import MOST, word_diff

texts = st.text(alphabet="ab é\n.,<&", max_size=60)


@given(texts, texts)
def test_a_word_diff_holds_both_texts(old: str, new: str) -> None:
    """What is same or gone is the one text, what is same or new the other, to the last character."""
    pieces = word_diff(old, new)
    assert "".join(text for kind, text in pieces if kind != "new") == old
    assert "".join(text for kind, text in pieces if kind != "gone") == new
    assert all(text for _, text in pieces)


def test_a_word_diff_marks_words() -> None:
    """Words and signs are the unit; very long texts are compared by line, or not at all."""
    assert word_diff("a green boat.", "a red boat!") == [
        ("same", "a "),
        ("gone", "green"),
        ("new", "red"),
        ("same", " boat"),
        ("gone", "."),
        ("new", "!"),
    ]
    long = "word " * 3_000
    assert word_diff(f"{long}\nsame\n", f"{long}x\nsame\n")[-1] == ("same", "same\n")
    lines = "a\n" * int(MOST**0.5 + 1)
    assert word_diff(lines, lines + "b") == [("gone", lines), ("new", lines + "b")]


def test_options_that_may_come_twice() -> None:
    """They are lists in the order given, empty when left out; prompts stay as typed."""
    found = COMMANDS["%pi"].parse("--attach a --image 'fig one' --attach b -- --attach c")
    assert (found.attach, found.image, found.text) == (["a", "b"], ["fig one"], "--attach c")
    assert COMMANDS["%pi"].parse("hello").attach == []


def session_file(root: Path, notebook: Path, cell: str) -> Path:
    """Write a session that a notebook's cell has written a prompt into."""
    file = root / "--w--" / f"{cell}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    header = {"type": "session", "version": 3, "id": cell, "metadata": {"notebook": str(notebook)}}
    prompt = {"type": "message", "id": "1", "parentId": None, "cell": {"id": f"{cell}#2", "n": 1}}
    file.write_text(f"{json.dumps(header)}\n{json.dumps(prompt)}\n")
    return file


def notebook_file(path: Path, *cells: str) -> Path:
    """Write a notebook with cells of these ids."""
    path.write_text(json.dumps({"cells": [{"id": cell, "source": ""} for cell in cells]}))
    return path


def test_a_renamed_notebook_is_known_by_its_cells(tmp_path: Path) -> None:
    """The old file must be gone and a cell must be here; a copy, another notebook, a broken file are not it."""
    root = tmp_path / "s"
    mine = session_file(root, tmp_path / "old.ipynb", "c1")
    session_file(root, tmp_path / "old.ipynb", "elsewhere")
    (root / "--w--" / "broken.jsonl").write_text("{\n")
    new = notebook_file(tmp_path / "new.ipynb", "c1", "c2")
    assert find_renamed(root, str(new)) == mine
    assert find_renamed(root, str(notebook_file(tmp_path / "other.ipynb", "c9"))) is None
    assert find_renamed(root, str(tmp_path / "unsaved.ipynb")) is None
    notebook_file(tmp_path / "old.ipynb", "c1")
    assert find_renamed(root, str(new)) is None

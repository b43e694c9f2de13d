"""Session files that are not as they should be: loading, magics and exports say so in a line, and a way goes on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from pi_nb.errors import UserError
from pi_nb.notebook.exporting import export
from pi_nb.notebook.extension import load, unload
from pi_nb.notebook.glance import READ, glance
from pi_nb.notebook.renamed import find_renamed
from pi_nb.notebook.status import leaf_line, session_line
from pi_nb.notebook.whole_file import file_named, write_whole
from pi_nb.session.root import find_bound
from pi_nb.session.tree import Session

STAMP = "2026-01-01T00:00:00Z"
HALF = "half \ud83d"
ESCAPES = "\x1b[31m\u202e<b>\nx"


def header(notebook: str, **more: Any) -> dict[str, Any]:
    """Return a session's first line."""
    about = {"type": "session", "version": 3, "id": "0123456789abcdef", "timestamp": STAMP}
    return {**about, "cwd": "/x", "metadata": {"notebook": notebook}, **more}


def said(id: str, parent: str | None, text: str = "hi") -> dict[str, Any]:
    """Return a prompt."""
    message = {"role": "user", "content": text, "timestamp": 1}
    return {"type": "message", "id": id, "parentId": parent, "timestamp": STAMP, "message": message}


def beside(kind: str, id: str, parent: str, **fields: Any) -> dict[str, Any]:
    """Return an entry that is no message."""
    return {"type": kind, "id": id, "parentId": parent, "timestamp": STAMP, **fields}


TALK = [said("a1a1a1a1", None), said("b1b1b1b1", "a1a1a1a1", "there")]


def write(file: Path, lines: list[Any], end: str = "\n") -> Path:
    """Write a session file of values and of lines as they are."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + end)
    return file


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """Return a shell of its own that takes itself for a notebook's kernel."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(tmp_path / "s"))
    monkeypatch.setenv("PI_NB_MODEL", "scripted:demo")
    ip = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    yield ip
    unload(ip)
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):  # what a shell keeps for %debug
        vars(sys).pop(name, None)


def bound(tmp_path: Path, *lines: Any, end: str = "\n", **more: Any) -> Path:
    """Write the session of the terminal that the shell of these tests is."""
    head = header("", **{"metadata": {"terminal": str(tmp_path)}, **more})
    return write(tmp_path / "s" / "--x--" / "1_0123456789abcdef.jsonl", [head, *lines], end)


BROKEN = {
    "a bad line": ([TALK[0], "not json", TALK[1]], "\n"),
    "a bad line and an unfinished one": ([TALK[0], "not json", TALK[1]], '\n{"ty'),
}
BROKEN_LEAF = {
    "an orphan": [said("a1a1a1a1", "nowhere"), TALK[1]],
    "a circle": [said("a1a1a1a1", "b1b1b1b1"), TALK[1]],
    "an unknown leaf": [*TALK, beside("leaf", "c1", "b1b1b1b1", targetId="zzz")],
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_session_that_cannot_be_opened_says_what_to_do(
    case: str, shell: InteractiveShell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Loading and each magic name the file, the line and two ways on; a new session is one, and the file stays."""
    lines, end = BROKEN[case]
    file = bound(tmp_path, *lines, end=end)
    before = file.read_bytes()
    load(shell)
    greeting = capsys.readouterr().out
    assert "Back in session" not in greeting
    for magic in ("%pi", "%pi hello", "%pi_session", "%pi_log", "%pi_checkout root"):
        shell.run_cell(magic)
        shown = capsys.readouterr()
        for told in (greeting, shown.out + shown.err):
            assert f"{file}, line 3: it is not JSON." in told
            assert "%pi_session new begins another" in told
            assert f"pi-nb repair {file}" in told
        assert "Traceback" not in shown.out + shown.err
    assert "no sessions" in _run(shell, capsys, "%pi_session list")
    assert _run(shell, capsys, "%pi_session new").startswith("New session")
    assert "Hello" in _run(shell, capsys, "%pi hello")
    assert file.read_bytes() == before


def _run(shell: InteractiveShell, capsys: pytest.CaptureFixture[str], code: str) -> str:
    result = shell.run_cell(code)
    shown = capsys.readouterr()
    assert result.success, shown
    return shown.out


@pytest.mark.parametrize("case", BROKEN_LEAF)
def test_a_leaf_with_no_way_up_can_be_left(
    case: str, shell: InteractiveShell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Loading and each magic say that the leaf is lost and what leaves it; a checkout does, and prompts work again."""
    bound(tmp_path, *BROKEN_LEAF[case])
    load(shell)
    greeting = capsys.readouterr().out
    for magic in ("%pi", "%pi hello", "%pi_session"):
        shell.run_cell(magic)
        shown = capsys.readouterr()
        for told in (greeting, shown.out + shown.err):
            assert "The session cannot go on at its leaf: " in told
            assert "%pi_checkout root goes to the beginning" in told
            assert "%pi_session new begins anew" in told
    assert "Leaf: root" in _run(shell, capsys, "%pi_checkout root")
    assert "Hello" in _run(shell, capsys, "%pi hello")


def test_control_characters_of_a_file_are_shown_and_do_nothing(
    shell: InteractiveShell, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Greeting, status, checkout, labels, lists and opening show escapes, whatever ids, names and labels hold."""
    label = beside("label", "l1", "b1b1b1b1", targetId="b1b1b1b1", label=ESCAPES)
    name = beside("session_info", "n1", "l1", name=ESCAPES)
    bound(tmp_path, *TALK, label, name, id="x" + ESCAPES)
    load(shell)
    told = capsys.readouterr().out
    for magic in ("%pi_session", "%pi_checkout @", "%pi_label", "%pi_session list", "%pi_session search hi"):
        told += _run(shell, capsys, magic)
    told += _run(shell, capsys, "%pi_session new")
    told += _run(shell, capsys, "%pi_session open x")
    assert "\\x1b[31m\\u202e" in told
    assert not set("\x1b\u202e") & set(told)


def test_a_kernel_goes_on_printing_what_nothing_can_encode(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """Half characters in prompts, answers, names and labels keep no magic, and no print after it, from its output."""
    notebook = "/notebooks/half.ipynb"
    label = beside("label", "l1", "b1b1b1b1", targetId="b1b1b1b1", label=HALF)
    name = beside("session_info", "n1", "l1", name=HALF)
    talk = [said("a1a1a1a1", None, HALF), said("b1b1b1b1", "a1a1a1a1", HALF)]
    write(tmp_path / ".sessions" / "--x--" / "1.jsonl", [header(notebook, cwd=str(tmp_path)), *talk, label, name])
    kernel = make_kernel(tmp_path, JPY_SESSION_NAME=notebook, PI_NB_MODEL="scripted:demo")
    assert "Back in session" in kernel.run("%load_ext pi_nb").stream
    magics = ["%pi", "%pi_session", "%pi_session list", "%pi_session search half", "%pi_label", "%pi_log"]
    magics += ["%pi_context", "%pi_tree --text", "%pi_tree", "%pi_checkout b1b1", "%pi_session open nothing like it"]
    assert kernel.run("%pi").shown
    for action in ("export ~nobody-at-all/x.md", "import ~nobody-at-all/x.jsonl"):
        assert len(kernel.run(f"%pi_session {action}").error.splitlines()) == 1
    assert kernel.complete("%pi_checkout half")
    for magic in [*magics, f"%pi_session export {tmp_path}/x.md", "%pi hello", "%pi_session fork"]:
        seen = kernel.run(magic)
        assert seen.stream or seen.shown or "no session" in seen.error, magic
        assert "surrogates" not in seen.everything, magic
        assert kernel.run("print('alive')").stream == "alive\n", magic


def test_an_export_is_whole_or_leaves_what_was_there(memory: Session, tmp_path: Path) -> None:
    """Half characters become a sign; a file that cannot be written keeps its old content, and nothing lies beside."""
    memory.append_message({"role": "user", "content": f"lone {HALF} </script>"})
    memory.append_session_info(HALF)
    for ending in ("html", "md", "jsonl"):
        file = tmp_path / f"out.{ending}"
        file.write_text("old")
        file.chmod(0o640)
        export(memory, str(file))
        assert "lone" in file.read_text("utf-8")
        assert file.stat().st_mode & 0o777 == 0o640
    link = tmp_path / "link.md"
    link.symlink_to(tmp_path / "out.md")
    write_whole(link, "through the link")
    assert (link.is_symlink(), (tmp_path / "out.md").read_text()) == (True, "through the link")
    (tmp_path / "folder.md").mkdir()
    for wrong in ("folder.md", "gone/x.md", f"{'n' * 300}.md"):
        with pytest.raises(UserError, match="cannot be written"):
            export(memory, str(tmp_path / wrong))
    assert [file.name for file in tmp_path.iterdir() if file.suffix == ".tmp"] == []


@pytest.fixture
def memory() -> Iterator[Session]:
    """Give a session in memory."""
    from pi_nb.session.memory import InMemorySessionStorage

    with Session(InMemorySessionStorage()) as session:
        yield session


def test_names_that_no_file_can_have() -> None:
    """Somebody's home who is nobody, a NUL or half a character are told in one line."""
    for name in ("~nobody-at-all/x.html", "a\0b.html", "\ud83d.html"):
        with pytest.raises(UserError, match="names no file"):
            file_named(name)


def test_odd_neighbours_do_not_stop_a_notebook(tmp_path: Path) -> None:
    """A pipe, a first line nested without end, one that is no object: they are passed over, at once."""
    root, notebook = tmp_path / "s", tmp_path / "now.ipynb"
    notebook.write_text(json.dumps({"cells": [{"id": "abcd"}]}))
    folder = root / "--x--"
    cell = {**said("a1", None), "cell": {"id": "abcd"}}
    mine = write(folder / "mine.jsonl", [header(str(tmp_path / "before.ipynb")), "x" * 3_000_000, json.dumps(cell)])
    os.mkfifo(folder / "pipe.jsonl")
    (folder / "folder.jsonl").mkdir()
    for number, line in enumerate(
        ("[" * 60_000, "[1]", '"x"', '{"metadata":[]}', '{"metadata":{"notebook":"/\\u0000.ipynb"}}')
    ):
        write(folder / f"{number}.jsonl", [line])
    assert find_bound(root, "notebook", str(notebook)) == []
    assert find_bound(root, "notebook", str(tmp_path / "before.ipynb")) == [mine]
    assert find_renamed(root, str(notebook)) == mine


ODD: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "metadata is no object": ({"metadata": 5}, TALK),
    "no cwd": ({"cwd": ""}, TALK),
    "an entry without a time": ({}, [TALK[0], {**TALK[1], "timestamp": ""}]),
    "nobody's parent": ({}, [said("a1", "nowhere"), said("b1", "a1")]),
    "no such leaf": ({}, BROKEN_LEAF["an unknown leaf"]),
    "a circle": ({}, BROKEN_LEAF["a circle"]),
    "a line that is no object": ({}, [TALK[0], "not json", TALK[1]]),
    "a blank line": ({}, [TALK[0], "", TALK[1]]),
    "a label with space around": ({}, [*TALK, beside("label", "l", "b1b1b1b1", targetId="b1b1b1b1", label=" x ")]),
    "a label that is no text": ({}, [*TALK, beside("label", "l", "b1b1b1b1", targetId="b1b1b1b1", label=[1])]),
    "a name that is no text": ({}, [*TALK, beside("session_info", "n", "b1b1b1b1", name=5)]),
    "a name of two lines": ({}, [*TALK, beside("session_info", "n", "b1b1b1b1", name="a\nb")]),
    "nothing said near": ({}, [TALK[0], *(beside("x", f"c{n}", f"c{n - 1}" if n else "a1a1a1a1") for n in range(600))]),
}


@pytest.mark.parametrize("case", ODD)
def test_of_what_is_odd_there_is_no_glance(case: str, tmp_path: Path) -> None:
    """What opening would tell otherwise, or refuse, is not told from the end of the file."""
    head, lines = ODD[case]
    assert glance(write(tmp_path / "x.jsonl", [header("/n.ipynb", **head), *lines])) is None


def test_a_glance_says_what_opening_says(tmp_path: Path) -> None:
    """Also of ids, names and labels with control characters in them."""
    from pi_nb.session.repo import SessionRepo

    label = beside("label", "l1", "b1b1b1b1", targetId="b1b1b1b1", label="\x1b[31m\u202e<b>")
    name = beside("session_info", "n1", "l1", name="\x1b[2J\u202eevil")
    file = write(tmp_path / "x.jsonl", [header("/n.ipynb", id="0123\x1b[31m"), *TALK, label, name])
    seen = glance(file)
    assert seen is not None
    with SessionRepo(tmp_path / "s").open(file, read_only=True) as session:
        assert (f"{seen.session_line}, 1 branch", seen.leaf_line) == (session_line(session), leaf_line(session))
    assert "\x1b" not in seen.session_line + seen.leaf_line


def test_a_glance_gives_up_in_time(tmp_path: Path) -> None:
    """Where more lines than are worth it would have to be read, there is none; each is read once."""
    labels = [beside("label", f"l{n}", "a1a1a1a1", targetId="other") for n in range(READ + 1)]
    leaf = beside("leaf", "f", "a1a1a1a1", targetId="a1a1a1a1")
    assert glance(write(tmp_path / "many.jsonl", [header("/n.ipynb"), TALK[0], *labels, leaf])) is None
    seen = glance(write(tmp_path / "some.jsonl", [header("/n.ipynb"), TALK[0], *labels[: READ // 4], leaf]))
    assert seen is not None
    left = sum(1 for _ in seen._worth)
    assert (seen.leaf_line, seen.session_line, left > 0) == (
        "a1a1a1a1 user: hi",
        f"89abcdef, {READ // 4 + 2} entries",
        True,
    )

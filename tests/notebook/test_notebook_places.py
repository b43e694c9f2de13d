"""A session belongs to its notebook: it survives the kernel, and programs get one of their own."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pexpect
import pytest
from nbclient import NotebookClient

from pi_nb.session.repo import SessionRepo

ANSWERS = """
import pi_nb, pi_nb.notebook
from pi_nb import Registry, Reply, ScriptedProvider
_answers = [Reply(f"answer {n}" + " word" * WORDS) for n in range(9)]
pi_nb.notebook.current().registry = Registry([ScriptedProvider(_answers, tokens_per_second=TPS)])
"""


def answers(tokens_per_second: float | None = None, words: int = 0) -> str:
    """Return a cell that makes answers come from a script."""
    return ANSWERS.replace("TPS", str(tokens_per_second)).replace("WORDS", str(words))


def files(root: Path) -> list[Path]:
    """Return the session files below a folder."""
    return sorted(root.rglob("*.jsonl"))


def test_a_restarted_kernel_is_back_where_it_was(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """Same session, same leaf, same map of cells; nothing is written before the first prompt, and the user is told."""
    kernel = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    assert kernel.run("%load_ext pi_nb").stream == ""
    kernel.run("%pi_thinking high\n%pi\n%pi_tree --text")
    assert files(tmp_path) == []
    kernel.run(answers())
    kernel.run("%%pi\none", cell="c1")
    kernel.run("%%pi --label deep\ntwo", cell="c2")
    kernel.run("%pi_checkout @~1")
    before = kernel.run("%pi_log").stream
    kernel.restart()
    told = kernel.run("%load_ext pi_nb").stream
    assert told.startswith("Back in session ")
    assert "assistant: answer 0" in told
    assert "variables made before are gone" in told
    assert kernel.run("%pi_log").stream == before
    assert len(files(tmp_path)) == 1
    kernel.run(answers())
    again = kernel.run("%%pi\none again", cell="c1")
    assert "‹2/2›" in again.answer["text/plain"]
    assert "variables" not in kernel.run("%reload_ext pi_nb").stream


def test_a_kernel_killed_in_an_answer_leaves_a_valid_session(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """The prompt is on disk; the next kernel goes on from it."""
    kernel = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    kernel.run("%load_ext pi_nb\n" + answers(50, words=5000))
    request = kernel.start("%pi first")
    kernel.finish(request, until=lambda r: any("ans" in d["text/plain"] for d in r.history))
    kernel.kill()
    assert "user: first" in kernel.run("%load_ext pi_nb").stream
    kernel.run(answers())
    assert kernel.run("%pi second").status == "ok"


def test_another_notebook_in_the_same_folder_has_its_own_session(
    make_kernel: Callable[..., Any], tmp_path: Path
) -> None:
    """The path of the notebook decides, not the folder."""
    for name in ("a", "b"):
        kernel = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / f"{name}.ipynb"))
        assert kernel.run("%load_ext pi_nb").stream == ""
        kernel.run(answers())
        kernel.run("%pi hi")
    bound = {
        SessionRepo(tmp_path / ".sessions").open(file, read_only=True).metadata["notebook"] for file in files(tmp_path)
    }
    assert bound == {str(tmp_path / "a.ipynb"), str(tmp_path / "b.ipynb")}


def test_a_second_kernel_of_the_same_notebook_is_told(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """Who comes second reads, is told who writes, and can go on in a copy."""
    first = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    first.run("%load_ext pi_nb\n" + answers())
    first.run("%pi hi")
    second = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    assert "read-only" in second.run("%load_ext pi_nb").stream
    second.run(answers())
    refused = second.run("%pi me too")
    assert "read-only" in refused.error
    assert "%pi_session fork" in refused.error
    assert second.run("%pi_session fork").status == "ok"
    assert second.run("%pi me too").status == "ok"


def test_two_notebooks_on_one_session(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """A guest reads while the owner's kernel lives, writes once it is gone, and neither takes the other's cells."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.ipynb").write_text("{}")
    first = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    first.run("%load_ext pi_nb\n" + answers())
    for cell, text in (("c1", "one"), ("c2", "two")):
        first.run(f"%pi {text}", cell=cell)
    (file,) = files(tmp_path)
    second = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "b.ipynb"))
    second.run("%load_ext pi_nb\n" + answers())
    told = second.run(f"%pi_session open {file}").stream
    assert "It belongs to a.ipynb." in told
    assert "read-only" in told
    assert "%pi_session fork goes on in a copy" in told
    assert "read-only" in second.run("%pi one", cell="c1").error
    first.close()
    answer = second.run("%pi one", cell="c1")
    assert answer.status == "ok", answer.error
    assert "Run again" not in answer.answer["text/plain"]
    assert "another branch" not in answer.answer["text/plain"]
    assert prompts(file) == ["/one", "/one/two", "/one/two/one"]
    assert "Run again" in second.run("%pi one, edited", cell="c1").answer["text/plain"]
    assert prompts(file)[3:] == ["/one/two/one, edited"]
    number = first_number(file, "two")
    assert "has written no prompt" in second.run(f"%pi_checkout cell:{number + 50}").error
    home = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    assert "is being written by" in home.run("%load_ext pi_nb").stream
    home.close()
    second.close()
    third = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    back = third.run("%load_ext pi_nb\n" + answers()).stream
    assert "b.ipynb went on in it since" in back
    assert "Run again" in third.run("%pi two, edited", cell="c2").answer["text/plain"]
    assert prompts(file)[4:] == ["/one/two, edited"]
    assert "/b.ipynb" not in json.dumps(lines(file)[0])


def test_a_free_session_of_another_notebook(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """Opening it says whose it is, that prompts are added to it, and how to make a copy; a copy is one's own."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.ipynb").write_text("{}")
    first = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"))
    first.run("%load_ext pi_nb\n" + answers())
    first.run("%pi one", cell="c1")
    first.close()
    (file,) = files(tmp_path)
    second = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "b.ipynb"))
    second.run("%load_ext pi_nb\n" + answers())
    told = second.run(f"%pi_session open {file}").stream
    assert "It belongs to a.ipynb: prompts from here are added to it" in told
    assert "%pi_session fork makes a copy" in told
    assert second.run("%pi_session fork").status == "ok"
    assert second.run("%pi two", cell="c2").status == "ok"
    assert prompts(file) == ["/one"]


def lines(file: Path) -> list[Any]:
    """Return a session file's lines."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def prompts(file: Path) -> list[str]:
    """Return each prompt in order, written as the prompts before it and itself."""
    entries = {line["id"]: line for line in lines(file)[1:]}

    def said(entry: Any) -> str:
        before = said(entries[entry["parentId"]]) if entry["parentId"] else ""
        user = entry.get("message", {}).get("role") == "user"
        return f"{before}/{entry['message']['content'][0]['text']}" if user else before

    return [said(line) for line in entries.values() if line.get("message", {}).get("role") == "user"]


def first_number(file: Path, text: str) -> int:
    """Return the number of the cell that wrote a prompt."""
    return next(line["cell"]["n"] for line in lines(file)[1:] if text in json.dumps(line) and "cell" in line)


CELLS = [
    "%load_ext pi_nb\n" + answers(),
    "%%pi --label one\nfirst",
    "%%pi\nsecond",
    "%pi_checkout one",
    "%%pi\nthird",
    "%pi_tree",
    "%pi_log",
    "%pi_context",
]


def notebook() -> Any:
    """Return a notebook that branches."""
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in CELLS],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
    )


def shape(file: Path) -> list[tuple[str, Any]]:
    """Return a session's entries as kinds and parents' places, without ids and times."""
    entries = SessionRepo(file.parents[1]).open(file, read_only=True).entries()
    places = {entry.id: number for number, entry in enumerate(entries)}
    return [(entry.type, places.get(entry.parent_id or "")) for entry in entries]


def test_headless_runs_start_afresh_and_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """nbclient run twice and papermill once give three sessions of one shape; outputs are static and complete."""
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(tmp_path / "s"))
    monkeypatch.setenv("PI_NB_MODEL", "scripted:any")
    for _ in range(2):
        done = notebook()
        NotebookClient(done, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    nbformat.write(notebook(), tmp_path / "in.ipynb")
    papermill.execute_notebook(
        str(tmp_path / "in.ipynb"), str(tmp_path / "out.ipynb"), cwd=str(tmp_path), progress_bar=False
    )
    shapes = [shape(file) for file in files(tmp_path / "s")]
    assert len(shapes) == 3
    assert shapes[0] == shapes[1] == shapes[2]
    out = nbformat.read(tmp_path / "out.ipynb", as_version=4)
    for cells in (done.cells, out.cells):
        answer = next(o for c in cells for o in c.outputs if "answer 0" in o.get("data", {}).get("text/markdown", ""))
        assert {"text/html", "text/markdown", "text/plain"} == set(answer["data"])
        assert answer["metadata"]["pi_nb"]["model"] == "scripted:any"
    tree = next(c for c in done.cells if c.source == "%pi_tree").outputs[0]["data"]
    assert set(tree) == {"text/html", "text/plain"}


def test_an_error_stops_a_headless_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed answer fails the notebook, as a failed cell should."""
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(tmp_path / "s"))
    monkeypatch.setenv("PI_NB_MODEL", "nowhere:x")
    failing = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in ("%load_ext pi_nb", "%pi hi")])
    with pytest.raises(Exception, match="nowhere"):
        NotebookClient(failing, timeout=60, kernel_name="python3").execute()


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal")
def test_terminal_ipython(tmp_path: Path) -> None:
    """In a terminal the answer streams as text, and the working directory keeps the session."""
    env = {
        **os.environ,
        "PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "s"),
        "PI_NB_MODEL": "scripted:demo",
        "TERM": "dumb",
    }
    args = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor", "--no-confirm-exit"]
    for visit in range(2):
        terminal = pexpect.spawn(sys.executable, args, env=env, cwd=str(tmp_path), encoding="utf-8", timeout=40)
        try:
            terminal.expect(r"In \[1\]: ")
            terminal.sendline("%load_ext pi_nb")
            if visit:
                terminal.expect("Back in session")
            terminal.expect(r"In \[2\]: ")
            terminal.sendline("%pi what do you know about me?")
            terminal.expect(r"\[scripted:demo · .* s\]")
            assert "Traceback" not in (terminal.before or "")
            terminal.expect(r"In \[3\]: ")
            terminal.sendline("exit")
            terminal.expect(pexpect.EOF)
        finally:
            terminal.close(force=True)
    (file,) = files(tmp_path / "s")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    assert lines[0]["metadata"] == {"terminal": str(tmp_path)}
    assert [line["message"]["role"] for line in lines[1:]] == ["user", "assistant"] * 2
    assert not re.search(r"\x1b", json.dumps(lines))

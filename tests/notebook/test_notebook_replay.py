"""``--replay``: the same question from the same place is answered from the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import papermill
import pytest

from tests.notebook.reading import entries

ASKED = "print(len(provider.requests))"


def asked(kernel: Any) -> int:
    """Return how often the model was asked."""
    return int(kernel.run(ASKED).stream)


def test_an_unchanged_cell_shows_its_answer(kernel: Any) -> None:
    """No request, no entry, the same text; thinking, tools and usage are there too."""
    code = """
    from pi_nb.messages import ToolCall, ThinkingContent
    @pi_nb.tool
    def twice(n: int) -> int:
        "Double."
        return 2 * n
    call = ToolCall(id='c', name='twice', arguments={'n': 21})
    provider = script(Reply([ThinkingContent(thinking='hm'), call]), Reply('It is **42**.'), Reply('new'))
    """
    kernel.run("\n".join(line[4:] for line in code.splitlines()))
    first = kernel.run("%%pi --replay --tools twice\nuse it", cell="c1")
    before = entries(kernel)
    again = kernel.run("%%pi --replay --tools twice --out ans\nuse it", cell="c1")
    assert entries(kernel) == before
    assert asked(kernel) == 2
    assert "Replayed: this is the stored answer; nothing was sent." in again.answer["text/plain"]
    assert "[twice(n=21) ✓ done" in again.answer["text/plain"]
    assert "It is **42**." in again.answer["text/markdown"]
    assert again.metadata[0]["pi_nb"]["replayed"] is True
    assert again.metadata[0]["pi_nb"]["entries"] == first.metadata[0]["pi_nb"]["entries"]
    assert kernel.run("print(ans.text, ans.replayed, ans.usage.output > 0)").stream == "It is **42**. True True\n"


@pytest.mark.parametrize(
    "changed",
    ["%%pi --replay\nother", "%%pi --replay --thinking high\nhi", "%%pi --replay --model scripted:b\nhi",
     "%%pi --replay --system x\nhi", "%%pi --replay --attach 'len([])'\nhi", "%%pi --replay --append\nhi", "%%pi\nhi"],
)  # fmt: skip
def test_whatever_is_changed_is_asked(kernel: Any, changed: str) -> None:
    """Another prompt, model, level, system prompt or attachment is another question."""
    kernel.run("provider = script(Reply('a'), Reply('b'))")
    kernel.run("%%pi --replay\nhi", cell="c1")
    kernel.run(changed, cell="c1")
    assert asked(kernel) == 2


def test_failed_and_stopped_answers_are_asked_again(kernel: Any) -> None:
    """Only an answer that came to its end is worth keeping."""
    kernel.run("provider = script(Reply('half', error='overloaded'), Reply('whole'))")
    kernel.run("%%pi --replay\nhi", cell="c1")
    assert "whole" in kernel.run("%%pi --replay\nhi", cell="c1").answer["text/plain"]
    assert "whole" in kernel.run("%%pi --replay\nhi", cell="c1").answer["text/plain"]
    assert asked(kernel) == 2


def test_run_all_along_branches(kernel: Any) -> None:
    """Two branches, run again from the top: nothing is asked, and the leaf ends where it was."""
    kernel.run("provider = script(*[Reply(f'answer {n}') for n in range(9)])")
    cells = ["%%pi --replay --label start\none", "%%pi --replay\ntwo", "%pi_checkout start", "%%pi --replay\nthree"]
    for number, cell in enumerate(cells):
        kernel.run(cell, cell=f"c{number}")
    where = "print(_nb.current().session.leaf_id)"
    leaf = kernel.run(where).stream
    for number, cell in enumerate(cells):
        assert kernel.run(cell, cell=f"c{number}").status == "ok"
    assert asked(kernel) == 3
    assert kernel.run(where).stream == leaf
    kernel.run("%%pi --replay\ntwo, changed", cell="c1")
    tree = {e["id"]: e for e in entries(kernel)}
    prompts = [e for e in tree.values() if e.get("message", {}).get("role") == "user"]
    assert [p["message"]["content"][0]["text"] for p in prompts] == ["one", "two", "three", "two, changed"]


def test_the_setting_replays_everywhere(kernel: Any) -> None:
    """%config PiMagics.replay = True is --replay in each cell."""
    kernel.run("provider = script(Reply('a'), Reply('b'))")
    kernel.run("%config PiMagics.replay = True")
    kernel.run("%%pi\nhi", cell="c1")
    assert "Replayed" in kernel.run("%%pi\nhi", cell="c1").answer["text/plain"]
    kernel.run("%config PiMagics.replay = False")
    assert asked(kernel) == 1


# ---------------------------------------------------------------- without cell ids

CELLS = [
    "%load_ext pi_nb",
    "%%pi --replay --label start\nMy name is Ada. I keep a list of boats.",
    "%%pi --replay\nRemember: the boat is green. What do you know so far?",
    "%pi_checkout start",
    "%%pi --replay --out ans\nRemember: the boat is a bathtub. What do you know so far?",
    "print('REPLAYED', ans.replayed)",
]


def notebook(cells: list[str]) -> nbformat.NotebookNode:
    """Return a notebook with these cells."""
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "python3", "language": "python"}
    return made


def executed(cells: list[str], folder: Path) -> list[str]:
    """Run a notebook with nbclient; return each cell's output as text."""
    made = notebook(cells)
    nbclient.NotebookClient(
        made, timeout=120, kernel_name="python3", resources={"metadata": {"path": folder}}
    ).execute()
    return [_text(cell) for cell in made.cells]


def _text(cell: Any) -> str:
    return "\n".join(o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for notebooks and, in it, one for sessions."""
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(tmp_path / "s"))
    monkeypatch.setenv("PI_NB_MODEL", "scripted:demo")
    monkeypatch.setenv("PI_NB_DEMO_PACE", "0")
    return tmp_path


def prompts(folder: Path) -> list[list[str]]:
    """Return the prompts in each session file."""
    return [
        [e["message"]["content"][0]["text"] for e in map(json.loads, file.read_text().splitlines())
         if e.get("message", {}).get("role") == "user"]
        for file in sorted((folder / "s").rglob("*.jsonl"))
    ]  # fmt: skip


def test_a_notebook_runs_again_for_free_under_nbclient(folder: Path) -> None:
    """The second run finds the session by its prompts; a changed cell is asked, at its place in the tree."""
    first = executed(CELLS, folder)
    assert "REPLAYED False" in first[-1]
    asked_first = prompts(folder)
    again = executed(CELLS, folder)
    assert "REPLAYED True" in again[-1]
    assert prompts(folder) == asked_first
    assert [text.split("\n\n", 1)[-1].split("[")[0] for text in again if "Replayed" in text] == [
        text.split("[")[0] for text in first if "scripted:demo" in text
    ]
    changed = [*CELLS[:2], CELLS[2].replace("green", "red"), *CELLS[3:]]
    assert "REPLAYED True" in executed(changed, folder)[-1]
    (texts,) = prompts(folder)
    assert len(texts) == 4
    assert "red" in texts[-1]


def test_a_changed_first_cell_begins_at_the_root(folder: Path) -> None:
    """Along an opened session the first prompt goes to the root, not to the end of what is there."""
    executed(CELLS, folder)
    (file,) = (folder / "s").rglob("*.jsonl")
    cells = [CELLS[0], f"%pi_session open {file}", "%%pi --replay\nMy name is Eve.", "%pi_context"]
    shown = executed(cells, folder)[-1]
    assert "Eve" in shown
    assert "Ada" not in shown


def test_papermill_replays_too(folder: Path) -> None:
    """The second run asks nothing and leaves the same outputs but for the notes."""
    source = folder / "in.ipynb"
    nbformat.write(notebook(CELLS), source)
    outputs = []
    for number in range(2):
        done = papermill.execute_notebook(source, folder / f"out{number}.ipynb", cwd=folder, progress_bar=False)
        outputs.append(_text(done.cells[-1]))
    assert [text.strip() for text in outputs] == ["REPLAYED False", "REPLAYED True"]
    assert [len(found) for found in prompts(folder)] == [3]

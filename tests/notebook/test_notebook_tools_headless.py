"""Tools where no page is: programs that run notebooks, and a terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pexpect
import pytest
from nbclient import NotebookClient

SETUP = """%load_ext pi_nb
import pi_nb, pi_nb.notebook
from pi_nb import Registry, Reply, ScriptedProvider
from pi_nb.messages import ToolCall
def script(name, **args):
    replies = [Reply([ToolCall(id="c", name=name, arguments=args)]), Reply("All done.")]
    pi_nb.notebook.current().registry = Registry([ScriptedProvider(replies)])"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder, and let sessions and settings be kept in it."""
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(tmp_path / ".sessions"))
    monkeypatch.setenv("PI_NB_CONFIG_DIR", str(tmp_path / ".config"))
    monkeypatch.setenv("PI_NB_MODEL", "scripted:any")
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    return tmp_path


def notebook(*cells: str) -> nbformat.NotebookNode:
    """Return a notebook with these code cells."""
    kernel = {"name": "python3", "display_name": "python3", "language": "python"}
    return nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in cells], metadata={"kernelspec": kernel}
    )


def test_nbclient_is_told_how_to_allow_and_keeps_plots(folder: Path) -> None:
    """A call nobody allowed is denied and the notebook goes on; one that was allowed leaves its plot in the file."""
    plot = "import matplotlib.pyplot as plt; plt.plot([1, 2]); kept = 5"
    node = notebook(
        SETUP,
        "%pi_tools bash,python",
        "script('bash', command='touch ran')\n%pi go",
        "%pi_tools --allow python",
        f"script('python', code={plot!r})\n%pi draw",
        "kept",
    )
    NotebookClient(node, resources={"metadata": {"path": str(folder)}}, timeout=60).execute()
    denied, drawn, kept = (node.cells[index].outputs for index in (2, 4, 5))
    assert len(denied) == len(drawn) == 1
    assert "%pi_tools --allow bash" in denied[0].data["text/plain"]
    assert "All done." in denied[0].data["text/plain"]
    assert not (folder / "ran").exists()
    assert "data:image/png;base64," in drawn[0].data["text/html"]
    assert kept[0].data["text/plain"] == "5"
    assert "application/vnd.jupyter.widget-view+json" not in str(node)


def test_papermill_runs_what_was_allowed(folder: Path) -> None:
    """Rules in the notebook count there, for the path they name."""
    nbformat.write(
        notebook(
            SETUP,
            "%pi_tools write --allow write:out",
            "script('write', path='out/a.txt', content='yes')\n%pi go",
            "script('write', path='b.txt', content='no')\n%pi go",
        ),
        folder / "in.ipynb",
    )
    papermill.execute_notebook(folder / "in.ipynb", folder / "done.ipynb", cwd=folder, progress_bar=False)
    assert (folder / "out" / "a.txt").read_text() == "yes"
    assert not (folder / "b.txt").exists()


@pytest.fixture
def terminal(folder: Path) -> Iterator[Any]:
    """Return an IPython in a pseudo-terminal."""
    env = {**os.environ, "IPYTHONDIR": str(folder / ".ipython"), "TERM": "dumb", "PI_NB_MODEL": "scripted:any"}
    command = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor", "--HistoryManager.enabled=False"]
    child = pexpect.spawn(sys.executable, command, cwd=folder, env=env, encoding="utf-8", timeout=40)
    try:
        child.expect(r"In \[1\]: ")
        yield child
    finally:
        child.close(force=True)


def test_a_terminal_asks_with_a_line(terminal: Any, folder: Path) -> None:
    """The whole call is printed, y lets it run; code runs in the same namespace."""
    (folder / "setup.py").write_text(SETUP.partition("\n")[2])
    for line in ("%load_ext pi_nb", "%run -i setup.py", "%pi_tools bash,python", "script('bash', command='touch ran')"):
        terminal.sendline(line)
        terminal.expect(r"In \[\d+\]: ")
    terminal.sendline("%pi go")
    terminal.expect(re.escape("May bash run? bash may do anything."))
    terminal.expect("touch ran")
    terminal.expect(r"Run bash\? .*: ")
    terminal.sendline("y")
    terminal.expect("All done")
    assert (folder / "ran").exists()
    terminal.expect(r"In \[\d+\]: ")
    terminal.sendline("script('python', code='kept = 40 + 2')")
    terminal.expect(r"In \[\d+\]: ")
    terminal.sendline("%pi go")
    terminal.expect(r"Run python\? .*: ")
    terminal.sendline("a")
    terminal.expect("All done")
    terminal.expect(r"In \[\d+\]: ")
    terminal.sendline("kept")
    terminal.expect("42")

"""What a saved notebook keeps of a large tree, and what one more entry costs the wire, in a real kernel and without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import said

GROW = """import pi_nb.notebook as n
session = n.current().session
for number in range(5000):
    session.append_message({"role": "user", "content": f"{number} " + "word " * 40})
    session.append_message({"role": "assistant", "content": [{"type": "text", "text": "answer " * 60}]})
len(session)"""


def test_a_saved_notebook_stays_small(tmp_path: Path) -> None:
    """With 10,000 entries the widget state in the file is under 300 KB, and the pictures of the tree are bounded."""
    cells = [nbformat.v4.new_code_cell(source) for source in ("%load_ext pi_nb", GROW, "n.current().tree_view")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=where, store_widget_state=True).execute()
    state = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert any(model["state"].get("_anywidget_id") for model in state.values())
    assert len(json.dumps(state)) < 300_000
    assert len(json.dumps(notebook.cells[2].outputs)) < 300_000


def test_an_entry_costs_the_same_in_a_large_tree(comms: dict[str, Any]) -> None:
    """With 10,000 entries and hundreds of labels, one more is told in under 2 KB, as it is with ten."""
    spent = []
    for size in (10, 10_000):
        session = Session(InMemorySessionStorage())
        for number in range(size):
            id = session.append_message(said(f"answer {number}"))
            if number % 20 == 0:
                session.append_label(id, f"label {number}")
        view = TreeView(session)
        comm = comms[view.model_id]
        comm.ask({"op": "sync", "id": 1, "epoch": view.epoch, "have": len(session)})
        before = comm.bytes
        for have in range(len(session), len(session) + 20):
            session.append_message(said("word " * 400))
            view._publish()
            comm.ask({"op": "sync", "id": have, "epoch": view.epoch, "have": have})
        spent.append((comm.bytes - before) / 20)
        view.close()
    assert max(spent) < 2048
    assert spent[1] - spent[0] < 60

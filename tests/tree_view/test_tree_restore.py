"""Taking a checkout back and doing it again: the leaf goes to just where it was, and the log says of which move."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pi_nb.session.entries import LeafEntry
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session
from pi_nb.views.tree_view import TreeView
from tests.harness.bench import bench
from tests.tree_view.talk import said, talk

Comms = dict[str, Any]


def ask(comm: Any, op: str, **payload: Any) -> Any:
    """Ask one thing and return the one answer."""
    (answer,) = comm.ask({"op": op, "id": 7, **payload})
    return answer


def test_the_leaf_goes_back_to_a_user_message(session: Session, comms: Comms) -> None:
    """A click on a user's message goes before it; putting the leaf back puts it on the message itself."""
    parts = talk(session)
    waiting = session.append_message({"role": "user", "content": "Not answered yet"})
    comm = comms[TreeView(session).model_id]
    left = ask(comm, "checkout", entry=parts.rome_said)
    back = ask(comm, "restore", entry=waiting, undoes=left["entry"])
    assert (back["op"], back["leaf"], back["previous"], session.leaf_id) == ("ack", waiting, parts.rome_said, waiting)
    assert back["editor_text"] is None
    entry = session.entries()[-1]
    assert isinstance(entry, LeafEntry)
    assert (entry.parent_id, entry.target_id) == (parts.rome_said, waiting)
    assert (entry.model_extra or {})["undoes"] == left["entry"]
    again = ask(comm, "sync", epoch="", have=0)["rows"][-1]
    assert (again["type"], again["target"], again["undoes"]) == ("leaf", waiting, left["entry"])


def test_what_a_move_takes_back_survives_the_file(tmp_path: Any) -> None:
    """The field beside the move is in the file, and there again when it is read."""
    with SessionRepo(tmp_path).create(str(tmp_path)) as session:
        parts = talk(session)
        session.move_to(parts.rome, extra={"undoes": "abc"})
        session.append_message(said("x"))
    with SessionRepo(tmp_path).open(session.id) as again:
        assert again.file is not None
        (move,) = [entry for entry in again.entries() if (entry.model_extra or {}).get("undoes")]
        assert (move.type, (move.model_extra or {})["undoes"]) == ("leaf", "abc")


def test_it_is_refused_while_a_run_is_under_way(memory: Session, comms: Comms) -> None:
    """As a click is."""
    parts = talk(memory)
    view = TreeView(memory)
    view.set_status("running")
    answer = [m for m in comms[view.model_id].ask({"op": "restore", "id": 1, "entry": parts.rome}) if m["op"] == "nak"]
    assert "running" in answer[0]["error"]
    assert memory.leaf_id == parts.oslo_said


@pytest.mark.parametrize("exact", [False, True])
def test_the_harness_can_go_to_just_an_entry(exact: bool) -> None:
    """An exact move ends on a user's message, any other before it; nothing comes back for editing."""
    made = bench("first answer", "second answer")
    for text in ("first", "second"):
        asyncio.run(made.harness.prompt(text))
    asked = made.session.entries()[2].id
    moved = asyncio.run(made.harness.navigate_tree(asked, exact=exact, extra={"undoes": "abc"}))
    assert moved.leaf_id == (asked if exact else made.session.entries()[1].id)
    assert moved.editor_text == (None if exact else "second")
    assert made.session.entries()[-1].model_extra == {"undoes": "abc"}

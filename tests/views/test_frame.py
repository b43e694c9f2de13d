"""A session as a table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from pi_nb.errors import UserError
from pi_nb.session.entries import parse_entry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.frame import COLUMNS
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import HOSTILE, said, talk

pytest.importorskip("pandas")


@pytest.fixture
def session() -> Session:
    """Give an empty session in memory."""
    return Session(InMemorySessionStorage())


def test_a_row_for_each_entry(session: Session) -> None:
    """Every entry is a row, in the order of writing, with what it says, costs and where it is in the tree."""
    parts = talk(session)
    session.append_label(parts.rome, "sunny")
    session.move_to(parts.oslo_said)
    frame = session.to_frame()
    assert list(frame.columns) == list(COLUMNS)
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == dict(COLUMNS)
    assert list(frame["id"]) == [entry.id for entry in session.entries()]
    rows = frame.set_index("id")
    told = rows.loc[parts.oslo_said, ["role", "text", "model", "tokens", "cost", "depth", "on_path", "is_leaf"]]
    assert list(told) == ["assistant", "Then see the Opera.", "m-1", 9, 0.0125, 6, True, True]
    assert (rows.loc[parts.tool, "tools"], rows.loc[parts.result, "text"]) == (("bash",), "boats\nislands")
    assert list(frame[frame["on_path"]]["position"]) == [0, 1, 2, 6, 7, 8, 9]
    assert (rows.loc[parts.rome, "label"], rows.loc[parts.answer, "children"]) == ("sunny", 2)
    assert rows.loc[frame["id"][0], "parent"] is None
    assert str(frame["time"].dt.tz) == "UTC"


def test_what_can_be_asked_of_it(session: Session) -> None:
    """Costs by branch and model are one line of pandas; the text is whole, not a preview."""
    talk(session)
    session.append_message(said("word " * 900))
    frame = session.to_frame()
    assert frame.groupby(["model", "on_path"])["cost"].sum()["m-1", True] == pytest.approx(0.05)
    assert frame["text"].str.len().max() == 4500


def test_a_path_and_a_view_are_tables_too(session: Session) -> None:
    """``view["label"].to_frame()`` is that path; ``view.to_frame()`` says which rows are selected."""
    parts = talk(session)
    session.append_label(parts.rome_said, "forum")
    view = TreeView(session)
    assert list(view["forum"].to_frame()["text"])[1:] == [
        "Where to?",
        "Rome or Oslo?",
        "Rome it is",
        "Then see the Forum.",
    ]
    assert len(view["root"].to_frame()) == 0
    view.selected = [parts.rome, parts.oslo]
    frame = view.to_frame()
    assert list(frame[frame["selected"]]["id"]) == [parts.rome, parts.oslo]
    view.close()


def test_any_session_is_a_table(session: Session, session_of: Callable[..., Session]) -> None:
    """Nothing, hostile text, orphans, cycles and odd values give a table, never an exception."""
    assert list(session.to_frame().columns) == list(COLUMNS)
    for text in HOSTILE:
        session.append_message(said(text))
    odd = {
        "role": "assistant",
        "content": [3, {"type": "text", "text": 4}],
        "usage": {"output": "x"},
        "model": {"a": 1},
    }
    about = {"type": "message", "timestamp": "not a time", "message": odd, "cell": {"n": 1.5}}
    for id, parent in (("a", "a"), ("b", "c"), ("c", "b"), ("d", "nobody")):
        session.storage.append(parse_entry({**about, "id": id, "parentId": parent}))
    frame = session.to_frame()
    assert len(frame) == len(HOSTILE) + 4
    assert list(frame["text"][: len(HOSTILE)]) == HOSTILE
    chain = session_of(("0", None), *((f"{n}", f"{n - 1}") for n in range(1, 20_000)))
    assert chain.to_frame()["depth"].max() == 19_999


def test_without_pandas_a_line_says_what_to_install(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is one sentence and the command that helps."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UserError) as caught:
        session.to_frame()
    lines: Any = caught.value._render_traceback_()
    assert lines == ["A table needs pandas, which is not installed.", "%pip install pandas"]

"""Cells, siblings, references and labels, on sessions without a kernel."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pi_nb.errors import UserError
from pi_nb.messages import AssistantMessage, TextContent, UserMessage
from pi_nb.notebook.cells import Cell, CellClock, cell_of, notebook_within, written_by, written_in
from pi_nb.notebook.labels import clear_label, label_entry, labels_text
from pi_nb.notebook.place import find_place
from pi_nb.notebook.references import answer_to, find_entry, give_label
from pi_nb.notebook.reply import Reply
from pi_nb.notebook.siblings import sibling, siblings
from pi_nb.notebook.status import leaf_line
from pi_nb.session.entries import Header
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session


@pytest.fixture
def session() -> Session:
    """Return an empty session."""
    return Session(InMemorySessionStorage(Header(id="s", timestamp="2026-01-01T00:00:00.000Z", cwd="/")))


def ask(session: Session, text: str, cell: Cell | None = None) -> tuple[str, str]:
    """Add a prompt and its answer; return both ids."""
    prompt = session.append_message(UserMessage(content=text), extra=cell.to_wire() if cell else None)
    return prompt, session.append_message(AssistantMessage(content=(TextContent(text=f"re: {text}"),)))


def shell(message: dict[str, Any], count: int = 1) -> Any:
    """Return what a cell clock looks at of a shell."""
    history = SimpleNamespace(input_hist_parsed=[""] * (count + 1))
    return SimpleNamespace(get_parent=lambda: message, execution_count=count, history_manager=history)


def test_a_cell_is_named_by_the_front_end() -> None:
    """The id stays over runs; a second prompt in the same cell has a name of its own."""
    clock = CellClock()
    first = {"header": {"msg_id": "1"}, "metadata": {"cellId": "abc"}}
    assert clock.now(shell(first, 3), "x") == Cell("abc", 3)
    assert clock.now(shell(first, 3), "y") == Cell("abc#2", 3)
    assert clock.now(shell({**first, "header": {"msg_id": "2"}}, 4), "z") == Cell("abc", 4)


def test_a_cell_without_id_is_named_by_place_and_source() -> None:
    """Two runs of the same program give the same names; they are no reason to branch."""
    names = []
    for _ in range(2):
        clock = CellClock()
        names.append([clock.now(shell({"header": {"msg_id": str(n)}}, n), f"s{n}") for n in range(3)])
    assert names[0] == names[1]
    assert len({cell.id for cell in names[0]}) == 3
    assert not any(cell.stable for cell in names[0])


def test_what_cells_wrote_is_found_again(session: Session) -> None:
    """On the active path by id, anywhere by number; the newest counts."""
    one, _ = ask(session, "one", Cell("a", 1))
    two, _ = ask(session, "two", Cell("b", 2))
    session.move_to(None)
    again, _ = ask(session, "one again", Cell("a", 3))
    assert [entry.id for entry in written_by(session, Cell("a"))] == [again]
    assert list(written_by(session, Cell("b"))) == []
    assert written_in(session, 2).id == two
    assert written_in(session, 9) is None
    assert cell_of(session.entry(one)) == {"id": "a", "n": 1}


def test_cells_of_two_notebooks_are_two(tmp_path: Any) -> None:
    """The same id and the same number in another notebook are another cell, unless that notebook was renamed."""
    (tmp_path / "guest.ipynb").write_text("{}")
    (tmp_path / "home.ipynb").write_text("{}")
    home, guest = str(tmp_path / "home.ipynb"), str(tmp_path / "guest.ipynb")
    header = Header(id="s", timestamp="2026-01-01T00:00:00.000Z", cwd="/", metadata={"notebook": home})
    session = Session(InMemorySessionStorage(header))
    assert (notebook_within(session, home), notebook_within(session, guest)) == (None, guest)
    mine, _ = ask(session, "mine", Cell("a", 1))
    theirs, _ = ask(session, "theirs", Cell("a", 1, notebook=guest))
    assert cell_of(session.entry(theirs)) == {"id": "a", "n": 1, "notebook": guest}
    assert [entry.id for entry in written_by(session, Cell("a"))] == [mine]
    assert [entry.id for entry in written_by(session, Cell("a", notebook=guest))] == [theirs]
    assert written_in(session, 1).id == mine
    assert written_in(session, 1, notebook=guest).id == theirs
    (tmp_path / "guest.ipynb").rename(tmp_path / "renamed.ipynb")
    assert [e.id for e in written_by(session, Cell("a", notebook=str(tmp_path / "renamed.ipynb")))] == [theirs]
    (tmp_path / "home.ipynb").unlink()
    assert notebook_within(session, str(tmp_path / "renamed.ipynb")) is None


def test_siblings_are_counted_across_settings_and_labels(session: Session) -> None:
    """A model change or a label between the point and the prompt does not make it another point."""
    _, root = ask(session, "root")
    session.append_label(root, "here")
    first, _ = ask(session, "first")
    session.move_to(root)
    second, _ = ask(session, "second")
    session.move_to(root)
    session.append_model_change("a", "b")
    session.append_thinking_level_change("high")
    third, _ = ask(session, "third")
    assert sorted(siblings(session, third)) == sorted([first, second, third])
    places = [sibling(session, prompt) for prompt in (first, second, third)]
    assert sorted(places) == [(1, 3), (2, 3), (3, 3)]
    assert sibling(session, session.path()[0].id) is None
    assert sibling(session, None) is None


def test_references_to_cells(session: Session) -> None:
    """cell:7 is the answer, and the steps of other references may follow it."""
    prompt, answer = ask(session, "one", Cell("a", 7))
    ask(session, "two", Cell("b", 8))
    assert find_entry(session, "cell:7") == answer_to(session, prompt) == answer
    assert find_entry(session, "cell:7^") == prompt
    assert find_entry(session, "root") is None
    with pytest.raises(UserError, match=r"Cell \[9\] has written no prompt"):
        find_entry(session, "cell:9")


def test_a_label_names_one_place(session: Session) -> None:
    """Giving a label that another entry has moves it; giving it twice writes nothing."""
    _, first = ask(session, "one")
    _, second = ask(session, "two")
    give_label(session, first, "best")
    give_label(session, second, "best")
    assert dict(session.labels) == {second: "best"}
    size = len(session)
    give_label(session, second, "best")
    assert len(session) == size
    assert labels_text(session).startswith("best")
    assert clear_label(session, "best") == "best names nothing any more."
    with pytest.raises(UserError, match="There is no label 'best'"):
        clear_label(session, "best")


def test_a_label_is_for_a_message_by_default(session: Session) -> None:
    """Settings and labels that follow the last message are not what is meant."""
    with pytest.raises(UserError, match="before the first prompt"):
        label_entry(session, "x", None)
    _, answer = ask(session, "one")
    session.append_thinking_level_change("high")
    label_entry(session, "x", None)
    label_entry(session, "y", None)
    assert dict(session.labels) == {answer: "y"}
    assert "[y] assistant: re: one" in leaf_line(session)


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"a": 1}', {"a": 1}), ("Here:\n```json\n[1, 2]\n```\nDone.", [1, 2]), ("3", 3)],
)
def test_a_reply_can_be_read_as_json(text: str, value: object) -> None:
    """The text itself, or the first code block that is JSON."""
    assert Reply(text).json() == value


def test_a_reply_that_is_no_json_says_how_it_begins() -> None:
    """The error shows what there was instead."""
    with pytest.raises(UserError, match="not JSON") as caught:
        Reply("Sorry, <b>").json()
    assert "Sorry" in caught.value.hint
    assert Reply("a <b>")._repr_markdown_() == "a &lt;b>"
    assert repr(Reply("abc", entry_id="e1", model="m:n", stop_reason="stop")) == "<Reply e1 m:n stop 3 characters>"


def test_places(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notebook by Jupyter's or VS Code's name, else by folder; headless without stdin; a terminal by folder."""
    monkeypatch.chdir(tmp_path)

    def at(environment: dict[str, str], *, stdin: bool = True, kernel: bool = True, **names: str) -> tuple[str, str]:
        ip = SimpleNamespace(kernel=SimpleNamespace(_allow_stdin=stdin) if kernel else None, user_ns=names)
        place = find_place(ip, environment)
        return place.kind, place.name

    here = str(tmp_path)
    assert at({"JPY_SESSION_NAME": "/a.ipynb"}) == ("notebook", "/a.ipynb")
    assert at({"JPY_SESSION_NAME": "/a.ipynb"}, stdin=False) == ("notebook", "/a.ipynb")
    assert at({}, __vsc_ipynb_file__="/b.ipynb") == ("notebook", "/b.ipynb")
    assert at({}) == ("notebook", here)
    assert at({}, stdin=False) == ("headless", "")
    assert at({}, kernel=False) == ("terminal", here)

"""The tree: leaf, path, branches, moves, clicks, labels, names, and who is told."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from pi_nb.errors import SessionError
from pi_nb.messages import AssistantMessage, ImageContent, Message, TextContent, UserMessage, text_of
from pi_nb.session.entries import Entry, LeafEntry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.storage import SessionStorage
from pi_nb.session.tree import LEAF, Checkout, Session

from .conftest import entry, said


def ask(text: str) -> Message:
    return UserMessage(content=text)


def answer(text: str, model: str = "m") -> Message:
    return AssistantMessage(content=(TextContent(text=text),), provider="p", model=model, stop_reason="stop")


def texts(session: Session, id: str | object | None = LEAF) -> list[str]:
    return [text_of(message.content) for message in session.context(id).messages]


@pytest.fixture
def talk(session: Session) -> dict[str, str]:
    """Two questions with their answers; their ids by text."""
    return {
        text: session.append_message(ask(text) if text[0] == "u" else answer(text)) for text in ("u1", "a1", "u2", "a2")
    }


def test_both_storages_keep_the_contract(session: Session) -> None:
    """What a session is built on has everything the contract names."""
    assert isinstance(session.storage, SessionStorage)


def test_a_new_session_is_empty(session: Session) -> None:
    """Nothing is in it, and looking at it is no error."""
    assert (len(session), session.leaf_id, session.branches(), session.roots()) == (0, None, [], [])
    assert (list(session.path()), list(session.entries()), session.context().messages) == ([], [], ())
    assert session
    assert session.get("x") is None
    assert (session.name, dict(session.labels), session.metadata) == (None, {}, {})


def test_an_append_becomes_the_leaf(session: Session, talk: dict[str, str]) -> None:
    """Each entry hangs from the one before it."""
    assert [e.id for e in session.path()] == list(talk.values())
    assert session.leaf_id == talk["a2"]
    assert session.children(talk["a1"]) == [talk["u2"]]
    assert session.children(None) == session.roots() == [talk["u1"]]
    assert session.branches() == [talk["a2"]]


def test_a_move_makes_a_branch(session: Session, talk: dict[str, str]) -> None:
    """The old branch stays whole, the new one begins at the leaf, and the move is an entry but no message."""
    moved = session.move_to(talk["a1"])
    u3 = session.append_message(ask("u3"))
    assert texts(session) == ["u1", "a1", "u3"]
    assert texts(session, talk["a2"]) == ["u1", "a1", "u2", "a2"]
    leaf = session.entry(moved)
    assert isinstance(leaf, LeafEntry)
    assert (leaf.parent_id, leaf.target_id) == (talk["a2"], talk["a1"])
    assert session.children(talk["a1"]) == [talk["u2"], u3]
    assert session.children(talk["a2"]) == []
    assert session.branches() == [talk["a2"], u3]
    assert repr(session).endswith(f" entries=6 leaf={u3} branches=2>")


def test_moving_where_one_is_writes_nothing(session: Session, talk: dict[str, str]) -> None:
    """No entry is written for a move that is none."""
    assert session.move_to(talk["a2"]) is None
    assert len(session) == 4
    session.move_to(None)
    assert session.move_to(None) is None
    assert len(session) == 5


def test_moving_to_nowhere(session: Session, talk: dict[str, str]) -> None:
    """An unknown entry is ``not_found``, and the leaf stays."""
    for call in (session.move_to, session.checkout, session.entry, session.path):
        with pytest.raises(SessionError) as caught:
            call("zzzz9999")
        assert caught.value.code == "not_found"
    assert session.leaf_id == talk["a2"]
    assert len(session) == 4


def test_before_the_first_entry(session: Session, talk: dict[str, str]) -> None:
    """At the root the context is empty, and what is appended there is a second root."""
    session.move_to(None)
    assert (session.leaf_id, texts(session)) == (None, [])
    again = session.append_message(ask("again"))
    assert session.roots() == [talk["u1"], again]
    assert texts(session) == ["again"]


def test_looking_writes_nothing(session: Session, talk: dict[str, str]) -> None:
    """Paths, contexts and children of any entry can be asked for without moving."""
    for id in (*talk.values(), None):
        session.path(id), session.context(id), session.children(id)
    assert (len(session), session.leaf_id) == (4, talk["a2"])


def test_appending_elsewhere(session: Session, talk: dict[str, str]) -> None:
    """A parent can be named; the new entry is the leaf all the same."""
    u3 = session.append_message(ask("u3"), parent=talk["a1"])
    assert texts(session) == ["u1", "a1", "u3"]
    assert session.leaf_id == u3
    with pytest.raises(SessionError) as caught:
        session.append_message(ask("x"), parent="zzzz")
    assert caught.value.code == "not_found"
    assert session.entry(session.append_custom("c", parent=None)).parent_id is None


def test_a_leaf_entry_may_be_a_place(opened: Callable[..., Session]) -> None:
    """Some program may have moved to a leaf entry; then it is on the path, says nothing, and can be built upon."""
    session = opened(
        said("a", None, "one"),
        entry("leaf", "l1", "a", targetId=None),
        said("b", None, "two"),
        entry("leaf", "l2", "b", targetId="l1"),
    )
    assert [e.id for e in session.path()] == ["a", "l1"]
    assert texts(session) == ["one"]
    assert session.children("a") == []
    new = session.append_message(ask("three"))
    assert session.children("a") == ["l1"]
    assert session.children("l1") == [new]
    assert texts(session) == ["one", "three"]


# ---------------------------------------------------------------- clicks


def test_a_click_on_an_answer_goes_there(session: Session, talk: dict[str, str]) -> None:
    """The leaf is the entry that was clicked."""
    done = session.checkout(talk["a1"])
    assert done == Checkout(talk["a1"], talk["a2"], None, done.leaf_entry_id)
    assert session.get(done.leaf_entry_id or "") is not None


def test_a_click_on_a_question_goes_before_it(session: Session, talk: dict[str, str]) -> None:
    """The question comes back as text to edit; before the first one there is nothing."""
    done = session.checkout(talk["u2"])
    assert (done.leaf_id, done.editor_text, session.leaf_id) == (talk["a1"], "u2", talk["a1"])
    done = session.checkout(talk["u1"])
    assert (done.leaf_id, done.editor_text, session.leaf_id) == (None, "u1", None)
    done = session.checkout(talk["u1"])
    assert (done.leaf_id, done.editor_text, done.leaf_entry_id) == (None, "u1", None)


def test_a_click_where_one_is_does_nothing(session: Session, talk: dict[str, str]) -> None:
    """A click on the leaf changes nothing, also if it is a question."""
    u3 = session.append_message(ask("u3"))
    assert session.checkout(u3) == Checkout(u3, u3, None, None)
    session.move_to(None)
    assert session.checkout(None) == Checkout(None, None, None, None)


def test_a_click_on_an_applications_message(session: Session, talk: dict[str, str]) -> None:
    """It can be said anew as well; of pictures in it no text comes back."""
    note = session.append_custom_message("note", [{"type": "text", "text": "n"}, {"type": "text", "text": "b"}])
    session.append_message(ask("u3"))
    assert session.checkout(note).editor_text == "nb"
    assert session.leaf_id == talk["a2"]
    shown = session.append_message(UserMessage(content=(ImageContent(data="AA", mime_type="image/png"),)))
    session.move_to(None)
    assert session.checkout(shown).editor_text == ""


def test_a_click_on_a_move_goes_where_it_went(session: Session, talk: dict[str, str]) -> None:
    """A leaf entry in a log stands for its target."""
    moved = session.move_to(talk["a1"])
    session.move_to(None)
    assert session.checkout(moved).leaf_id == talk["a1"]


# ---------------------------------------------------------------- labels and names


def test_labels_hold_for_the_whole_session(session: Session, talk: dict[str, str]) -> None:
    """The last one wins, on whatever branch it was set; they are trimmed, and blank takes them away."""
    session.append_label(talk["a1"], "  start\nhere ")
    session.move_to(talk["u1"])
    session.append_label(talk["a2"], "end")
    assert dict(session.labels) == {talk["a1"]: "start here", talk["a2"]: "end"}
    session.append_label(talk["a2"], "  ")
    session.append_label(talk["a1"], None)
    assert dict(session.labels) == {}
    with pytest.raises(SessionError) as caught:
        session.append_label("zzzz", "x")
    assert caught.value.code == "not_found"


def test_labels_in_files(opened: Callable[..., Session]) -> None:
    """Dangling, null, blank and nonsense labels are no error; what is left is trimmed."""
    session = opened(
        said("a", None),
        entry("label", "l1", "a", targetId="a", label="  x "),
        entry("label", "l2", "l1", targetId="gone", label="ghost"),
        entry("label", "l3", "l2", targetId="b", label="y"),
        entry("label", "l4", "l3", targetId="b"),
        entry("label", "l5", "l4", targetId="c", label=None),
        entry("label", "l6", "l5", targetId=5, label="z"),
        entry("label", "l7", "l6", targetId="d", label=5),
        entry("label", "l8", "l7", label="no target"),
    )
    assert dict(session.labels) == {"a": "x", "gone": "ghost"}


def test_names_hold_for_the_whole_session(session: Session, talk: dict[str, str]) -> None:
    """The last one wins, line breaks become spaces, blank takes it away."""
    session.append_session_info("  a\r\nname \n")
    session.move_to(talk["u1"])
    assert session.name == "a name"
    session.append_session_info("")
    assert session.name is None


@pytest.mark.parametrize("name", [None, "", "  ", 5, "absent"])
def test_names_in_files(opened: Callable[..., Session], name: object) -> None:
    """A name that is null, blank, absent or no text is no name."""
    fields = {} if name == "absent" else {"name": name}
    session = opened(
        said("a", None), entry("session_info", "b", "a", name="old"), entry("session_info", "c", "b", **fields)
    )
    assert session.name is None


# ---------------------------------------------------------------- every kind


def test_every_kind_can_be_appended(session: Session, talk: dict[str, str]) -> None:
    """Each method writes its kind with the fields that were given, and nothing for those that were not."""
    written = [
        session.append_model_change("p", "m"),
        session.append_thinking_level_change("high"),
        session.append_active_tools_change(["read"]),
        session.append_active_tools_change([]),
        session.append_compaction("S", talk["a1"], 10, details={"a": [1]}, from_hook=True, usage={"input": 1}),
        session.append_branch_summary(talk["a2"], "B"),
        session.append_branch_summary(None, "B", from_hook=False),
        session.append_custom("c"),
        session.append_custom("c", {"x": 1}),
        session.append_custom_message("c", "text", display=False, details=[1]),
        session.append_context_edit(talk["u1"], "new"),
        session.append_context_edit(talk["u1"], [TextContent(text="new")]),
        session.append_context_edit(talk["u1"], None),
        session.append_usage("summary", "p", "m", {"input": 1}),
        session.append_label(talk["u1"], "x"),
        session.append_session_info("n"),
    ]
    envelope = ("id", "parentId", "timestamp")
    rows = [{k: v for k, v in session.entry(id).to_wire().items() if k not in envelope} for id in written]
    assert rows == [
        {"type": "model_change", "provider": "p", "modelId": "m"},
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        {"type": "active_tools_change", "activeToolNames": ["read"]},
        {"type": "active_tools_change", "activeToolNames": []},
        {
            "type": "compaction",
            "summary": "S",
            "firstKeptEntryId": talk["a1"],
            "tokensBefore": 10,
            "details": {"a": [1]},
            "fromHook": True,
            "usage": {"input": 1},
        },
        {"type": "branch_summary", "fromId": talk["a2"], "summary": "B"},
        {"type": "branch_summary", "fromId": "root", "summary": "B", "fromHook": False},
        {"type": "custom", "customType": "c"},
        {"type": "custom", "customType": "c", "data": {"x": 1}},
        {"type": "custom_message", "customType": "c", "content": "text", "display": False, "details": [1]},
        {"type": "context_edit", "targetId": talk["u1"], "replacement": {"content": "new"}},
        {
            "type": "context_edit",
            "targetId": talk["u1"],
            "replacement": {"content": [{"type": "text", "text": "new"}]},
        },
        {"type": "context_edit", "targetId": talk["u1"], "replacement": None},
        {"type": "usage", "kind": "summary", "provider": "p", "model": "m", "usage": {"input": 1}},
        {"type": "label", "targetId": talk["u1"], "label": "x"},
        {"type": "session_info", "name": "n"},
    ]


def test_a_compaction_that_keeps_nothing_names_itself(session: Session, talk: dict[str, str]) -> None:
    """Without a first kept entry the summary is all that is left."""
    id = session.append_compaction("S", None, 10)
    assert session.entry(id).to_wire()["firstKeptEntryId"] == id
    assert [message.role for message in session.context().messages] == ["compactionSummary"]


def test_an_edit_of_another_branch_is_refused(session: Session, talk: dict[str, str]) -> None:
    """Only what is on the path can be edited."""
    session.move_to(talk["u1"])
    with pytest.raises(SessionError) as caught:
        session.append_context_edit(talk["a2"], None)
    assert caught.value.code == "not_found"


def test_messages_may_be_given_as_json(session: Session) -> None:
    """A mapping becomes a message of the right kind; extra fields of an application go beside it."""
    id = session.append_message({"role": "assistant", "content": [], "odd": 1}, extra={"cell": "c1"})
    found = session.entry(id)
    assert isinstance(found.message, AssistantMessage)
    assert found.to_wire()["cell"] == "c1"
    assert found.to_wire()["message"]["odd"] == 1


# ---------------------------------------------------------------- who is told


def test_listeners_hear_of_every_append_in_order(session: Session) -> None:
    """Each durable entry is told once, with its place in the log, until the listener stops."""
    heard: list[tuple[str, int]] = []
    stop = session.subscribe(lambda entry, position: heard.append((entry.type, position)))
    session.append_message(ask("x"))
    session.move_to(None)
    stop()
    stop()
    session.append_message(ask("y"))
    assert heard == [("message", 0), ("leaf", 1)]


def test_a_failing_listener_breaks_nothing(session: Session, caplog: pytest.LogCaptureFixture) -> None:
    """What a listener raises is logged; the entry is written and the others hear of it."""
    heard: list[int] = []

    def fail(entry: Entry, position: int) -> None:
        raise ZeroDivisionError

    session.subscribe(fail)
    session.subscribe(lambda entry, position: heard.append(position))
    with caplog.at_level(logging.ERROR, "pi_nb.session"):
        session.append_message(ask("x"))
    assert (len(session), heard, len(caplog.records)) == (1, [0], 1)


def test_a_listener_may_append(session: Session) -> None:
    """What it appends is told after what it was told of, to all, in the order of the log."""
    heard: list[list[int]] = [[], []]

    def first(entry: Entry, position: int) -> None:
        heard[0].append(position)
        if position == 0:
            session.append_custom("echo")

    session.subscribe(first)
    session.subscribe(lambda entry, position: heard[1].append(position))
    session.append_message(ask("x"))
    assert heard == [[0, 1], [0, 1]]


def test_views_do_not_change(session: Session, talk: dict[str, str]) -> None:
    """Entries, paths and contexts that were handed out stay as they were when the log grows."""
    entries, path, context = session.entries(), session.path(), session.context()
    session.append_message(ask("u3"))
    session.move_to(None)
    assert (len(entries), len(path), len(context.items), len(context.messages)) == (4, 4, 4, 4)
    assert [e.id for e in path] == list(talk.values())
    assert path[-1].id == talk["a2"]
    assert [e.id for e in path[1:3]] == [talk["a1"], talk["u2"]]
    assert list(reversed(path)) == list(path)[::-1]
    assert path == list(path)
    assert session.entries(3)[0].id == talk["a2"]
    for sequence in (entries, context.items):
        with pytest.raises(IndexError):
            sequence[4]


def test_sessions_are_context_managers() -> None:
    """Leaving the block closes the session."""
    with Session(InMemorySessionStorage()) as session:
        session.append_message(ask("x"))
    assert session.read_only

"""The short names people type for entries."""

from __future__ import annotations

import pytest

from pi_nb.errors import UserError
from pi_nb.messages import AssistantMessage, UserMessage
from pi_nb.session.entries import parse_entry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.refs import label_problem, resolve_ref
from pi_nb.session.tree import Session

from .conftest import entry, said


@pytest.fixture
def talk() -> Session:
    """Three turns, a labelled answer, and a branch."""
    session = Session(InMemorySessionStorage())
    for number in range(1, 4):
        question = session.append_message(UserMessage(content=f"u{number}"))
        answer = session.append_message(AssistantMessage())
        session.append_label(answer, f"turn {number}")
        if number == 2:
            session.append_label(question, "asked")
    return session


def test_the_leaf_and_around_it(talk: Session) -> None:
    """``@`` is the leaf, ``^`` its parent, ``~n`` the place before the last n prompts."""
    path = [e.id for e in talk.path()]
    prompts = [e.id for e in talk.path() if e.type == "message" and e.message.role == "user"]
    before = {id: talk.entry(id).parent_id for id in prompts}
    assert resolve_ref(talk, "@") == resolve_ref(talk, " @~0 ") == talk.leaf_id
    assert resolve_ref(talk, "@^") == path[-2]
    assert resolve_ref(talk, "@^^") == path[-3]
    assert resolve_ref(talk, "@~") == resolve_ref(talk, "@~1") == before[prompts[2]]
    assert resolve_ref(talk, "@~2") == before[prompts[1]]
    assert resolve_ref(talk, "@~3") is None
    assert resolve_ref(talk, "@~1~1") == resolve_ref(talk, "@~2")
    assert resolve_ref(talk, "turn 2~1") == before[prompts[1]]
    assert resolve_ref(talk, f"{prompts[0]}^") is None


def test_root_and_back(talk: Session) -> None:
    """``root`` is before everything; ``-`` is where one was before the last move."""
    here = talk.leaf_id
    assert resolve_ref(talk, "root") is None
    with pytest.raises(UserError, match="not moved"):
        resolve_ref(talk, "-")
    talk.move_to(talk.roots()[0])
    assert resolve_ref(talk, "-") == here
    talk.append_message(UserMessage(content="x"))
    assert resolve_ref(talk, "-") == here


def test_a_small_number_is_no_id() -> None:
    """Who types 7 means a line of a list or a cell, not whatever begins with it; unless it is a whole id or a label."""
    session = Session(InMemorySessionStorage())
    for row in (said("72201d4e", None), said("4", "72201d4e"), entry("label", "b", "4", targetId="4", label="9")):
        session.storage.append(parse_entry(row))
    for number in ("7", "722"):
        with pytest.raises(UserError, match=f"{number} is too short for an id"):
            resolve_ref(session, number)
    assert [resolve_ref(session, name) for name in ("7220", "4", "9")] == ["72201d4e", "4", "4"]


def test_labels_and_ids(talk: Session) -> None:
    """A label in full, an id in full, or the beginning of one."""
    answer = resolve_ref(talk, "turn 2")
    assert answer is not None
    assert resolve_ref(talk, answer) == resolve_ref(talk, answer[:7]) == answer
    assert resolve_ref(talk, answer[:7].upper()) == answer


def test_a_label_comes_before_everything_else(talk: Session) -> None:
    """Whatever a label looks like, it is found."""
    for label in ("@x", "a~1", "b^", "root2"):
        talk.append_label(talk.roots()[0], label)
        assert resolve_ref(talk, label) == talk.roots()[0]


def test_ambiguous_names() -> None:
    """Two entries with one label, or one beginning, are listed."""
    session = Session(InMemorySessionStorage())

    for row in (
        said("aaaa1", None),
        said("aaaa2", "aaaa1"),
        entry("label", "l", "aaaa2", targetId="gone", label="ghost"),
    ):
        session.storage.append(parse_entry(row))
    with pytest.raises(UserError) as caught:
        resolve_ref(session, "aaaa")
    assert "aaaa1, aaaa2" in caught.value.hint
    session.append_label("aaaa1", "x")
    session.append_label("aaaa2", "x")
    with pytest.raises(UserError) as caught:
        resolve_ref(session, "x")
    assert "aaaa1, aaaa2" in caught.value.hint
    with pytest.raises(UserError, match="ghost"):
        resolve_ref(session, "ghost")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("turn 22", "turn 2"),
        ("", "label"),
        ("zzzzzzzzzz", "Labels here: turn 1"),
        ("@~9", ""),
        ("root^", ""),
        ("^", "Labels here"),
    ],
)
def test_names_that_name_nothing(talk: Session, text: str, hint: str) -> None:
    """The error is one line, with what is near or what to write."""
    with pytest.raises(UserError) as caught:
        resolve_ref(talk, text)
    assert hint in caught.value.hint


def test_words_with_a_meaning_win_over_labels(talk: Session) -> None:
    """A file may label anything root, @ or -: the words mean what they always do."""
    leaf = talk.leaf_id
    for word in ("root", "@", "@~1", "root^", "-"):
        talk.append_label(talk.roots()[0], word)
    assert resolve_ref(talk, "root") is None
    assert resolve_ref(talk, "@") == talk.leaf_id != leaf
    assert resolve_ref(talk, "@~1") != talk.roots()[0]
    with pytest.raises(UserError, match="nothing before the root"):
        resolve_ref(talk, "root^")


def test_labels_that_could_not_be_typed_are_told(talk: Session) -> None:
    """Reserved words, ids of other entries, spaces at the ends; an entry's own id and other words are good."""
    other = talk.roots()[0]
    for label in ("root", "-", "@", "@x", "@~1", "cell:7", "", " ", " a", "a ", "a^", "a~2", "a~", other):
        assert label_problem(talk, label, talk.leaf_id), label
    for label in ("plan", "two words", "rooted", "cell", "a-b", "x@y"):
        assert label_problem(talk, label, talk.leaf_id) == "", label
    assert label_problem(talk, other, other) == ""


def test_a_mistyped_id_is_recognised(talk: Session) -> None:
    """One wrong digit of a short id, and the right one is named; ids unlike it are not."""
    right = talk.roots()[0][:8]
    wrong = right[:7] + ("0" if right[7] != "0" else "1")
    with pytest.raises(UserError) as caught:
        resolve_ref(talk, wrong)
    assert right in caught.value.hint

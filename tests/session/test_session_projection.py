"""The context that grows with the path and goes back with it is the one that would be made anew, and is made late."""

from __future__ import annotations

import copy
import pickle
import random
from typing import Any

import pytest

from pi_nb.messages import AssistantMessage, CustomMessage, TextContent, UserMessage
from pi_nb.session.context import project, reduce_state
from pi_nb.session.entries import CustomEntry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session

PROJECTORS = {"note": lambda entry: [CustomMessage(custom_type="note", content=str(entry.data))]}


def grow(session: Session, source: random.Random) -> None:
    """Append an entry of some kind somewhere."""
    ids = [entry.id for entry in session.entries()]
    at = source.choice([*ids[-4:], *ids[-4:], *ids, None])
    number = len(ids)
    kinds: list[Any] = [
        lambda: session.append_message(UserMessage(content=f"q{number}"), parent=at),
        lambda: session.append_message(AssistantMessage(content=f"a{number}", provider="p", model="m"), parent=at),
        lambda: session.append_thinking_level_change(source.choice(["low", "off"]), parent=at),
        lambda: session.append_active_tools_change([f"t{number}"], parent=at),
        lambda: session.append_custom("note", number, parent=at),
        lambda: session.append_compaction("S", source.choice([*ids, "gone"]), 5, parent=at),
        lambda: session.append_custom_message("x", f"c{number}", parent=at),
        lambda: session.append_branch_summary(at, f"b{number}", parent=at),
        lambda: session.append_label(source.choice(ids), "here", parent=at),
    ]
    weights = [8, 8, 1, 1, 1, 1, 1, 1, 1]
    source.choices(kinds, weights)[0]() if ids else kinds[0]()
    if ids and source.random() < 0.05:
        session.storage.append(edit(session, source.choice(ids), source))


def edit(session: Session, target: str, source: random.Random) -> Any:
    from pi_nb.session.entries import parse_entry

    said = source.choice([None, {"content": "edited"}])
    fields = {"type": "context_edit", "id": session.storage.new_id(), "parentId": session.leaf_id}
    return parse_entry({**fields, "timestamp": "2026-01-01T00:00:00.000Z", "targetId": target, "replacement": said})


@pytest.mark.parametrize("projectors", [{}, PROJECTORS])
@pytest.mark.parametrize("seed", range(20))
def test_contexts_of_a_tree_in_any_order(seed: int, projectors: dict[str, Any]) -> None:
    """Whatever was looked at before, a context is what the path alone gives; those given out before stay the same."""
    source = random.Random(seed)
    session = Session(InMemorySessionStorage(), projectors=projectors)
    kept = []
    for _ in range(150):
        grow(session, source)
        at = source.choice([session.leaf_id, *(entry.id for entry in session.entries())])
        context, path = session.context(at), session.path(at)
        assert list(context.items) == list(project(path, projectors))
        state = reduce_state(path)
        assert (context.model, context.thinking_level, context.active_tool_names) == (
            *(state.model, state.thinking_level, state.active_tool_names),
        )
        if source.random() < 0.5:
            assert context.messages == tuple(item.message for item in project(path, projectors))
        kept.append((context, tuple(context.items)))
    for context, items in kept:
        assert tuple(context.items) == items
        assert tuple(context.messages_on_demand) == context.messages == tuple(item.message for item in items)


def test_custom_entries_are_only_projected_by_who_knows_them() -> None:
    """The projectors of the test before are used at all."""
    session = Session(InMemorySessionStorage(), projectors=PROJECTORS)
    session.append_custom("note", 7)
    assert isinstance(session.entries()[0], CustomEntry)
    assert [message.content for message in session.context().messages_on_demand] == ["7"]


@pytest.fixture
def opened(tmp_path: Any) -> Any:
    """A session of 300 messages, as it is when its file was just opened."""
    with SessionRepo(tmp_path).create(str(tmp_path)) as session:
        for number in range(150):
            session.append_message(UserMessage(content=f"q{number}"))
            content = (TextContent(text=f"a{number}"),)
            session.append_message(AssistantMessage(content=content, provider="p", model="m"))
        file = session.file
    with SessionRepo(tmp_path).open(file) as session:
        yield session


def made(session: Session) -> int:
    """Return how many entries of a session have been decoded."""
    return len(session.storage._cache)


def test_messages_on_demand(opened: Session) -> None:
    """They are a tuple in all but that only those looked at are read."""
    messages = opened.context().messages_on_demand
    assert len(messages) == 300
    assert messages[-1].text == "a149"
    assert [m.content for m in messages[0:4:2]] == ["q0", "q1"]
    assert next(reversed(messages)) == messages[299]
    assert made(opened) < 10
    whole = opened.context().messages
    assert (messages == whole, whole == messages, tuple(messages) == whole) == (True, True, True)
    assert messages + whole[:1] == (*whole, whole[0])
    assert (whole[0], *messages) == whole[:1] + messages
    assert repr(messages) == repr(whole)
    assert copy.deepcopy(messages) == pickle.loads(pickle.dumps(messages)) == whole
    assert messages != list(whole)
    with pytest.raises(IndexError):
        messages[300]


def test_messages_are_made_a_few_at_a_time(opened: Session) -> None:
    """Who reads ahead says how many; what was made is not made again, also on a branch that begins the same."""
    items = opened.context().items
    assert items.make(100)
    assert made(opened) < 110
    assert items.make(100)
    assert not items.make(100)
    before = opened.context().messages
    opened.move_to(opened.entries()[200].id)
    after = opened.context().messages
    assert len(after) == 201
    assert all(mine is theirs for mine, theirs in zip(after, before, strict=False))

"""From a path to what a model sees: state, compaction, edits, summaries, and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pi_nb.messages import CustomMessage, Message, UserMessage, text_of
from pi_nb.models import ModelRef
from pi_nb.session.context import State, project, provenance, reduce_state
from pi_nb.session.entries import CustomEntry, Entry, parse_entry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session

from .conftest import entry, said


def chain(*rows: dict[str, Any]) -> list[Entry]:
    """Return entries, each hanging from the one before."""
    parents = [None, *(row["id"] for row in rows)]
    return [parse_entry({**row, "parentId": parent}) for row, parent in zip(rows, parents, strict=False)]


def show(path: list[Entry], **options: Any) -> list[str]:
    """Return what a model sees, one word each; the same must come of a session built step by step."""
    items = project(path, **options)
    words = [f"{item.entry_id}:{word(item.message)}" for item in items]
    for step in (1, len(path) or 1):
        session = Session(InMemorySessionStorage(), **options)
        for place, item in enumerate(path):
            session.storage.append(item)
            if place % step == 0:
                session.context()
        assert [f"{item.entry_id}:{word(item.message)}" for item in session.context().items] == words
        assert session.context().messages == tuple(item.message for item in items)
    return words


def word(message: Message) -> str:
    if message.role in ("compactionSummary", "branchSummary"):
        return f"{message.role}({message.summary})"
    return text_of(message.content)


# ---------------------------------------------------------------- state


def test_state_of_nothing() -> None:
    """Without entries no model is set, thinking is off, and the tools are not set either."""
    assert reduce_state([]) == State(None, "off", None)


def test_the_last_setting_counts() -> None:
    """Level, tools and model are each what was said last; an answer names a model too."""
    path = chain(
        entry("model_change", "1", None, provider="p", modelId="first"),
        entry("thinking_level_change", "2", None, thinkingLevel="low"),
        entry("active_tools_change", "3", None, activeToolNames=["read"]),
        said("4", None, role="assistant"),
        entry("thinking_level_change", "5", None, thinkingLevel="high"),
        entry("active_tools_change", "6", None, activeToolNames=[]),
        said("7", None),
    )
    assert reduce_state(path) == State(ModelRef("p", "m"), "high", ())
    assert reduce_state(path[:3]) == State(ModelRef("p", "first"), "low", ("read",))


def test_an_aborted_answer_names_its_model_too() -> None:
    """How an answer ended does not matter; one that names no model is passed over."""
    aborted = said("1", None, role="assistant")
    aborted["message"] |= {"stopReason": "aborted", "model": "other"}
    nameless = said("2", None, role="assistant")
    del nameless["message"]["provider"]
    assert reduce_state(chain(aborted, nameless)).model == ModelRef("p", "other")


def test_settings_of_other_branches_do_not_count(session: Session) -> None:
    """Only what lies on the path has a say."""
    first = session.append_message(UserMessage(content="x"))
    session.append_thinking_level_change("high")
    session.append_model_change("p", "m")
    session.append_active_tools_change(["read"])
    session.move_to(first)
    context = session.context()
    assert (context.thinking_level, context.model, context.active_tool_names) == ("off", None, None)
    context = session.context(session.branches()[0])
    assert (context.thinking_level, context.model, context.active_tool_names) == ("high", ModelRef("p", "m"), ("read",))


def test_settings_before_a_compaction_count() -> None:
    """State comes from the whole path, messages from what is left of it."""
    path = chain(
        entry("thinking_level_change", "1", None, thinkingLevel="low"),
        said("2", None),
        entry("compaction", "3", None, summary="S", firstKeptEntryId="3", tokensBefore=1),
    )
    assert reduce_state(path).thinking_level == "low"
    assert show(path) == ["3:compactionSummary(S)"]


@pytest.mark.parametrize("field", [{}, {"thinkingLevel": 5}, {"thinkingLevel": None}])
def test_a_setting_that_says_nothing_is_passed_over(field: dict[str, Any]) -> None:
    """A broken setting is no setting."""
    path = chain(
        entry("thinking_level_change", "1", None, thinkingLevel="low"),
        entry("thinking_level_change", "2", None, **field),
    )
    assert reduce_state(path).thinking_level == "low"


# ---------------------------------------------------------------- messages


def test_what_becomes_a_message() -> None:
    """Messages, application messages and summaries do; settings, labels, moves and data do not."""
    path = chain(
        said("1", None),
        entry("custom_message", "2", None, customType="c", content="hey", display=False),
        entry("branch_summary", "3", None, fromId="1", summary="B"),
        entry("branch_summary", "4", None, fromId="1", summary=""),
        entry("custom", "5", None, customType="c", data=1),
        entry("label", "6", None, targetId="1", label="x"),
        entry("session_info", "7", None, name="n"),
        entry("model_change", "8", None, provider="p", modelId="m"),
        entry("leaf", "9", None, targetId="8"),
        entry("usage", "a", None, kind="k", provider="p", model="m", usage={}),
        entry("hologram", "b", None),
        said("c", None, role="toolResult"),
    )
    assert show(path[:-1]) == ["1:1", "2:hey", "3:branchSummary(B)"]


def test_projected_messages_carry_what_they_come_from() -> None:
    """Times become milliseconds, or nothing where they are no times."""
    path = chain(
        entry("custom_message", "1", None, customType="c", content="x", display=False, details={"a": 1}),
        {**entry("branch_summary", "2", None, fromId="f", summary="B"), "timestamp": "yesterday"},
        entry("compaction", "3", None, summary="", firstKeptEntryId="1", tokensBefore=7),
    )
    found = [item.message.to_wire() for item in project(path)]
    assert found == [
        {"role": "compactionSummary", "summary": "", "tokensBefore": 7, "timestamp": 1767225601000},
        {
            "role": "custom",
            "customType": "c",
            "content": "x",
            "display": False,
            "details": {"a": 1},
            "timestamp": 1767225601000,
        },
        {"role": "branchSummary", "summary": "B", "fromId": "f", "timestamp": None},
    ]


def test_custom_entries_can_be_projected() -> None:
    """A projector makes messages of an application's data: none, one or several."""

    def shout(item: CustomEntry) -> list[Message]:
        return [CustomMessage(custom_type="c", content=text) for text in item.data]

    path = chain(
        entry("custom", "1", None, customType="c", data=["a", "b"]),
        entry("custom", "2", None, customType="c", data=[]),
        entry("custom", "3", None, customType="other", data=["z"]),
        said("4", None),
    )
    assert show(path, projectors={"c": shout}) == ["1:a", "1:b", "4:4"]
    assert provenance(path, {"c": shout}) == {"1": "kept", "2": "kept", "3": "not a message", "4": "kept"}


# ---------------------------------------------------------------- compaction


def compaction(id: str, kept: str | None, **fields: Any) -> dict[str, Any]:
    return entry("compaction", id, None, summary=f"S{id}", firstKeptEntryId=kept, tokensBefore=1, **fields)


def test_a_compaction_stands_first() -> None:
    """Then comes what it keeps, then what followed it."""
    path = chain(said("1", None), said("2", None), said("3", None), compaction("4", "2"), said("5", None))
    assert show(path) == ["4:compactionSummary(S4)", "2:2", "3:3", "5:5"]
    assert provenance(path) == {"1": "summarised by 4", "2": "kept", "3": "kept", "4": "kept", "5": "kept"}


@pytest.mark.parametrize("kept", ["nowhere", "2", "3", None])
def test_a_compaction_that_keeps_nothing(kept: str | None) -> None:
    """An unknown first kept entry, its own, a later one, or none: only the summary is left."""
    assert show(chain(said("1", None), compaction("2", kept), said("3", None))) == ["2:compactionSummary(S2)", "3:3"]


def test_only_the_latest_compaction_is_a_summary() -> None:
    """An older one inside the kept range says nothing any more."""
    path = chain(said("1", None), compaction("2", "1"), said("3", None), compaction("4", "1"), said("5", None))
    assert show(path) == ["4:compactionSummary(S4)", "1:1", "3:3", "5:5"]
    assert provenance(path)["2"] == "summarised by 4"


def test_the_first_kept_entry_may_be_no_message() -> None:
    """A label or a setting marks the place as well."""
    path = chain(
        said("1", None), entry("label", "2", None, targetId="1", label="x"), said("3", None), compaction("4", "2")
    )
    assert show(path) == ["4:compactionSummary(S4)", "3:3"]


def test_a_compaction_of_another_branch_does_not_count(session: Session) -> None:
    """It changes nothing on the branch where it is not."""
    first = session.append_message(UserMessage(content="x"))
    session.append_compaction("S", None, 1)
    session.move_to(first)
    session.append_message(UserMessage(content="y"))
    assert [message.role for message in session.context().messages] == ["user", "user"]


def test_a_broken_compaction_is_none() -> None:
    """One whose summary is no text is passed over."""
    path = chain(said("1", None), entry("compaction", "2", None, summary=5, firstKeptEntryId="1"), said("3", None))
    assert show(path) == ["1:1", "3:3"]


def test_instructions_kept_in_a_compaction() -> None:
    """Newer pi keeps its system message there; it comes before the summary, in place of those it replaces."""
    system = {"role": "system", "content": "be kind", "timestamp": 1}
    path = chain(said("1", None, "old rules", "system"), said("2", None), compaction("3", "1", systemMessage=system))
    assert show(path) == ["3:be kind", "3:compactionSummary(S3)", "2:2"]
    assert show(chain(said("1", None, "rules", "system"), compaction("2", "1"))) == [
        "2:compactionSummary(S2)",
        "1:rules",
    ]


# ---------------------------------------------------------------- edits


def edit(id: str, target: str, content: Any) -> dict[str, Any]:
    return entry(
        "context_edit", id, None, targetId=target, replacement=content if content is None else {"content": content}
    )


def test_edits_change_or_remove_what_a_model_sees() -> None:
    """The last edit of an entry wins, and the log still has what was said."""
    path = chain(
        said("1", None),
        said("2", None, role="assistant"),
        said("3", None),
        entry("custom_message", "4", None, customType="c", content="x"),
        edit("5", "1", None),
        edit("6", "2", "short"),
        edit("7", "3", "once"),
        edit("8", "3", [{"type": "text", "text": "twice"}]),
        edit("9", "4", "y"),
        edit("a", "gone", None),
    )
    assert show(path) == ["2:short", "3:twice", "4:y"]
    answer = project(path)[0].message
    assert answer.content[0].text == "short"
    assert (answer.provider, answer.stop_reason) == ("p", "stop")
    reasons = provenance(path)
    assert [reasons[id] for id in "12345"] == [
        "omitted by 5",
        "edited by 6",
        "edited by 8",
        "edited by 9",
        "not a message",
    ]
    assert text_of(path[0].message.content) == "1"


def test_an_edit_can_be_taken_back() -> None:
    """A replacement after an omission shows the entry again."""
    assert show(chain(said("1", None), edit("2", "1", None), edit("3", "1", "back"))) == ["1:back"]


def test_summaries_cannot_be_reworded_but_left_out() -> None:
    """A replacement of a summary changes nothing; an omission removes it."""
    summary = entry("branch_summary", "1", None, fromId="f", summary="B")
    assert show(chain(summary, edit("2", "1", "other"))) == ["1:branchSummary(B)"]
    assert show(chain(summary, edit("2", "1", None))) == []


def test_edits_of_another_branch_do_not_count(session: Session) -> None:
    """What was omitted on one branch is seen on another."""
    first = session.append_message(UserMessage(content="x"))
    session.append_context_edit(first, None)
    assert session.context().messages == ()
    session.move_to(first)
    assert len(session.context().messages) == 1


def test_an_edit_without_sense_changes_nothing() -> None:
    """A replacement without content is none."""
    path = chain(said("1", None), entry("context_edit", "2", None, targetId="1", replacement={"other": 1}))
    assert show(path) == ["1:1"]


# ---------------------------------------------------------------- long paths


def test_paths_of_any_length(opened: Callable[..., Session]) -> None:
    """Twenty thousand entries in one chain are walked, reduced and projected without recursion."""
    rows = [
        said(f"{n:08x}", f"{n - 1:08x}" if n else None, role="assistant" if n % 2 else "user") for n in range(20_000)
    ]
    session = opened(*rows)
    assert len(session.path()) == 20_000
    context = session.context()
    assert (len(context.items), context.model) == (20_000, ModelRef("p", "m"))
    assert session.branches() == ["00004e1f"]


def test_context_from_everywhere(session: Session) -> None:
    """Asking here and there in any order gives what asking once gives."""
    ids: list[str] = []
    for number in range(60):
        parent = ids[number * 7 % len(ids)] if ids and number % 3 == 0 else session.leaf_id
        ids.append(session.append_message(UserMessage(content=str(number)), parent=parent))
        if number % 10 == 5:
            ids.append(session.append_compaction(str(number), ids[number // 2], 1))
    for place in range(200):
        id = ids[place * 31 % len(ids)]
        assert list(session.context(id).items) == list(project(session.path(id)))

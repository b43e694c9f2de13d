import asyncio

import pytest

from pi_nb.errors import BranchSummaryError, HarnessError
from pi_nb.harness.branch_summary import BranchSummary, left_branch, select_messages
from pi_nb.harness.hooks import TreeDecision
from pi_nb.harness.prompts import BRANCH_PREAMBLE
from pi_nb.harness.tools import tool
from pi_nb.messages import TextContent, Usage, UserMessage
from pi_nb.models import Model
from pi_nb.providers.scripted import Reply
from pi_nb.session.entries import parse_entry
from tests.harness.bench import bench, calling

MODELS = [Model("scripted", "one"), Model("scripted", "two")]


@tool
async def read(path: str) -> str:
    """Read."""
    return f"contents of {path}"


def two_rounds(*replies, **options):
    made = bench("first answer", "second answer", *replies, **options)
    asyncio.run(made.harness.prompt("first"))
    asyncio.run(made.harness.prompt("second"))
    return made, [entry.id for entry in made.session.entries()]


def test_a_move_to_an_answer():
    """The leaf is the chosen entry, nothing comes back for editing, and the next prompt branches off there."""
    made, ids = two_rounds("other answer")
    moved = asyncio.run(made.harness.navigate_tree(ids[1]))
    assert (moved.cancelled, moved.editor_text, moved.leaf_id) == (False, None, ids[1])
    asyncio.run(made.harness.prompt("other"))
    assert made.said() == ["user: first", "assistant: first answer", "user: other", "assistant: other answer"]
    assert len(made.session.branches()) == 2


def test_a_move_to_a_question_brings_its_text_back():
    """A user message puts the leaf before it and gives its text back."""
    made, ids = two_rounds()
    moved = asyncio.run(made.harness.navigate_tree(ids[2]))
    assert (moved.editor_text, moved.leaf_id) == ("second", ids[1])


def test_a_move_before_the_beginning():
    """None is the place before the first entry; the next prompt is a new root."""
    made, _ids = two_rounds("anew")
    moved = asyncio.run(made.harness.navigate_tree(None))
    assert moved.leaf_id is None
    asyncio.run(made.harness.prompt("fresh"))
    assert made.said() == ["user: fresh", "assistant: anew"]
    assert len(made.session.roots()) == 2


def test_a_move_to_where_one_is():
    """Nothing happens: no entry, no event."""
    made, ids = two_rounds()
    made.events.clear()
    assert not asyncio.run(made.harness.navigate_tree(ids[-1])).cancelled
    assert made.events == []
    assert len(made.session) == 4


def test_a_move_to_an_application_message():
    """An application's message is there to be said anew, like the user's."""
    made = bench("a")
    asyncio.run(made.harness.prompt("q"))
    note = made.session.append_custom_message("note", (TextContent(text="a note"),))
    made.session.append_message(UserMessage(content="later"))
    assert asyncio.run(made.harness.navigate_tree(note)).editor_text == "a note"


def test_an_unknown_entry_is_a_clear_error():
    """An id that is not in the session is refused, and the harness is idle."""
    made, _ids = two_rounds()
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.navigate_tree("feedbeef"))
    assert caught.value.code == "invalid_argument"
    assert made.harness.is_idle


def test_the_harness_becomes_what_the_branch_says():
    """Model, level and tools are those of the branch; where it says nothing, those the harness was made with."""
    made = bench("a", "b", models=MODELS, tools=[read], thinking_level="medium")

    async def work():
        harness = made.harness
        await harness.prompt("one")
        plain = made.session.leaf_id
        await harness.set_model("scripted:two")
        await harness.set_thinking_level("high")
        await harness.set_active_tools([])
        await harness.prompt("two")
        rich = made.session.leaf_id
        await harness.navigate_tree(plain)
        assert (str(harness.model), harness.thinking_level) == ("scripted:one", "medium")
        assert harness.active_tool_names == ("read",)
        await harness.navigate_tree(rich)
        assert (str(harness.model), harness.thinking_level, harness.active_tool_names) == ("scripted:two", "high", ())

    asyncio.run(work())
    told = [
        (e.type, e.source)
        for e in made.events
        if e.type.endswith("_update") and e.type.split("_")[0] in {"model", "thinking", "tools"}
    ]
    assert told.count(("model_update", "restore")) == 2
    assert told.count(("thinking_level_update", "restore")) == 2
    assert told.count(("tools_update", "restore")) == 2


def test_an_explicit_off_is_not_the_same_as_nothing():
    """A branch that turns thinking off stays off, whatever the harness was made with."""
    made = bench("a", thinking_level="high")

    async def work():
        await made.harness.set_thinking_level("off")
        await made.harness.prompt("q")
        off = made.session.leaf_id
        await made.harness.navigate_tree(None)
        assert made.harness.thinking_level == "high"
        await made.harness.navigate_tree(off)
        assert made.harness.thinking_level == "off"

    asyncio.run(work())


def test_what_is_not_available_here_is_told_and_replaced():
    """A model or tool that a branch names and this place does not have is a notice, not an error."""
    made, ids = two_rounds(tools=[read])
    made.session.move_to(ids[1])
    made.session.append_model_change("faraway", "big")
    made.session.append_active_tools_change(["read", "teleport"])
    strange = made.session.leaf_id
    made.session.move_to(ids[3])
    asyncio.run(made.harness.navigate_tree(strange))
    assert str(made.harness.model) == "scripted:one"
    assert made.harness.active_tool_names == ("read",)
    assert "faraway:big" in made.harness.notices[0]
    assert "teleport" in made.harness.notices[1]


def test_a_leaf_that_somebody_else_moved_is_followed():
    """If the session was moved behind the harness's back, the next prompt goes by that branch."""
    made = bench("a", "b", models=MODELS)

    async def work():
        await made.harness.prompt("one")
        place = made.session.leaf_id
        await made.harness.set_model("scripted:two")
        made.session.move_to(place)
        await made.harness.prompt("two")

    asyncio.run(work())
    assert [request.model.id for request in made.provider.requests] == ["one", "one"]


# ---------------------------------------------------------------- summaries


def test_a_summary_of_the_branch_that_is_left():
    """It hangs under the new leaf, names the leaf that was left, lists the files, and costs tokens."""
    made = bench(
        calling(("read", {"path": "/a.txt"})),
        "read it",
        Reply("WHAT I LEARNT", usage=Usage.of(input=7, output=3)),
        "on",
        tools=[read],
    )
    asyncio.run(made.harness.prompt("look"))
    left = made.session.leaf_id
    moved = asyncio.run(made.harness.navigate_tree(None, summarize=True))
    entry = moved.summary_entry
    assert entry.summary == f"{BRANCH_PREAMBLE}WHAT I LEARNT\n\n<read-files>\n/a.txt\n</read-files>"
    assert (entry.from_id, entry.parent_id, made.session.leaf_id) == (left, None, entry.id)
    assert entry.to_wire()["usage"]["totalTokens"] == 10
    asked = made.provider.requests[2]
    assert asked.max_tokens == 2_048
    assert (
        '[User]: look\n\n[Assistant tool calls]: read(path="/a.txt")\n\n[Assistant]: read it'
        in asked.messages[0].content[0].text
    )
    assert "contents of" not in asked.messages[0].content[0].text
    asyncio.run(made.harness.prompt("go on"))
    assert "WHAT I LEARNT" in str(made.provider.requests[3].messages)


def test_an_edited_message_is_summarised_as_edited():
    """What an edit took out of the context is not summarised."""
    made, ids = two_rounds()
    edit = {"type": "context_edit", "id": "feed0001", "parentId": ids[3], "targetId": ids[2], "replacement": None}
    made.session.storage.append(parse_entry({**edit, "timestamp": "2026-01-01T00:00:00.000Z"}))
    left = left_branch(made.session, "feed0001", ids[1])
    assert [entry.id for entry in left.entries] == [ids[2], ids[3], "feed0001"]
    assert [message.role for message in select_messages(left.entries).messages] == ["assistant"]


def test_the_newest_messages_are_summarised_first():
    """A budget leaves out the oldest messages of a branch."""
    made, ids = two_rounds()
    left = left_branch(made.session, ids[3], None)
    part = select_messages(left.entries, budget=7)
    assert [message.role for message in part.messages] == ["user", "assistant"]
    assert part.tokens == 6


def test_a_compaction_on_the_branch_hides_nothing_from_its_summary():
    """What was said on the branch is told in its order, with the summary of a compaction where that was made."""
    h = bench()
    first = h.session.append_message(UserMessage(content="first"))
    told = [h.session.append_message(UserMessage(content=text)) for text in ("second", "third")]
    h.session.append_compaction("in short", told[1], 99)
    h.session.append_message(UserMessage(content="fourth"))
    left = left_branch(h.session, h.session.leaf_id, first)
    texts = [getattr(each, "summary", None) or each.content for each in select_messages(left.entries).messages]
    assert texts == ["second", "third", "in short", "fourth"]
    texts = [getattr(each, "summary", None) or each.content for each in select_messages(left.entries, 3).messages]
    assert texts == ["in short", "fourth"]


def test_a_failed_summary_moves_nothing():
    """The leaf stays, the error says why, and the harness is idle."""
    made, ids = two_rounds(Reply(error="no credit"))
    with pytest.raises(BranchSummaryError, match="no credit"):
        asyncio.run(made.harness.navigate_tree(ids[1], summarize=True))
    assert made.session.leaf_id == ids[3]
    assert made.harness.is_idle


def test_instructions_are_added_or_take_the_place_of_ours():
    """A focus is added to our instructions; replacing uses only the user's."""
    made, ids = two_rounds("S1", "S2")

    async def work():
        await made.harness.navigate_tree(ids[1], summarize=True, instructions="the price")
        await made.harness.navigate_tree(ids[3])
        await made.harness.navigate_tree(ids[1], summarize=True, instructions="ONLY THIS", replace_instructions=True)

    asyncio.run(work())
    first, second = (request.messages[0].content[0].text for request in made.provider.requests[2:])
    assert first.endswith("Pay special attention to: the price")
    assert second.endswith("</conversation>\n\nONLY THIS")


def test_a_label_is_given_to_the_summary_or_the_target():
    """A label names the summary if there is one, else the entry that was chosen."""
    made, ids = two_rounds("SUM")
    moved = asyncio.run(made.harness.navigate_tree(ids[1], summarize=True, label="dead end"))
    assert made.session.labels == {moved.summary_entry.id: "dead end"}
    asyncio.run(made.harness.navigate_tree(ids[3], label="main"))
    assert made.session.labels[ids[3]] == "main"


def test_a_hook_may_stop_supply_or_change_a_move():
    """A hook cancels a move, supplies a summary, or changes its instructions; its exception is an error."""
    made, ids = two_rounds("SUM")
    decisions = iter(
        [
            TreeDecision(cancel=True),
            TreeDecision(summary=BranchSummary("MINE")),
            TreeDecision(instructions="HOOKED", replace_instructions=True),
        ]
    )
    made.harness.on("session_before_tree", lambda _event: next(decisions))

    async def work():
        assert (await made.harness.navigate_tree(ids[1])).cancelled
        assert made.session.leaf_id == ids[3]
        mine = await made.harness.navigate_tree(ids[1])
        assert (mine.summary_entry.summary, mine.summary_entry.from_hook) == ("MINE", True)
        await made.harness.navigate_tree(ids[3], summarize=True)
        with pytest.raises(HarnessError) as caught:
            await made.harness.navigate_tree(ids[0])
        assert caught.value.code == "hook"
        assert made.harness.is_idle

    asyncio.run(work())
    assert made.provider.requests[2].messages[0].content[0].text.endswith("HOOKED")

"""A summary of a branch that was left before, and what waits taken back: for whoever moves first and thinks after."""

from __future__ import annotations

import asyncio

import pytest

from pi_nb.errors import HarnessError
from pi_nb.messages import text_of
from pi_nb.providers.scripted import Reply
from tests.harness.bench import bench


def two_rounds(*replies: str | Reply) -> tuple[object, list[str]]:
    made = bench("first answer", "second answer", *replies)
    asyncio.run(made.harness.prompt("first"))
    asyncio.run(made.harness.prompt("second"))
    return made, [entry.id for entry in made.session.entries()]


def test_what_was_left_can_be_summarised_afterwards() -> None:
    """The leaf moved without a summary; named as left, the branch gets one where the leaf is, and nothing moves."""
    made, ids = two_rounds("- it was about ships")
    asyncio.run(made.harness.navigate_tree(ids[1]))
    before = len(made.session)
    moved = asyncio.run(made.harness.navigate_tree(ids[1], summarize=True, exact=True, left=ids[3]))
    summary = moved.summary_entry
    assert (summary.parent_id, summary.from_id) == (ids[1], ids[3])
    assert "ships" in summary.summary
    assert (len(made.session), moved.leaf_id) == (before + 1, summary.id)


def test_a_leaf_on_a_prompt_stays_there() -> None:
    """Exact is exact: an unanswered prompt at the leaf is not stepped back from, nor is its text given back."""
    made, ids = two_rounds("- ships")
    made.session.move_to(ids[0])
    moved = asyncio.run(made.harness.navigate_tree(ids[0], summarize=True, exact=True, left=ids[3]))
    assert (moved.editor_text, moved.summary_entry.parent_id) == (None, ids[0])


def test_nothing_left_is_no_summary() -> None:
    """A branch that ends on the way to the leaf leaves nothing; one that is not there is an error."""
    made, ids = two_rounds()
    moved = asyncio.run(made.harness.navigate_tree(ids[3], summarize=True, exact=True, left=ids[1]))
    assert (moved.summary_entry, len(made.session)) == (None, 4)
    with pytest.raises(HarnessError, match="There is no entry nowhere"):
        asyncio.run(made.harness.navigate_tree(ids[3], summarize=True, left="nowhere"))


def test_what_waits_can_be_taken_back() -> None:
    """It is not said any more, and subscribers hear that nothing waits."""
    made = bench(Reply("slow " * 40), "next")
    heard: list[int] = []
    taken: list[str] = []

    async def run() -> None:
        async def listen(event: object) -> None:
            if getattr(event, "type", "") == "message_update" and not taken:
                await made.harness.steer("sooner")
                await made.harness.follow_up("later")
                back = await made.harness.take_back()
                taken.extend(text_of(m.content) for m in (*back.cleared_steer, *back.cleared_follow_up))
            if getattr(event, "type", "") == "queue_update":
                heard.append(len(event.steer) + len(event.follow_up))

        made.harness.subscribe(listen)
        await made.harness.prompt("go")

    asyncio.run(run())
    assert taken == ["sooner", "later"]
    assert heard == [1, 2, 0]
    assert made.said() == ["user: go", "assistant: " + "slow " * 40]

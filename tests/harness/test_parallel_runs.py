import asyncio

import pytest

from pi_nb.errors import HarnessError
from pi_nb.harness.tools import tool
from pi_nb.models import Model
from pi_nb.providers.scripted import Reply
from pi_nb.session.repo import SessionRepo
from tests.harness.bench import bench, calling, refusals

MODELS = [Model("scripted", "one"), Model("scripted", "two")]


@tool
async def nap(text: str) -> str:
    """Sleep a little."""
    await asyncio.sleep(0.01)
    return text


def echoing(request):
    """Answer with the question, so that it is known who was asked what."""
    last = request.messages[-1]
    text = last.content if isinstance(last.content, str) else last.content[0].text
    if last.role == "user" and text.startswith("use "):
        return calling(("nap", {"text": text}))
    return Reply(f"re: {text}", delay=0.01)


def started(**options):
    made = bench("hello", *[echoing] * 40, tools=[nap], **options)
    asyncio.run(made.harness.prompt("hi"))
    return made, made.session.leaf_id


def test_runs_at_one_entry_go_on_beside_each_other():
    """Several runs at one entry make one branch each, and the leaf is where it was."""
    made, leaf = started()

    async def work():
        return await asyncio.gather(*(made.harness.prompt(f"use {n}", at=leaf) for n in range(5)))

    answers = asyncio.run(work())
    assert [answer.text for answer in answers] == [f"re: use {n}" for n in range(5)]
    assert made.session.leaf_id == leaf
    tips = [tip for tip in made.session.branches() if made.session.entry(tip).type == "message"]
    assert sorted(made.said(tip)[2] for tip in tips) == [f"user: use {n}" for n in range(5)]
    for tip in tips:
        assert [line.partition(":")[0] for line in made.said(tip)] == [
            *("user", "assistant", "user", "assistant", "toolResult", "assistant")
        ]


def test_the_leaf_is_put_back_once(tmp_path):
    """One leaf entry is written when the last of them is over, so that a reopened session is at the same place."""
    made, leaf = started(folder=tmp_path)

    async def work():
        await asyncio.gather(*(made.harness.prompt(f"use {n}", at=leaf) for n in range(3)))

    asyncio.run(work())
    assert made.kinds().count("leaf") == 1
    made.session.close()
    with SessionRepo(tmp_path).open(made.session.file) as again:
        assert again.leaf_id == leaf


def test_each_run_has_a_model_of_its_own():
    """A model given for a run is written to its branch and asked there; the harness keeps its own."""
    made, leaf = started(models=MODELS)

    async def work():
        return await asyncio.gather(
            made.harness.prompt("a", at=leaf), made.harness.prompt("b", at=leaf, model="scripted:two")
        )

    one, two = asyncio.run(work())
    assert (one.model, two.model, str(made.harness.model)) == ("one", "two", "scripted:one")
    assert made.kinds().count("model_change") == 1


def test_a_run_goes_by_the_branch_it_is_on():
    """A run at an entry uses the model and the tools that its branch says."""
    made, leaf = started(models=MODELS)

    async def work():
        await made.harness.set_model("scripted:two")
        await made.harness.set_active_tools([])
        tip = made.session.leaf_id
        await made.harness.prompt("x", at=leaf)
        await made.harness.prompt("y", at=tip)

    asyncio.run(work())
    asked = [(request.model.id, len(request.tools)) for request in made.provider.requests[1:]]
    assert asked == [("one", 1), ("two", 0)]


def test_a_run_at_the_leaf_goes_on_beside_others():
    """A prompt at the leaf may run beside them; the leaf is at its end afterwards."""
    made, leaf = started()

    async def work():
        side = [asyncio.create_task(made.harness.prompt(f"use {n}", at=leaf)) for n in range(3)]
        await asyncio.sleep(0)
        main = await made.harness.prompt("use main")
        await asyncio.gather(*side)
        return main

    assert asyncio.run(work()).text == "re: use main"
    assert made.said() == [
        *("user: hi", "assistant: hello", "user: use main", "assistant: ", "toolResult: use main"),
        "assistant: re: use main",
    ]


def test_moves_and_compactions_wait_for_all_runs():
    """What needs the whole session is refused while any run goes on."""
    made, leaf = started()

    async def work():
        task = asyncio.create_task(made.harness.prompt("use it", at=leaf))
        await asyncio.sleep(0)
        assert made.harness.phase == "turn"
        for attempt in (made.harness.navigate_tree(None), made.harness.compact()):
            with pytest.raises(HarnessError) as caught:
                await attempt
            assert caught.value.code == "busy"
        with pytest.raises(HarnessError) as caught:
            await made.harness.steer("x")
        assert caught.value.code == "invalid_state"
        await task

    asyncio.run(work())


def test_what_is_set_meanwhile_is_written_at_the_leaf():
    """A setting made while such a run goes on belongs to the session's leaf, not to that run's branch."""
    made, leaf = started()

    async def work():
        task = asyncio.create_task(made.harness.prompt("use it", at=leaf))
        await asyncio.sleep(0.005)
        await made.harness.set_thinking_level("low")
        await task

    asyncio.run(work())
    change = made.session.entry(made.session.leaf_id)
    assert (change.type, change.parent_id) == ("thinking_level_change", leaf)


def test_events_of_such_a_run_are_its_own():
    """Its listener hears them, subscribers of the harness do not."""
    made, leaf = started()
    made.events.clear()
    heard = []
    asyncio.run(made.harness.prompt("x", at=leaf, listener=lambda event: heard.append(event.type)))
    assert made.events == []
    assert heard[0] == "agent_start"
    assert heard[-1] == "settled"


def test_cancelling_one_leaves_the_others():
    """A caller that is cancelled aborts its own run only."""
    made, leaf = started()

    async def work():
        tasks = [asyncio.create_task(made.harness.prompt(f"use {n}", at=leaf)) for n in range(3)]
        await asyncio.sleep(0.005)
        tasks[1].cancel()
        return await asyncio.gather(*tasks, return_exceptions=True)

    one, two, three = asyncio.run(work())
    assert (one.text, three.text) == ("re: use 0", "re: use 2")
    assert isinstance(two, asyncio.CancelledError)
    assert made.session.leaf_id == leaf
    assert refusals(made.session) == []


def test_an_abort_stops_all_of_them():
    """One abort ends every run, and the leaf is back."""
    made, leaf = started()

    async def work():
        tasks = [asyncio.create_task(made.harness.prompt(f"use {n}", at=leaf)) for n in range(3)]
        await asyncio.sleep(0.005)
        await made.harness.abort()
        return await asyncio.gather(*tasks)

    assert [answer.stop_reason for answer in asyncio.run(work())] == ["aborted"] * 3
    assert made.session.leaf_id == leaf
    assert made.harness.is_idle


def test_an_unknown_place_is_refused():
    """A run at an entry that does not exist is refused, and nothing is written."""
    made, _leaf = started()
    before = len(made.session)
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.prompt("x", at="feedbeef"))
    assert caught.value.code == "invalid_argument"
    assert len(made.session) == before
    assert made.harness.is_idle


def test_a_run_before_the_first_entry():
    """A run at None begins a root of its own."""
    made, leaf = started()
    asyncio.run(made.harness.prompt("alone", at=None))
    assert made.provider.requests[-1].messages[0].content[0].text == "alone"
    assert len(made.provider.requests[-1].messages) == 1
    assert made.session.leaf_id == leaf


def test_a_run_with_a_thinking_level_of_its_own():
    """The level is written to that branch only and asked for there; the leaf's branch keeps its own."""
    made, leaf = started()

    async def work():
        await asyncio.gather(*(made.harness.prompt(level, at=leaf, thinking_level=level) for level in ("low", "high")))

    asyncio.run(work())
    assert {request.thinking_level for request in made.provider.requests[1:]} == {"low", "high"}
    assert (made.session.leaf_id, made.harness.thinking_level) == (leaf, "off")
    with pytest.raises(HarnessError, match="not a thinking level"):
        asyncio.run(made.harness.prompt("x", at=leaf, thinking_level="loud"))
    assert made.harness.is_idle

import asyncio

import pytest

from pi_nb.errors import HarnessError, ProviderError
from pi_nb.harness.tools import tool
from pi_nb.messages import UserMessage
from pi_nb.models import Model
from pi_nb.providers.scripted import Reply
from pi_nb.session.repo import SessionRepo
from tests.harness.bench import bench, calling, refusals, refused

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


@pytest.mark.parametrize("others", [0, 1])
def test_a_run_that_is_cancelled_before_it_begins_leaves_nothing(others):
    """The next prompt goes where the leaf was moved to, and what was set meanwhile is written."""
    made, first = started(models=MODELS)
    asyncio.run(made.harness.prompt("second"))

    async def work():
        for n in range(others):
            made.harness.start(f"use {n}", at=first)
        run = made.harness.start("b", at=first)
        run.task.cancel()
        await made.harness.set_model("scripted:two")
        await made.harness.wait_for_idle()
        assert run.task.cancelled()
        assert made.session.context().model.model_id == "two"
        made.session.move_to(first)
        await made.harness.prompt("third")

    asyncio.run(work())
    assert made.said() == ["user: hi", "assistant: hello", "user: third", "assistant: re: third"]
    assert made.harness.is_idle


def test_a_run_cut_off_with_its_session_is_told_of(tmp_path):
    """What cannot be written any more after such a run is a notice."""
    made, first = started(folder=tmp_path, models=MODELS)

    async def work():
        run = made.harness.start("b", at=first)
        await made.harness.set_model("scripted:two")
        made.session.close()
        run.task.cancel()
        await made.harness.wait_for_idle()

    asyncio.run(work())
    assert made.harness.is_idle
    assert "closed" in made.harness.notices[-1]


def test_without_a_loop_nothing_begins():
    """A run that cannot begin keeps nobody busy."""
    made, leaf = started()
    with pytest.raises(RuntimeError):
        made.harness.start("x", at=leaf)
    assert made.harness.is_idle
    assert asyncio.run(made.harness.prompt("y")).text == "re: y"


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


# ---------------------------------------------------------------- a run to hold


def test_a_run_can_be_held_and_spoken_to():
    """Each run has queues of its own: what is said to one is heard on its branch only."""
    made, leaf = started()

    async def work():
        one, two = (made.harness.start(f"use {n}", at=leaf) for n in (1, 2))
        await one.steer("quicker")
        await two.follow_up("and then?")
        assert [m.content[0].text for m in (*one.unsaid, *two.unsaid)] == ["quicker", "and then?"]
        await asyncio.gather(one, two)
        assert (one.done, one.unsaid, two.unsaid) == (True, (), ())
        return one.entry_id, two.entry_id

    one, two = asyncio.run(work())
    assert [line for line in made.said(one)[2:] if line.startswith("user")] == ["user: use 1", "user: quicker"]
    assert made.said(two)[-2:] == ["user: and then?", "assistant: re: and then?"]
    assert made.session.leaf_id == leaf


def test_one_run_can_be_aborted_by_itself():
    """It ends with what waited to be said to it; the others go on, and their events do not tell of it."""
    made, leaf = started()
    heard = {0: [], 1: []}

    async def work():
        runs = [made.harness.start(f"use {n}", at=leaf, listener=None) for n in range(2)]
        for number, run in enumerate(runs):
            run.subscribe(lambda event, number=number: heard[number].append(event.type))
        await runs[0].follow_up("never said")
        await asyncio.sleep(0.005)
        result = await runs[0].abort()
        assert [m.content[0].text for m in result.cleared_follow_up] == ["never said"]
        assert (runs[0].done, runs[1].done) == (True, False)
        with pytest.raises(HarnessError) as caught:
            await runs[0].steer("too late")
        assert caught.value.code == "invalid_state"
        return await runs[0], await runs[1]

    one, two = asyncio.run(work())
    assert (one.stop_reason, two.text) == ("aborted", "re: use 1")
    assert (heard[0][-1], "abort" in heard[1]) == ("abort", False)
    assert made.session.leaf_id == leaf
    assert refusals(made.session) == []


def test_a_run_may_abort_itself():
    """One of its own listeners may abort a run; it does not wait for itself."""
    made, leaf = started()

    async def work():
        run = made.harness.start("use it", at=leaf)

        async def stop(event):
            if event.type == "tool_execution_start":
                await run.abort()

        run.subscribe(stop)
        return await asyncio.wait_for(run, 5)

    assert asyncio.run(work()).stop_reason == "aborted"


def test_who_stops_waiting_does_not_stop_a_held_run():
    """A waiter may give up; the run goes on, and another one waits for it."""
    made, leaf = started()

    async def work():
        run = made.harness.start("use it", at=leaf)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(run, 0.001)
        assert "turn" in repr(run)
        return await run

    assert asyncio.run(work()).text == "re: use it"


def test_a_held_run_is_refused_like_a_prompt():
    """Nothing to say, no such entry, or a compaction: nothing begins."""
    made, leaf = started()

    async def work():
        for content, at in (("", leaf), ("x", "feedbeef")):
            with pytest.raises(HarnessError) as caught:
                made.harness.start(content, at=at)
            assert caught.value.code == "invalid_argument"
        run = made.harness.start("x", at=leaf)
        with pytest.raises(HarnessError):
            await run.steer("")
        await made.harness.abort()
        assert run.done
        assert made.harness.is_idle
        await run

    asyncio.run(work())


# ---------------------------------------------------------------- ten at once

BROKEN = ProviderError("it broke", code="truncated", retryable=True)


def lively(request):
    """Answer as the question says, with a pause that differs from run to run."""
    last = request.messages[-1]
    text = last.content[0].text
    number = sum(map(ord, text)) % 7
    asked = sum(m.role == "user" and m.content[0].text == text for m in request.messages)
    if last.role == "user" and asked == 1 and text.startswith("use "):
        return Reply(
            calling(("nap", {"text": text}), ("nap", {"text": text})).content, stop_reason="toolUse", delay=number / 500
        )
    return Reply(f"re: {text}", delay=number / 500)


def test_ten_runs_at_once_keep_a_valid_tree(tmp_path):
    """Ten runs in one file, with tools, tries, steering, an abort, and one at the leaf: each branch is whole."""
    broke = set()

    def flaky(request):
        text = request.messages[-1].content[0].text
        if text.endswith(("3", "6")) and text not in broke:
            broke.add(text)
            return Reply("Half", error=BROKEN)
        return lively(request)

    made = bench("hello", *[flaky] * 100, tools=[nap], folder=tmp_path)

    async def work():
        await made.harness.prompt("hi")
        root = made.session.leaf_id
        runs = [made.harness.start(f"use {n}", at=root) for n in range(9)]
        main = asyncio.create_task(made.harness.prompt("use main"))
        await runs[1].steer("faster")
        await asyncio.sleep(0.004)
        await runs[5].abort()
        answers = await asyncio.gather(*runs, main)
        assert made.harness.is_idle
        return root, [run.entry_id for run in runs], answers

    root, tips, answers = asyncio.run(work())
    assert [answer.stop_reason for answer in answers] == [*["stop"] * 5, "aborted", *["stop"] * 4]
    check_branches(made.session, root, tips)
    leaf = made.session.leaf_id
    made.session.close()
    with SessionRepo(tmp_path).open(made.session.file) as again:
        assert (again.warnings, again.leaf_id) == ((), leaf)
        check_branches(again, root, tips)
        assert [m.role for m in again.context(leaf).messages][2:] == [
            "user",
            "assistant",
            "toolResult",
            "toolResult",
            "assistant",
        ]
        assert sum(entry.type == "leaf" for entry in again.entries()) == 1


def check_branches(session, root, tips):
    """Check that each branch is one conversation under the root, and that no entry is on two of them."""
    seen = set()
    for number, tip in enumerate(tips):
        path = list(session.path(tip))
        place = [entry.id for entry in path].index(root)
        own = path[place + 1 :]
        assert own[0].message.content[0].text == f"use {number}"
        assert [entry.parent_id for entry in own] == [entry.id for entry in path[place:-1]]
        assert seen.isdisjoint(entry.id for entry in own)
        seen |= {entry.id for entry in own}
        assert refused([*session.context(tip).messages, UserMessage(content="and now?")]) == []
        texts = {entry.message.content[0].text for entry in own if entry.message.role in ("user", "toolResult")}
        assert texts <= {
            f"use {number}",
            "faster",
            "Stopped: the run was aborted.",
            "Not run: the run was aborted first.",
        }

import asyncio
import time
from dataclasses import replace

import pytest

from pi_nb.harness.totals import Totals, branch_totals, joint_totals, session_totals, totals_of
from pi_nb.messages import Cost, Usage
from pi_nb.providers.scripted import Reply
from pi_nb.session.entries import parse_entry
from pi_nb.session.repo import SessionRepo
from tests.harness.bench import bench


def usage(input, output, dollars):
    return Usage.of(input=input, output=output, cost=Cost(input=dollars, output=dollars))


def untimed(totals):
    return replace(totals, seconds=0.0)


def test_a_branch_and_the_whole_session():
    """A branch counts its own path, the session everything, summaries included."""
    made = bench(
        Reply("a", usage=usage(10, 1, 0.5)),
        Reply("b", usage=usage(20, 2, 1.0)),
        Reply("SUM", usage=usage(5, 5, 0.25)),
        Reply("c", usage=usage(30, 3, 2.0)),
    )

    async def work():
        await made.harness.prompt("one")
        first = made.session.leaf_id
        await made.harness.prompt("two")
        await made.harness.navigate_tree(first, summarize=True)
        await made.harness.prompt("three")

    asyncio.run(work())
    assert untimed(branch_totals(made.session)) == Totals(input=45, output=9, cost=5.5, calls=3)
    assert untimed(session_totals(made.session)) == Totals(input=65, output=11, cost=7.5, calls=4)
    assert session_totals(made.session).tokens == 76
    assert branch_totals(made.session, made.session.entries()[0].id) == Totals()


def test_usage_that_others_wrote():
    """Usage entries count; what cannot be understood does not."""
    envelope = {"id": "feed0001", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z"}
    entries = [
        parse_entry({**envelope, "type": "usage", "kind": "embedding", "usage": {"input": 4, "cacheRead": 2}}),
        parse_entry({**envelope, "type": "compaction", "summary": "S", "usage": "unknown"}),
        parse_entry({**envelope, "type": "custom", "customType": "x", "data": {"input": 9}}),
    ]
    assert totals_of(entries) == Totals(input=4, cache_read=2, calls=1)


def test_forks_are_counted_once(tmp_path):
    """What a fork took along was spent in its parent; together both cost what was really asked."""
    made = bench(Reply("a", usage=usage(10, 1, 0.5)), folder=tmp_path)
    asyncio.run(made.harness.prompt("one"))
    time.sleep(0.005)  # entries and forks are stamped in milliseconds
    with SessionRepo(tmp_path).fork(made.session) as fork:
        time.sleep(0.005)
        other = bench(Reply("b", usage=usage(20, 2, 1.0)), session=fork)
        asyncio.run(other.harness.prompt("two"))
        assert session_totals(fork).input == 30
        assert session_totals(fork, own=True).input == 20
        assert session_totals(made.session, own=True).input == 10
        both = joint_totals([made.session, fork])
        assert (both.input, both.output, both.cost, both.calls) == (30, 3, 3.0, 2)


@pytest.mark.parametrize(
    ("begun", "seconds"), [(1_767_225_597_500, 2.5), (1_767_225_601_000, 0), (5, 0), (None, 0), ("x", 0), (True, 0)]
)
def test_the_time_of_an_answer(begun, seconds):
    """An answer takes from its own stamp to that of its entry; stamps that make no sense count as nothing."""
    message = {"role": "assistant", "content": [], "timestamp": begun, "usage": {"output": 9, "reasoning": 4}}
    envelope = {"type": "message", "id": "feed0001", "parentId": None, "timestamp": "2026-01-01T00:00:00.000Z"}
    assert totals_of([parse_entry({**envelope, "message": message})]) == Totals(
        output=9, reasoning=4, calls=1, seconds=seconds
    )


def test_the_time_of_real_answers():
    """Answers that are waited for take the time they took."""
    made = bench(Reply("a", delay=0.05), Reply("b"))
    asyncio.run(made.harness.prompt("one"))
    asyncio.run(made.harness.prompt("two"))
    assert 0.04 < session_totals(made.session).seconds < 5

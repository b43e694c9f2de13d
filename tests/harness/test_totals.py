import asyncio

from pi_nb.harness.totals import Totals, branch_totals, session_totals, totals_of
from pi_nb.messages import Cost, Usage
from pi_nb.providers.scripted import Reply
from pi_nb.session.entries import parse_entry
from tests.harness.bench import bench


def usage(input, output, dollars):
    return Usage.of(input=input, output=output, cost=Cost(input=dollars, output=dollars))


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
    assert branch_totals(made.session) == Totals(input=45, output=9, cost=5.5, calls=3)
    assert session_totals(made.session) == Totals(input=65, output=11, cost=7.5, calls=4)
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

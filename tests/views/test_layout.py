"""Where rows go, for any tree at all."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pi_nb.views.layout import ACTIVE, LINE, MAX_LANES, NONE, Forest, Layout, Node, Row, lay_out

IDS = st.sampled_from([f"e{number}" for number in range(24)])
NODES = st.lists(
    st.builds(Node, IDS, st.one_of(st.none(), IDS, st.just("gone")), st.sampled_from(["message", "message", "leaf"])),
    max_size=40,
)


def laid_out(nodes: list[Node], leaf: str | None = None, max_rows: int | None = None) -> Layout:
    """Return the layout of a log."""
    return lay_out(Forest.of(nodes, keep=leaf), leaf, max_rows=max_rows)


def tree(*pairs: tuple[str, str | None]) -> list[Node]:
    """Return a log of messages."""
    return [Node(id, parent, "message") for id, parent in pairs]


def sketch(layout: Layout) -> list[str]:
    """Return each row as its passing lines, its joint, and its id."""
    return [
        f"{''.join(map(str, row.bars))}{'+' if row.joint else '|' if row.above else ' '}{row.id}" for row in layout.rows
    ]


def test_a_chain_stays_in_one_lane() -> None:
    """A conversation without branches is not indented."""
    layout = laid_out(tree(("a", None), ("b", "a"), ("c", "b")), "c")
    assert [row.lane for row in layout.rows] == [0, 0, 0]
    assert [row.above for row in layout.rows] == [NONE, ACTIVE, ACTIVE]
    assert [row.down for row in layout.rows] == [ACTIVE, ACTIVE, NONE]


def test_it_indents_only_where_it_branches_and_the_leaf_s_branch_comes_first() -> None:
    """Below a branch point each branch has a column of its own, the active one at the top."""
    layout = laid_out(
        tree(("a", None), ("b", "a"), ("old", "b"), ("old2", "old"), ("new", "b"), ("new2", "new")), "new2"
    )
    assert sketch(layout) == [" a", "|b", "1+new", "1|new2", "0+old", "0|old2"]
    assert [row.id for row in layout.rows if row.active] == ["a", "b", "new", "new2"]
    assert [row.id for row in layout.rows if row.leaf] == ["new2"]


def test_orphans_cycles_and_several_roots_are_roots_and_say_why() -> None:
    """A broken parent costs the line to it, nothing else."""
    layout = laid_out(tree(("a", None), ("b", None), ("o", "gone"), ("x", "y"), ("y", "x"), ("s", "s")), None)
    assert {row.id: row.origin for row in layout.rows} == {
        "a": "root", "b": "root", "o": "orphan", "x": "cycle", "y": "entry", "s": "self",
    }  # fmt: skip


def test_the_last_entry_with_an_id_counts() -> None:
    """Of two entries with one id the later one says where it hangs."""
    layout = laid_out(tree(("a", None), ("b", None), ("c", "a"), ("c", "b")), "c")
    assert sketch(layout) == [" b", "|c", " a"]


def test_moves_of_the_leaf_are_drawn_only_where_something_hangs_from_them() -> None:
    """A bare move is no row and no branch; one that carries entries, or the leaf, is."""
    nodes = [*tree(("a", None)), Node("bare", "a", "leaf"), Node("m1", "a", "leaf"), Node("m2", "m1", "leaf")]
    nodes += tree(("b", "m2"))
    assert [row.id for row in laid_out(nodes, "b").rows] == ["a", "m1", "m2", "b"]
    assert [row.id for row in laid_out(nodes, "bare").rows] == ["a", "bare", "m1", "m2", "b"]
    assert (Forest.of(nodes).roots, Forest.of(nodes).branches) == (1, 1)


def test_an_unknown_leaf_has_no_path() -> None:
    """A leaf that is not in the log marks nothing."""
    assert not any(row.active or row.leaf for row in laid_out(tree(("a", None)), "gone").rows)


def test_a_long_path_keeps_its_beginning_and_its_end() -> None:
    """What is left out is in the middle, and counted at the entry above it."""
    nodes = tree(("0", None), *((str(n), str(n - 1)) for n in range(1, 1000)))
    layout = laid_out(nodes, "999", max_rows=16)
    assert [row.id for row in layout.rows] == ["0", "1", *map(str, range(986, 1000))]
    assert (layout.total, layout.hidden) == (1000, 984)
    assert [(row.id, row.hidden) for row in layout.rows if row.hidden] == [("1", 984)]
    assert [row.id for row in layout.rows if row.gap] == ["986"]


def test_what_is_nearest_to_the_leaf_is_drawn_first() -> None:
    """With little room the branches near the leaf are shown and the far ones counted."""
    nodes = tree(("0", None), *((str(n), str(n - 1)) for n in range(1, 10)), *((f"s{n}", str(n)) for n in range(10)))
    layout = laid_out(nodes, "9", max_rows=13)
    assert {row.id for row in layout.rows if not row.active} == {"s9", "s8", "s7"}


def test_a_chain_of_100_000_and_a_comb_are_laid_out() -> None:
    """Neither depth nor the number of branch points exhausts anything."""
    chain = tree(("0", None), *((str(n), str(n - 1)) for n in range(1, 100_000)))
    assert len(laid_out(chain, "99999").rows) == 100_000
    comb = tree(("0", None), *((str(n), str(max(0, n - 1 - n % 2))) for n in range(1, 20_000)))
    layout = laid_out(comb, "19999")
    assert max(row.lane for row in layout.rows) > 5_000
    assert layout.columns <= MAX_LANES + 1


@given(NODES, st.one_of(st.none(), IDS))
def test_every_entry_has_exactly_one_row_below_the_one_it_hangs_from(nodes: list[Node], leaf: str | None) -> None:
    """Whatever the log, each id is drawn once, after its parent; only bare moves of the leaf are left out."""
    layout = laid_out(nodes, leaf)
    places = {row.id: number for number, row in enumerate(layout.rows)}
    assert len(places) == len(layout.rows) == layout.total
    messages = {id for id, node in {node.id: node for node in nodes}.items() if node.type != "leaf"}
    assert messages <= set(places) <= {node.id for node in nodes}
    for row in layout.rows:
        assert row.parent is None or places[row.parent] < places[row.id]
        assert (row.parent is None) == (row.origin != "entry")


@given(NODES, st.one_of(st.none(), IDS))
def test_lines_lead_from_each_entry_to_what_hangs_from_it_and_nowhere_else(nodes: list[Node], leaf: str | None) -> None:
    """Following the lines of the picture gives the tree back, and every line that is drawn is followed once."""
    rows = laid_out(nodes, leaf).rows
    if any(row.lane > MAX_LANES for row in rows):
        return
    wanted: Counter[tuple[int, int]] = Counter()
    for number, row in enumerate(rows):
        if row.parent is None:
            continue
        above = next(n for n, other in enumerate(rows) if other.id == row.parent)
        column = rows[above].lane
        assert row.lane - column == row.joint
        if not row.joint:
            assert above == number - 1
        wanted.update((between, column) for between in range(above + 1, number))
    drawn = Counter((number, column) for number, row in enumerate(rows) for column, bar in enumerate(row.bars) if bar)
    assert set(drawn) == set(wanted)


@given(NODES, st.one_of(st.none(), IDS))
def test_the_active_line_runs_from_the_root_to_the_leaf(nodes: list[Node], leaf: str | None) -> None:
    """The rows of the path are the active ones; the line is active where both of its ends are."""
    layout = laid_out(nodes, leaf)
    by_id: dict[str, Row] = {row.id: row for row in layout.rows}
    path = []
    at = by_id.get(leaf) if leaf else None
    while at is not None:
        path.append(at.id)
        at = by_id.get(at.parent) if at.parent else None
    assert {row.id for row in layout.rows if row.active} == set(path)
    for row in layout.rows:
        assert row.above == (NONE if row.parent is None else ACTIVE if row.active else LINE)
        assert (row.down == ACTIVE) == (row.active and not row.leaf)


@given(NODES, st.one_of(st.none(), IDS), st.integers(1, 30))
def test_rows_that_are_left_out_are_counted(nodes: list[Node], leaf: str | None, most: int) -> None:
    """There are never more rows than allowed, the leaf is among them, and no entry goes missing uncounted."""
    whole, few = laid_out(nodes, leaf), laid_out(nodes, leaf, most)
    assert len(few.rows) == min(most, whole.total)
    assert few.total == whole.total == len(few.rows) + few.hidden
    if any(row.leaf for row in whole.rows):
        assert sum(row.leaf for row in few.rows) == 1
    drawn = {row.id for row in few.rows}
    parents = {row.id: row.parent for row in whole.rows}
    hidden: Counter[str | None] = Counter()
    for row in whole.rows:
        above = row.parent
        while above is not None and above not in drawn:
            above = parents[above]
        if row.id not in drawn:
            hidden[above] += 1
        else:
            assert next(r for r in few.rows if r.id == row.id).parent == above
    assert {row.id: row.hidden for row in few.rows if row.hidden} == {id: n for id, n in hidden.items() if id}

"""Rows and lanes: where each entry of a tree is drawn, whatever the tree looks like.

One layout serves the text, the SVG and the HTML picture. It needs to know of each entry only its id, its parent
and its type; it is iterative and linear in the number of entries, and total: orphans and cycles become roots of
their own, several roots stand below each other, a chain of 100,000 entries stays in one lane.

Indentation grows only where a conversation branches. The branch that holds the leaf comes first. An entry of type
``leaf`` (a move of the cursor) is drawn only where something hangs from it, or where the leaf stands on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

__all__ = ["ACTIVE", "LINE", "MAX_LANES", "NONE", "Forest", "Layout", "Node", "Origin", "Row", "lay_out"]

NONE: Final = 0  # no line here
LINE: Final = 1  # a line to some branch
ACTIVE: Final = 2  # a line of the path to the leaf

MAX_LANES: Final = 12  # columns drawn left of a row; of deeper rows the first columns are left out

Origin = Literal["root", "entry", "orphan", "self", "cycle"]


class Node(NamedTuple):
    """What the layout needs to know of an entry."""

    id: str
    parent: str | None
    type: str


class Row(NamedTuple):
    """Where one entry is drawn.

    Attributes:
        id: Id of the entry.
        parent: Id of the drawn entry that it hangs from, or None.
        lane: How many branch points lie above it.
        bars: For each column left of it the line that passes: NONE, LINE or ACTIVE. At most the last MAX_LANES.
        joint: True if it is one of several below a branch point: it hangs from the last bar, which goes on to the
            next of them, or is NONE below the last.
        above: The line that comes into it from above.
        down: The line that goes on below it.
        forks: True if more than one entry hangs from it.
        active: True on the path to the leaf, both ends included.
        leaf: True where the leaf is.
        origin: ``entry`` below another entry, else why there is no line from above: ``root``, ``orphan`` (its parent
            is not in the log), ``self`` (it names itself as its parent) or ``cycle`` (a cycle, cut here).
        gap: True if entries between it and the one it hangs from are not drawn.
        hidden: How many entries that are not drawn have it as their nearest drawn ancestor.
    """

    id: str
    parent: str | None
    lane: int
    bars: tuple[int, ...]
    joint: bool
    above: int
    down: int
    forks: bool
    active: bool
    leaf: bool
    origin: Origin
    gap: bool
    hidden: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All rows from top to bottom, and how much is not drawn.

    Attributes:
        rows: The rows.
        total: How many entries the tree has; moves of the leaf from which nothing hangs are not counted.
        hidden: How many of them have no row.
    """

    rows: tuple[Row, ...]
    total: int
    hidden: int

    @property
    def columns(self) -> int:
        """How many columns the rows take, the entries' own included."""
        return max((len(row.bars) for row in self.rows), default=-1) + 1


@dataclass(frozen=True, slots=True)
class Forest:
    """The entries of a log as trees: every entry has exactly one place, broken parents or not.

    Attributes:
        parents: Parent of each entry, None for a root; in log order. Of entries with the same id the last counts.
        origins: Why a root is one, for each root.
        children: Children of each entry that has some, and the roots under None; in log order.
    """

    parents: Mapping[str, str | None]
    origins: Mapping[str, Origin]
    children: Mapping[str | None, Sequence[str]]

    @classmethod
    def of(cls, nodes: Iterable[Node], *, keep: str | None = None) -> Forest:
        """Return the trees of a log.

        Args:
            nodes: The entries in log order.
            keep: Id of an entry that has a place even if it is a move of the leaf from which nothing hangs.
        """
        placed = _placed({node.id: node for node in nodes}, keep)
        parents: dict[str, str | None] = {}
        origins: dict[str, Origin] = {}
        for id, parent in placed.items():
            parents[id] = parent if parent in placed else None
            if parents[id] is None:
                origins[id] = "root" if parent is None else "orphan"
        for id in _cycle_heads(parents):
            origins[id] = "self" if parents[id] == id else "cycle"
            parents[id] = None
        return cls(parents, origins, _children(parents))

    def path(self, id: str | None) -> list[str]:
        """Return the ids from a root down to ``id``; empty for None and for an unknown id."""
        found: list[str] = []
        while id is not None and id in self.parents:
            found.append(id)
            id = self.parents[id]
        return found[::-1]

    def thinned(self, drawn: Collection[str]) -> tuple[Forest, dict[str | None, int]]:
        """Return the trees of some entries alone, and how many others each of them (or None) stands for."""
        nearest: dict[str, str | None] = {}
        hidden: dict[str | None, int] = {}
        stack: list[tuple[str, str | None]] = [(root, None) for root in self.children.get(None, ())]
        while stack:
            id, above = stack.pop()
            if id in drawn:
                nearest[id] = above
            else:
                hidden[above] = hidden.get(above, 0) + 1
            below = id if id in drawn else above
            stack.extend((child, below) for child in self.children.get(id, ()))
        parents = {id: nearest[id] for id in self.parents if id in drawn}
        return Forest(parents, self.origins, _children(parents)), hidden

    @property
    def roots(self) -> int:
        """How many entries hang from no other: first entries, orphans, and those that name themselves as parent."""
        return sum(origin != "cycle" for origin in self.origins.values())

    @property
    def branches(self) -> int:
        """How many entries have nothing below them: each is the tip of a branch."""
        return sum(id not in self.children for id in self.parents)


def lay_out(forest: Forest, leaf: str | None, *, max_rows: int | None = None) -> Layout:
    """Return where each entry is drawn.

    Args:
        forest: The trees.
        leaf: Id of the current leaf, or None.
        max_rows: Most rows to draw: first the path to the leaf, then what is nearest to it. None draws all.
    """
    path = forest.path(leaf)
    total = len(forest.parents)
    if max_rows is None or total <= max_rows:
        return Layout(tuple(_rows(forest, path, {}, frozenset())), total, 0)
    thin, hidden = forest.thinned(_nearest(forest, path, max_rows))
    gaps = frozenset(id for id, parent in thin.parents.items() if parent != forest.parents[id])
    return Layout(tuple(_rows(thin, path, hidden, gaps)), total, total - len(thin.parents))


# ---------------------------------------------------------------- from log to trees


def _placed(last: Mapping[str, Node], keep: str | None) -> dict[str, str | None]:
    """Return id → parent of every entry that has a place: of the moves of the leaf those that carry something."""
    bearing: set[str] = set()
    for node in last.values():
        if node.type == "leaf" and node.id != keep:
            continue
        bearing.add(node.id)
        above = node.parent
        while above is not None and above in last and above not in bearing and last[above].type == "leaf":
            bearing.add(above)
            above = last[above].parent
    return {node.id: node.parent for node in last.values() if node.id in bearing}


def _cycle_heads(parents: Mapping[str, str | None]) -> list[str]:
    """Return of each cycle the entry that is first in the log: there the cycle is cut."""
    order = {id: number for number, id in enumerate(parents)}
    walk: dict[str, int] = {}
    heads: list[str] = []
    for number, start in enumerate(parents):
        at: str | None = start
        while at is not None and at not in walk:
            walk[at] = number
            at = parents[at]
        if at is not None and walk[at] == number:
            heads.append(min(_around(parents, at), key=order.__getitem__))
    return heads


def _around(parents: Mapping[str, str | None], start: str) -> Iterator[str]:
    """Yield the entries of the cycle that ``start`` is on."""
    yield start
    at = parents[start]
    while at is not None and at != start:
        yield at
        at = parents[at]


def _children(parents: Mapping[str, str | None]) -> dict[str | None, list[str]]:
    children: dict[str | None, list[str]] = {}
    for id, parent in parents.items():
        children.setdefault(parent, []).append(id)
    return children


# ---------------------------------------------------------------- what to draw when not all fits


def _nearest(forest: Forest, path: Sequence[str], count: int) -> set[str]:
    """Return ``count`` entries: the path (too long: its beginning and its end), then what is nearest to its end."""
    head = min(len(path), max(1, count // 8))
    drawn = set(path if len(path) <= count else (*path[:head], *path[len(path) - count + head :]))
    on_path = set(path)
    near = deque((*reversed(path), *(root for root in forest.children.get(None, ()) if root not in on_path)))
    while near and len(drawn) < count:
        id = near.popleft()
        if id not in on_path:
            drawn.add(id)
        near.extend(child for child in forest.children.get(id, ()) if child not in on_path)
    return drawn


# ---------------------------------------------------------------- from trees to rows


def _rows(forest: Forest, path: Sequence[str], hidden: Mapping[str | None, int], gaps: frozenset[str]) -> Iterator[Row]:
    """Yield the rows in drawing order: an entry before what hangs from it, the path to the leaf before the rest."""
    on_path = set(path)
    leaf = path[-1] if path else None
    roots = _active_first(forest.children.get(None, ()), on_path)
    stack: list[tuple[str, int, tuple[int, ...], bool]] = [(root, 0, (), False) for root in reversed(roots)]
    while stack:
        id, lane, bars, joint = stack.pop()
        children = _active_first(forest.children.get(id, ()), on_path)
        yield Row(
            id=id,
            parent=forest.parents[id],
            lane=lane,
            bars=bars,
            joint=joint,
            above=NONE if forest.parents[id] is None else ACTIVE if id in on_path else LINE,
            down=NONE if not children else ACTIVE if children[0] in on_path else LINE,
            forks=len(children) > 1,
            active=id in on_path,
            leaf=id == leaf,
            origin="entry" if forest.parents[id] is not None else forest.origins.get(id, "root"),
            gap=id in gaps,
            hidden=hidden.get(id, 0),
        )
        stack.extend(_places_below(children, lane, bars))


def _active_first(ids: Sequence[str], on_path: set[str]) -> Sequence[str]:
    return ids if len(ids) < 2 else sorted(ids, key=lambda child: child not in on_path)


def _places_below(
    children: Sequence[str], lane: int, bars: tuple[int, ...]
) -> Iterator[tuple[str, int, tuple[int, ...], bool]]:
    """Yield, last child first, where each child goes: an only child straight on, several one column to the right."""
    if len(children) == 1:
        yield children[0], lane, bars, False
        return
    kept = bars[1 - MAX_LANES :] if len(bars) >= MAX_LANES else bars
    for number, child in enumerate(reversed(children)):
        yield child, lane + 1, (*kept, LINE if number else NONE), True

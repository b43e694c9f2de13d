"""What every picture of a session shows, before it is drawn: a heading, rows, and the marks on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from pi_nb.session.storage import IndexedStorage
from pi_nb.session.tree import Session
from pi_nb.views.entry_line import Line, entry_line
from pi_nb.views.layout import Forest, Layout, Node, Row, lay_out
from pi_nb.views.plain import reading, short_id, short_session, visible

__all__ = ["Mark", "Outline", "counted", "nodes", "outline"]

_LABEL: Final = 40  # characters of a label that are shown
_BOOKKEEPING: Final = frozenset({"label", "leaf", "session_info", "custom", "context_edit", "usage"})
_SPOKEN: Final = frozenset({"user", "assistant", "summary"})  # kinds of line that are written as Markdown


class Mark(NamedTuple):
    """Something to know about a row: it is the ``leaf``, has a ``label``, is ``broken``, stands for ``hidden`` ones."""

    kind: str
    text: str


class Drawn(NamedTuple):
    """A row with what it says."""

    row: Row
    id: str
    line: Line
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Outline:
    """A session as rows of visible text.

    Attributes:
        session: The session.
        layout: Where each row is drawn.
        branches: How many branches there are to be seen, drawn or not.
        lost: True if the leaf is not in the log.
    """

    session: Session
    layout: Layout
    branches: int
    lost: bool

    @property
    def heading(self) -> str:
        """The session in one line: id, name, size, and where the leaf is."""
        session = self.session
        name = [f"“{visible(session.name, limit=80)}”"] if session.name else []
        leaf = next((row.id for row in self.layout.rows if row.leaf), session.leaf_id)
        where = "at the beginning" if leaf is None else f"leaf {short_id(leaf)}"
        lost = ["which is not in the log"] if self.lost else []
        sizes = [counted(len(session), "entry", "entries"), counted(self.branches, "branch", "branches")]
        return " · ".join((f"session {short_session(session.id)}", *name, *sizes, " ".join((where, *lost))))

    @property
    def footing(self) -> str:
        """What is not drawn, in one line; empty if everything is."""
        rows, total = len(self.layout.rows), self.layout.total
        return f"{rows:,} of {total:,} entries drawn, those nearest to the leaf" if self.layout.hidden else ""

    @cached_property
    def _labels(self) -> Mapping[str, str]:
        return self.session.labels  # a copy each time, so it is asked for once

    def drawn(self) -> Iterator[Drawn]:
        """Yield each row with what it says, from top to bottom."""
        for row in self.layout.rows:
            line = entry_line(self.session.entry(row.id))
            said = line._replace(text=reading(line.text)) if line.kind in _SPOKEN else line
            yield Drawn(row, short_id(row.id), said, tuple(self._marks(row)))

    def _marks(self, row: Row) -> Iterator[Mark]:
        if row.leaf:
            yield Mark("leaf", "leaf")
        label = self._labels.get(row.id)
        if label:
            yield Mark("label", visible(label, limit=_LABEL))
        if row.origin in {"orphan", "self", "cycle"}:
            yield Mark("broken", _fault(row, self.session.entry(row.id).parent_id))
        if row.hidden:
            yield Mark("hidden", f"+{row.hidden:,} more")


def _fault(row: Row, parent: str | None) -> str:
    if row.origin == "orphan":
        return f"parent {short_id(parent or '')} is missing"
    return "is its own parent" if row.origin == "self" else "on a cycle"


def nodes(session: Session) -> Iterator[Node]:
    """Yield what the layout needs of each entry, in log order; no entry is decoded for it where that can be helped."""
    storage = session.storage
    if isinstance(storage, IndexedStorage):
        index = storage.index
        yield from map(Node, index.ids[:], index.parents[:], index.types[:])
    else:
        yield from (Node(entry.id, entry.parent_id, entry.type) for entry in session.entries())


def outline(session: Session, *, max_rows: int | None = None, everything: bool = False) -> Outline:
    """Return a session ready to be drawn, with at most ``max_rows`` rows around the path to the leaf.

    Args:
        session: The session.
        max_rows: Most rows. None draws all.
        everything: True to draw bookkeeping too: labels, names, moves of the leaf, notes of programs. Otherwise what
            hangs from such an entry, the leaf's mark too, is drawn at the nearest entry above it.
    """
    leaf = session.leaf_id
    forest = Forest.of(nodes(session), keep=leaf)
    lost = leaf is not None and leaf not in forest.parents
    if not everything:
        seen = {node.id for node in nodes(session) if node.type not in _BOOKKEEPING}
        leaf = next((id for id in reversed(forest.path(leaf)) if id in seen), None)
        forest = forest.thinned(seen)[0]
    return Outline(session, lay_out(forest, leaf, max_rows=max_rows), forest.branches, lost)


def counted(number: int, one: str, many: str) -> str:
    """Return a number with its noun: ``1 branch``, ``2 branches``."""
    return f"{number:,} {one if number == 1 else many}"

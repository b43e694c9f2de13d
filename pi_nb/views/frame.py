"""A session as a table: one row for each entry of the log, for pandas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from pi_nb.errors import UserError
from pi_nb.session.tree import Session
from pi_nb.views.layout import Forest, Node
from pi_nb.views.tree_rows import fields_at, row_of

__all__ = ["COLUMNS", "session_frame"]

COLUMNS: Final[Mapping[str, str]] = {
    "position": "int64",  # place in the log, from 0: the order of writing
    "id": "object",
    "parent": "object",  # id of the entry it hangs from; None for a root
    "type": "object",  # kind of entry: message, model_change, compaction, leaf, …
    "role": "object",  # of a message: user, assistant, toolResult, …; else None
    "text": "object",  # all it says; for bookkeeping what the tree's row says
    "tools": "object",  # tuple with the names of the tools it calls
    "model": "object",
    "tokens": "Int64",  # what the provider counted for an answer, else an estimate
    "cost": "float64",  # US dollars; NaN if unknown
    "error": "object",  # why it failed, or None
    "time": "datetime64[ns, UTC]",
    "cell": "Int64",  # number of the notebook cell that wrote it
    "label": "object",
    "depth": "int64",  # entries above it
    "children": "int64",  # entries that hang from it, moves of the leaf not counted
    "on_path": "bool",  # whether it is on the path to the leaf
    "is_leaf": "bool",
}
"""Columns of the table and their types."""


def session_frame(session: Session, ids: Sequence[str] | None = None) -> Any:
    """Return a session as a ``pandas.DataFrame``; see :meth:`pi_nb.session.tree.Session.to_frame`.

    Args:
        session: The session.
        ids: Only these entries, in this order; those that are not in the log are left out. Default: all.

    Raises:
        UserError: pandas is not installed.
    """
    try:
        pd: Any = import_module("pandas")
    except ImportError:
        raise UserError("A table needs pandas, which is not installed.", hint="%pip install pandas") from None
    with session.storage.lock:
        table = _Table(session)
        at = session.storage.index.positions
        places = range(len(session)) if ids is None else [at[id] for id in ids if id in at]
        records = [table.record(place) for place in places]
    columns = zip(*records, strict=True) if records else ((),) * len(COLUMNS)
    raw = {name: pd.Series(list(values), dtype="object") for name, values in zip(COLUMNS, columns, strict=True)}
    raw["time"] = pd.to_datetime(raw["time"], utc=True, errors="coerce", format="ISO8601")
    for name in ("tokens", "cell"):
        raw[name] = pd.to_numeric(raw[name], errors="coerce").round()
    return pd.DataFrame({name: raw[name].astype(kind) for name, kind in COLUMNS.items()})


class _Table:
    """What a record needs to know of the whole tree."""

    def __init__(self, session: Session) -> None:
        index = session.storage.index
        self._session = session
        self._labels = index.labels
        self._leaf = session.leaf_id
        self._forest = Forest.of(map(Node, index.ids, index.parents, index.types), keep=self._leaf)
        self._path = frozenset(self._forest.path(self._leaf))
        self._depths = _depths(self._forest)

    def record(self, place: int) -> tuple[Any, ...]:
        """Return the values of one row, in the order of the columns."""
        fields = fields_at(self._session, place)
        row = row_of(fields)
        id, parent = row["id"], row["parent"]
        depth = self._depths.get(id, self._depths.get(parent, -1) + 1)
        values = {
            **row,
            "position": place,
            "text": _said(fields) or row["text"],
            "tools": tuple(row.get("tools") or ()),
            "label": self._labels.get(id),
            "depth": depth,
            "children": len(self._forest.children.get(id, ())),
            "on_path": id in self._path,
            "is_leaf": id == self._leaf,
        }
        return tuple(values.get(name) for name in COLUMNS)


def _said(fields: Mapping[str, Any]) -> str:
    """Return the whole text of a message or a summary; empty if an entry has none."""
    message = fields.get("message")
    holder = message if isinstance(message, Mapping) else fields
    content = holder.get("content", holder.get("summary"))
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    texts = (block.get("text") for block in content if isinstance(block, Mapping) and block.get("type") == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def _depths(forest: Forest) -> dict[str | None, int]:
    """Return how many entries are above each."""
    depths: dict[str | None, int] = {}
    level: Sequence[str] = forest.children.get(None, ())
    depth = 0
    while level:
        depths.update(dict.fromkeys(level, depth))
        level = [child for id in level for child in forest.children.get(id, ())]
        depth += 1
    return depths

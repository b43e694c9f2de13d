"""The columns of a log: what can be asked of it without decoding an entry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pi_nb.errors import SessionError
from pi_nb.session.rawlines import RawLines

__all__ = ["Index", "envelope_fault", "one_line", "role_of"]

_SPACE = "\t\n\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What pi takes for space around names and labels; Python's own idea differs in some control characters."""
_ROOT = -1
_MISSING = -2


def envelope_fault(fields: Any) -> str | None:
    """Return what is wrong with an entry's envelope, or None if nothing is."""
    if not isinstance(fields, dict):
        return "is not a JSON object"
    get = fields.get
    if (  # what nearly every entry is, quickly
        type(get("id")) is type(get("parentId")) is type(get("timestamp")) is type(get("type")) is str
        and fields["id"]
        and fields["timestamp"]
        and fields["type"] != "leaf"
    ):
        return None
    for name in ("type", "id", "timestamp"):
        value = get(name)
        if not isinstance(value, str) or (not value and name != "type"):
            return f"has no proper {name}"
    if "parentId" not in fields or not _is_reference(fields["parentId"]):
        return "has no proper parentId"
    if fields["type"] == "leaf" and ("targetId" not in fields or not _is_reference(fields["targetId"])):
        return "has no proper targetId"
    return None


def _is_reference(value: Any) -> bool:
    return value is None or isinstance(value, str)


class Index:
    """A log's lines and, for each, id, parent, kind and the role of its message; labels, name and leaf of the whole.

    Attributes:
        lines: The entries as JSON.
        ids: Id of each entry.
        parents: Parent's id of each entry; None for a root.
        types: Kind of each entry.
        generation: Changes when known paths may have changed: an id came twice, or after a child of it.
        roles: Role of the message in each ``message`` entry; None for other kinds and for a message without a role.
        positions: Where the last entry with an id is.
        labels: Labels by the id they name; the targets need not exist.
        name: The session's name, or None.
        leaf_id: Where the next append hangs from; may be unknown.
    """

    def __init__(self) -> None:
        self.lines = RawLines()
        self.ids: list[str] = []
        self.parents: list[str | None] = []
        self.types: list[str] = []
        self.roles: list[str | None] = []
        self.positions: dict[str, int] = {}
        self.labels: dict[str, str] = {}
        self.name: str | None = None
        self.leaf_id: str | None = None
        self.repaired = False  # a missing parent ends a path instead of breaking it
        self._up: list[int] = []
        self._missing: set[str] = set()
        self._loose = False  # an id came twice, or after a child of it: _up must be made anew
        self._children: dict[str | None, list[str]] | None = None
        self.generation = 0

    def __len__(self) -> int:
        return len(self.ids)

    def append(self, fields: Mapping[str, Any], line: bytes) -> int:
        """Take in an entry whose envelope is sound, and its line; return its position."""
        self.lines.append(line)
        return self.add(fields)

    def add(self, fields: Mapping[str, Any]) -> int:
        """Take in an entry whose envelope is sound and whose line is known already; return its position."""
        entry_id, parent, kind = fields["id"], fields["parentId"] or None, fields["type"]
        position, positions = len(self.ids), self.positions
        again = entry_id in positions
        self.ids.append(entry_id)
        self.parents.append(parent)
        self.types.append(kind)
        self.roles.append(role_of(fields) if kind == "message" else None)
        positions[entry_id] = position
        self.leaf_id = entry_id
        if kind in _GLOBAL:
            self.note(kind, fields)
        up = _ROOT if parent is None else positions.get(parent, _MISSING)
        if len(self._up) == position:  # not while a file is read, which links all at the end
            self._up.append(up)
        if again or up == _MISSING or self._missing or self._children is not None:
            self._relate(entry_id, parent, up, again)
        return position

    def note(self, kind: str, fields: Mapping[str, Any]) -> None:
        """Apply an entry that holds for the whole file: a label, a name, a moved leaf."""
        if kind == "leaf":
            self.leaf_id = fields["targetId"]
        elif kind == "session_info":
            name = fields.get("name")
            self.name = one_line(name) or None if isinstance(name, str) else None
        else:
            self._label(fields.get("targetId"), fields.get("label"))

    def _label(self, target: Any, label: Any) -> None:
        if not isinstance(target, str):
            return
        text = label.strip(_SPACE) if isinstance(label, str) else ""
        if text:
            self.labels[target] = text
        else:
            self.labels.pop(target, None)

    def _relate(self, entry_id: str, parent: str | None, up: int, again: bool) -> None:
        """Keep up with what is missing, what is loose, and who are whose children."""
        if up == _MISSING and parent is not None:
            self._missing.add(parent)
        self._loose = self._loose or again or entry_id in self._missing
        if again:
            self._children = None
        elif self._children is not None:
            self._children.setdefault(parent, []).append(entry_id)

    def link_all(self) -> None:
        """Find every entry and every parent's position; needed after a bulk load and after an id came twice."""
        self.positions = dict(zip(self.ids, range(len(self.ids)), strict=True))
        find = self.positions.get
        self._up = [_ROOT if parent is None else find(parent, _MISSING) for parent in self.parents]
        orphans = [at for at, up in enumerate(self._up) if up == _MISSING] if _MISSING in self._up else []
        self._missing = {self.parents[at] or "" for at in orphans}
        self._loose = False
        self._children = None
        self.generation += 1

    def climb(self, entry_id: str, stop: int, most: int) -> list[int] | None:
        """Return the positions below ``stop`` down to an entry, or None if ``stop`` is not within ``most`` steps."""
        if self._loose:
            return None
        position = self.positions.get(entry_id, _MISSING)
        found: list[int] = []
        while position >= 0 and position != stop and len(found) < most:
            found.append(position)
            position = self._up[position]
        return found[::-1] if position == stop else None

    def walk(self, entry_id: str | None) -> list[int]:
        """Return positions from the root to an entry.

        Raises:
            SessionError: ``not_found`` or ``invalid_session``.
        """
        if entry_id is None:
            return []
        if self._loose:
            self.link_all()
        position = self.positions.get(entry_id)
        if position is None:
            raise SessionError(f"There is no entry {entry_id}.", code="not_found")
        up = self._up
        found: list[int] = []
        take = found.append
        for _ in range(len(up)):  # no path is longer than the log
            if position < 0:
                break
            take(position)
            position = up[position]
        if position >= 0:
            raise SessionError(f"The path to entry {entry_id} goes in circles.", code="invalid_session")
        if position == _MISSING and not self.repaired:
            self._refuse_orphan(found[-1])
        found.reverse()
        return found

    def _refuse_orphan(self, position: int) -> None:
        raise SessionError(
            f"Entry {self.ids[position]} hangs from {self.parents[position]}, which is not in the session.",
            code="invalid_session",
            hint="Open it with repair=True to treat that entry as a root, or check out another branch.",
        )

    def orphans(self) -> list[int]:
        """Return the positions of entries whose parent is not in the log."""
        if self._loose or len(self._up) != len(self.ids):
            self.link_all()
        return [position for position, up in enumerate(self._up) if up == _MISSING] if self._missing else []

    def children(self, entry_id: str | None) -> list[str]:
        """Return the ids of the entries that hang from this one, in the order of writing."""
        if self._children is None:
            self._children = self._count_children()
        return list(self._children.get(entry_id, ()))

    def tips(self) -> list[int]:
        """Return the positions of entries nothing hangs from; leaf entries neither are tips nor count as hanging."""
        parents = {parent for parent, kind in zip(self.parents, self.types, strict=True) if kind != "leaf"}
        return [
            position
            for position, (entry_id, kind) in enumerate(zip(self.ids, self.types, strict=True))
            if kind != "leaf" and entry_id not in parents and self.positions[entry_id] == position
        ]

    def _count_children(self) -> dict[str | None, list[str]]:
        families: dict[str | None, list[str]] = {}
        for position, (entry_id, parent) in enumerate(zip(self.ids, self.parents, strict=True)):
            if self.positions[entry_id] == position:
                families.setdefault(parent, []).append(entry_id)
        return families


def one_line(text: str) -> str:
    """Return a name without line breaks and without space around it."""
    return re.sub(r"[\r\n]+", " ", text).strip(_SPACE)


_GLOBAL = frozenset({"label", "session_info", "leaf"})


def role_of(fields: Mapping[str, Any]) -> str | None:
    """Return the role of the message in an entry's fields, or None if there is no proper message."""
    message = fields.get("message")
    role = message.get("role") if isinstance(message, dict) else getattr(message, "role", None)
    return role if isinstance(role, str) else None

"""Reading files of older pi: version 1 (a list without ids) and version 2 (one role had another name)."""

from __future__ import annotations

import hashlib
from typing import Any

__all__ = ["upgrade"]


def upgrade(version: int, session_id: str, entries: list[dict[str, Any]]) -> None:
    """Bring entries of an older version up to date, in place.

    Ids that a version 1 file lacks are made from the session's id and the place in the file, so they are the same
    each time it is opened.

    Args:
        version: Version the header names, 1 or 2.
        session_id: Id of the session.
        entries: The entries, in the order of the file.
    """
    if version < 2:
        _chain(session_id, entries)
    for entry in entries:
        message = entry.get("message")
        if entry.get("type") == "message" and isinstance(message, dict) and message.get("role") == "hookMessage":
            entry["message"] = {**message, "role": "custom"}


def _chain(session_id: str, entries: list[dict[str, Any]]) -> None:
    """Give ids, hang each entry from the one before it, and name a compaction's first kept entry by id."""
    taken = {entry["id"] for entry in entries if isinstance(entry.get("id"), str)}
    before: str | None = None
    for place, entry in enumerate(entries):
        if not isinstance(entry.get("id"), str) or not entry["id"]:
            entry["id"] = _id_for(session_id, place, taken)
        entry.setdefault("parentId", before)
        entry.setdefault("timestamp", "1970-01-01T00:00:00.000Z")
        before = entry["id"]
    places: dict[float, dict[str, Any]] = dict(enumerate(entries, 1))  # the header counts as 0
    for entry in entries:
        kept = entry.pop("firstKeptEntryIndex", None) if entry.get("type") == "compaction" else None
        if isinstance(kept, int | float) and not isinstance(kept, bool) and kept in places:
            entry["firstKeptEntryId"] = places[kept]["id"]


def _id_for(session_id: str, place: int, taken: set[str]) -> str:
    salt = 0
    while True:
        seed = f"{session_id}/{place}/{salt}".encode()
        entry_id = hashlib.blake2b(seed, digest_size=4).hexdigest()
        if entry_id not in taken:
            taken.add(entry_id)
            return entry_id
        salt += 1

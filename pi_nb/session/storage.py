"""What keeps a session, as a contract, and the index that the implementations share.

A storage is an append-only log of entries. It knows which entry is which and how they hang together; what they
mean is the business of :mod:`pi_nb.session.context`. The shared index keeps every line as bytes and a few columns
(ids, parents, kinds), and decodes an entry when it is asked for: opening a long session costs little more than
reading it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, overload, runtime_checkable

from pi_nb.errors import SessionError
from pi_nb.session import lines
from pi_nb.session.entries import Entry, Header, MessageEntry, parse_entry
from pi_nb.session.garbage import no_collection
from pi_nb.session.ids import new_entry_id
from pi_nb.session.index import Index, envelope_fault

__all__ = ["Entries", "IndexedStorage", "SessionStorage", "Trail", "line_of", "sound_fields"]

_BLOCK = 512  # entries decoded at once by who goes through all of them
_CACHE_BYTES = 64 * 1024 * 1024


@runtime_checkable
class SessionStorage(Protocol):
    """Where the entries of one session are kept, in the order they were written."""

    @property
    def header(self) -> Header:
        """The session's first line."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was odd about the log, one sentence each."""

    @property
    def read_only(self) -> bool:
        """True if an append would be refused."""

    @property
    def file(self) -> Path | None:
        """The file, or None if the session is not kept in one."""

    @property
    def leaf_id(self) -> str | None:
        """The entry the next append hangs from; it may be unknown if the log is broken."""

    def append(self, entry: Entry) -> None:
        """Add an entry; it is durable when this returns.

        Raises:
            SessionError: It could not be written (``storage``, ``locked``) or cannot be (``invalid_entry``).
        """

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry, the last one if several have this id, or None."""

    def entries(self, start: int = 0, stop: int | None = None) -> Sequence[Entry]:
        """Return the entries from one place of the log to another, in the order of writing."""

    def __len__(self) -> int:
        """Return how many entries there are."""

    def path(self, entry_id: str | None) -> Sequence[Entry]:
        """Return the entries from the root to this one; nothing for None.

        Raises:
            SessionError: ``not_found``; ``invalid_session`` if a parent is missing or the path goes in circles.
        """

    def children(self, entry_id: str | None) -> list[str]:
        """Return the ids of the entries that hang from this one (None: the roots), in the order of writing."""

    def new_id(self) -> str:
        """Return an id that no entry has."""

    def close(self) -> None:
        """Let go of file and lock. A second call does nothing."""


class Trail:
    """A path as columns, so that most questions are answered without decoding an entry.

    Attributes:
        ids: Ids, from the root.
        types: Kinds.
        roles: Roles of the messages; None for what is no proper message.
        entry: Returns the entry at a place.
    """

    __slots__ = ("entry", "ids", "roles", "types")

    def __init__(
        self, ids: list[str], types: list[str], roles: list[str | None], entry: Callable[[int], Entry]
    ) -> None:
        self.ids = ids
        self.types = types
        self.roles = roles
        self.entry = entry

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(cls, path: Sequence[Entry]) -> Trail:
        """Return the columns of a path."""
        if isinstance(path, Entries):
            return path.trail
        roles = [entry.message.role if isinstance(entry, MessageEntry) else None for entry in path]
        return cls([entry.id for entry in path], [entry.type for entry in path], roles, path.__getitem__)


class Entries(Sequence[Entry]):
    """Some entries of a storage, decoded when looked at; it does not change when the log grows."""

    __slots__ = ("_at", "_length", "_storage")

    def __init__(self, storage: IndexedStorage, positions: Sequence[int]) -> None:
        self._storage = storage
        self._at = positions
        self._length = len(positions)

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Entry: ...

    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...

    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        if isinstance(place, slice):
            return [self._storage.at(self._at[number]) for number in range(*place.indices(self._length))]
        number = place + self._length if place < 0 else place
        if not 0 <= number < self._length:
            raise IndexError(f"there are {self._length} entries, not one at {place}")
        return self._storage.at(self._at[number])

    def __iter__(self) -> Iterator[Entry]:
        at, done, block = self._storage.at, 0, 1
        while done < self._length:
            with no_collection():
                entries = [at(position) for position in self._at[done : min(done + block, self._length)]]
            yield from entries
            done, block = done + len(entries), min(2 * block, _BLOCK)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((id(self._storage), self._length))

    def __repr__(self) -> str:
        return f"<Entries {self._length}>"

    @property
    def trail(self) -> Trail:
        """The same as columns."""
        index, at = self._storage.index, self._at
        return Trail(
            [index.ids[position] for position in at],
            [index.types[position] for position in at],
            [index.roles[position] for position in at],
            self.__getitem__,
        )


class IndexedStorage:
    """What the storages have in common: lines, their index, entries decoded on demand. One lock guards it all."""

    def __init__(self, header: Header, index: Index | None = None) -> None:
        self._header = header
        self._index = index or Index()
        self._cache: dict[int, Entry] = {}
        self._cached = 0
        self._warnings: list[str] = []
        self.lock = threading.RLock()

    @property
    def header(self) -> Header:
        """The session's first line."""
        return self._header

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was odd about the log, one sentence each."""
        return tuple(self._warnings)

    @property
    def read_only(self) -> bool:
        """True if an append would be refused."""
        return False

    @property
    def file(self) -> Path | None:
        """The file, or None if the session is not kept in one."""
        return None

    @property
    def index(self) -> Index:
        """The columns: ids, parents, kinds, labels."""
        return self._index

    @property
    def leaf_id(self) -> str | None:
        """The entry the next append hangs from; it may be unknown if the log is broken."""
        return self._index.leaf_id

    def __len__(self) -> int:
        return len(self._index)

    def at(self, position: int) -> Entry:
        """Return the entry at a position of the log."""
        entry = self._cache.get(position)
        return self._decode(position) if entry is None else entry

    def _decode(self, position: int) -> Entry:
        kept = self._index.lines.kept(position)
        line = b"" if kept else self._index.lines[position]
        entry = parse_entry(kept or lines.decode(line))
        with self.lock:
            self._cached += len(line)
            if self._cached > _CACHE_BYTES:
                self._cache.clear()
                self._cached = len(line)
            self._cache[position] = entry
        return entry

    def fields_of(self, position: int, line: bytes | None = None) -> Mapping[str, Any]:
        """Return what the line of an entry says, as JSON data, without making an entry of it."""
        data: Mapping[str, Any] = lines.decode(self._index.lines[position] if line is None else line)
        return data

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry, the last one if several have this id, or None."""
        position = self._index.positions.get(entry_id)
        return None if position is None else self.at(position)

    def entries(self, start: int = 0, stop: int | None = None) -> Entries:
        """Return the entries from one place of the log to another, in the order of writing."""
        return Entries(self, range(*slice(start, stop).indices(len(self._index))))

    def path(self, entry_id: str | None) -> Entries:
        """Return the entries from the root to this one; nothing for None.

        Raises:
            SessionError: ``not_found``; ``invalid_session`` if a parent is missing or the path goes in circles.
        """
        return Entries(self, self.walk(entry_id))

    def walk(self, entry_id: str | None) -> list[int]:
        """Return the positions of the entries from the root to this one. Errors as for :meth:`path`."""
        with self.lock:
            try:
                return self._index.walk(entry_id)
            except SessionError as error:
                error.path = str(self.file) if self.file else None
                raise

    def children(self, entry_id: str | None) -> list[str]:
        """Return the ids of the entries that hang from this one (None: the roots), in the order of writing."""
        with self.lock:
            return self._index.children(entry_id)

    def new_id(self) -> str:
        """Return an id that no entry has."""
        return new_entry_id(self._index.positions)

    def append(self, entry: Entry) -> None:
        """Add an entry; it is durable when this returns.

        Raises:
            SessionError: ``invalid_entry`` if it could not be read back; otherwise see the storage.
        """
        if type(self).append_fields is IndexedStorage.append_fields:
            raise NotImplementedError("A storage has an append_fields, or an append.")
        fields = sound_fields(entry)
        with self.lock:
            self.append_fields(fields)

    def append_fields(self, fields: dict[str, Any]) -> None:
        """Add an entry given as its fields on the wire; what is no JSON in them are values, such as the message.

        This is what a storage is to have; a session writes this way, so that no entry need be made to write one. The
        caller holds :attr:`lock`.

        Args:
            fields: The fields, under a sound envelope. The caller may change later what is in them.

        Raises:
            SessionError: ``invalid_entry`` if they hold what JSON cannot; otherwise see the storage.
        """
        self.append(parse_entry(lines.decode(line_of(fields))))

    def refresh(self) -> int:
        """Take in what others wrote; return how many entries that were."""
        return 0

    def migrate(self) -> None:
        """Write what is of an older version anew; there is nothing to do but for files."""

    def close(self) -> None:
        """Let go of what is held. A second call does nothing."""


def sound_fields(entry: Entry) -> dict[str, Any]:
    """Return an entry's fields on the wire.

    Raises:
        SessionError: ``invalid_entry`` if it could not be read back.
    """
    fields = lines.fields_of(entry)
    fault = envelope_fault(fields)
    if fault:
        raise SessionError(f"The {entry.type} entry cannot be written: it {fault}.", code="invalid_entry")
    return fields


def line_of(fields: Mapping[str, Any], *, end: bytes = b"") -> bytes:
    """Return the line of an entry, without a line break or with the one that is given.

    Raises:
        SessionError: ``invalid_entry`` if it holds what JSON cannot.
    """
    try:
        return lines.encode(fields, end=end)
    except ValueError as error:
        raise SessionError(f"The {fields['type']} entry cannot be written: {error}.", code="invalid_entry") from error

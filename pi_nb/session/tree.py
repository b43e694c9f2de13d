"""A session: an append-only log, read as a tree with a cursor.

The *leaf* is the entry the next append hangs from. After an append it is the new entry; :meth:`Session.move_to`
puts it elsewhere and writes that down as an entry too, so that it survives. The *path* from the root to the leaf is
what the conversation is; everything else stays in the log, and can be gone back to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any

from pi_nb.messages import UserMessage, text_of
from pi_nb.session.context import Context
from pi_nb.session.entries import (
    CustomMessageEntry,
    Entry,
    Header,
    LeafEntry,
    MessageEntry,
)
from pi_nb.session.plan import Projectors
from pi_nb.session.projection import Projection
from pi_nb.session.storage import IndexedStorage
from pi_nb.session.writing import LEAF, Listener, Place, SessionWriter

__all__ = ["LEAF", "Checkout", "Listener", "Session"]


HANDOFF = "pi_nb.handoff"


@dataclass(frozen=True, slots=True)
class Checkout:
    """What a click on an entry did.

    Attributes:
        leaf_id: Where the leaf is now.
        previous_leaf_id: Where it was.
        editor_text: Text of the message that was clicked, to be edited and sent again; None if there is none.
        leaf_entry_id: The leaf entry that was written, or None if the leaf did not move.
    """

    leaf_id: str | None
    previous_leaf_id: str | None
    editor_text: str | None
    leaf_entry_id: str | None


class Session(SessionWriter):
    """One conversation with all its branches. May be used from several threads.

    Args:
        storage: Where its entries are kept.
        projectors: What a model sees of ``custom`` entries, by custom type; nothing unless named here.
    """

    def __init__(self, storage: IndexedStorage, *, projectors: Projectors | None = None) -> None:
        super().__init__(storage)
        self._projection = Projection(storage, dict(projectors or {}))

    # ------------------------------------------------------------ what it is

    @property
    def header(self) -> Header:
        """The first line."""
        return self._storage.header

    @property
    def id(self) -> str:
        """The session's id."""
        return self.header.id

    @property
    def cwd(self) -> str:
        """The folder the session belongs to; empty if its header does not say."""
        return self.header.cwd or ""

    @property
    def metadata(self) -> dict[str, Any]:
        """What the header says beside the rest; empty if nothing."""
        return dict(self.header.metadata or {})

    @property
    def name(self) -> str | None:
        """The name it was given last, on whatever branch."""
        return self._storage.index.name

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels by the id they name, of the whole file. A target may be missing."""
        return MappingProxyType(dict(self._storage.index.labels))

    @property
    def leaf_id(self) -> str | None:
        """The entry the next append hangs from; None before the first. In a broken file it may be unknown."""
        return self._storage.leaf_id

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was odd about the file, one sentence each."""
        return self._storage.warnings

    @property
    def read_only(self) -> bool:
        """True if an append would be refused."""
        return self._storage.read_only

    def __len__(self) -> int:
        return len(self._storage)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Session {self.id[-8:]} entries={len(self)} leaf={self.leaf_id} branches={len(self.branches())}>"

    # ------------------------------------------------------------ reading

    def entries(self, start: int = 0) -> Sequence[Entry]:
        """Return the entries in the order of writing, from a place of the log on."""
        return self._storage.entries(start)

    def children(self, id: str | None) -> list[str]:
        """Return the ids of the entries that hang from one (None: the roots).

        A leaf entry is a move of the cursor, no place to be: it counts only if something hangs from it.
        """
        storage = self._storage
        with storage.lock:
            found = storage.children(id)
            types, at = storage.index.types, storage.index.positions
            return [child for child in found if types[at[child]] != "leaf" or storage.children(child)]

    def roots(self) -> list[str]:
        """Return the ids of the entries that hang from nothing; entries whose parent is missing are among them."""
        index = self._storage.index
        with self._storage.lock:
            orphans = [index.ids[position] for position in index.orphans() if index.types[position] != "leaf"]
        return self.children(None) + orphans

    def branches(self) -> list[str]:
        """Return the ids of the entries at which a branch ends: those with no children."""
        index = self._storage.index
        with self._storage.lock:
            return [index.ids[position] for position in index.tips()]

    def context(self, id: Place = LEAF) -> Context:
        """Return what a model sees at an entry: messages, model, thinking level, active tools.

        Raises:
            SessionError: As for :meth:`path`; ``invalid_entry`` if a message entry holds no message.
        """
        with self._storage.lock:
            return self._projection.context(self._place(id))

    # ------------------------------------------------------------ as data and as a picture

    def to_frame(self) -> Any:
        """Return the log as a ``pandas.DataFrame``: one row for each entry, in the order of writing.

        Columns: ``position`` (in the log, from 0), ``id``, ``parent``, ``type``, ``role``, ``text`` (all of it),
        ``tools`` (names of the tools called), ``model``, ``tokens`` (what the provider counted, else an estimate),
        ``cost`` (US dollars), ``error``, ``time`` (UTC), ``cell`` (number of the notebook cell that wrote it),
        ``label``, ``depth`` (entries above it), ``children``, ``on_path`` (on the path to the leaf), ``is_leaf``.

        Raises:
            UserError: pandas is not installed.
        """
        return _view("frame").session_frame(self)

    def graph(self, *, max_rows: int | None = 200, everything: bool = False) -> Any:
        """Return the tree as a ``graphviz.Digraph``, which shows itself in a notebook.

        ``.source`` is DOT, ``.pipe(format="svg", encoding="utf-8")`` or ``.render("tree", format="png")`` draw it
        with ``dot``, or with the one that ``pip install pi-nb[dot]`` brings. Without either, SVG is our own picture.

        Args:
            max_rows: Most nodes; those nearest to the leaf are drawn and the rest counted. None draws all.
            everything: True to draw bookkeeping too: labels, names, moves of the leaf.
        """
        return _view("dot").to_dot(self, max_rows=max_rows, everything=everything)

    # ------------------------------------------------------------ moving

    def move_to(self, id: str | None, *, extra: Mapping[str, Any] | None = None) -> str | None:
        """Put the leaf elsewhere, at once and for good; return the leaf entry's id, or None if it is there already.

        Args:
            id: Where to; None is before the first entry.
            extra: Fields of an application to write beside the move, such as which move it takes back.

        Raises:
            SessionError: ``not_found``, or as for :meth:`append_message`.
        """
        storage = self._storage
        with storage.lock:
            if id == storage.leaf_id and (id is None or id in storage.index.positions):
                return None
            if id is not None:
                self.entry(id)
            new_id = storage.new_id()
            self._write("leaf", new_id, storage.leaf_id, {"targetId": id}, extra)
        return new_id

    def checkout(self, id: str | None) -> Checkout:
        """Do what a click on an entry does.

        The leaf goes to the entry; but a user's (or an application's) message is there to be said anew, so the
        leaf goes before it, and its text is handed back. A click on a leaf entry goes where that one went.

        Raises:
            SessionError: As for :meth:`move_to`.
        """
        with self._storage.lock:
            before = self._storage.leaf_id
            if id == before:
                return Checkout(before, before, None, None)
            target, text = (None, None) if id is None else self._click(self.entry(id))
            return Checkout(target, before, text, self.move_to(target))

    def _click(self, entry: Entry) -> tuple[str | None, str | None]:
        """Return where a click on an entry leads, and the text to edit there."""
        if isinstance(entry, LeafEntry):
            return entry.target_id, None
        if isinstance(entry, CustomMessageEntry):
            return entry.parent_id, text_of(entry.content)
        if isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage):
            return entry.parent_id, text_of(entry.message.content)
        return entry.id, None

    def handoff(self) -> str | None:
        """Make the file end where the leaf is, for programs that do not know leaf entries; return what was appended.

        Such programs (pi's own terminal) go on below the file's last line. If that is the record of a moved leaf, an
        entry without meaning is appended under the place the leaf went to; else there is nothing to do.

        Raises:
            SessionError: As for :meth:`append_message`.
        """
        with self._storage.lock:
            last = self._storage.at(len(self) - 1) if len(self) else None
            return self.append_custom(HANDOFF) if isinstance(last, LeafEntry) else None

    # ------------------------------------------------------------ following

    def refresh(self) -> int:
        """Take in what others appended to the file; return how many entries that were.

        Raises:
            SessionError: ``storage`` if the file is gone, was shortened, or another one is in its place.
        """
        with self._storage.lock:
            count = self._storage.refresh()
            self._tell()
        return count

    def migrate(self) -> None:
        """Bring a file of an older version up to date; the old one is kept beside it as ``.bak``. Then it can grow.

        Raises:
            SessionError: ``locked`` or ``storage``.
        """
        self._storage.migrate()

    def close(self) -> None:
        """Let go of the file. Reading goes on; a second call does nothing."""
        self._storage.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _view(name: str) -> Any:
    """Return a module of the views, looked up when it is wanted: views know sessions, not the other way round."""
    return import_module(f"pi_nb.views.{name}")

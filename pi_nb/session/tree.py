"""A session: an append-only log, read as a tree with a cursor.

The *leaf* is the entry the next append hangs from. After an append it is the new entry; :meth:`Session.move_to`
puts it elsewhere and writes that down as an entry too, so that it survives. The *path* from the root to the leaf is
what the conversation is; everything else stays in the log, and can be gone back to.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from pi_nb.errors import SessionError
from pi_nb.messages import Message, UserMessage, text_of
from pi_nb.session.context import Context, Projectors
from pi_nb.session.entries import (
    ActiveToolsChangeEntry,
    BranchSummaryEntry,
    CompactionEntry,
    CustomEntry,
    CustomMessageEntry,
    Entry,
    Header,
    LabelEntry,
    LeafEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    make_entry,
    tolerant_message,
)
from pi_nb.session.ids import now_iso
from pi_nb.session.index import one_line
from pi_nb.session.projection import Projection
from pi_nb.session.storage import IndexedStorage

__all__ = ["LEAF", "Checkout", "Listener", "Session"]

_log = logging.getLogger("pi_nb.session")
Listener: TypeAlias = Callable[[Entry, int], None]


class _Leaf:
    """The type of :data:`LEAF`."""

    def __repr__(self) -> str:
        return "LEAF"


LEAF: Final = _Leaf()
"""Stands for "at the current leaf" where None means "before the first entry"."""

Place: TypeAlias = str | None | _Leaf


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


class Session:
    """One conversation with all its branches. May be used from several threads.

    Args:
        storage: Where its entries are kept.
        projectors: What a model sees of ``custom`` entries, by custom type; nothing unless named here.
    """

    def __init__(self, storage: IndexedStorage, *, projectors: Projectors | None = None) -> None:
        self._storage = storage
        self._projection = Projection(storage, dict(projectors or {}))
        self._listeners: list[Listener] = []
        self._told = len(storage)
        self._telling = False

    # ------------------------------------------------------------ what it is

    @property
    def storage(self) -> IndexedStorage:
        """Where its entries are kept."""
        return self._storage

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
    def file(self) -> Path | None:
        """The file it is in, or will be; None if it lives in memory."""
        return self._storage.file

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
        return (
            f"<Session {self.id[-8:]} entries={len(self)} leaf={self.leaf_id} branches={len(self.branches())}>"
        )

    # ------------------------------------------------------------ reading

    def entries(self, start: int = 0) -> Sequence[Entry]:
        """Return the entries in the order of writing, from a place of the log on."""
        return self._storage.entries(start)

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry, or None if there is none with this id."""
        return self._storage.get(entry_id)

    def entry(self, entry_id: str) -> Entry:
        """Return an entry.

        Raises:
            SessionError: ``not_found``.
        """
        found = self._storage.get(entry_id)
        if found is None:
            raise SessionError(f"There is no entry {entry_id}.", code="not_found", path=self._path_text())
        return found

    def path(self, id: Place = LEAF) -> Sequence[Entry]:
        """Return the entries from the root to an entry.

        Raises:
            SessionError: ``not_found``; ``invalid_session`` if a parent is missing or the path goes in circles.
        """
        return self._storage.path(self._place(id))

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

    def _place(self, id: Place) -> str | None:
        """Return the id a caller means.

        Raises:
            SessionError: ``invalid_session`` if the leaf is meant and is unknown.
        """
        if not isinstance(id, _Leaf):
            return id
        leaf = self._storage.leaf_id
        if leaf is not None and leaf not in self._storage.index.positions:
            raise SessionError(
                f"The leaf is {leaf}, which is not in the session.",
                code="invalid_session",
                hint="Check out an entry that is.",
                path=self._path_text(),
            )
        return leaf

    def _path_text(self) -> str | None:
        return str(self.file) if self.file else None

    # ------------------------------------------------------------ appending

    def append_message(
        self,
        message: Message | Mapping[str, Any],
        *,
        extra: Mapping[str, Any] | None = None,
        parent: Place = LEAF,
    ) -> str:
        """Append a message; return the entry's id.

        Args:
            message: The message, or one as JSON data.
            extra: Fields of an application to write beside the message, such as where it came from; a model does not
                see them.
            parent: Where to append.

        Raises:
            SessionError: ``storage``, ``locked``, ``invalid_entry``; ``not_found`` if the parent is unknown.
            pydantic.ValidationError: A mapping that is no message.
        """
        if isinstance(message, Mapping):
            message = tolerant_message(message)
        return self._append(MessageEntry, parent, extra=extra, message=message)

    def append_model_change(self, provider: str, model_id: str, *, parent: Place = LEAF) -> str:
        """Append that this branch speaks to another model from here on. Errors as for :meth:`append_message`."""
        return self._append(ModelChangeEntry, parent, provider=provider, model_id=model_id)

    def append_thinking_level_change(self, level: str, *, parent: Place = LEAF) -> str:
        """Append that this branch thinks more or less from here on. Errors as for :meth:`append_message`."""
        return self._append(ThinkingLevelChangeEntry, parent, thinking_level=level)

    def append_active_tools_change(self, names: Sequence[str], *, parent: Place = LEAF) -> str:
        """Append which tools are active from here on. Errors as for :meth:`append_message`."""
        return self._append(ActiveToolsChangeEntry, parent, active_tool_names=tuple(names))

    def append_compaction(
        self,
        summary: str,
        first_kept_entry_id: str | None,
        tokens_before: float,
        *,
        details: Any = None,
        from_hook: bool | None = None,
        usage: Any = None,
        parent: Place = LEAF,
    ) -> str:
        """Append a summary that stands for what lies before ``first_kept_entry_id``.

        Args:
            summary: The summary.
            first_kept_entry_id: First entry to keep as it is; None to keep none.
            tokens_before: Tokens of the context before.
            details: For people and hooks; a model does not see it.
            from_hook: True if a hook made the summary.
            usage: Tokens the summary cost.
            parent: Where to append.

        Raises:
            SessionError: As for :meth:`append_message`.
        """
        options = _given(details=details, from_hook=from_hook, usage=usage)
        with self._storage.lock:
            entry_id = self._storage.new_id()
            kept = entry_id if first_kept_entry_id is None else first_kept_entry_id
            return self._append(
                CompactionEntry,
                parent,
                entry_id,
                summary=summary,
                first_kept_entry_id=kept,
                tokens_before=tokens_before,
                **options,
            )

    def append_branch_summary(
        self,
        from_id: str | None,
        summary: str,
        *,
        details: Any = None,
        from_hook: bool | None = None,
        usage: Any = None,
        parent: Place = LEAF,
    ) -> str:
        """Append what was learnt on the branch that was left at ``from_id`` (None: at the root).

        Raises:
            SessionError: As for :meth:`append_message`.
        """
        options = _given(details=details, from_hook=from_hook, usage=usage)
        return self._append(BranchSummaryEntry, parent, from_id=from_id or "root", summary=summary, **options)

    def append_custom(self, custom_type: str, data: Any = None, *, parent: Place = LEAF) -> str:
        """Append data of an application; a model does not see it. Errors as for :meth:`append_message`."""
        return self._append(CustomEntry, parent, custom_type=custom_type, **_given(data=data))

    def append_custom_message(
        self,
        custom_type: str,
        content: str | Sequence[Any],
        *,
        display: bool = True,
        details: Any = None,
        parent: Place = LEAF,
    ) -> str:
        """Append a message of an application, which a model sees. Errors as for :meth:`append_message`."""
        content = content if isinstance(content, str) else tuple(content)
        options = _given(details=details)
        return self._append(
            CustomMessageEntry, parent, custom_type=custom_type, content=content, display=display, **options
        )

    def append_label(self, target_id: str, label: str | None, *, parent: Place = LEAF) -> str:
        """Name an entry, or take its name away (None or blank). Errors as for :meth:`append_message`."""
        self.entry(target_id)
        text = one_line(label or "")
        return self._append(LabelEntry, parent, target_id=target_id, **_given(label=text or None))

    def append_session_info(self, name: str | None, *, parent: Place = LEAF) -> str:
        """Name the session, or take its name away (None or blank). Errors as for :meth:`append_message`."""
        return self._append(SessionInfoEntry, parent, **_given(name=one_line(name or "") or None))

    def _append(
        self,
        kind: type[Entry],
        parent: Place,
        entry_id: str | None = None,
        extra: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> str:
        storage = self._storage
        with storage.lock:
            parent_id = self._place(parent)
            if parent_id is not None and parent_id not in storage.index.positions:
                raise SessionError(f"There is no entry {parent_id}.", code="not_found", path=self._path_text())
            new_id = entry_id or storage.new_id()
            storage.append(make_entry(kind, (new_id, parent_id, now_iso()), fields, extra))
            self._tell()
        return new_id

    # ------------------------------------------------------------ moving

    def move_to(self, id: str | None) -> str | None:
        """Put the leaf elsewhere, at once and for good; return the leaf entry's id, or None if it is there already.

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
            storage.append(make_entry(LeafEntry, (new_id, storage.leaf_id, now_iso()), {"target_id": id}))
            self._tell()
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

    # ------------------------------------------------------------ following

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(entry, position in the log)`` after each append; return what ends that.

        It is called on the appending thread, in the order of the log, while the session is held: it should be quick.
        What it raises is logged and goes no further.
        """
        with self._storage.lock:
            self._listeners.append(listener)

        def stop() -> None:
            with self._storage.lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return stop

    def refresh(self) -> int:
        """Take in what others appended to the file; return how many entries that were.

        Raises:
            SessionError: ``storage`` if the file is gone, was shortened, or another one is in its place.
        """
        with self._storage.lock:
            count = self._storage.refresh()
            self._tell()
        return count

    def _tell(self) -> None:
        """Tell the listeners of everything they have not heard of; an append of theirs waits for its turn."""
        if self._telling:
            return
        self._telling = True
        try:
            while self._told < len(self._storage):
                self._told += 1
                self._tell_of(self._told - 1)
        finally:
            self._telling = False

    def _tell_of(self, position: int) -> None:
        if not self._listeners:
            return
        entry = self._storage.at(position)
        for listener in tuple(self._listeners):
            try:
                listener(entry, position)
            except Exception:
                _log.exception("a listener of session %s failed", self.id)

    def close(self) -> None:
        """Let go of the file. Reading goes on; a second call does nothing."""
        self._storage.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that are not None: what is unset is not written."""
    return {name: value for name, value in options.items() if value is not None}

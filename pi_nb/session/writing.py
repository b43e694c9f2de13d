"""Writing a session: every kind of entry that can be appended, and who is told of it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from pi_nb.errors import SessionError
from pi_nb.messages import CustomMessage, Message, to_wire
from pi_nb.session.entries import Entry, tolerant_message
from pi_nb.session.ids import now_iso
from pi_nb.session.index import one_line
from pi_nb.session.storage import IndexedStorage

__all__ = ["LEAF", "Listener", "Place", "SessionWriter"]

_log = logging.getLogger("pi_nb.session")
Listener: TypeAlias = Callable[[Entry, int], None]


class _Leaf:
    """The type of :data:`LEAF`."""

    def __repr__(self) -> str:
        return "LEAF"


LEAF: Final = _Leaf()
"""Stands for "at the current leaf" where None means "before the first entry"."""

Place: TypeAlias = str | _Leaf | None


class SessionWriter:
    """What of a session appends; the rest is :class:`~pi_nb.session.tree.Session`.

    Args:
        storage: Where the entries are kept.
    """

    def __init__(self, storage: IndexedStorage) -> None:
        self._storage = storage
        self._listeners: list[Listener] = []
        self._told = len(storage)
        self._telling = False

    @property
    def storage(self) -> IndexedStorage:
        """Where its entries are kept."""
        return self._storage

    @property
    def file(self) -> Path | None:
        """The file it is in, or will be; None if it lives in memory."""
        return self._storage.file

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
        if not hasattr(message, "to_wire"):
            message = tolerant_message(message)
        return self._append("message", parent, {"message": message}, extra=extra)

    def append_model_change(self, provider: str, model_id: str, *, parent: Place = LEAF) -> str:
        """Append that this branch speaks to another model from here on. Errors as for :meth:`append_message`."""
        return self._append("model_change", parent, {"provider": provider, "modelId": model_id})

    def append_thinking_level_change(self, level: str, *, parent: Place = LEAF) -> str:
        """Append that this branch thinks more or less from here on. Errors as for :meth:`append_message`."""
        return self._append("thinking_level_change", parent, {"thinkingLevel": level})

    def append_active_tools_change(self, names: Sequence[str], *, parent: Place = LEAF) -> str:
        """Append which tools are active from here on. Errors as for :meth:`append_message`."""
        return self._append("active_tools_change", parent, {"activeToolNames": list(names)})

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
        with self._storage.lock:
            entry_id = self._storage.new_id()
            fields = {
                "summary": summary,
                "firstKeptEntryId": entry_id if first_kept_entry_id is None else first_kept_entry_id,
                "tokensBefore": tokens_before,
                **_given(details=details, fromHook=from_hook, usage=usage),
            }
            return self._append("compaction", parent, fields, entry_id=entry_id)

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
        options = _given(details=details, fromHook=from_hook, usage=usage)
        fields = {"fromId": from_id or "root", "summary": summary, **options}
        return self._append("branch_summary", parent, fields)

    def append_custom(self, custom_type: str, data: Any = None, *, parent: Place = LEAF) -> str:
        """Append data of an application; a model does not see it. Errors as for :meth:`append_message`."""
        return self._append("custom", parent, {"customType": custom_type, **_given(data=data)})

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
        said = CustomMessage(custom_type=custom_type, content=content if isinstance(content, str) else tuple(content))
        fields = {"customType": custom_type, "content": said.content, "display": display, **_given(details=details)}
        return self._append("custom_message", parent, fields)

    def append_context_edit(
        self, target_id: str, replacement: str | Sequence[Any] | None, *, parent: Place = LEAF
    ) -> str:
        """Append that a model sees something else for an entry of this branch from here on.

        Args:
            target_id: A message on the path to ``parent``.
            replacement: Other content: text or blocks; None to leave the message out.
            parent: Where to append.

        Raises:
            SessionError: ``not_found`` if the target is not on the path; otherwise as for :meth:`append_message`.
        """
        if not any(entry.id == target_id for entry in reversed(self.path(parent))):
            raise SessionError(f"Entry {target_id} is not on this branch.", code="not_found", path=self._file_text())
        content = replacement if replacement is None or isinstance(replacement, str) else to_wire(list(replacement))
        edit = None if content is None else {"content": content}
        return self._append("context_edit", parent, {"targetId": target_id, "replacement": edit})

    def append_usage(self, kind: str, provider: str, model: str, usage: Any, *, parent: Place = LEAF) -> str:
        """Append tokens spent on something that is no message. Errors as for :meth:`append_message`."""
        fields = {"kind": kind, "provider": provider, "model": model, "usage": usage}
        return self._append("usage", parent, fields)

    def append_label(self, target_id: str, label: str | None, *, parent: Place = LEAF) -> str:
        """Name an entry, or take its name away (None or blank). Errors as for :meth:`append_message`."""
        self.entry(target_id)
        text = one_line(label or "")
        return self._append("label", parent, {"targetId": target_id, **_given(label=text or None)})

    def append_session_info(self, name: str | None, *, parent: Place = LEAF) -> str:
        """Name the session, or take its name away (None or blank). Errors as for :meth:`append_message`."""
        return self._append("session_info", parent, _given(name=one_line(name or "") or None))

    def _append(
        self,
        kind: str,
        parent: Place,
        fields: Mapping[str, Any],
        *,
        entry_id: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> str:
        storage = self._storage
        with storage.lock:
            index = storage.index
            parent_id = index.leaf_id if parent is LEAF else parent
            if parent_id is not None and parent_id not in index.positions:
                self._place(parent)  # of an unknown leaf it says more
                raise SessionError(f"There is no entry {parent_id}.", code="not_found", path=self._file_text())
            new_id = entry_id or storage.new_id()
            self._write(kind, new_id, parent_id, fields, extra)
        return new_id

    def _write(
        self,
        kind: str,
        entry_id: str,
        parent_id: str | None,
        fields: Mapping[str, Any],
        extra: Mapping[str, Any] | None,
    ) -> None:
        """Append an entry under a sound envelope, and tell the listeners."""
        entry = {"type": kind, "id": entry_id, "parentId": parent_id, "timestamp": now_iso(), **fields}
        if extra:
            taken = entry.keys() & extra.keys()
            if taken:
                names = ", ".join(sorted(taken))
                raise SessionError(f"Extra fields cannot be named as the entry's own: {names}.", code="invalid_entry")
            entry.update(extra)
        self._storage.append_fields(entry)
        if self._listeners:
            self._tell()

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry, or None if there is none with this id."""
        return self._storage.get(entry_id)

    def path(self, id: Place = LEAF) -> Sequence[Entry]:
        """Return the entries from the root to an entry.

        Raises:
            SessionError: ``not_found``; ``invalid_session`` if a parent is missing or the path goes in circles.
        """
        return self._storage.path(self._place(id))

    def entry(self, entry_id: str) -> Entry:
        """Return an entry.

        Raises:
            SessionError: ``not_found``.
        """
        found = self._storage.get(entry_id)
        if found is None:
            raise SessionError(f"There is no entry {entry_id}.", code="not_found", path=self._file_text())
        return found

    def _place(self, id: Place) -> str | None:
        """Return the id a caller means.

        Raises:
            SessionError: ``invalid_session`` if the leaf is meant and is unknown.
        """
        if id is not LEAF:
            return id  # type: ignore[return-value]  # there is one _Leaf only
        index = self._storage.index
        leaf = index.leaf_id
        if leaf is not None and leaf not in index.positions:
            raise SessionError(
                f"The leaf is {leaf}, which is not in the session.",
                code="invalid_session",
                hint="Check out an entry that is.",
                path=self._file_text(),
            )
        return leaf

    def _file_text(self) -> str | None:
        return str(self.file) if self.file else None

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener(entry, position in the log)`` after each append; return what ends that.

        It is called on the appending thread, in the order of the log, while the session is held: it should be quick.
        What it raises is logged and goes no further.
        """
        with self._storage.lock:
            if not self._listeners:
                self._told = len(self._storage)
            self._listeners.append(listener)

        def stop() -> None:
            with self._storage.lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return stop

    def _tell(self) -> None:
        """Tell the listeners of everything they have not heard of; an append of theirs waits for its turn."""
        if self._telling or not self._listeners:
            return
        self._telling = True
        try:
            while self._told < len(self._storage):
                self._told += 1
                self._tell_of(self._told - 1)
        finally:
            self._telling = False

    def _tell_of(self, position: int) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(self._storage.at(position), position)
            except Exception:
                _log.exception("a listener of session %s failed", self._storage.header.id)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that are not None: what is unset is not written."""
    return {name: value for name, value in options.items() if value is not None}

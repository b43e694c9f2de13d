r"""The folder of sessions: laid out as pi's, so that either program finds the other's.

``<root>/--<folder the session belongs to, / \\ : as ->--/<time>_<id>.jsonl``. Different folders may share such a
name, so what a session belongs to is read from its header, never from where it lies.
"""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pi_nb.errors import SessionError, SessionLockedError
from pi_nb.session.entries import Header
from pi_nb.session.fork import lines_to_fork
from pi_nb.session.ids import new_session_id, now_iso
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.listing import SessionInfo, describe, refuse_taken_id
from pi_nb.session.lock import WriterLock, holder_text
from pi_nb.session.logfile import Durability
from pi_nb.session.root import default_root
from pi_nb.session.search import Found, search_file
from pi_nb.session.tree import Session

__all__ = ["Found", "SessionInfo", "SessionRepo", "default_root"]

_ID = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


class SessionRepo:
    """All sessions below one folder.

    Args:
        root: The folder; None for pi's own (see :func:`default_root`).
        durability: ``flush`` survives a killed process, ``fsync`` a power loss too.

    Attributes:
        root: The folder.
    """

    def __init__(self, root: Path | str | None = None, *, durability: Durability = "flush") -> None:
        self.root = Path(root) if root is not None else default_root()
        self.durability: Durability = durability

    # ------------------------------------------------------------ making and opening

    def create(
        self,
        cwd: str | Path,
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        parent_session: str | None = None,
    ) -> Session:
        """Return a new session. Nothing is on disk before the first message.

        Args:
            cwd: Folder it belongs to.
            id: Its id; by default a new UUID of version 7.
            metadata: What the header says beside the rest; JSON data.
            parent_session: What it was forked from.

        Raises:
            SessionError: The id has characters that an id cannot have, or is taken in this folder.
        """
        file, header = self._plan(cwd, id, metadata, parent_session)
        return Session(JsonlSessionStorage.create(file, header, durability=self.durability))

    def _plan(
        self, cwd: str | Path, id: str | None, metadata: Mapping[str, Any] | None, parent_session: str | None
    ) -> tuple[Path, Header]:
        """Return where a new session will be, and its header."""
        folder = _absolute(cwd)
        if not _is_path(folder):
            raise SessionError(f"{folder!r} cannot be a folder.", hint="It has characters that no path can have.")
        session_id = new_session_id() if id is None else id
        if not _ID.fullmatch(session_id):
            raise SessionError(
                f"{session_id!r} cannot be a session's id.",
                hint="Use letters, digits, dots, dashes and underscores, with a letter or digit at both ends.",
            )
        place = self.folder(folder)
        refuse_taken_id(session_id, place)
        stamp = now_iso()
        options = {"parent_session": parent_session, "metadata": dict(metadata) if metadata else None}
        given = {name: value for name, value in options.items() if value is not None}
        try:
            header = Header(version=3, id=session_id, timestamp=stamp, cwd=folder, **given)
        except ValidationError as error:
            raise SessionError(f"The session's header cannot be written: {error}.") from error
        return place / f"{re.sub('[:.]', '-', stamp)}_{session_id}.jsonl", header

    def folder(self, cwd: str | Path) -> Path:
        """Return the folder in which sessions that belong to ``cwd`` are."""
        name = re.sub(r"[/\\:]", "-", re.sub(r"^[/\\]", "", str(cwd)))
        return self.root / f"--{name}--"

    def open(self, ref: str | Path, *, repair: bool = False, read_only: bool = False) -> Session:
        """Return a session, read-only if somebody else is writing it (``session.warnings`` says who).

        Args:
            ref: Its file, its id, the unique beginning (or end) of its id, or its name.
            repair: True to leave bad lines out; the file as it was is kept beside it as ``.bak``.
            read_only: True to not ask for the right to write.

        Raises:
            SessionError: ``not_found``; ``invalid_session``, also if ``ref`` fits several; ``invalid_entry``;
                ``storage``.
        """
        file = self.resolve(ref)
        return Session(JsonlSessionStorage.open(file, repair=repair, read_only=read_only, durability=self.durability))

    def resolve(self, ref: str | Path) -> Path:
        """Return the file of the session that ``ref`` names. Errors as for :meth:`open`."""
        if isinstance(ref, Path):
            return ref
        if _is_file(ref):
            return Path(ref).expanduser()
        found = self._matches(ref.strip()) if ref.strip() else []
        if len(found) == 1:
            return found[0].file
        if not found:
            raise SessionError(
                f"There is no session {ref!r} in {self.root}.", code="not_found", hint=self._near(ref.strip())
            )
        raise SessionError(
            f"{ref!r} fits {len(found)} sessions: {', '.join(_distinct(found))}.",
            hint="Name one by its id, by its end, or by its file.",
        )

    def _near(self, text: str) -> str:
        names = {info.name for info in self.list() if info.name}
        close = get_close_matches(text, sorted(names), n=3, cutoff=0.6)
        return f"Did you mean {' or '.join(map(repr, close))}?" if close else ""

    def _matches(self, text: str) -> list[SessionInfo]:
        """Return the sessions that a text names best: by id, by name, by the beginning or end of an id."""
        infos = self.list()
        return (
            [info for info in infos if info.id == text]
            or [info for info in infos if info.name == text]
            or [info for info in infos if info.id.startswith(text)]
            or [info for info in infos if info.id.endswith(text)]
        )

    # ------------------------------------------------------------ listing

    def list(self, cwd: str | Path | None = None, *, broken: bool = False) -> list[SessionInfo]:
        """Return the sessions, the newest first; those that do not say when they began last.

        Args:
            cwd: Only those that belong to this folder.
            broken: True to list files that are no sessions too; ``info.broken`` says why they are not.
        """
        if cwd is None:
            files = [file for folder in self._folders() for file in _session_files(folder)]
        else:
            files = list(_session_files(self.folder(_absolute(cwd))))
        infos = [info for info in map(describe, files) if (info.broken is None or broken)]
        if cwd is not None:
            here = _absolute(cwd)
            infos = [info for info in infos if info.broken or _absolute(info.cwd) == here]
        return sorted(infos, key=lambda info: info.order, reverse=True)

    def _folders(self) -> Iterator[Path]:
        """Yield the folders with sessions, links to folders too."""
        yield from (folder for folder in _inside(self.root) if folder.is_dir())

    def find(self, metadata_key: str, value: Any) -> SessionInfo | None:
        """Return the newest session whose metadata has this value, or None."""
        for info in self.list():
            if metadata_key in info.metadata and info.metadata[metadata_key] == value:
                return info
        return None

    def search(self, text: str, *, cwd: str | Path | None = None, limit: int = 100) -> builtins.list[Found]:
        """Return the entries that say a text, whatever its case, from the newest session to the oldest.

        What people and models said is looked through, and summaries, labels and names.

        Args:
            text: What to look for.
            cwd: Only in sessions that belong to this folder.
            limit: The most entries to return.
        """
        hits = (found for info in self.list(cwd) for found in search_file(info, text))
        return list(islice(hits, limit)) if text else []

    # ------------------------------------------------------------ forking and deleting

    def fork(
        self,
        session: Session | str | Path,
        *,
        at: str | None = None,
        before: str | None = None,
        cwd: str | Path | None = None,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Session:
        """Return a new session with entries of another one, ids preserved; it is on disk if that one is.

        Args:
            session: The other one, or what :meth:`open` takes.
            at: Copy the path to this entry only.
            before: Copy the path to the parent of this user message only.
            cwd: Folder the new one belongs to; by default that of the other.
            id: The new one's id.
            metadata: What its header says; by default what the other's does.

        Raises:
            SessionError: ``invalid_fork_target``; otherwise as for :meth:`create` and :meth:`open`.
        """
        if not isinstance(session, Session):
            with self.open(session, read_only=True) as source:
                return self.fork(source, at=at, before=before, cwd=cwd, id=id, metadata=metadata)
        raw = lines_to_fork(session, at=at, before=before)
        origin = str(session.file) if session.file else session.id
        options = session.metadata if metadata is None else metadata
        file, header = self._plan(cwd or session.cwd or Path.cwd(), id, options, origin)
        on_disk = session.file is not None and os.path.exists(session.file)  # noqa: PTH110 - never raises
        return Session(JsonlSessionStorage.create(file, header, raw=raw, at_once=on_disk, durability=self.durability))

    def delete(self, ref: str | Path | Session) -> None:
        """Delete a session's file.

        Raises:
            SessionError: ``not_found``; ``locked`` if somebody else is writing it; ``storage``.
        """
        if isinstance(ref, Session):
            ref.close()
            ref = ref.file or ""
        file = self.resolve(ref)
        lock = WriterLock(file)
        try:
            if not file.exists():
                raise SessionError(f"There is no session file {file}.", code="not_found", path=str(file))
            holder = lock.acquire()
            if holder is not None:
                raise SessionLockedError(
                    f"Cannot delete {file.name}: it is being written by {holder_text(holder)}.",
                    holder=holder,
                    path=str(file),
                )
            file.unlink()
        except OSError as error:
            raise SessionError(f"Cannot delete {file}: {error.strerror}.", code="storage", path=str(file)) from error
        finally:
            lock.release()


def _distinct(found: list[SessionInfo]) -> list[str]:
    """Return the ids of sessions; where a copied file has the same, the files."""
    ids = [info.id for info in found]
    return ids if len(set(ids)) == len(ids) else [str(info.file) for info in found]


def _session_files(folder: Path) -> Iterator[Path]:
    """Yield the session files of a folder; it need not exist."""
    yield from (file for file in _inside(folder) if file.suffix == ".jsonl" and not file.is_dir())


def _inside(folder: Path) -> list[Path]:
    """Return what lies in a folder, by name; nothing if it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


_OF_WINDOWS = re.compile(r"[A-Za-z]:[\\/]|\\\\")


def _absolute(cwd: str | Path) -> str:
    """Return an absolute path, links left as they are; empty if it is unknown. One of another system is as it is."""
    if _OF_WINDOWS.match(str(cwd)):
        return str(cwd)
    return os.path.abspath(Path(cwd).expanduser()) if str(cwd) else ""  # noqa: PTH100 - resolve() follows links


def _is_file(ref: str) -> bool:
    """Return True if a text is a session file's path; an id or a name never reaches out of the root."""
    try:
        return ref.endswith(".jsonl") and Path(ref).expanduser().is_file()
    except (OSError, RuntimeError):  # too long; the home of a user who does not exist
        return False


def _is_path(text: str) -> bool:
    """Return True if the system could have a file of this name."""
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False

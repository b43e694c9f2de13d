"""Sessions in files of JSON lines, as pi keeps them.

A new session is not on disk before something is said in it: its first entries (model, thinking level) wait in
memory and are written together with the header. From then on each entry is one ``write`` of one line. Before each
write the file is looked at, so that a deleted, replaced or shortened file is noticed and never gets a line that
does not belong to it.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pi_nb.errors import SessionError, SessionLockedError
from pi_nb.session import lines
from pi_nb.session.entries import Header
from pi_nb.session.header import CURRENT_VERSION
from pi_nb.session.index import Index, envelope_fault
from pi_nb.session.listing import refuse_taken_id
from pi_nb.session.loading import Loaded, load
from pi_nb.session.lock import WriterLock, holder_text
from pi_nb.session.logfile import Durability, LogFile, State, keep_aside, spare_path
from pi_nb.session.rawlines import is_still
from pi_nb.session.storage import IndexedStorage, line_of

__all__ = ["JsonlSessionStorage", "header_line"]

_SPOKEN = frozenset({"message", "custom_message", "compaction", "branch_summary"})


class JsonlSessionStorage(IndexedStorage):
    """A session in a file. Use :meth:`open` or :meth:`create`, not the constructor."""

    def __init__(self, file: Path, header: Header, index: Index, *, durability: Durability = "flush") -> None:
        super().__init__(header, index)
        self._log = LogFile(file, durability)
        self._head = header_line(header)
        self._writer = WriterLock(file)
        self._holder: dict[str, Any] | None = None
        self._why_read_only: str | None = None
        self._migrated = False
        self._let_go = weakref.finalize(self, _let_go, self._log, self._writer)  # also for who forgets to close

    # ------------------------------------------------------------ making one

    @classmethod
    def create(
        cls,
        file: Path,
        header: Header,
        *,
        raw: Iterable[bytes] = (),
        at_once: bool = False,
        durability: Durability = "flush",
    ) -> JsonlSessionStorage:
        """Return a new session; its file comes with the first message.

        Args:
            file: Where it will be; must not exist.
            header: Its first line.
            raw: Lines of entries it begins with (a fork's); written at once if something is said in them.
            at_once: Write the file at once, whatever is in it.
            durability: ``flush`` survives a killed process, ``fsync`` a power loss too.

        Raises:
            SessionError: ``storage`` if the file exists or cannot be written.
        """
        index = Index()
        for line in raw:
            index.append(lines.decode(line), line)
        storage = cls(file, header.model_copy(update={"version": CURRENT_VERSION}), index, durability=durability)
        if os.path.exists(file):  # noqa: PTH110 - Path.exists() raises if the name is too long; the first write says so
            raise SessionError(f"{file} exists already.", code="storage", path=str(file))
        if at_once or any(kind in _SPOKEN for kind in index.types):
            try:
                storage._write_whole()
            except SessionError:
                storage.close()  # now, not when the error is forgotten: the lock is a file, too
                raise
        return storage

    @classmethod
    def open(
        cls, file: Path, *, repair: bool = False, read_only: bool = False, durability: Durability = "flush"
    ) -> JsonlSessionStorage:
        """Return the session in a file, read-only if somebody else is writing it.

        Args:
            file: The file.
            repair: True to leave bad lines out. The file is then written without them, and kept as it was beside it,
                as ``.bak``.
            read_only: True to not ask for the right to write.
            durability: ``flush`` survives a killed process, ``fsync`` a power loss too.

        Raises:
            SessionError: As for :func:`pi_nb.session.loading.load`.
        """
        found = load(file, repair=repair)
        scan = found.scan
        storage = cls(file, scan.header, scan.index, durability=durability)
        storage._adopt(found)
        if scan.migrated:
            storage._why_read_only = "it is of an older version; migrate() brings it up to date, and a fork leaves it"
        elif read_only:
            storage._why_read_only = "it was opened for reading"
        elif not os.access(file, os.W_OK):
            storage._be_read_only("there is no permission to write the file")
        else:
            storage._begin_to_write()
        if scan.skipped and storage._writer.held:
            try:
                storage._rewrite()
            except SessionError:
                storage.close()
                raise
        return storage

    def _adopt(self, found: Loaded) -> None:
        scan = found.scan
        self._head = scan.head if scan.head.endswith(b"\n") else scan.head + b"\n"
        self._migrated = scan.migrated
        self._warnings += found.warnings
        log = self._log
        log.exists, log.identity, log.size = True, found.identity, found.size
        log.tail, log.ends_open = scan.tail, scan.ends_open

    def _begin_to_write(self) -> None:
        """Take the lock and what its last holder wrote since the file was read: we go on from there."""
        self._ask_to_write()
        try:
            if self._writer.held:
                self.refresh()
        except SessionError:
            self.close()
            raise

    def _ask_to_write(self) -> None:
        """Take the lock, or remember why not."""
        try:
            self._holder = self._writer.renew()
        except OSError as error:
            self._be_read_only(f"its folder cannot be written ({error.strerror})")
        if self._holder is not None:
            self._be_read_only(f"it is being written by {holder_text(self._holder)}")

    def _be_read_only(self, why: str) -> None:
        self._why_read_only = why
        self._warnings.append(f"The session is read-only: {why}.")

    # ------------------------------------------------------------ what it is

    @property
    def file(self) -> Path | None:
        """The file; for a new session the one that will be."""
        return self._log.path

    @property
    def on_disk(self) -> bool:
        """True once the file has been written."""
        return self._log.exists

    @property
    def read_only(self) -> bool:
        """True if an append would be refused: closed, old, opened for reading, or somebody else is writing."""
        return self._why_read_only is not None

    def close(self) -> None:
        """Let go of file and lock; what was appended stays readable. A second call does nothing."""
        with self.lock:
            self._let_go()
            self._holder = None
            self._why_read_only = "it is closed"

    # ------------------------------------------------------------ writing

    def append_fields(self, fields: dict[str, Any]) -> None:
        """Add an entry; it is durable when this returns, unless nothing has been said yet in a new session.

        Raises:
            SessionError: ``storage``: it could not be written and is not in memory either; ``locked``: somebody else
                is writing; ``invalid_entry``: it holds what JSON cannot.
        """
        if self._why_read_only is not None:
            self._refuse(self._why_read_only)
        line = line_of(fields, end=b"\n")
        if self._log.exists:
            self._write_line(line)
        elif fields["type"] in _SPOKEN:
            self._write_whole(line)
        if is_still(fields):
            self._index.lines.keep(fields)
        else:
            self._index.lines.append(line)
        self._index.add(fields)

    def _refuse(self, why: str) -> None:
        message = f"Cannot write {self._log.path.name}: {why}."
        if self._holder is None:
            raise SessionError(message, code="storage", path=str(self._log.path))
        raise SessionLockedError(
            message,
            holder=self._holder,
            hint="Close it there and open it again, or fork it.",
            path=str(self._log.path),
        )

    def _write_line(self, line: bytes) -> None:
        try:
            state = self._log.look()
            if state is State.GONE:
                self._write_whole(line)
                self._warnings.append("The file was deleted; it was written anew, complete.")
                return
            if state is not State.SAME:
                self._catch_up(state)
            self._log.append(line)
        except OSError as error:
            raise self._failure(error) from error
        if self._log.missed:
            self._take_lines(self._log.missed)

    def _write_whole(self, line: bytes = b"") -> None:
        """Write the header, everything in memory and one more line into a new file."""
        try:
            folder = self._log.path.parent
            folder.mkdir(parents=True, exist_ok=True)
            if not self._log.exists:
                refuse_taken_id(self._header.id, folder)
            holder = self._writer.renew()
            if holder is not None:
                self._holder = holder
                self._refuse(f"it is being written by {holder_text(holder)}")
            self._log.create(self._contents() + line)
        except OSError as error:
            raise self._failure(error) from error

    def _contents(self) -> bytes:
        return self._head + b"".join(line + b"\n" for line in self._index.lines)

    def _failure(self, error: OSError) -> SessionError:
        return SessionError(
            f"Cannot write {self._log.path}: {error.strerror or error}.",
            code="storage",
            hint="Nothing was added. Make room or give permission, and try again.",
            path=str(self._log.path),
        )

    def _rewrite(self) -> None:
        """Keep the file as it is beside itself and write it anew from memory."""
        backup = spare_path(self._log.path, "bak")
        try:
            keep_aside(backup, self._log.path.read_bytes(), like=self._log.path)
            try:
                self._log.replace(self._contents())
            except OSError:
                backup.unlink()
                raise
        except OSError as error:
            raise self._failure(error) from error
        self._warnings.append(f"The file as it was is kept as {backup.name}.")

    def migrate(self) -> None:
        """Write a file of an older version anew, as version 3; the old one is kept as ``.bak``. Then it can grow.

        Raises:
            SessionError: ``locked`` or ``storage``.
        """
        with self.lock:
            if not self._migrated:
                return
            why, self._why_read_only = self._why_read_only, None
            self._ask_to_write()
            if self._why_read_only is not None:
                self._refuse(self._why_read_only)
            self._head = header_line(self._header)
            try:
                self._rewrite()
            except SessionError:  # what is appended now would be of another version than the file
                self._why_read_only = why
                self._writer.release()
                raise
            self._migrated = False

    # ------------------------------------------------------------ following a file that others write

    def refresh(self) -> int:
        """Take in what others appended to the file; return how many entries that were.

        Raises:
            SessionError: ``storage`` if the file is gone, was shortened, or another one is in its place.
        """
        with self.lock:
            if not self._log.exists:
                return 0
            before = len(self._index)
            try:
                state = self._log.look()
                if state is not State.SAME:
                    self._catch_up(state)
            except OSError as error:
                raise self._failure(error) from error
            return len(self._index) - before

    def _catch_up(self, state: State) -> None:
        if state is State.REPLACED and self._take_copy():
            return
        if state is not State.GROWN:
            raise SessionError(
                f"{self._log.path} was {state.value} by somebody else; nothing was written.",
                code="storage",
                hint="Fork the session to keep what is in memory, or open the file again.",
                path=str(self._log.path),
            )
        self._take_in(self._log.rest())

    def _take_copy(self) -> bool:
        """Go on with the file that is in the place of ours if it begins with all that ours held."""
        try:
            found = load(self._log.path)
        except SessionError:
            return False
        ours, theirs = self._index.lines, found.scan.index.lines
        same = len(theirs) >= len(ours) and all(map(bytes.__eq__, ours, theirs))
        if found.scan.header.id != self._header.id or not same:
            return False
        self._log.close()
        self._adopt(found)
        for line in theirs[len(ours) :]:
            self._index.append(lines.decode(line), line)
        return True

    def _take_in(self, data: bytes) -> None:
        end = data.rfind(b"\n") + 1
        self._take_lines(data[:end])
        if end:
            self._log.ends_open = False
        self._log.size += end
        self._log.tail = data[end:]

    def _take_lines(self, data: bytes) -> None:
        for line in data.split(b"\n"):
            if not lines.is_blank(line):
                self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        try:
            fields = lines.decode(line)
            fault = envelope_fault(fields)
        except ValueError:
            fault = "is not JSON"
        if fault:
            self._warnings.append(f"Somebody appended a line that {fault}; it was left out.")
        else:
            self._index.append(fields, line)


def header_line(header: Header) -> bytes:
    """Return the first line of a file.

    Raises:
        SessionError: ``invalid_session`` if the metadata holds what JSON cannot.
    """
    try:
        return lines.encode(header) + b"\n"
    except ValueError as error:
        raise SessionError(f"The session's header cannot be written: {error}.") from error


def _let_go(log: LogFile, writer: WriterLock) -> None:
    log.close()
    writer.release()

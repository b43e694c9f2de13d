"""The bytes of a session on disk: made whole or not at all, grown by whole lines, and looked at before each write."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import time
from enum import Enum
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias

__all__ = ["Durability", "LogFile", "State", "identity_of", "keep_aside", "open_to_read", "spare_path"]

Durability: TypeAlias = Literal["flush", "fsync"]
_BINARY = getattr(os, "O_BINARY", 0)


_forks = 0
"""Forks between this process and the first one; a variable costs less at each append than asking for the process id."""


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class State(Enum):
    """What has become of the file since it was last read or written here."""

    SAME = "same"
    GROWN = "grown"
    GONE = "gone"
    REPLACED = "replaced"
    SHORTENED = "shortened"


class LogFile:
    """A file that only grows.

    Attributes:
        path: Where it is.
        durability: ``flush`` or ``fsync``.
        exists: True if the file has been written or read here.
        size: Bytes of it that are whole lines (the last one may lack its line feed).
        tail: Torn bytes behind these.
        ends_open: True if the last whole line lacks its line feed.
        identity: Device and inode.
        missed: What another writer put between the last look and the last append; nothing unless there is no lock.
    """

    def __init__(self, path: Path, durability: Durability) -> None:
        self.path = path
        self.durability = durability
        self.exists = False
        self.size = 0
        self.tail = b""
        self.ends_open = False
        self.identity = (0, 0)
        self.missed = b""
        self._name = str(path)
        self._fd: int | None = None
        self._forks = 0
        self._unclean = False

    def look(self) -> State:
        """Return what has become of the file. Costs one system call, so it is done before every write."""
        try:
            status = os.stat(self._name)  # noqa: PTH116 - half the time of Path.stat(), at every append
        except FileNotFoundError:
            return State.GONE
        if (status.st_dev, status.st_ino) != self.identity:
            return State.REPLACED
        size = status.st_size
        if size < self.size:
            return State.SHORTENED
        if size == self.size:
            return State.SAME
        grown = size > self.size + len(self.tail) and not self._unclean
        return State.GROWN if grown else State.SAME

    def create(self, data: bytes) -> None:
        """Write a new file.

        Raises:
            OSError: It exists, or it could not be written; nothing is left behind then.
        """
        self.close()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | _BINARY, 0o644)
        try:
            _write_all(fd, data)
            self._sync(fd)
        except BaseException:
            os.close(fd)
            with contextlib.suppress(OSError):
                self.path.unlink()
            raise
        self._fd, self._forks = fd, _forks
        self.exists, self.size, self.tail, self.ends_open, self._unclean = True, len(data), b"", False, False
        self.identity = identity_of(fd)

    def replace(self, data: bytes) -> None:
        """Put other contents in the file's place, at once.

        Raises:
            OSError: It could not be written; the file is as it was.
        """
        self.close()
        target = self.path.resolve()  # a link stays a link
        fresh = target.with_name(target.name + ".new")
        try:
            fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, 0o600)
            try:
                shutil.copymode(target, fresh)
                _write_all(fd, data)
                os.fsync(fd)
            finally:
                os.close(fd)
            fresh.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                fresh.unlink()
            raise
        self.exists, self.size, self.tail, self.ends_open, self._unclean = True, len(data), b"", False, False
        self.identity = identity_of(self.path)

    def append(self, line: bytes) -> None:
        """Write one line, all of it or nothing.

        Args:
            line: The line, with its line feed.

        Raises:
            OSError: It could not be written; the file is as long as it was, or will be cut before the next append.
        """
        fd = self._fd
        if fd is None or self._forks != _forks:
            fd = self._descriptor()
        if self.tail or self._unclean:
            self._cut(fd)
        data = b"\n" + line if self.ends_open else line
        try:
            if os.write(fd, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if self.durability == "fsync":
                os.fsync(fd)
        except OSError:
            self._unclean = True
            with contextlib.suppress(OSError):
                self._cut(fd)
            raise
        end = os.lseek(fd, 0, os.SEEK_CUR)
        self.missed = b"" if end == self.size + len(data) else self.rest(end - len(data))
        self.size = end
        self.ends_open = False

    def rest(self, stop: int | None = None) -> bytes:
        """Return what stands in the file behind the whole lines, up to a place if one is given.

        Who reads while another process writes may see half of its line: such a line is given a moment to be whole.
        """
        with open_to_read(self.path) as stream:
            stream.seek(self.size)
            data = stream.read(-1 if stop is None else stop - self.size)
            patience = 20 if stop is None else 0  # milliseconds
            while data and not data.endswith((b"\n", b"\0")) and patience:
                time.sleep(0.001)
                more = stream.read()
                data, patience = data + more, 20 if more else patience - 1
            return data

    def close(self) -> None:
        """Let the descriptor go; the next append opens it again."""
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _descriptor(self) -> int:
        """Open a descriptor of this process's own; a forked child's would share its place with the parent's."""
        self.close()
        self._fd, self._forks = os.open(self.path, os.O_WRONLY | os.O_APPEND | _BINARY), _forks
        return self._fd

    def _cut(self, fd: int) -> None:
        """Cut what is no whole line; a torn tail is kept in a file of its own before."""
        if self.tail:
            keep_aside(spare_path(self.path, "torn"), self.tail, like=self.path)
        os.ftruncate(fd, self.size)
        self.tail, self._unclean = b"", False

    def _sync(self, fd: int) -> None:
        """Make sure that a new file, and its name in the folder, survive a power loss if that was asked for."""
        if self.durability != "fsync":
            return
        os.fsync(fd)
        with contextlib.suppress(OSError):  # Windows cannot open a folder
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def _write_all(fd: int, data: bytes) -> None:
    """Write, in one call unless the system takes less.

    Raises:
        OSError: The disk is full, or something else kept it from being written.
    """
    written = os.write(fd, data)
    while written < len(data):
        count = os.write(fd, data[written:])
        if not count:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += count


def identity_of(target: int | Path) -> tuple[int, int]:
    """Return what tells a file from another one put in its place: device and inode."""
    status = os.fstat(target) if isinstance(target, int) else target.stat()
    return status.st_dev, status.st_ino


def open_to_read(file: Path) -> BinaryIO:
    """Open a file for reading; pipes and devices, which may never end, are refused.

    Raises:
        OSError: It cannot be opened, or is no file.
    """
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # of a folder the system itself has something to say
        raise OSError(errno.EINVAL, "it is a pipe or a device, not a file", str(file))
    return file.open("rb")


def spare_path(file: Path, suffix: str) -> Path:
    """Return the first free name among ``<file>.<suffix>``, ``<file>.<suffix>.1`` and so on."""
    candidate, number = file.with_name(f"{file.name}.{suffix}"), 0
    while candidate.exists():
        number += 1
        candidate = file.with_name(f"{file.name}.{suffix}.{number}")
    return candidate


def keep_aside(file: Path, data: bytes, *, like: Path) -> None:
    """Write bytes that must not get lost into a new file and onto the disk; who may read ``like`` may read it."""
    with open(file, "xb", opener=_private) as stream:
        try:
            shutil.copymode(like, file)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        except OSError:
            file.unlink(missing_ok=True)
            raise


def _private(name: str, flags: int) -> int:
    return os.open(name, flags | _BINARY, 0o600)

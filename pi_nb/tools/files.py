"""Files as tools treat them: only regular ones are read, whole ones are put in place, one writer at a time."""

from __future__ import annotations

import errno
import os
import stat
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO
from weakref import WeakValueDictionary

from pi_nb.errors import ToolError
from pi_nb.harness.signals import AbortSignal
from pi_nb.tools.paths import follow, named_errors, shown

__all__ = ["open_regular", "put_content", "sole_writer", "stop_if_aborted"]

_NO_SWAP = frozenset({errno.EACCES, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.EROFS})
_POLL = 0.05  # seconds between looks at the signal while waiting for another writer


def stop_if_aborted(signal: AbortSignal) -> None:
    """End a tool that should stop.

    Raises:
        ToolError: The run was aborted.
    """
    if signal.aborted:
        raise ToolError("Stopped: the run was aborted.")


def open_regular(path: Path, cwd: str | Path) -> IO[bytes]:
    """Open a file for reading, without ever waiting for somebody to write it.

    Raises:
        ToolError: It is missing, a folder, a pipe, a device or a socket, or may not be read.
    """
    with named_errors(path, cwd):
        # Not blocking matters for pipes, which wait for a writer; what it is can only be asked safely once it is open.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    name = shown(path, cwd)
    if stat.S_ISDIR(mode):
        raise ToolError(f"{name} is a folder; ls lists it.")
    raise ToolError(f"{name} is not a regular file (a device, pipe or socket).")


def put_content(path: Path, data: bytes) -> None:
    """Give a file new content, so that at no moment anybody sees half of it; its mode stays.

    A link is followed, its target is what changes. Where the folder allows no new file, or the file is a mount of its
    own, it is written in place.

    Raises:
        OSError: The system refused.
        ToolError: The path's links go round in a circle.
    """
    target = follow(path)
    before = target.stat() if target.exists() else None
    if before is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, "It may not be written", str(target))
    try:
        _swap(target, data, before)
    except OSError as error:
        if before is None or error.errno not in _NO_SWAP:  # a full disk above all: what is there must not be lost
            raise
        with target.open("r+b") as file:
            file.write(data)
            file.truncate()


def _swap(target: Path, data: bytes, before: os.stat_result | None) -> None:
    temporary = target.with_name(f".pi-nb-{uuid.uuid4().hex}.tmp")
    # The system takes the umask off 0o666; asking for the umask would change it for the whole process for a moment.
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if before is not None:
            _take_over(temporary, before)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _take_over(temporary: Path, before: os.stat_result) -> None:
    if hasattr(os, "chown"):
        with suppress(OSError):  # only root may give files away
            os.chown(temporary, before.st_uid, before.st_gid)
    temporary.chmod(stat.S_IMODE(before.st_mode))


_LOCKS: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()
_LOCKS_LOCK = threading.Lock()


@contextmanager
def sole_writer(path: Path, signal: AbortSignal) -> Iterator[None]:
    """Keep other tools of this process from changing the file, also those of other sessions.

    Raises:
        ToolError: The run was aborted while another was writing, or the path's links go round in a circle.
    """
    target = str(follow(path))
    with _LOCKS_LOCK:
        lock = _LOCKS.setdefault(target, threading.Lock())
    while not lock.acquire(timeout=_POLL):
        stop_if_aborted(signal)
    try:
        stop_if_aborted(signal)
        yield
    finally:
        lock.release()

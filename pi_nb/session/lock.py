"""Who may write a session file: one process, known by name to the others.

The lock is the operating system's, on a small file beside the session, so it ends with the process that holds it,
however that ends. In the file stands who holds it. It is removed when the lock is let go.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
from pathlib import Path
from typing import Any, Final

import orjson

from pi_nb.session.ids import now_iso

__all__ = ["WriterLock", "holder_text"]

_BUSY: Final = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}
_UNSUPPORTED: Final = {errno.ENOSYS, errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP}

if sys.platform == "win32":  # pragma: no cover - the tests run on POSIX
    import msvcrt

    def _try_lock(fd: int) -> None:
        os.lseek(fd, 1 << 20, os.SEEK_SET)  # a locked byte cannot be read, so lock one behind the text
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class WriterLock:
    """The right to write one session file.

    Args:
        file: The session file; the lock is ``<file>.lock``, beside the real file if this is a link.
    """

    def __init__(self, file: Path) -> None:
        real = file.resolve() if os.path.islink(file) else file  # noqa: PTH114 - of a name too long it says no
        self.file = real.with_name(real.name + ".lock")
        self._fd: int | None = None
        self._pid = 0

    @property
    def held(self) -> bool:
        """True if this object holds the lock."""
        return self._fd is not None

    def acquire(self) -> dict[str, Any] | None:
        """Take the lock; return None, or who holds it: ``pid``, ``host``, ``since`` (as far as known).

        Raises:
            OSError: The lock file cannot be made.
        """
        while self._fd is None:
            fd = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                _try_lock(fd)
            except OSError as error:
                holder = None if error.errno in _UNSUPPORTED else self._read(fd)
                os.close(fd)
                if error.errno in _BUSY | _UNSUPPORTED:
                    return holder
                raise
            if self._is_current(fd):
                self._fd, self._pid = fd, os.getpid()
                self._write(fd)
            else:  # the last holder removed it between our opening and our locking
                os.close(fd)
        return None

    def renew(self) -> dict[str, Any] | None:
        """Take the lock again if its file was removed; return as :meth:`acquire` does."""
        if self._fd is not None and not self._is_current(self._fd):
            os.close(self._fd)
            self._fd = None
        return self.acquire()

    def release(self) -> None:
        """Let the lock go and remove its file. Does nothing if it is not held.

        A forked child has the parent's lock too; it lets go of it without taking the file away.
        """
        fd, self._fd = self._fd, None
        if fd is None:
            return
        with contextlib.suppress(OSError):
            if self._pid == os.getpid() and self._is_current(fd):
                self.file.unlink()
        os.close(fd)

    def _is_current(self, fd: int) -> bool:
        try:
            return os.path.samestat(os.fstat(fd), self.file.stat())
        except FileNotFoundError:
            return False

    @staticmethod
    def _write(fd: int) -> None:
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": now_iso()}
        with contextlib.suppress(OSError):  # a full disk must not keep anybody from reading
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)
            os.write(fd, orjson.dumps(holder))

    @staticmethod
    def _read(fd: int) -> dict[str, Any]:
        try:
            os.lseek(fd, 0, os.SEEK_SET)
            found = orjson.loads(os.read(fd, 4096))
        except (OSError, orjson.JSONDecodeError):
            found = None
        return found if isinstance(found, dict) else {}


def holder_text(holder: dict[str, Any]) -> str:
    """Return who a lock's holder is, in words."""
    pid = holder.get("pid", "unknown")
    if pid == os.getpid() and holder.get("host") == socket.gethostname():
        return f"this process (pid {pid}) since {holder.get('since', 'unknown')}"
    return f"process {pid} on {holder.get('host', 'an unknown host')} since {holder.get('since', 'unknown')}"

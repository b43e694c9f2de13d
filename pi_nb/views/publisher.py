"""Publishing to a widget from one place and not too often."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any, TypeAlias

__all__ = ["Publisher", "Submit"]

Submit: TypeAlias = Callable[..., Any]
"""``submit(fn, *args)`` runs ``fn(*args)`` on the owner thread, now or soon."""


class Publisher:
    """Calls ``publish`` on the owner thread after a poke, at most once per ``interval`` seconds.

    Attributes:
        interval: Seconds; may be changed.
    """

    def __init__(self, publish: Callable[[], None], submit: Submit, *, interval: float = 0.05) -> None:
        self._publish = publish
        self._submit = submit
        self.interval = interval
        self._lock = threading.Lock()
        self._due = False
        self._closed = False
        self._last = float("-inf")
        self._timer: threading.Timer | None = None

    def poke(self) -> None:
        """Say that something changed. Any thread; returns at once."""
        with self._lock:
            if self._due or self._closed:
                return
            self._due = True
            wait = self._last + self.interval - time.monotonic()
            if wait > 0:
                self._timer = threading.Timer(wait, self._send)
                self._timer.daemon = True
                self._timer.start()
                return
        self._send()

    def _send(self) -> None:
        with contextlib.suppress(RuntimeError):  # the owner thread has ended: nobody is looking any more
            self._submit(self._run)

    def _run(self) -> None:
        with self._lock:
            self._due = False
            self._timer = None
            if self._closed:
                return
            self._last = time.monotonic()
        self._publish()

    def close(self) -> None:
        """Publish nothing more; when this returns no timer is left."""
        with self._lock:
            self._closed = True
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            if timer is not threading.current_thread():
                timer.join(timeout=1)

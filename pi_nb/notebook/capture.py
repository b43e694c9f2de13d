"""What code prints and displays while it runs, collected; other threads' output goes where it always went."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from pi_nb.notebook.place import has_kernel
from pi_nb.tools.truncate import Tail

__all__ = ["Capture", "is_picture"]

PICTURES = ("image/png", "image/jpeg")


def is_picture(data: Mapping[str, Any]) -> bool:
    """Return whether a display is a picture, and nothing a page could do more with."""
    return any(kind in data for kind in PICTURES) and not _needs_page(data)


def _needs_page(data: Mapping[str, Any]) -> bool:
    return any(kind not in (*PICTURES, "text/plain", "text/markdown") for kind in data)


class Capture:
    """Collects what one thread, and the threads it starts, write and display.

    Attributes:
        output: All text, in order.
        pictures: The displays that are pictures.
    """

    def __init__(self, ip: Any) -> None:
        self.output = Tail()
        self.pictures: list[Mapping[str, Any]] = []
        self._ip = ip
        self._others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}

    def say(self, text: str) -> None:
        """Add text."""
        self.output.feed(text.encode("utf-8", "replace"))

    def show(self, data: Mapping[str, Any]) -> None:
        """Add a display: a picture is kept, of anything else the text."""
        if any(kind in data for kind in PICTURES):
            self.pictures.append(data)
        text = str(data.get("text/plain", ""))
        if text:
            self.say(text.removesuffix("\n") + "\n")

    @property
    def here(self) -> bool:
        """True on a thread whose output is collected."""
        return threading.get_ident() not in self._others

    @contextmanager
    def collecting(self) -> Any:
        """Collect for as long as this lasts."""
        ip = self._ip
        with ExitStack() as undo:
            for name in ("stdout", "stderr"):
                original = getattr(sys, name)
                undo.callback(setattr, sys, name, original)
                setattr(sys, name, _Stream(self, original))
            publisher = ip.display_pub
            undo.callback(setattr, ip, "display_pub", publisher)
            ip.display_pub = _Publisher(self, publisher, passes=has_kernel(ip))
            undo.callback(_flush_figures)  # before the publisher is put back
            yield self


class _Stream:
    """A standard stream that hands what belongs to the capture to it."""

    def __init__(self, capture: Capture, original: Any) -> None:
        self._capture = capture
        self._original = original

    def write(self, text: str) -> int:
        if not self._capture.here:
            return int(self._original.write(text))
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._capture.say(text)
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


class _Publisher:
    """A display publisher that hands displays to the capture; what only a page can show is shown as well."""

    def __init__(self, capture: Capture, original: Any, *, passes: bool) -> None:
        self._capture = capture
        self._original = original
        self._passes = passes

    def publish(self, data: Mapping[str, Any], metadata: Any = None, **options: Any) -> None:
        if not self._capture.here:
            self._original.publish(data, metadata, **options)
            return
        updates = bool(options.get("update"))
        if self._passes and (updates or _needs_page(data)):
            self._original.publish(data, metadata, **options)
        if not updates:
            self._capture.show(data)

    def clear_output(self, *args: Any, **options: Any) -> None:
        if self._capture.here:
            self._capture.pictures.clear()
        else:
            self._original.clear_output(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)


def _flush_figures() -> None:
    """Display the figures that are open, as the end of a cell does."""
    inline: Any = sys.modules.get("matplotlib_inline.backend_inline")
    flush: Callable[[], None] | None = getattr(inline, "flush_figures", None)
    if flush is not None and "matplotlib.pyplot" in sys.modules:
        flush()

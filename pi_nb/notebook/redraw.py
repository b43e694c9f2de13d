"""One output of a cell that is redrawn in place, not too often; in a terminal it is printed once, at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from IPython.display import DisplayHandle

from pi_nb.notebook.place import has_kernel
from pi_nb.notebook.portable import portable
from pi_nb.providers.surrogates import well_formed, well_formed_value

__all__ = ["Redraw"]

EVERY = 0.1  # seconds between two redraws
SHARE = 4  # a redraw that takes long is followed by a pause this many times as long


class Redraw:
    """An output by its display id, from whichever thread draws.

    Args:
        ip: The shell.
        clock: Seconds.
    """

    def __init__(self, ip: Any, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rich = has_kernel(ip)
        self._clock = clock
        self._due = 0.0
        self._shown: Mapping[str, str] | None = None
        self._handle: DisplayHandle | None = None

    def draw(self, bundle: Callable[[], Mapping[str, str]]) -> None:
        """Show what ``bundle`` gives, if it is time and there is something new."""
        began = self._clock()
        if not self._rich or began < self._due:
            return
        self._publish(bundle(), {})
        self._due = self._clock() + max(EVERY, SHARE * (self._clock() - began))

    def close(self, data: Mapping[str, str], metadata: Mapping[str, Any] | None = None) -> None:
        """Show how it ended; nothing if there is nothing to show."""
        if self._rich:
            self._publish({**data, "text/html": portable(data["text/html"])}, dict(metadata or {}))
        elif data.get("text/plain"):
            sys.stdout.write(well_formed(data["text/plain"]).rstrip("\n") + "\n")

    def _publish(self, data: Mapping[str, str], metadata: Mapping[str, Any]) -> None:
        data, metadata = well_formed_value(dict(data)), well_formed_value(dict(metadata))
        if data == self._shown and not metadata:
            return
        self._shown = data
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(data, raw=True, metadata=metadata)
        else:
            self._handle.update(data, raw=True, metadata=metadata)

"""Going through a folder: everything in it, in order of names, without ever leaving it.

Links are reported and not followed, so there are no loops, and no way out. This module and :mod:`pi_nb.tools.patterns`
need nothing but the standard library, since a process that searches files imports them each time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["SKIPPED", "Found", "Walk"]

SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
"""Names of folders that are not gone into: they hold much, and nothing that people wrote."""


@dataclass(frozen=True, slots=True)
class Found:
    """Something in the folder.

    Attributes:
        path: Its path from the folder, with ``/`` between the names.
        is_folder: True for a folder, not for a link to one.
        is_file: True for a regular file, not for a link to one.
    """

    path: str
    is_folder: bool
    is_file: bool


@dataclass(slots=True)
class Walk:
    """One way through a folder.

    Attributes:
        root: The folder.
        skipped: Names of the folders that were met and left out.
        unreadable: Number of folders that could not be listed.
    """

    root: str
    skipped: set[str] = field(default_factory=set)
    unreadable: int = 0

    def __iter__(self) -> Iterator[Found]:
        waiting = [self._list("")]
        while waiting:
            found = next(waiting[-1], None)
            if found is None:
                waiting.pop()
                continue
            yield found
            if found.is_folder:
                waiting.append(self._list(f"{found.path}/"))

    def _list(self, prefix: str) -> Iterator[Found]:
        try:
            with os.scandir(os.path.join(self.root, prefix)) as entries:  # noqa: PTH118 - speed
                names = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            self.unreadable += 1
            return
        for entry in names:
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and entry.name in SKIPPED:
                self.skipped.add(entry.name)
                continue
            yield Found(prefix + entry.name, is_folder, entry.is_file(follow_symlinks=False))

    def skipped_note(self) -> list[str]:
        """Return what to say about folders that were left out, which matters when nothing was found."""
        return [f"Not searched: {', '.join(sorted(self.skipped))}."] if self.skipped else []

    def unreadable_note(self) -> list[str]:
        """Return what to say about folders that could not be listed."""
        return (
            [f"Not readable: {self.unreadable} folder{'' if self.unreadable == 1 else 's'}."] if self.unreadable else []
        )

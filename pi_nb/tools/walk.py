"""Going through a folder: everything in it, in order of names, without ever leaving it.

Links are reported and not followed, so there are no loops, and no way out. This module and :mod:`pi_nb.tools.patterns`
need nothing but the standard library, since a process that searches files imports them each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from pi_nb.harness.ignored import MARKS, Ignored, ignored_in

__all__ = ["SKIPPED", "Found", "Walk", "ignored_note"]

SKIPPED = frozenset({".git", "node_modules", "__pycache__", ".venv"})
"""Names of folders that are not gone into: they hold much, and nothing that people wrote."""
_EXAMPLES = 3  # of what is ignored
_LAST_MARK = max(MARKS)


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
        ignored: Number of files and folders that were met and left out because of ``.gitignore`` and the like.
        examples: The first of them.
        unreadable: Number of folders that could not be listed.
        beside: Called for each thing that is left out, so that a walk which finds nothing can be ended, too.
    """

    root: str
    beside: Callable[[], None] | None = None
    skipped: set[str] = field(default_factory=set)
    ignored: int = 0
    examples: list[str] = field(default_factory=list)
    unreadable: int = 0

    def __iter__(self) -> Iterator[Found]:
        waiting = [self._enter("", ignored_in(self.root))]
        while waiting:
            things, ignored = waiting[-1]
            found = next(things, None)
            if found is None:
                waiting.pop()
                continue
            yield found
            if found.is_folder:
                waiting.append(self._enter(f"{found.path}/", ignored))

    def _enter(self, prefix: str, above: Ignored) -> tuple[Iterator[Found], Ignored]:
        """Return what is in a folder and what is left out in it; ``above`` is that of the folder around."""
        place = os.path.join(self.root, prefix)  # noqa: PTH118 - speed
        try:
            with os.scandir(place) as entries:
                things = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            self.unreadable += 1
            return iter(()), above
        marks = _marks(things) if things and things[0].name <= _LAST_MARK else ()
        ignored = above.inside(place[:-1], marks) if prefix and (marks or above.levels) else above
        return self._left(prefix, things, ignored.hides if ignored.levels else None), ignored

    def _left(
        self, prefix: str, things: Iterable[os.DirEntry[str]], hides: Callable[..., bool] | None
    ) -> Iterator[Found]:
        for thing in things:
            is_folder = thing.is_dir(follow_symlinks=False)
            if is_folder and thing.name in SKIPPED:
                self.skipped.add(thing.name)
            elif hides and hides(thing.name, is_folder=is_folder):
                self._leave_out(f"{prefix}{thing.name}{'/' if is_folder else ''}")
            else:
                yield Found(prefix + thing.name, is_folder, thing.is_file(follow_symlinks=False))

    def _leave_out(self, path: str) -> None:
        self.ignored += 1
        if self.beside is not None:
            self.beside()
        if len(self.examples) < _EXAMPLES:
            self.examples.append(path)

    def skipped_note(self) -> list[str]:
        """Return what to say about folders that were left out, which matters when nothing was found."""
        return [f"Not searched: {', '.join(sorted(self.skipped))}."] if self.skipped else []

    def unreadable_note(self) -> list[str]:
        """Return what to say about folders that could not be listed."""
        return (
            [f"Not readable: {self.unreadable} folder{'' if self.unreadable == 1 else 's'}."] if self.unreadable else []
        )


def _marks(things: Iterable[os.DirEntry[str]]) -> set[str]:
    """Return the names in a sorted folder that change what is left out; they are among the first."""
    names = takewhile(lambda name: name <= _LAST_MARK, (thing.name for thing in things))
    return {name for name in names if name in MARKS}


def ignored_note(ignored: int, examples: Sequence[str]) -> list[str]:
    """Return what to say about files and folders that are ignored, which matters when nothing was found.

    Args:
        ignored: How many there are.
        examples: Some of them, as they can be given to be searched all the same.
    """
    if not ignored:
        return []
    more = f" and {ignored - len(examples)} more" if ignored > len(examples) else ""
    return [f"Not searched, because ignored (.gitignore): {', '.join(examples)}{more}. Give one as path to search it."]

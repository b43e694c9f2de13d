"""What ``.gitignore``, ``.ignore`` and a repository's ``.git/info/exclude`` leave out.

Deeper files win over higher ones, and ``.ignore`` over ``.gitignore`` in the same folder. A folder with ``.git`` begins
anew: rules from above are not for what is in it. Links in the place of these files are not followed (git does not
either), and nothing about them is ever an error: what cannot be used is passed over.

This module needs nothing but the standard library, since a process that searches files imports it each time.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass

from pi_nb.harness.ignore_rules import IgnoreRules, read_rules

__all__ = ["MARKS", "Ignored", "ignored_in", "marks_in"]

MARKS = frozenset({".git", ".gitignore", ".ignore"})
"""Names that change what is left out in the folder they are in."""

_LARGEST = 1_000_000  # bytes of a file
_UNHEARD = "\0" * 9  # a name that nothing has, so that only a rule for all names is for it


@dataclass(frozen=True, slots=True)
class _Level:
    rules: IgnoreRules
    start: int  # where the path from its folder begins in Ignored.path


@dataclass(frozen=True, slots=True)
class Ignored:
    """What is left out in one folder.

    Attributes:
        levels: The rules of this folder and those above, the nearest first.
        path: From the highest of their folders to this one, with ``/`` after each name.
    """

    levels: tuple[_Level, ...] = ()
    path: str = ""

    def hides(self, name: str, *, is_folder: bool) -> bool:
        """Tell whether something in this folder is left out."""
        for level in self.levels:
            rule = level.rules.last(self.path[level.start :], name, is_folder=is_folder)
            if rule is not None:
                return rule.hides
        return False

    def inside(self, folder: str, names: Collection[str]) -> Ignored:
        """Return what is left out in a folder that is in this one.

        Args:
            folder: The path to it.
            names: What is in it; only :data:`MARKS` matter.
        """
        above = self if ".git" not in names else Ignored()
        rules = _rules_in(folder, names) if names else None
        if not above.levels and not rules:
            return above
        path = f"{above.path}{os.path.basename(folder)}/" if above.levels else ""  # noqa: PTH119 - speed
        return Ignored((_Level(rules, len(path)), *above.levels) if rules else above.levels, path)

    def without(self, name: str) -> Ignored:
        """Return the same without the rules that hide a folder in this one."""
        levels = tuple(
            _Level(level.rules.without(self.path[level.start :], name), level.start) for level in self.levels
        )
        return Ignored(levels, self.path)


def ignored_in(folder: str) -> Ignored:
    """Return what is left out in a folder that somebody asked for.

    Files in the folders above count, too, up to the one with ``.git``, if there is one. Rules that would leave out the
    folder itself, or all that is in it, do not count.
    """
    real = os.path.realpath(folder)
    found = Ignored()
    for place in _way_to(real):
        name = os.path.basename(place)  # noqa: PTH119 - text, as everywhere here
        if found.hides(name, is_folder=True):
            found = found.without(name)
        found = found.inside(place, marks_in(place))
    return found.without(_UNHEARD) if _hides_all(found, real) else found


def _way_to(real: str) -> list[str]:
    """Return the folders from the enclosing repository to this one."""
    way = [real]
    while not os.path.lexists(os.path.join(way[0], ".git")):  # noqa: PTH118
        parent = os.path.dirname(way[0])  # noqa: PTH120
        if parent == way[0]:
            return [real]
        way.insert(0, parent)
    return way


def _hides_all(found: Ignored, folder: str) -> bool:
    """Tell whether a folder would seem empty, for a rule such as ``*`` in it or ``folder/**`` above."""
    if not (found.hides(_UNHEARD, is_folder=False) and found.hides(_UNHEARD, is_folder=True)):
        return False
    try:
        with os.scandir(folder) as entries:
            return all(
                entry.name in MARKS or found.hides(entry.name, is_folder=entry.is_dir(follow_symlinks=False))
                for entry in entries
            )
    except OSError:
        return False


def marks_in(folder: str) -> set[str]:
    """Return which of :data:`MARKS` are in a folder."""
    return {name for name in MARKS if os.path.lexists(os.path.join(folder, name))}  # noqa: PTH118


def _rules_in(folder: str, names: Collection[str]) -> IgnoreRules | None:
    files = [os.path.join(".git", "info", "exclude")] if ".git" in names else []  # noqa: PTH118
    files += [name for name in (".gitignore", ".ignore") if name in names]
    text = "\n".join(_read(os.path.join(folder, name)) for name in files)  # noqa: PTH118
    return read_rules(text) if text and not text.isspace() else None


def _read(path: str) -> str:
    """Return what is in a regular file, or nothing. Bytes that are no UTF-8 are kept as they are in names of files."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return ""
        flags = ("O_NONBLOCK", "O_NOFOLLOW", "O_BINARY")  # in case it has been replaced meanwhile
        handle = os.open(path, os.O_RDONLY | sum(getattr(os, flag, 0) for flag in flags))
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return ""
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError):
        return ""
    return "" if len(data) > _LARGEST else data.decode("utf-8", "surrogateescape").removeprefix("\ufeff")

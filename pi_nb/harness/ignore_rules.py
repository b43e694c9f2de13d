"""The lines of an ignore file, as git understands them.

What a whole path means is decided here, name by name: a line counts for a file or folder only if it is for that one
itself, not for a folder around it, since a folder that is left out is not gone into. (Libraries that were tried decide
for whole paths, which is no use to a walk, and take seconds for some patterns.)

No file can make this take long: its lines are limited in number and length, names are matched without going back to an
earlier star, and paths by :func:`~pi_nb.harness.path_segments.follow`.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from pi_nb.harness.path_segments import Segment, follow

__all__ = ["IgnoreRule", "IgnoreRules", "read_rules"]

_MOST_LINES = 20_000  # of a file
_MOST_PATTERNS = 1_000  # of a file, with wildcards or slashes, which are tried on each name; ten if it is **
_MOST_NAMES = 40  # of a pattern
_LONGEST_LINE = 1_000  # characters
_SPECIAL = re.compile(r"[*?\[\\]")
_ENDING = re.compile(r"\*[^*?\[\\]+")
_ANY_NAME = re.compile("")
# An escape, or a bracket that is closed. Those with classes in them, such as [[:digit:]], or backslashes are left out.
_PART = re.compile(r"\\(.)|\[([!^]?)(\]?+(?:(?!\[:)[^\]\\])*+)\]", re.DOTALL)
_SOUND = re.compile(rf"(?:{_PART.pattern}|[^\\\[])*+", re.DOTALL)


class _Unusable(Exception):
    pass


@dataclass(frozen=True, slots=True, eq=False)
class IgnoreRule:
    """One line.

    Attributes:
        position: Where it stands; of several that are for the same thing the last counts.
        hides: False if it begins with ``!``.
        only_folders: True if it ends in ``/``.
        anywhere: True if it is for a name, in whatever folder below.
        segments: The names it is made of; one if it is for a name, which is text even if it is like ``*.o``.
    """

    position: int
    hides: bool
    only_folders: bool
    anywhere: bool
    segments: tuple[Segment, ...]


class IgnoreRules:
    """The rules of one folder, sorted such that most are not looked at for a name."""

    def __init__(self, rules: Iterable[IgnoreRule]) -> None:
        self._rules = tuple(rules)
        self._names: dict[str, list[IgnoreRule]] = {}
        self._endings: list[tuple[str, IgnoreRule]] = []
        self._patterns: list[tuple[Callable[[str], object], IgnoreRule]] = []
        self._paths: list[tuple[int, IgnoreRule]] = []
        for rule in self._rules:
            self._sort_in(rule)
        self._all_endings = tuple(ending for ending, _ in self._endings)
        self._depths = {length for length, _ in self._paths}

    def __len__(self) -> int:
        return len(self._rules)

    def _sort_in(self, rule: IgnoreRule) -> None:
        last = rule.segments[-1]
        if not rule.anywhere:
            self._paths.append((0 if None in rule.segments else len(rule.segments), rule))
        elif isinstance(last, re.Pattern):
            self._patterns.append((last.match, rule))
        elif isinstance(last, str) and last.startswith("*"):
            self._endings.append((last[1:], rule))
        elif isinstance(last, str):
            self._names.setdefault(last, []).append(rule)

    def last(self, folder: str, name: str, *, is_folder: bool) -> IgnoreRule | None:
        """Return the rule that decides about something, or None.

        Args:
            folder: The path to the folder it is in from that of the rules, with ``/`` after each name.
            name: Its name.
            is_folder: Whether it is a folder itself.
        """
        found = self._fitting(folder, name, is_folder)
        return max(found, key=lambda rule: rule.position) if found else None

    def without(self, folder: str, name: str) -> IgnoreRules:
        """Return the rules that do not hide this folder."""
        found = [rule for rule in self._fitting(folder, name, is_folder=True) if rule.hides]
        return IgnoreRules(rule for rule in self._rules if rule not in found)

    def _fitting(self, folder: str, name: str, is_folder: bool) -> list[IgnoreRule]:
        found = [*self._names.get(name, ())]
        if name.endswith(self._all_endings):
            found += [rule for ending, rule in self._endings if name.endswith(ending)]
        for match, rule in self._patterns:
            if match(name):
                found.append(rule)
        if self._paths and (0 in self._depths or folder.count("/") + 1 in self._depths):
            found += self._along(folder, name)
        return found if is_folder or not found else [rule for rule in found if not rule.only_folders]

    def _along(self, folder: str, name: str) -> Iterator[IgnoreRule]:
        depth = folder.count("/") + 1
        for length, rule in self._paths:
            if length not in (0, depth) or not follow(rule.segments[-1:], (name,)):
                continue
            if length == 1 or follow(rule.segments, (folder + name).split("/")):
                yield rule


def read_rules(text: str) -> IgnoreRules:
    """Return the rules of an ignore file. Lines that cannot be used are passed over."""
    return IgnoreRules(_rules(text.split("\n")))


def _rules(lines: Collection[str]) -> Iterator[IgnoreRule]:
    effort = 0
    for position, line in enumerate(islice(lines, _MOST_LINES)):
        rule = _rule(line.removesuffix("\r"), position)
        if rule is not None:
            effort += _effort(rule)
            if effort > _MOST_PATTERNS:
                return
            yield rule


def _effort(rule: IgnoreRule) -> int:
    """Return what it costs to try a rule on a name."""
    if not rule.anywhere:
        return 10 if None in rule.segments else 1
    name = rule.segments[0]
    return 0 if isinstance(name, str) and not name.startswith("*") else 1


def _rule(line: str, position: int) -> IgnoreRule | None:
    if not line or line.startswith("#") or len(line) > _LONGEST_LINE or "\0" in line:
        return None
    text = _trimmed(line)
    hides, text = not text.startswith("!"), text.removeprefix("!")
    only_folders, text = text.endswith("/"), text.removesuffix("/")
    names = _names(text)
    if "" in names or len(names) > _MOST_NAMES:
        return None
    anywhere = len(names) == 2 and _is_any(names[0])
    try:
        segments = (_name(names[1]),) if anywhere else tuple(map(_segment, names))
    except _Unusable:
        return None
    return IgnoreRule(position, hides, only_folders, anywhere, segments)


def _trimmed(line: str) -> str:
    """Return the line without spaces at its end, unless there is a backslash before."""
    kept = line.rstrip(" ")
    return kept + " " if kept != line and _escapes(kept) else kept


def _escapes(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _names(text: str) -> list[str]:
    """Return the names a pattern is made of, with ``**`` in front if it is for any depth, and never at the end."""
    if "/" not in text:
        return ["**", "*" if _is_any(text) else text]
    names = text.removeprefix("/").split("/")
    names = [name for index, name in enumerate(names) if not (_is_any(name) and index and _is_any(names[index - 1]))]
    return [*names, "*"] if _is_any(names[-1]) else names


def _is_any(name: str) -> bool:
    return len(name) > 1 and not name.strip("*")


def _name(text: str) -> Segment:
    return text if _ENDING.fullmatch(text) else _segment(text)


@lru_cache(maxsize=4096)
def _segment(text: str) -> Segment:
    """Return what one name has to be.

    Raises:
        _Unusable: No name can be like this, or it cannot be told.
    """
    if _is_any(text):
        return None
    if text == "*":
        return _ANY_NAME
    if not _SPECIAL.search(text):
        return text
    if not _SOUND.fullmatch(text):
        raise _Unusable(text)
    return re.compile(fnmatch.translate(_PART.sub(_for_fnmatch, text)))  # whose stars never go back


def _for_fnmatch(part: re.Match[str]) -> str:
    """Return an escape or a bracket in the way of fnmatch, which knows no backslash, and only ``!`` for "not"."""
    escaped, without, inside = part.groups()
    if escaped:
        return f"[{escaped}]" if escaped in "*?[" else escaped
    return f"[{'!' if without else ''}{inside}]"

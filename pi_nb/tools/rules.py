"""Rules about tools and paths, and which calls they are for."""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pi_nb.tools.paths import follow, printable

__all__ = ["Rule", "Verdict", "Verdicts", "covers", "fits"]

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Verdicts: tuple[Verdict, ...] = ("allow", "ask", "deny")


@dataclass(frozen=True, slots=True)
class Rule:
    """What to do with calls of a tool.

    Attributes:
        verdict: ``allow``, ``ask`` or ``deny``.
        tool: Its name; ``*`` and ``?`` stand for any characters.
        path: File, or folder with all below it; None is for calls with any path, and without one.
    """

    verdict: Verdict
    tool: str
    path: Path | None = None

    def __str__(self) -> str:
        return f"{self.verdict} {self.tool}{f' {printable(self.path)}' if self.path else ''}"


def fits(rule: Rule, tool: str, target: Path | None) -> bool:
    """Tell whether a rule is for a call.

    Args:
        rule: The rule.
        tool: Name of the tool.
        target: Where the path of the call leads, links followed, or None if it has none.

    Raises:
        ToolError: The links of the rule's path go round in a circle.
    """
    if not fnmatch.fnmatchcase(tool, rule.tool):
        return False
    if rule.path is None:
        return True
    if target is None:
        return False
    place = follow(rule.path)
    if target.is_relative_to(place):
        return True
    if rule.verdict == "allow":
        return False
    return _same_inside(target, place) or (
        _sees_below(tool, rule) and place.is_relative_to(target) and _identity(place) is not None
    )


def _sees_below(tool: str, rule: Rule) -> bool:
    """Tell whether a call on a folder is one on what is below: grep shows what is in files, find only their names."""
    return tool == "grep" or (tool == "find" and rule.verdict == "deny")


def covers(grant: Rule, ruling: Rule, tool: str, target: Path | None) -> bool:
    """Tell whether what was granted answers the question; of a place with a rule of its own it must say so itself."""
    if not fits(grant, tool, target):
        return False
    if ruling.path is None:
        return True
    return grant.path is not None and (grant.path == target or grant.path.is_relative_to(follow(ruling.path)))


def _same_inside(target: Path, place: Path) -> bool:
    """Tell whether the file system has ``place`` above ``target`` under another spelling: other case, another mount."""
    identity = _identity(place)
    return identity is not None and any(_identity(parent) == identity for parent in (target, *target.parents))


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what the file system knows the path by, or None if it knows of none or does not say."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino

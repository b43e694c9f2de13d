"""Glob patterns for paths: ``*.py``, ``src/**/*.{ts,tsx}``.

A pattern without a slash is for names, at any depth; one with a slash is for the path from the folder searched.
``*`` and ``?`` stay within a name, ``**`` stands for any number of folders, ``{a,b}`` for either.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator, Sequence

from pi_nb.harness.path_segments import Segment, follow

__all__ = ["PathPattern"]

_ALTERNATIVES = 256  # that braces may stand for


class PathPattern:
    """A compiled pattern. Matching takes no longer than the product of both lengths, whatever the pattern.

    Raises:
        ValueError: The pattern is empty, leads out of the folder, or stands for too many others.
    """

    def __init__(self, pattern: str) -> None:
        self.only_folders = pattern.endswith("/")
        bare = pattern.removeprefix("./").rstrip("/")
        if not bare:
            raise ValueError("the pattern is empty")
        if bare.startswith("/") or ".." in bare.split("/"):
            raise ValueError("the pattern must stay within the folder that is searched: put the folder into path")
        self._choices = [_compile(choice) for choice in _expand(bare)]

    def matches(self, path: str, *, is_folder: bool = False) -> bool:
        """Tell whether the pattern is for this path from the folder searched, with ``/`` between the names."""
        if self.only_folders and not is_folder:
            return False
        parts = path.split("/")
        return any(follow(segments, parts) for segments in self._choices)


def _compile(pattern: str) -> Sequence[Segment]:
    segments = pattern.split("/")
    if len(segments) == 1:
        segments = ["**", *segments]
    compiled = [None if part == "**" else re.compile(fnmatch.translate(part)) for part in segments]
    # At the end it stands for what is inside, not for the folder itself.
    return [*compiled, re.compile(r".+")] if compiled[-1] is None else compiled


def _expand(pattern: str) -> list[str]:
    """Return the patterns that braces stand for; a brace without a partner or a comma is just a brace."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        current = waiting.pop(0)
        choices = _first_braces(current)
        if choices is None:
            done.append(current)
        else:
            waiting += choices
        if len(done) + len(waiting) > _ALTERNATIVES:
            raise ValueError(f"the pattern stands for more than {_ALTERNATIVES} others")
    return done


def _first_braces(pattern: str) -> list[str] | None:
    for start in (found.start() for found in re.finditer(r"\{", pattern)):
        end = _partner(pattern, start)
        inner = list(_split(pattern[start + 1 : end])) if end is not None else []
        if end is not None and len(inner) > 1:
            return [pattern[:start] + choice + pattern[end + 1 :] for choice in inner]
    return None


def _partner(pattern: str, start: int) -> int | None:
    depth = 0
    for index in range(start, len(pattern)):
        depth += {"{": 1, "}": -1}.get(pattern[index], 0)
        if depth == 0:
            return index
    return None


def _split(inner: str) -> Iterator[str]:
    depth, begun = 0, 0
    for index, char in enumerate(inner):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            yield inner[begun:index]
            begun = index + 1
    yield inner[begun:]

"""Following a pattern along a path, name by name, in time that no pattern can blow up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["Segment", "follow"]

Segment: TypeAlias = str | re.Pattern[str] | None
"""What one name has to be: this text, or what the expression matches; None stands for any number of names."""


def follow(segments: Sequence[Segment], names: Sequence[str]) -> bool:
    """Tell whether the segments lead along all of these names.

    All ways through the pattern are followed at once; ``reached`` are the segments that may be next.
    """
    reached = _past_any({0}, segments)
    for name in names:
        following: set[int] = set()
        for index in reached:
            if index == len(segments):
                continue
            segment = segments[index]
            if segment is None:
                following.add(index)
            elif segment == name if isinstance(segment, str) else segment.match(name):
                following.add(index + 1)
        reached = _past_any(following, segments)
    return len(segments) in reached


def _past_any(reached: set[int], segments: Sequence[Segment]) -> set[int]:
    grown = set(reached)
    for start in reached:
        index = start
        while index < len(segments) and segments[index] is None:
            index += 1
            grown.add(index)
    return grown

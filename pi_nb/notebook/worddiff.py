"""Which words of two texts differ."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Literal, TypeAlias

__all__ = ["Piece", "word_diff"]

Kind: TypeAlias = Literal["same", "gone", "new"]
Piece: TypeAlias = tuple[Kind, str]

_WORDS = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
MOST = 4_000_000  # pairs of words that are compared; longer texts are compared by line, the longest not at all


def word_diff(old: str, new: str) -> list[Piece]:
    """Return two texts as one: what is the same, what is gone and what is new, in reading order.

    Joining what is same or gone gives ``old``, what is same or new gives ``new``.
    """
    for unit in (_WORDS, _LINES):
        before, after = unit.findall(old), unit.findall(new)
        if len(before) * len(after) <= MOST:
            return list(_pieces(before, after))
    return [piece for piece in (("gone", old), ("new", new)) if piece[1]]


def _pieces(before: list[str], after: list[str]) -> list[Piece]:
    found: list[Piece] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            found.append(("same", "".join(before[a:b])))
            continue
        if b > a:
            found.append(("gone", "".join(before[a:b])))
        if d > c:
            found.append(("new", "".join(after[c:d])))
    return found

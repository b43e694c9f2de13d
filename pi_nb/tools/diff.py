"""What a change did to a text: as numbered lines for people, and as a patch other programs can apply."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from pi_nb.tools.truncate import shorten

__all__ = ["Change", "compare"]

Opcode: TypeAlias = tuple[str, int, int, int, int]

_CONTEXT = 3  # unchanged lines shown around each change
_CELLS = 4_000_000  # pairs of lines up to which the smallest difference is looked for


@dataclass(frozen=True, slots=True)
class Change:
    """The difference between two texts.

    Attributes:
        added: Number of lines that are new.
        removed: Number of lines that are gone.
        first_line: 1-based line of the new text where the first change is, or None if there is none.
        diff: The changed lines with some around them, numbered.
        patch: The same as a unified diff.
    """

    added: int
    removed: int
    first_line: int | None
    diff: str
    patch: str

    @property
    def counts(self) -> str:
        """How many lines came and went, such as ``+3 -1 lines``."""
        return f"+{self.added} -{self.removed} line{'' if self.added + self.removed == 1 else 's'}"

    def details(self) -> dict[str, Any]:
        """Return what a tool's result tells views about the change, under pi's names."""
        return {
            "diff": shorten(self.diff).text,
            "patch": shorten(self.patch).text,
            "firstChangedLine": self.first_line,
        }


def compare(old: str, new: str, name: str) -> Change:
    """Return what changed from ``old`` to ``new``.

    Args:
        old: The text before.
        new: The text after.
        name: Name of the file, for the head of the patch.
    """
    before, after = _lines(old), _lines(new)
    groups = list(_groups(before, after))
    changed = [code for group in groups for code in group if code[0] != "equal"]
    return Change(
        added=sum(j2 - j1 for _, _, _, j1, j2 in changed),
        removed=sum(i2 - i1 for _, i1, i2, _, _ in changed),
        first_line=changed[0][3] + 1 if changed else None,
        diff="\n".join(_numbered(before, after, groups)),
        patch="".join(_unified(before, after, groups, name)),
    )


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; only a newline ends one, so that numbers agree with editors' and grep's."""
    parts = text.split("\n")
    lines = [f"{part}\n" for part in parts[:-1]]
    return [*lines, parts[-1]] if parts[-1] else lines


def _groups(old: Sequence[str], new: Sequence[str]) -> Iterator[list[Opcode]]:
    """Return the changes, each group with the unchanged lines around it.

    What both texts begin and end with is left aside first: comparing lines takes quadratic time.
    """
    head, tail = _common(old, new)
    skip = max(0, head - _CONTEXT)
    drop = max(0, tail - _CONTEXT)
    a, b = old[skip : len(old) - drop], new[skip : len(new) - drop]
    if (len(a) - head + skip) * (len(b) - head + skip) > _CELLS:
        yield [("replace", head, len(old) - tail, head, len(new) - tail)]
        return
    for group in difflib.SequenceMatcher(None, a, b, autojunk=False).get_grouped_opcodes(_CONTEXT):
        codes = [(tag, i1 + skip, i2 + skip, j1 + skip, j2 + skip) for tag, i1, i2, j1, j2 in group]
        if any(tag != "equal" for tag, *_ in codes):
            yield codes


def _common(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    return head, tail


def _numbered(old: Sequence[str], new: Sequence[str], groups: Sequence[Sequence[Opcode]]) -> Iterator[str]:
    width = len(str(max(len(old), len(new), 1)))
    for number, group in enumerate(groups):
        if number:
            yield f" {'':{width}} ..."
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {j + 1:{width}} {_bare(new[j])}" for j in range(j1, j2))
                continue
            yield from (f"-{i + 1:{width}} {_bare(old[i])}" for i in range(i1, i2))
            yield from (f"+{j + 1:{width}} {_bare(new[j])}" for j in range(j1, j2))


def _bare(line: str) -> str:
    return line.removesuffix("\n").removesuffix("\r")


def _unified(old: Sequence[str], new: Sequence[str], groups: Sequence[Sequence[Opcode]], name: str) -> Iterator[str]:
    if groups:
        yield f"--- a/{name}\n+++ b/{name}\n"
    for group in groups:
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (_patch_line(" ", line) for line in old[i1:i2])
                continue
            yield from (_patch_line("-", line) for line in old[i1:i2])
            yield from (_patch_line("+", line) for line in new[j1:j2])


def _range(start: int, stop: int) -> str:
    """Return a hunk's range; an empty one is named by the line before it."""
    length = stop - start
    return f"{start + 1 if length else start},{length}"


def _patch_line(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"

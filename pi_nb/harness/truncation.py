"""Tool results that are too long for a model: one end is kept, and a note says where the whole is."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass

from pi_nb.harness.tools import ResultBlock, ToolResult
from pi_nb.messages import TextContent

__all__ = ["MAX_BYTES", "MAX_LINES", "shorten", "shorten_result"]

MAX_LINES = 2_000
MAX_BYTES = 50 * 1024


@dataclass(frozen=True, slots=True)
class Shortened:
    """Text cut to whole lines, as far as there are any, with what it was before."""

    text: str
    lines: int
    total_lines: int
    total_bytes: int

    @property
    def cut(self) -> bool:
        """True if something was left out."""
        return self.lines < self.total_lines or len(self.text.encode("utf-8", "replace")) < self.total_bytes


def shorten(text: str, *, keep: str = "head", max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> Shortened:
    """Return the head or the tail of ``text`` that is within both limits."""
    size = len(text.encode("utf-8", "replace"))
    lines = text.split("\n")
    if len(lines) <= max_lines and size <= max_bytes:
        return Shortened(text, len(lines), len(lines), size)
    kept: list[str] = []
    room = max_bytes
    for line in lines if keep == "head" else reversed(lines):
        room -= len(line.encode("utf-8", "replace")) + 1
        if len(kept) == max_lines or room < -1:
            break
        kept.append(line)
    if not kept:  # one line alone is over the limit
        return Shortened(_cut_line(lines[0 if keep == "head" else -1], keep, max_bytes), 1, len(lines), size)
    return Shortened("\n".join(kept if keep == "head" else reversed(kept)), len(kept), len(lines), size)


def _cut_line(line: str, keep: str, max_bytes: int) -> str:
    data = line.encode("utf-8", "replace")
    return (data[:max_bytes] if keep == "head" else data[-max_bytes:]).decode("utf-8", "ignore")


def shorten_result(result: ToolResult, *, keep: str = "head") -> ToolResult:
    """Return the result with every oversized text shortened; the whole text is left in a temporary file."""
    blocks = result.blocks
    changed = tuple(_shorten_block(block, keep) for block in blocks)
    if all(new is old for new, old in zip(changed, blocks, strict=True)):
        return result
    return ToolResult(changed, result.details, result.is_error, result.terminate)


def _shorten_block(block: ResultBlock, keep: str) -> ResultBlock:
    if not isinstance(block, TextContent):
        return block
    short = shorten(block.text, keep=keep)
    if not short.cut:
        return block
    note = (
        f"[{keep} only: {short.lines} of {short.total_lines} lines, {short.total_bytes} bytes in all."
        f" The whole text is in {_save(block.text)}]"
    )
    text = f"{short.text}\n\n{note}" if keep == "head" else f"{note}\n\n{short.text}"
    return TextContent(text=text)


def _save(text: str) -> str:
    handle, path = tempfile.mkstemp(prefix="pi-nb-", suffix=".txt")
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
    return path

"""A tool call's arguments as pieces to be read: commands and code as they are, the rest as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from pi_nb.notebook.highlight import highlighted

__all__ = ["Block", "argument_blocks", "as_json", "block_html", "diff_html", "title_of"]

_CODE = {"bash": {"command": "bash"}, "python": {"code": "python"}}
_PATHS = ("read", "write", "edit", "ls")
TITLE = 80  # characters


@dataclass(frozen=True, slots=True)
class Block:
    """One piece: ``kind`` is ``text``, ``diff`` or the name of a language."""

    label: str
    kind: str
    text: str


def argument_blocks(tool: str, arguments: Any) -> Iterator[Block]:
    """Yield the arguments of a call, code first; unfinished JSON as it stands."""
    if not isinstance(arguments, Mapping):
        if arguments is not None:
            yield Block("arguments", "json", str(arguments))
        return
    kinds = _CODE.get(tool, {})
    for name in sorted(arguments, key=lambda name: name not in kinds):
        value = arguments[name]
        if isinstance(value, str):
            yield Block(name, kinds.get(name, "text"), value)
        else:
            yield Block(name, "json", as_json(value))


def as_json(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def title_of(tool: str, arguments: Any) -> str:
    """Return a call's arguments in one line of at most 80 characters: what tells it from others of its kind."""
    line = _telling(tool, arguments) if isinstance(arguments, Mapping) else str(arguments or "")
    line = " ".join(line.split())
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"


def _telling(tool: str, arguments: Mapping[str, Any]) -> str:
    for name in (*_CODE.get(tool, {}), *(("path",) if tool in _PATHS else ())):
        value = arguments.get(name)
        if isinstance(value, str):
            lines = [line for line in value.splitlines() if line.strip()]
            return f"{lines[0]} …" if len(lines) > 1 else "".join(lines)
    pairs = arguments.items()
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False, default=str)}" for name, value in pairs)


def block_html(block: Block) -> str:
    """Return a block's text as HTML that does nothing."""
    if block.kind == "diff":
        return diff_html(block.text)
    return f"<pre><code>{highlighted(block.text, '' if block.kind == 'text' else block.kind)}</code></pre>"


_CLASSES = {"+": "pi-added", "-": "pi-removed", "@": "pi-hunk"}


def diff_html(diff: str) -> str:
    """Return a diff as HTML; its colours are a second sign beside plus and minus."""
    lines = "".join(_diff_line(line) for line in diff.removesuffix("\n").split("\n"))
    return f'<pre class="pi-diff"><code>{lines}</code></pre>'


def _diff_line(line: str) -> str:
    kind = _CLASSES.get(line[:1], "")
    return f'<span class="{kind}">{escape(line)}\n</span>' if kind else f"{escape(line)}\n"

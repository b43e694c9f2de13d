"""Tool calls as cards: what was asked for, what came of it, how long it took; open while it runs, folded afterwards."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from html import escape

from pi_nb.notebook.blocks import Block, argument_blocks, block_html, title_of
from pi_nb.notebook.caption import clean, seconds
from pi_nb.notebook.markdown import fenced
from pi_nb.notebook.transcript import Picture, Tool

__all__ = ["CARD_STYLE", "card_html", "card_markdown", "card_text", "card_title", "clip", "state", "tool_line"]

LONGEST = 4_000  # characters of an argument or a result that a card shows
LIVE = 1_200  # characters of the output of a call that is still running
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")

CARD_STYLE = """
.pi-nb .pi-held { color: var(--jp-warn-color0, var(--vscode-charts-orange, #b26a00)); font-weight: 600; }
.pi-nb .pi-refused { color: var(--pi-bad); }
.pi-nb .pi-added { color: var(--pi-good); } .pi-nb .pi-removed { color: var(--pi-bad); }
.pi-nb .pi-hunk { color: var(--pi-soft); }
.pi-nb.pi-nb .pi-diff code, .pi-nb.pi-nb .pi-ask code { white-space: pre-wrap; overflow-wrap: anywhere; }
.pi-nb .pi-ask { border-left: 4px solid var(--jp-warn-color1, #b26a00); padding: .2em 0 .2em .9em; }
.pi-nb img { max-width: 100%; background: #fff; border-radius: 4px; }
"""


def card_html(tool: Tool) -> str:
    """Return a call as HTML; nothing of it is markup."""
    mark = f'<span class="pi-state pi-{tool.state}">{escape(state(tool))}</span>'
    body = "".join(f'<div class="pi-part">{escape(b.label)}</div>{block_html(b)}' for b in _blocks(tool))
    opened = " open" if tool.state in ("running", "failed", "refused") else ""
    return (
        f"<details{opened}><summary><b>{escape(clean(tool.name))}</b> "
        f"<code>{escape(clean(card_title(tool)))}</code> {mark}</summary>{body}</details>"
        f"{''.join(_picture(tool, picture) for picture in tool.pictures)}"
    )


def _picture(tool: Tool, picture: Picture) -> str:
    if picture.mime_type not in PICTURES:
        return ""
    source = f"data:{escape(picture.mime_type)};base64,{escape(picture.data)}"
    return f'<img alt="picture from {escape(tool.name)}" src="{source}">'


def card_markdown(tool: Tool, title: str) -> str:
    """Return a call as Markdown, folded under a title that is safe already."""
    body = [fenced(block.text, "" if block.kind == "text" else block.kind) for block in _blocks(tool)]
    body += [f"*picture ({escape(picture.mime_type)})*" for picture in tool.pictures]
    return "\n\n".join([f"<details><summary>{title}</summary>", *body, "</details>"])


def card_text(tool: Tool) -> str:
    """Return a call as plain text: one line, and what came of it."""
    result = textwrap.indent(clip(clean(tool.diff or tool.result)), "  ")
    return tool_line(tool) + (f"\n{result}" if result else "")


def _blocks(tool: Tool) -> Iterator[Block]:
    """Yield what a card shows, cut to a size that is read; of a file that was changed, the change."""
    changed = {"write": ("content",), "edit": ("edits", "oldText", "newText")} if tool.diff else {}
    for block in argument_blocks(tool.name, tool.args):
        if block.label not in changed.get(tool.name, ()):
            yield Block(clean(block.label), block.kind, clip(clean(block.text)))
    if tool.diff:
        yield Block("change", "diff", clip(clean(tool.diff)))
    if tool.state == "running" and len(tool.result) > LIVE:
        yield Block("output so far", "text", "… " + clean(tool.result[-LIVE:]))
    elif tool.result:
        name = "output so far" if tool.state == "running" else "result"
        yield Block(name, "text", clip(clean(tool.result)))


def clip(text: str) -> str:
    """Return text cut to what a card shows, its beginning and its end, with a count of what was left out."""
    if len(text) <= LONGEST:
        return text
    head, tail = text[: LONGEST // 2], text[-LONGEST // 2 :]
    return f"{head}\n… {len(text) - LONGEST:,} more characters …\n{tail}"


def card_title(tool: Tool) -> str:
    """Return a tool call's arguments in one line of at most 80 characters."""
    return title_of(tool.name, tool.args)


def state(tool: Tool) -> str:
    """Return in words how a tool call stands."""
    took = f" · {seconds(tool.seconds)}" if tool.seconds is not None and tool.state != "refused" else ""
    return _STATES[tool.state] + took


_STATES = {
    "writing": "…",
    "running": "running…",
    "held": "may it run?",
    "done": "✓ done",
    "failed": "✗ failed",
    "refused": "✗ not run",
}


def tool_line(tool: Tool) -> str:
    """Return a tool call in one line."""
    return f"[{clean(tool.name)}({clean(card_title(tool))}) {state(tool)}]"

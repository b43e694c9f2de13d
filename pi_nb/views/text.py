"""A session as text: its tree, its log, and the context of a branch.

Plain text for terminals, saved notebooks and tests. Nothing a session holds can act on the terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from pi_nb.session.context import Context
from pi_nb.session.entries import Entry, LeafEntry
from pi_nb.session.tree import Session
from pi_nb.views.entry_line import entry_line, message_line, message_text
from pi_nb.views.layout import Row
from pi_nb.views.outline import Drawn, Outline, counted, outline
from pi_nb.views.plain import clip, pad, short_id, short_session, visible, width

__all__ = [
    "context_heading",
    "gutter_text",
    "not_in_context",
    "not_sent",
    "render_context",
    "render_log",
    "render_tree",
]


_CLOCK: Final = re.compile(r"\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)")
_ASCII: Final = str.maketrans({"…": "...", "→": "->", "·": "-", "“": '"', "”": '"', "↩": "<-", "⤷": "->"})


class _Pen(NamedTuple):
    """How a tree is written down: its strokes, and which characters it may use."""

    ascii: bool
    line: str
    joint: str
    end: str
    active: str
    other: str
    leaf: str
    deep: str
    ellipsis: str

    def say(self, text: str) -> str:
        """Return visible text in the characters this pen has."""
        return text.translate(_ASCII).encode("ascii", "backslashreplace").decode() if self.ascii else text

    def clip(self, text: str, cells: int) -> str:
        """Return visible text in this pen's characters, in no more than so many cells."""
        return clip(self.say(text), cells, ellipsis=self.ellipsis).rstrip()


_PEN: Final = _Pen(False, "│ ", "├─", "└─", "●", "○", "◀", "… ", "…")
_ASCII_PEN: Final = _Pen(True, "| ", "|-", "`-", "*", "o", "<-", "..", "...")


def render_tree(
    session: Session,
    *,
    width: int = 100,
    ascii: bool = False,
    ids: bool = True,
    max_rows: int | None = None,
    everything: bool = False,
) -> str:
    """Return the tree as text: one row per entry, indented only where it branches, the branch of the leaf first.

    Entries on the path to the leaf have a filled mark, all others a hollow one.

    Args:
        session: The session.
        width: Most cells of a row.
        ascii: Use nothing but ASCII; other characters are written as escapes.
        ids: Begin each row with the entry's id, as references to entries are typed.
        max_rows: Most rows; those nearest to the leaf are shown and the rest counted. None shows all.
        everything: Show bookkeeping too: labels, names, moves of the leaf, notes of programs.
    """
    shown = outline(session, max_rows=max_rows, everything=everything)
    pen = _ASCII_PEN if ascii else _PEN
    lines = [pen.clip(shown.heading, width), ""]
    lines.extend(_tree_rows(shown, pen, width, ids))
    if shown.footing:
        lines.extend(("", pen.clip(shown.footing, width)))
    return "\n".join(lines).rstrip()


def _tree_rows(shown: Outline, pen: _Pen, cells: int, ids: bool) -> Iterator[str]:
    longest = max((width(pen.say(short_id(row.id))) for row in shown.layout.rows), default=0)
    for number, drawn in enumerate(shown.drawn()):
        if number and drawn.row.origin != "entry":
            yield ""
        yield _tree_row(drawn, pen, f"{pad(pen.say(drawn.id), longest)}  " if ids else "", cells)


def _tree_row(drawn: Drawn, pen: _Pen, start: str, cells: int) -> str:
    row = drawn.row
    labels = "".join(f" [{pen.say(mark.text)}]" for mark in drawn.marks if mark.kind == "label")
    head = f"{start}{_gutter(row, pen)}{pen.active if row.active else pen.other}{labels}"
    notes = "".join(f" ({pen.say(mark.text)})" for mark in drawn.marks if mark.kind in {"broken", "hidden"})
    tail = f"{notes} {pen.leaf} leaf" if row.leaf else notes
    said = pen.clip(str(drawn.line), max(8, cells - width(head) - width(tail) - 1))
    return clip(f"{head} {said}{tail}", cells, ellipsis=pen.ellipsis)


def gutter_text(row: Row) -> str:
    """Return the lines left of a row and its mark, as characters."""
    return f"{_gutter(row, _PEN)}{_PEN.active if row.active else _PEN.other}"


def _gutter(row: Row, pen: _Pen) -> str:
    """Return what stands left of a row's mark: passing lines, then the joint it hangs from."""
    passing = row.bars[:-1] if row.joint else row.bars
    strokes = [pen.line if bar else "  " for bar in passing]
    if row.joint:
        strokes.append(pen.joint if row.bars[-1] else pen.end)
    if row.lane > len(row.bars):
        strokes[0] = pen.deep
    return "".join(strokes)


# ---------------------------------------------------------------- log


def render_log(session: Session, *, width: int = 100, ascii: bool = False, last: int | None = None) -> str:
    """Return the append log: every entry in the order it was written, with each move of the leaf.

    An entry that does not hang from where the leaf stood says where it hangs.

    Args:
        session: The session.
        width: Most cells of a row.
        ascii: Use nothing but ASCII; other characters are written as escapes.
        last: Only so many entries, the last ones. None shows all.
    """
    pen = _ASCII_PEN if ascii else _PEN
    entries = session.entries()
    start = 0 if last is None else max(0, len(entries) - last)
    size = counted(len(entries), "entry", "entries")
    part = f", the last {last}" if start else ""
    lines = [pen.clip(f"session {short_session(session.id)} · {size} in the order of writing{part}", width), ""]
    leaf = _leaf_after(entries[start - 1]) if start else None
    digits = len(str(len(entries)))
    for number in range(start, len(entries)):
        entry = entries[number]
        head = f"{number + 1:>{digits}}  {_clock(entry.timestamp):8}  {short_id(entry.id):8}  "
        lines.append(pen.clip(f"{head}{_log_line(entry, leaf)}", width))
        leaf = _leaf_after(entry)
    return "\n".join(lines)


def _leaf_after(entry: Entry) -> str | None:
    return entry.target_id if isinstance(entry, LeafEntry) else entry.id


def _log_line(entry: Entry, leaf: str | None) -> str:
    if isinstance(entry, LeafEntry):
        return f"↩ leaf {_place(entry.parent_id)} → {_place(entry.target_id)}"
    jump = "" if entry.parent_id == leaf else f"⤷ below {_place(entry.parent_id)}  "
    return f"{jump}{entry_line(entry)}"


def _place(id: str | None) -> str:
    return "the beginning" if id is None else short_id(id)


def _clock(timestamp: Any) -> str:
    found = _CLOCK.match(timestamp) if isinstance(timestamp, str) else None
    return found[1] if found else ""


# ---------------------------------------------------------------- context


def render_context(
    context: Context, *, provenance: Mapping[str, str] | None = None, unsent: Mapping[str, str] | None = None
) -> str:
    """Return the messages a model would be sent, in full, and what of the path it would not see, and why.

    Args:
        context: The projection of a path.
        provenance: For entries of the path, why they are in the context or not
            (:func:`pi_nb.session.context.provenance`); only what is not simply kept is told.
        unsent: For messages of the context that no request carries, why.
    """
    whys = {**(provenance or {}), **not_sent(unsent)}
    blocks = ["\n".join(context_heading(context, len(unsent or ())))]
    for number, item in enumerate(context.items, 1):
        why = whys.get(item.entry_id, "kept")
        blocks.append("\n".join(_message_lines(f"{number}  {short_id(item.entry_id)}", item.message, why)))
    left_out = not_in_context(context, whys)
    if left_out:
        rows = (f"  {visible(why)}: {' '.join(ids)}" for why, ids in left_out.items())
        blocks.append("\n".join(("not in the context:", *rows)))
    return "\n\n".join(blocks)


def not_sent(unsent: Mapping[str, str] | None) -> dict[str, str]:
    """Return what is said of messages that no request carries."""
    return {id: f"not sent: {why}" for id, why in (unsent or {}).items()}


def not_in_context(context: Context, provenance: Mapping[str, str]) -> dict[str, list[str]]:
    """Return why messages of the path are not in the context, each reason with the short ids of those it holds for."""
    sent = {item.entry_id for item in context.items}
    reasons: dict[str, list[str]] = {}
    for id, why in provenance.items():
        if id not in sent and why not in {"kept", "not a message"}:
            reasons.setdefault(why, []).append(short_id(id))
    return reasons


def context_heading(context: Context, unsent: int = 0) -> tuple[str, str]:
    """Return what a context is, in two lines: where and how long; model, thinking level and tools."""
    sent = f", {len(context.items) - unsent} of them sent" if unsent else ""
    tools = context.active_tool_names
    active = "" if tools is None else f" · tools {', '.join(map(visible, tools)) or 'none'}"
    model = visible(str(context.model)) if context.model else "no model yet"
    return (
        f"context at {_place(context.leaf_id)} · {counted(len(context.items), 'message', 'messages')}{sent}",
        f"{model} · thinking {visible(context.thinking_level)}{active}",
    )


def _message_lines(start: str, message: Any, why: str) -> Iterator[str]:
    line = message_line(message)
    yield f"{start}  {line.head}{f'  ({visible(why)})' if why != 'kept' else ''}"
    for part in message_text(message).split("\n"):
        yield f"    {visible(part)}".rstrip()

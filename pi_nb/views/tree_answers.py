"""What the live tree's page asks about a session, answered with plain JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pi_nb.harness.estimate import estimate_context, estimate_tokens
from pi_nb.messages import AssistantMessage, BashExecutionMessage, Usage, text_of
from pi_nb.models import Model
from pi_nb.providers.transform import sending
from pi_nb.session.context import provenance
from pi_nb.views.tree_rows import PREVIEW, brief, call_brief, line_at, rows

__all__ = ["context_answer", "delta", "entry_answer", "item_answer", "live_row", "plain", "written"]

_CHUNK: Final = 4000  # rows in one message; a page asks for the next ones itself
_MESSAGES: Final = 60  # messages of a context whose text is sent, the last ones
_TEXT: Final = 4000  # characters of one message
_LEFT_OUT: Final = 200
_TAIL: Final = 2000  # characters of a growing answer
_RAW: Final = 400_000  # characters of one entry's line
_CHANGING: Final = frozenset({"compaction", "context_edit"})  # kinds that change what others contribute


def delta(session: Any, *, epoch: str, start: int) -> dict[str, Any]:
    """Return the rows that a page which has ``start`` of them lacks, at most 4,000 at a time."""
    total = len(session)
    stop = min(total, start + _CHUNK)
    made = rows(session, start, stop)
    return {
        "op": "delta",
        "epoch": epoch,
        "from": start,
        "to": stop,
        "total": total,
        "rows": made,
        "leaf": session.leaf_id,
        "labels": _labels(session, start, made),
        "name": session.name,
        "session": session.id,
        "file": str(session.file) if session.file else None,
    }


def live_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of an answer that is being written: the end of it for the row, and more of it for the panel."""
    text = str(row.get("text", ""))
    shown = text if len(text) <= PREVIEW else f"…{text[1 - PREVIEW :]}"
    return {**row, "text": " ".join(shown.split()), "tail": text[-_TAIL:]}


def _labels(session: Any, start: int, made: Sequence[Mapping[str, Any]]) -> dict[str, str | None]:
    if start == 0:
        return dict(session.labels)
    targets = {row["target"] for row in made if row["type"] == "label" and row.get("target")}
    return {target: session.labels.get(target) for target in targets}


def written(session: Any, before: int) -> dict[str, Any]:
    """Return the first line that was written since the log had ``before`` entries; nothing if there is none."""
    if len(session) <= before:
        return {}
    where = {"position": before, "line_number": _line_number(session, before)}
    return {"line": line_at(session, before)[:4000], "entry": session.storage.index.ids[before], **where}


def _line_number(session: Any, position: int) -> int | None:
    """Return where the entry is in the file, the header being line 1; None if the file is not one entry a line."""
    plain = session.file is not None and not session.warnings
    return position + 2 if plain else None


def entry_answer(session: Any, entry_id: str) -> dict[str, Any]:
    """Return the line of an entry, and where it stands."""
    position = _position(session, entry_id)
    line = line_at(session, position)
    size = len(line.encode("utf-8", "replace"))
    where = {"position": position, "line_number": _line_number(session, position), "bytes": size}
    return {"raw": line[:_RAW], "cut": len(line) > _RAW, **where}


def _position(session: Any, entry_id: str) -> int:
    session.entry(entry_id)  # raises not_found with a sentence of its own
    return int(session.storage.index.positions[entry_id])


# ---------------------------------------------------------------- the context


def context_answer(session: Any, entry_id: str | None, *, tokens: int | None = None) -> dict[str, Any]:
    """Return what a model would be sent at an entry: the last messages in full, the others counted.

    Args:
        session: The session.
        entry_id: The entry; None for the start.
        tokens: How many they are, if that is known.
    """
    context = session.context(entry_id)
    items = context.items
    tail = items[max(0, len(items) - _MESSAGES) :]
    shown = [item_answer(item) for item in tail]
    why = _reasons(session, entry_id)
    left = [entry_id for entry_id, reason in why.items() if reason.startswith(("summarised", "omitted"))]
    for item, unsent in zip(shown, _unsent(context.model, tail), strict=True):
        item["why"] = unsent or why.get(item["id"], "kept")
    return {
        "entry": entry_id,
        "items": shown,
        "total": len(items),
        "tokens": estimate_context(context, session.path(entry_id)).tokens if tokens is None else tokens,
        "model": str(context.model) if context.model else "",
        "thinking": context.thinking_level,
        "tools": None if context.active_tool_names is None else list(context.active_tool_names),
        "left_out": [_left(session, entry_id, why[entry_id]) for entry_id in left[-_LEFT_OUT:]],
        "left_total": len(left),
    }


def _unsent(model: Any, items: Sequence[Any]) -> list[str]:
    """Return for each message why providers leave it out; empty for those that are sent."""
    known = Model(model.provider, model.model_id) if model else Model("none", "none")
    unsent = sending((item.message for item in items), known).unsent
    return [f"not sent: {unsent[place]}" if place in unsent else "" for place in range(len(items))]


def plain(session: Any, entry_id: str | None) -> bool:
    """Return whether every message of a path is sent as it is."""
    kinds = session.storage.index.types
    if _CHANGING.isdisjoint(kinds):  # the usual case, told without a walk
        return True
    return _CHANGING.isdisjoint(kinds[position] for position in session.storage.walk(entry_id))


def _reasons(session: Any, entry_id: str | None) -> dict[str, str]:
    """Return why each entry of the path is or is not sent; nothing when nothing on it changes that (the usual case)."""
    if plain(session, entry_id):
        return {}
    return dict(provenance(session.path(entry_id)))


def _left(session: Any, entry_id: str, why: str) -> dict[str, Any]:
    (row,) = rows(session, (place := _position(session, entry_id)), place + 1)
    return {"id": entry_id, "why": why, "type": row["type"], "text": brief(row["text"], 80)}


def item_answer(item: Any) -> dict[str, Any]:
    """Return one message of a context: at most 4,000 characters of its text, its calls, its failure."""
    message = item.message
    text = _text(message)
    out: dict[str, Any] = {"id": item.entry_id, "role": message.role, "text": text[:_TEXT]}
    out["tokens"] = _estimate(message)
    if len(text) > _TEXT:
        out["more"] = True
    if isinstance(message, AssistantMessage):
        out["calls"] = [": ".join(part for part in call_brief(c.name, c.arguments) if part) for c in message.tool_calls]
        out["error"] = message.error_message if message.stop_reason == "error" else None
    return out


def _text(message: Any) -> str:
    if isinstance(message, BashExecutionMessage):
        return f"$ {message.command}\n{message.output}"
    summary = getattr(message, "summary", None)
    return summary if isinstance(summary, str) else _spoken(getattr(message, "content", None))


def _spoken(content: Any) -> str:
    images = [] if isinstance(content, str | None) else [f"[{b.mime_type}]" for b in content if b.type == "image"]
    return "\n".join([*images, text_of(content)]) if images else text_of(content)


def _estimate(message: Any) -> int:
    """Return roughly how many tokens a message is: what its provider counted, else an estimate."""
    usage = getattr(message, "usage", None)
    if isinstance(usage, Usage) and usage.output:
        return int(usage.output)
    return estimate_tokens(message)

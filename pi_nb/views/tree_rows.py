"""From a session's log to the rows the live tree is sent: previews, never whole entries.

Rows are made from an entry's JSON fields, because a log of 100,000 entries is previewed far faster than it is
decoded. Whatever stands in those fields, a row is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import orjson

from pi_nb.session.lines import decode

__all__ = ["PREVIEW", "brief", "call_brief", "fields_at", "line_at", "row_of", "rows"]

Fields: TypeAlias = Mapping[str, Any]
Row: TypeAlias = dict[str, Any]

PREVIEW: Final = 200
"""Characters of text in a row."""

_CALL: Final = 120  # characters of one tool call
_CALLS: Final = 8  # calls of one answer that a row tells of
_PER_TOKEN: Final = 4  # characters, for what no provider counted
_TELLING: Final = ("command", "path", "file_path", "pattern", "query", "url", "code")


def rows(session: Any, start: int, stop: int) -> list[Row]:
    """Return the rows of the entries from ``start`` up to ``stop`` of the log, in the order of writing."""
    return [row_of(fields_at(session, position)) for position in range(start, min(stop, len(session)))]


def fields_at(session: Any, position: int) -> Fields:
    """Return the JSON fields of the entry at a position of the log."""
    fields: Fields = decode(session.storage.index.lines[position])
    return fields


def line_at(session: Any, position: int) -> str:
    """Return the entry at a position as the line of JSON it is in the log."""
    line: bytes = session.storage.index.lines[position]
    return line.decode("utf-8", "replace").strip("\r\n")


def row_of(fields: Fields) -> Row:
    """Return the row of one entry; what is empty is left out, apart from ``text``."""
    kind = _text(fields.get("type"))
    describe = _KINDS.get(kind, _unknown)
    row: Row = {"id": _text(fields.get("id")), "parent": _reference(fields.get("parentId")), "type": kind, "text": ""}
    row["time"] = _text(fields.get("timestamp"))
    row.update(describe(fields))
    return {name: value for name, value in row.items() if value not in (None, "", ()) or name in _ALWAYS}


_ALWAYS: Final = frozenset({"id", "parent", "type", "text"})


def brief(value: Any, limit: int = PREVIEW) -> str:
    """Return text in one line of at most ``limit`` characters; anything else as short JSON."""
    text = value if isinstance(value, str) else _json(value)
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit and len(text) <= limit * 4 else f"{line[: limit - 1]}…"


def call_brief(name: Any, arguments: Any) -> tuple[str, str]:
    """Return a tool call as its name and the argument that tells most, or all arguments as short JSON."""
    telling = _telling(arguments) if isinstance(arguments, Mapping) else arguments
    return brief(name, 40), brief(telling, _CALL) if telling not in (None, {}) else ""


def _telling(arguments: Fields) -> Any:
    for name in _TELLING:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return value
    return arguments


def _json(value: Any) -> str:
    if value is None:
        return ""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        return f"({type(value).__name__})"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _mapping(value: Any) -> Fields:
    return value if isinstance(value, Mapping) else {}


def _reference(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _blocks(content: Any) -> Sequence[Any]:
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list | tuple) else ()


def _said(blocks: Sequence[Any]) -> tuple[str, int]:
    """Return the text of blocks, cut, and roughly how many tokens all of them are."""
    parts: list[str] = []
    size = 0
    for block in blocks:
        text = _text(block.get("text")) or _text(block.get("thinking"))
        size += len(text) or len(_json(block.get("arguments")))
        if block.get("type") == "text":
            parts.append(text[: PREVIEW * 4])
        elif block.get("type") == "image":
            parts.append(f"[{_text(block.get('mimeType')) or 'image'}] ")
            size += 1200 * _PER_TOKEN - len(text)
    return brief("".join(parts)), -(-size // _PER_TOKEN)


# ---------------------------------------------------------------- messages


def _message(fields: Fields) -> Row:
    message = fields.get("message")
    if not isinstance(message, Mapping):
        return {"text": brief(message)}
    role = _text(message.get("role"))
    describe = _ROLES.get(role, _plain)
    return {"role": role, **describe(message), **_cell(fields.get("cell"))}


def _cell(cell: Any) -> Row:
    """Return the number and the id of the notebook cell that wrote a prompt."""
    told = _mapping(cell)
    number = _number(told.get("n"))
    if number is None:
        return {}
    return {"cell": str(number), "cell_id": brief(_text(told.get("id")).partition("#")[0], 80) or None}


def _plain(message: Fields) -> Row:
    text, tokens = _said(_blocks(message.get("content")))
    return {"text": text, "tokens": tokens}


def _assistant(message: Fields) -> Row:
    blocks = _blocks(message.get("content"))
    text, tokens = _said(blocks)
    calls = [call_brief(b.get("name"), b.get("arguments")) for b in blocks if b.get("type") == "toolCall"]
    usage = _mapping(message.get("usage"))
    return {
        "text": text,
        "model": brief(message.get("model"), 80),
        "tools": [name for name, _ in calls[:_CALLS]] or None,
        "calls": [told for _, told in calls[:_CALLS]] or None,
        "thinking": any(b.get("type") == "thinking" for b in blocks) or None,
        "tokens": _number(usage.get("output")) or tokens,
        "cost": _number(_mapping(usage.get("cost")).get("total")),
        "error": _failure(message),
    }


def _failure(message: Fields) -> str | None:
    reason = message.get("stopReason")
    if reason == "aborted":
        return "aborted"
    return brief(message.get("errorMessage") or "failed") if reason == "error" else None


def _tool_result(message: Fields) -> Row:
    text, tokens = _said(_blocks(message.get("content")))
    name = brief(message.get("toolName"), 40)
    failed = "failed" if message.get("isError") is True else None
    return {"text": f"{name} → {text or '(nothing)'}" if name else text, "tokens": tokens, "error": failed}


def _shell(message: Fields) -> Row:
    size = len(_text(message.get("command"))) + len(_text(message.get("output")))
    return {"text": f"$ {brief(message.get('command'))}", "tokens": -(-size // _PER_TOKEN)}


def _summary(message: Fields) -> Row:
    return {"text": brief(message.get("summary")), "tokens": -(-len(_text(message.get("summary"))) // _PER_TOKEN)}


_ROLES: Final[Mapping[str, Callable[[Fields], Row]]] = {
    "assistant": _assistant,
    "toolResult": _tool_result,
    "bashExecution": _shell,
    "branchSummary": _summary,
    "compactionSummary": _summary,
}

# ---------------------------------------------------------------- other entries


def _model(fields: Fields) -> Row:
    name = ":".join(part for part in (_text(fields.get("provider")), _text(fields.get("modelId"))) if part)
    return {"text": brief(name), "model": brief(fields.get("modelId"), 80)}


def _tools(fields: Fields) -> Row:
    names = fields.get("activeToolNames")
    listed = [_text(name) for name in names] if isinstance(names, list | tuple) else []
    return {"text": brief(", ".join(listed)) or "none"}


def _compaction(fields: Fields) -> Row:
    return {
        "text": brief(fields.get("summary")),
        "tokens": _number(fields.get("tokensBefore")),
        "kept": _reference(fields.get("firstKeptEntryId")),
    }


def _leaf(fields: Fields) -> Row:
    target = _reference(fields.get("targetId"))
    row = {"text": f"to {target[:8]}" if target else "to the start of the session", "target": target}
    return {**row, **{name: _reference(fields.get(name)) for name in ("undoes", "redoes")}}


def _label(fields: Fields) -> Row:
    label = brief(fields.get("label"))
    target = _reference(fields.get("targetId"))
    return {"text": f"{label or 'none'} on {(target or '?')[:8]}", "target": target, "label": label}


def _edit(fields: Fields) -> Row:
    target = _reference(fields.get("targetId"))
    done = "replaces" if fields.get("replacement") is not None else "omits"
    return {"text": f"{done} {(target or '?')[:8]} in the context", "target": target}


def _custom(fields: Fields) -> Row:
    parts = (brief(fields.get("customType")), brief(fields.get("data"), 120))
    return {"text": " ".join(part for part in parts if part)}


def _usage(fields: Fields) -> Row:
    total = _number(_mapping(fields.get("usage")).get("totalTokens"))
    return {"text": brief(fields.get("kind")), "tokens": total, "model": brief(fields.get("model"), 80)}


def _unknown(fields: Fields) -> Row:
    rest = {name: value for name, value in fields.items() if name not in ("type", "id", "parentId", "timestamp")}
    return {"text": brief(rest) if rest else ""}


_KINDS: Final[Mapping[str, Callable[[Fields], Row]]] = {
    "message": _message,
    "model_change": _model,
    "thinking_level_change": lambda fields: {"text": brief(fields.get("thinkingLevel"))},
    "active_tools_change": _tools,
    "compaction": _compaction,
    "branch_summary": _summary,
    "custom_message": _plain,
    "custom": _custom,
    "label": _label,
    "session_info": lambda fields: {"text": brief(fields.get("name"))},
    "leaf": _leaf,
    "context_edit": _edit,
    "usage": _usage,
}

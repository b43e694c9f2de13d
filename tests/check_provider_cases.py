"""Compare our providers with handed cases: streams byte by byte (3xx), and histories made acceptable (``transform``).

    python -m tests.check_provider_cases DIR

The contract is what real pi was seen to do, except where the case's own judgement says that it was wrong
(:data:`JUDGED`).
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pi_nb.messages import (
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    parse_message,
)
from pi_nb.models import Model
from pi_nb.providers.transform import BRANCH_PREFIX, COMPACTION_PREFIX, SUMMARY_SUFFIX, acceptable, to_llm
from tests.providers.raw_server import Answer
from tests.providers.replay import over_http

FAMILY = {"anthropic": "anthropic", "openai": "openai_chat", "openai-completions": "openai_chat"}


def check(folder: Path) -> Iterator[tuple[str, list[str]]]:
    for case in sorted(folder.iterdir()):
        if not (case / "expected.json").exists():
            continue
        expected = json.loads((case / "expected.json").read_text())
        if expected["kind"] == "provider-stream":
            yield case.name, list(_check_stream(case, expected))
        elif expected["kind"] == "session" and (found := _transforms(case)):
            yield case.name, list(_check_session(case, expected, found))


# ---------------------------------------------------------------- streams


def _check_stream(case: Path, expected: dict[str, Any]) -> Iterator[str]:
    given = json.loads((case / "stream.json").read_text())
    if given["provider"] not in FAMILY:
        yield f"no provider for {given['provider']}"
        return
    pieces = [base64.b64decode(chunk) for chunk in given["chunksBase64"]]
    end = "reset" if given.get("destroySocketAfter") else "finish"
    events = over_http(FAMILY[given["provider"]], Answer(pieces, status=given["status"], end=end))
    seen, last = expected["observed"]["pi_ai_0_80_10"], events[-1]
    error = getattr(last, "error", None)
    ours = {
        "stopReason": last.message.stop_reason,
        "content": [_stream_block(block) for block in last.message.content],
        "retryable": bool(error and error.retryable),
        "overflow": bool(error and error.code == "context_overflow"),
        "events": [e.type for e in events if not e.type.endswith("_delta") and e.type != "response"],
    }
    usage = last.message.usage.to_wire()
    ours["usage"] = {name: usage[name] for name in seen["usage"] if name != "costTotal"}
    for field, value in ours.items():
        wanted = seen[field]
        if field == "usage":
            wanted = {name: number for name, number in wanted.items() if name != "costTotal"}
        if wanted != value:
            yield f"{field}: expected {wanted!r}, got {value!r}"


def _stream_block(block: Any) -> dict[str, Any]:
    match block:
        case TextContent():
            return {"text": block.text}
        case ThinkingContent():
            return {"thinking": block.thinking}
        case ToolCall():
            return {"toolCall": block.id, "name": block.name, "arguments": block.arguments}
    return {"type": block.type}


# ---------------------------------------------------------------- histories


def _transforms(case: Path) -> list[dict[str, Any]]:
    ops = json.loads((case / "ops.json").read_text()) if (case / "ops.json").exists() else []
    known = all(op["op"] in ("transform", "navigate", "append", "estimate") for op in ops)
    return ops if known and any(op["op"] == "transform" for op in ops) else []


def _check_session(case: Path, expected: dict[str, Any], ops: list[dict[str, Any]]) -> Iterator[str]:
    entries = [json.loads(line) for line in (case / "session.jsonl").read_text().splitlines()[1:]]
    observed = expected["observed"]["harness_0_80_10"]
    path = _path(entries, entries[-1]["id"])
    llm = observed["loaded"]["llm"]["value"]
    if [_with_tokens(m) for m in llm] != [_flat(m) for m in to_llm(_project(path))]:
        yield f"llm: expected {llm}, got {[_flat(m) for m in to_llm(_project(path))]}"
    for op, seen in zip(ops, observed["ops"], strict=True):
        if op["op"] == "navigate":
            path = _path(entries, op["id"])
        elif op["op"] == "append":
            path = [*path, {"type": "message", "id": "new", "message": op["message"]}]
        elif op["op"] == "transform":
            ours = [_shape(m) for m in acceptable(_project(path), _model(op["model"]))]
            wanted = JUDGED.get(expected["case"], lambda value: value)([_with_tokens(m) for m in seen["value"]])
            if ours != wanted:
                yield f"transform: expected {wanted}, got {ours}"


def _model(data: dict[str, Any]) -> Model:
    return Model(data["provider"], data["id"], api=data["api"], vision="image" in data["input"])


def _path(entries: list[dict[str, Any]], leaf: str) -> list[dict[str, Any]]:
    by_id = {entry["id"]: entry for entry in entries}
    path, current = [], by_id.get(leaf)
    while current is not None:
        path.insert(0, current)
        current = by_id.get(current["parentId"])
    return path


def _project(path: list[dict[str, Any]]) -> list[Message]:
    """Return a path's messages, as far as these cases need it; the real thing is in ``pi_nb.session.context``."""
    cut = max((i for i, entry in enumerate(path) if entry["type"] == "compaction"), default=None)
    out: list[Message] = []
    if cut is not None:
        out.append(CompactionSummaryMessage(summary=path[cut]["summary"]))
        first = next(i for i, entry in enumerate(path) if entry["id"] == path[cut]["firstKeptEntryId"])
        path = [*path[first:cut], *path[cut + 1 :]]
    for entry in path:
        if entry["type"] == "message":
            out.append(parse_message(entry["message"]))
        elif entry["type"] == "custom_message":
            out.append(CustomMessage(custom_type=entry["customType"], content=entry["content"]))
    return out


def _shape(message: Any) -> dict[str, Any]:
    out: dict[str, Any] = {"role": message.role}
    if isinstance(message.content, str):
        out["text"] = message.content
    else:
        out["blocks"] = [_shape_block(block) for block in message.content]
    if message.role == "assistant":
        out["stopReason"] = message.stop_reason
    if message.role == "toolResult":
        out["toolCallId"] = message.tool_call_id
        if message.is_error:
            out["isError"] = True
    return out


def _shape_block(block: Any) -> dict[str, Any]:
    match block:
        case ToolCall():
            return {"toolCall": block.id, "name": block.name}
        case ImageContent():
            return {"type": "image"}
        case ThinkingContent():
            return {"thinking": block.thinking}
    return {"text": block.text}


def _flat(message: Any) -> dict[str, Any]:
    text = (
        message.content
        if isinstance(message.content, str)
        else "|".join(block.text for block in message.content if isinstance(block, TextContent))
    )
    return {"role": message.role, "text": text}


def _with_tokens(value: Any) -> Any:
    """Return the value with our wording for pi's prompt texts, which the cases hold as tokens."""
    text = json.dumps(value)
    for token, ours in {
        "<COMPACTION_PREFIX>": COMPACTION_PREFIX,
        "<COMPACTION_SUFFIX>": SUMMARY_SUFFIX,
        "<SUMMARY_SUFFIX>": SUMMARY_SUFFIX,
        "<BRANCH_PREFIX>": BRANCH_PREFIX,
    }.items():
        text = text.replace(token, json.dumps(ours)[1:-1])
    return json.loads(text)


def _orphan_as_text(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    head = "(Result of an earlier call of the tool bash, which is no longer shown:)"
    return [
        {"role": "user", "blocks": [{"text": head}, *m["blocks"]]} if m["role"] == "toolResult" else m for m in seen
    ]


def _custom_after_result(seen: list[dict[str, Any]]) -> list[dict[str, Any]]:
    user, answer, _, custom, result = seen
    return [user, answer, result, custom]


JUDGED: dict[str, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    "compact-orphan-toolresult": _orphan_as_text,
    "custom-between-call-and-result": _custom_after_result,
}


def main(arguments: list[str]) -> int:
    results = list(check(Path(arguments[0])))
    for name, differences in results:
        print(f"{'FAIL' if differences else 'ok  '} {name}")
        for difference in differences:
            print(f"       {difference[:600]}")
    bad = sum(bool(differences) for _, differences in results)
    print(f"{len(results) - bad} of {len(results)} as expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Compare what our providers make of recorded streams with what the official SDKs make of them.

    python -m tests.check_streams DIR [FAMILY ...]

DIR holds one folder per family and ``expected.json``. Each body is served over HTTP in 7-byte pieces.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pi_nb.messages import ThinkingContent, UnknownContent
from pi_nb.providers.base import StreamDone, StreamError
from tests.providers.raw_server import Answer, cut
from tests.providers.replay import FAMILIES, over_http


@dataclass(frozen=True)
class Checked:
    name: str
    differences: tuple[str, ...]


def check(folder: Path, families: tuple[str, ...] = FAMILIES) -> Iterator[Checked]:
    expected = json.loads((folder / "expected.json").read_text())
    for name in sorted(expected):
        family = name.split("/")[0]
        if family in families and (folder / name).exists():
            events = over_http(family, answer(folder / name, expected[name]))
            yield Checked(name, tuple(compare(family, expected[name], events)))


def answer(path: Path, expected: dict[str, Any]) -> Answer:
    """Return the response that a recorded file stands for."""
    status = re.match(r"(?:Error code: )?(\d+)", expected.get("message", ""))
    if path.suffix == ".json":
        code = 200 if expected["ok"] else int(status.group(1)) if status else 400
        return Answer(cut(path.read_bytes(), 7), status=code, headers={"content-type": "application/json"})
    return Answer(cut(body(path), 7))


def body(path: Path) -> bytes:
    """Return a stream's bytes; ``.chunks.txt`` holds one payload per line, without the lines around it."""
    raw = path.read_bytes()
    if not path.name.endswith(".chunks.txt"):
        return raw
    out = b""
    for line in raw.splitlines():
        if line.strip():
            kind = json.loads(line).get("type") if line.startswith(b"{") else None
            out += (b"event: %s\n" % kind.encode() if kind else b"") + b"data: " + line + b"\n\n"
    return out


def compare(family: str, expected: dict[str, Any], events: list[Any]) -> Iterator[str]:
    last = events[-1]
    if not expected["ok"]:
        if not isinstance(last, StreamError):
            yield "should be an error"
        elif last.error.code in ("unknown", "bad_response"):
            yield f"the error is not classified: {last.error.code} {last.error}"
        return
    wanted = WANTED[family](expected["result"])
    if wanted["stop"] == "error":
        if not isinstance(last, StreamError):
            yield "should be an error"
        return
    if not isinstance(last, StreamDone):
        yield f"failed: {last.error}"
        return
    message = last.message
    ours = {
        "text": message.text,
        "thinking": "".join(b.thinking for b in message.content if isinstance(b, ThinkingContent)),
        "calls": [[call.id, call.name, call.arguments] for call in message.tool_calls],
        "named_calls": [[call.name, call.arguments] for call in message.tool_calls],
        "stop": message.stop_reason,
        "usage": [message.usage.input, message.usage.output, message.usage.cache_read, message.usage.cache_write],
        "unknown": sorted(b.type for b in message.content if isinstance(b, UnknownContent)),
    }
    for field, value in wanted.items():
        if value is not None and ours[field] != value:
            yield f"{field}: expected {value!r}, got {ours[field]!r}"


def _wanted_anthropic(result: dict[str, Any]) -> dict[str, Any]:
    usage = result["usage"]
    stops = {
        "end_turn": "stop",
        "tool_use": "toolUse",
        "max_tokens": "length",
        "refusal": "error",
        "pause_turn": "stop",
        "model_context_window_exceeded": "length",
    }
    known = ("text", "thinking", "redacted_thinking", "tool_use")
    return {
        "text": "".join(b["text"] for b in result["content"] if b["type"] == "text"),
        "thinking": "".join(b["thinking"] for b in result["content"] if b["type"] == "thinking"),
        "calls": [[b["id"], b["name"], b["input"]] for b in result["content"] if b["type"] == "tool_use"],
        "stop": stops.get(result["stop_reason"], "stop"),
        "usage": [
            usage["input_tokens"],
            usage["output_tokens"],
            usage.get("cache_read_input_tokens") or 0,
            usage.get("cache_creation_input_tokens") or 0,
        ],
        "unknown": sorted(b["type"] for b in result["content"] if b["type"] not in known),
    }


def _wanted_chat(result: dict[str, Any]) -> dict[str, Any]:
    usage = result.get("usage") or {}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    stops = {"stop": "stop", "tool_calls": "toolUse", "length": "length", "content_filter": "error"}
    return {
        "text": result["content"],
        "thinking": result["reasoning"],
        "calls": [[c["id"], c["name"], json.loads(c["arguments"] or "{}")] for c in result["tool_calls"]],
        "stop": stops.get(result.get("finish_reason")),
        "usage": [usage.get("prompt_tokens", 0) - cached, usage.get("completion_tokens", 0), cached, 0],
    }


def _wanted_responses(result: dict[str, Any]) -> dict[str, Any]:
    response = result["response"]
    usage, output = response["usage"], response["output"]
    cached = usage["input_tokens_details"]["cached_tokens"]
    calls = [item for item in output if item["type"] == "function_call"]
    stops = {"completed": "toolUse" if calls else "stop", "incomplete": "length"}
    thoughts = [item for item in output if item["type"] == "reasoning"]
    return {
        "text": "".join(p["text"] for item in output if item["type"] == "message" for p in item["content"]),
        "thinking": "".join(
            "\n\n".join(part["text"] for part in (*item["summary"], *(item.get("content") or ()))) for item in thoughts
        ),
        "calls": [[f"{c['call_id']}|{c['id']}", c["name"], json.loads(c["arguments"])] for c in calls],
        "stop": stops.get(response["status"], "error"),
        "usage": [usage["input_tokens"] - cached, usage["output_tokens"], cached, 0],
        "unknown": sorted(i["type"] for i in output if i["type"] not in ("message", "reasoning", "function_call")),
    }


def _wanted_gemini(result: dict[str, Any]) -> dict[str, Any]:
    usage, parts = result["usage"], result["parts"]
    cached = usage.get("cached_content_token_count") or 0
    calls = [
        [part["function_call"]["name"], part["function_call"]["args"]] for part in parts if "function_call" in part
    ]
    stops = {"FinishReason.STOP": "toolUse" if calls else "stop", "FinishReason.MAX_TOKENS": "length"}
    asked = usage["prompt_token_count"] + (usage.get("tool_use_prompt_token_count") or 0)
    said = (usage.get("candidates_token_count") or 0) + (usage.get("thoughts_token_count") or 0)
    return {
        "text": "".join(p.get("text") or "" for p in parts if not p.get("thought")),
        "thinking": "".join(p.get("text") or "" for p in parts if p.get("thought")),
        "named_calls": calls,
        "stop": stops.get(result["finish"], "error"),
        "usage": [asked - cached, said, cached, 0],
    }


WANTED = {
    "anthropic": _wanted_anthropic,
    "openai_chat": _wanted_chat,
    "openai_responses": _wanted_responses,
    "gemini": _wanted_gemini,
}


def main(arguments: list[str]) -> int:
    folder, families = Path(arguments[0]), tuple(arguments[1:]) or FAMILIES
    results = list(check(folder, families))
    for result in results:
        print(f"{'ok  ' if not result.differences else 'FAIL'} {result.name}")
        for difference in result.differences:
            print(f"       {difference[:400]}")
    bad = sum(bool(result.differences) for result in results)
    print(f"{len(results) - bad} of {len(results)} as the SDKs")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

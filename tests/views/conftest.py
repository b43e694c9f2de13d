"""Sessions to draw: a small one with every kind of row, and any that lines of JSON describe."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_nb.messages import AssistantMessage, TextContent, ToolCall, ToolResultMessage, UserMessage
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session

HOSTILE = [
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "one\ntwo\r\nthree\u2028four\u0085five",
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "\"'><svg/onload=alert(3)> &lt;b&gt; &amp; ]]> -->",
    "\u202egnp.exe\u202c\u2066x\u2069 \ufeffbom",
    "nul\0byte \ud800 lone \U000e0041 tag \x9b31m",
    r"<b>html</b> \N \G \L \n {a|b} %s {0} $x `y` </text></style>",
    "漢字かなテスト😀👨‍👩‍👧 e\u0301" * 20,
]


def answer(text: str, *calls: ToolCall, **fields: Any) -> AssistantMessage:
    """Return an answer of a model."""
    content = (*((TextContent(text=text),) if text else ()), *calls)
    return AssistantMessage(
        content=content, api="x", provider="lab", model="mouse", **{"stop_reason": "stop", "timestamp": 1, **fields}
    )


def user(text: str) -> UserMessage:
    """Return a prompt."""
    return UserMessage(content=text, timestamp=1)


@pytest.fixture
def boat() -> Session:
    """Return a session with two branches, tool calls, labels, a compaction and moves of the leaf."""
    session = Session(InMemorySessionStorage())
    session.append_model_change("lab", "mouse")
    session.append_message(user("I am Ada."))
    first = session.append_message(answer("Hello Ada."))
    session.append_message(user("My boat is green."))
    call = ToolCall(id="t1", name="bash", arguments={"command": "ls"})
    session.append_message(answer("I look.", call, stop_reason="toolUse"))
    result = ToolResultMessage(
        tool_call_id="t1", tool_name="bash", content=(TextContent(text="a\nb"),), is_error=True, timestamp=1
    )
    session.append_message(result)
    green = session.append_message(answer("Your boat is green."))
    session.move_to(first)
    session.append_message(user("My boat is a bathtub."))
    tub = session.append_message(answer("", stop_reason="aborted"))
    session.append_label(tub, "tub")
    session.move_to(green)
    session.append_label(green, "serious")
    session.append_compaction("Ada has a green boat.", green, 1234)
    session.append_message(user("And now?"))
    return session


@pytest.fixture
def hostile() -> Session:
    """Return a session in which everything that can hold text holds something nasty."""
    session = Session(InMemorySessionStorage())
    for text in HOSTILE:
        prompt = session.append_message(user(text))
        call = ToolCall(id="t", name=text, arguments={"command": text, text: text})
        session.append_message(answer(text, call, stop_reason="error", error_message=text))
        session.append_message(ToolResultMessage(tool_call_id="t", tool_name=text, content=text, timestamp=1))
        session.append_custom_message(text, text)
        session.append_custom(text, {text: text})
        session.append_label(prompt, text)
        session.append_model_change(text, text)
        session.append_thinking_level_change(text)
        session.append_active_tools_change([text, text])
        session.append_branch_summary(prompt, text)
        session.append_session_info(text)
        session.move_to(prompt)
    return session


@pytest.fixture
def session_of(tmp_path: Path) -> Callable[..., Session]:
    """Return what makes a session of entries given as ``(id, parent)`` or ``(id, parent, fields)``."""

    def make(*entries: tuple[Any, ...]) -> Session:
        stamp = "2026-01-01T00:00:00.000Z"
        lines: list[dict[str, Any]] = [{"type": "session", "version": 3, "id": "s", "timestamp": stamp, "cwd": "/"}]
        for id, parent, *fields in entries:
            message = {"role": "user", "content": f"says {id}"}
            own = fields[0] if fields else {"type": "message", "message": message}
            lines.append({"id": id, "parentId": parent, "timestamp": stamp, **own})
        file = tmp_path / "session.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return Session(JsonlSessionStorage.open(file, read_only=True))

    return make

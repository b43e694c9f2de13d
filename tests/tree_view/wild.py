"""Sessions as nobody would write them: any shape, any text in every place that holds one."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.tree import Session

NASTY = [
    "",
    " ",
    "\n\n\t",
    "<script>alert('script')</script>",
    "<img src=x onerror=alert('img')>",
    "<svg><script>alert('svg')</script><animate onbegin=alert('svg') attributeName=x></svg>",
    "</text></svg></style></title></textarea></script><script>alert('close')</script><!--",
    "\"'><svg/onload=alert('attribute')> &lt;b&gt; &amp; ]]> --> \\",
    "javascript:alert('link') data:text/html,<script>alert('data')</script>",
    'n0"]; evil [URL="javascript:alert(1)" label=<<b>html</b>>]; n1 -> n0; { } | \\N \\G \\L \\l \\r',
    "<TABLE><TR><TD HREF='javascript:alert(2)'>dot</TD></TR></TABLE>",
    "\u202egnp.exe\u202c \u2066אבג\u2069 مرحبا بالعالم \u200f!",
    "👩‍👩‍👧‍👦🏳️‍🌈🇳🇴 漢字かな e\u0301\u0302\u0303\u0304 ﷽ Z̸͓̈́a̶͚͂l̵͔̈́g̷̪͝o̸̟͐",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07 \0 \x9b \u2028 \ufeff \U000e0041",
    "url(https://evil.test/x.png) } * { background: red } /* */ @import 'https://evil.test/x.css';",
    "x" * 400,
    "__proto__",
    "constructor",
]
ROLES = ["user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary", "system"]


def opened(folder: Path, lines: Iterator[dict[str, Any]], *, named: str = "wild") -> Session:
    """Return a session of these entries, from a file, as it would be opened after somebody wrote it."""
    header = {"type": "session", "version": 3, "id": named, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": NASTY[4]}
    file = folder / "wild.jsonl"
    with file.open("w", encoding="utf-8") as stream:
        for line in ({**header, "metadata": {text: text for text in NASTY}}, *lines):
            stream.write(json.dumps(line) + "\n")
    return Session(JsonlSessionStorage.open(file))


def entry(id: str, parent: str | None, text: str, role: str = "user") -> dict[str, Any]:
    """Return a message as it stands in a file."""
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return {
        "type": "message",
        "id": id,
        "parentId": parent,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "message": message,
    }


def chain(count: int) -> Iterator[dict[str, Any]]:
    """Yield one path of so many entries."""
    for number in range(count):
        role = "assistant" if number % 2 else "user"
        yield entry(str(number), str(number - 1) if number else None, f"message {number}", role)


def fan(count: int) -> Iterator[dict[str, Any]]:
    """Yield one entry with so many children, each with a child of its own."""
    yield entry("root", None, "The root")
    for number in range(count):
        yield entry(f"q{number}", "root", f"sibling {number}")
        if number % 10 == 0:
            yield entry(f"a{number}", f"q{number}", f"below {number}", "assistant")


def comb(count: int) -> Iterator[dict[str, Any]]:
    """Yield a path on which every entry has a second child: as many lanes as can be."""
    for number in range(count):
        yield entry(f"m{number}", f"m{number - 1}" if number else None, f"main {number}")
        yield entry(f"s{number}", f"m{number}", f"side {number}", "assistant")
        yield entry(f"t{number}", f"s{number}", f"side of side {number}")


def huge(count: int) -> Iterator[dict[str, Any]]:
    """Yield messages of a million characters: one word, lines, emoji, markup."""
    for number in range(count):
        piece = ("x", "line\n", "👩‍👩‍👧", "<b onclick=alert(1)>", "א ", "\t ")[number % 6]
        text = (piece * (1_000_000 // len(piece)))[:1_000_000]
        yield entry(f"h{number}", f"h{number - 1}" if number else None, text, ("user", "assistant")[number % 2])


def random_tree(seed: int, count: int = 120) -> Iterator[dict[str, Any]]:
    """Yield any entries in any shape: several roots, orphans, cycles, repeated ids, odd kinds, nasty strings."""
    dice = random.Random(seed)
    ids = [f"{number:x}{dice.choice(NASTY)}" for number in range(count)]
    for number, id in enumerate(ids):
        yield {**_fields(dice, ids), "id": id, "parentId": _parent(dice, ids, number), "timestamp": _time(dice)}
        if dice.random() < 0.05:
            yield {**_fields(dice, ids), "id": id, "parentId": dice.choice(ids), "timestamp": "again"}
    yield entry("a", "b", "cycle")
    yield entry("b", "c", "cycle")
    yield entry("c", "a", "cycle")
    yield entry("self", "self", "its own parent")
    yield {"type": "leaf", "id": "end", "parentId": ids[-1], "timestamp": "t", "targetId": dice.choice(ids)}


def _parent(dice: random.Random, ids: list[str], number: int) -> str | None:
    chance = dice.random()
    if number == 0 or chance < 0.06:
        return None
    if chance < 0.12:
        return dice.choice(["lost", "<b>lost</b>", "__proto__"])
    if chance < 0.17:
        return dice.choice(ids)  # perhaps one that comes later: a cycle
    return dice.choice(ids[max(0, number - 3) : number])


def _time(dice: random.Random) -> str:
    return dice.choice(["2026-01-01T00:00:00.000Z", *NASTY[3:6], "yesterday"])


def _fields(dice: random.Random, ids: list[str]) -> dict[str, Any]:
    def any_text() -> str:
        return dice.choice(NASTY)

    kinds: dict[str, Callable[[], dict[str, Any]]] = {
        "message": lambda: {
            "message": _message(dice),
            "cell": {"n": dice.choice([1, 2, any_text()]), "id": any_text()},
        },
        "model_change": lambda: {"provider": any_text(), "modelId": any_text()},
        "thinking_level_change": lambda: {"thinkingLevel": any_text()},
        "active_tools_change": lambda: {"activeToolNames": [any_text(), any_text()]},
        "compaction": lambda: {"summary": any_text(), "firstKeptEntryId": dice.choice(ids), "tokensBefore": 9},
        "branch_summary": lambda: {"summary": any_text(), "fromId": dice.choice(ids)},
        "custom": lambda: {"customType": any_text(), "data": {any_text(): any_text()}},
        "custom_message": lambda: {"customType": any_text(), "content": any_text(), "display": True},
        "label": lambda: {"targetId": dice.choice(ids), "label": any_text()},
        "session_info": lambda: {"name": any_text()},
        "leaf": lambda: {"targetId": dice.choice([*ids, None])},
        "context_edit": lambda: {"targetId": dice.choice(ids), "replacement": None},
        "usage": lambda: {"kind": any_text(), "model": any_text(), "usage": {"totalTokens": 5}},
    }
    kind = dice.choice(["message"] * 12 + list(kinds))
    made = kinds[kind]()
    return {"type": kind if dice.random() < 0.97 else any_text() or "odd", **made}


def _message(dice: random.Random) -> dict[str, Any]:
    def any_text() -> str:
        return dice.choice(NASTY)

    blocks = [
        {"type": "text", "text": any_text()},
        {"type": "thinking", "thinking": any_text()},
        {"type": "toolCall", "id": any_text(), "name": any_text(), "arguments": {any_text(): any_text()}},
        {"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": any_text()}},
        {"type": "image", "data": "AA==", "mimeType": any_text()},
    ]
    return {
        "role": dice.choice([*ROLES, "user", "assistant", "assistant", any_text() or "odd"]),
        "content": dice.choice([any_text(), dice.sample(blocks, dice.randint(0, 4))]),
        "model": any_text(),
        "provider": any_text(),
        "usage": {
            "input": 5,
            "output": dice.choice([0, 7, any_text()]),
            "cost": {"total": dice.choice([0, 0.01, "x"])},
        },
        "stopReason": dice.choice(["stop", "error", "aborted", any_text()]),
        "errorMessage": any_text(),
        "toolName": any_text(),
        "toolCallId": any_text(),
        "isError": dice.choice([True, False, None]),
        "summary": any_text(),
        "command": any_text(),
        "output": any_text(),
        "customType": any_text(),
        "timestamp": 1,
    }

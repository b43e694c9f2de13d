"""Small sessions with branches in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pi_nb.session.tree import Session

HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<script>alert(2)</script>",
    "\"'><svg/onload=alert(3)> &lt;b&gt; &amp; ]]> -->",
    "</textarea></style><iframe srcdoc='<script>alert(4)</script>'>",
    "javascript:alert(5) ${alert(6)} {{7*7}} %s",
    "\u202egnp.exe\u202c\u2066x\u2069 nul\0byte",
    "漢字😀👨‍👩‍👧 e\u0301",
]


def said(text: str, *calls: tuple[str, dict[str, Any]], total: int = 40) -> dict[str, Any]:
    """Return an answer with tool calls."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text}] if text else []
    blocks += [{"type": "toolCall", "id": f"c{n}", "name": c[0], "arguments": c[1]} for n, c in enumerate(calls)]
    usage = {"input": total - 9, "output": 9, "totalTokens": total, "cost": {"total": 0.0125}}
    about = {"stopReason": "stop", "provider": "p", "model": "m-1"}
    return {"role": "assistant", "content": blocks, "usage": usage, **about}


@dataclass
class Talk:
    """Entries of a session with two branches: a question, an answer, and two ways on; the leaf is on the second."""

    session: Session
    question: str
    answer: str
    rome: str
    rome_said: str
    oslo: str
    tool: str
    result: str
    oslo_said: str


def talk(session: Session) -> Talk:
    """Write a conversation with two branches into a session."""
    session.append_model_change("p", "m-1")
    question = session.append_message({"role": "user", "content": "Where to?"})
    answer = session.append_message(said("Rome or Oslo?"))
    rome = session.append_message({"role": "user", "content": "Rome it is"})
    rome_said = session.append_message(said("Then see the Forum."))
    session.move_to(answer)
    oslo = session.append_message({"role": "user", "content": "Oslo please"})
    tool = session.append_message(said("", ("bash", {"command": "ls -la fjord"})))
    content = [{"type": "text", "text": "boats\nislands"}]
    result = session.append_message({"role": "toolResult", "toolCallId": "c0", "toolName": "bash", "content": content})
    oslo_said = session.append_message(said("Then see the Opera.", total=120))
    return Talk(session, question, answer, rome, rome_said, oslo, tool, result, oslo_said)

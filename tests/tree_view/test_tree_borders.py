"""What passes between a page and the kernel: half characters both ways, and pages fetched at the same time."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import random
from typing import Any

import pytest

from pi_nb.errors import SessionError
from pi_nb.session.tree import Session
from pi_nb.views.ask_view import AskView
from pi_nb.views.sayable import sayable
from pi_nb.views.tree_agent import AgentDesk, AgentState
from pi_nb.views.tree_view import TreeView

HALF = "half \ud83d of a face"
WHOLE = "half \ufffd of a face"


def test_half_characters_in_a_session_reach_the_page_as_a_sign(session: Session, comms: dict[str, Any]) -> None:
    """Rows, labels, name, context, line and comparison all arrive, whatever stands in the session."""
    prompt = session.append_message({"role": "user", "content": HALF})
    answer = session.append_message({"role": "assistant", "content": [{"type": "text", "text": HALF}]})
    session.append_label(prompt, HALF)
    session.append_session_info(HALF)
    view = TreeView(session)
    comm = comms[view.model_id]
    (delta,) = comm.ask({"op": "sync", "id": 1, "epoch": "", "have": 0})
    assert (delta["rows"][0]["text"], delta["labels"][prompt], delta["name"]) == (WHOLE, WHOLE, WHOLE)
    for op in ("context", "entry"):
        (found,) = comm.ask({"op": op, "id": 2, "entry": prompt})
        assert found["op"] == "ack", found
    (compared,) = comm.ask({"op": "compare", "id": 3, "entries": [prompt, answer]})
    assert compared["op"] == "ack", compared
    (moved,) = comm.ask({"op": "checkout", "id": 4, "entry": prompt})
    assert moved["editor_text"] == WHOLE
    view.set_live({"text": HALF, "tools": [HALF]})
    (live,) = [message["content"] for message in comm.take() if message["method"] == "custom"]
    assert live["rows"][""]["text"] == WHOLE
    view.close()


def test_half_characters_from_a_page_are_a_sign_before_they_are_written(
    session: Session, comms: dict[str, Any]
) -> None:
    """Labels, ids and unknown operations with half characters are answered, and nothing of them is written."""
    prompt = session.append_message({"role": "user", "content": "x"})
    view = TreeView(session)
    comm = comms[view.model_id]
    (done,) = comm.ask({"op": "label", "id": 1, "entry": prompt, "label": HALF})
    assert done["op"] == "ack"
    assert session.labels[prompt] == WHOLE
    for wrong in ({"op": "entry", "entry": HALF}, {"op": HALF}, {"op": "context", "entry": HALF, "id": HALF}):
        (refused,) = comm.ask({"id": 2, **wrong})
        assert refused["op"] == "nak", refused
    view.close()


def test_half_characters_in_traits_and_questions(memory: Session, comms: dict[str, Any]) -> None:
    """How the agent stands, and what a question asks, can be told too; a question answers to the id the page has."""
    view = TreeView(memory)
    view.set_agent(AgentState(steer=(HALF,), problem=HALF))
    states = [message["state"] for message in comms[view.model_id].take() if message["method"] == "update"]
    assert states[-1]["agent"]["problem"] == WHOLE
    view.close()
    given: list[tuple[bool, bool, str]] = []
    question = {"call": HALF, "tool": "bash", "blocks": [{"label": "command", "text": HALF}]}
    asked = AskView(question, ready=lambda: None, answer=lambda *answer: given.append(answer))
    comm = comms[asked.model_id]
    assert comm.state["question"]["blocks"][0]["text"] == WHOLE
    comm.ask({"op": "answer", "call": WHOLE, "allowed": False, "reason": HALF})
    assert given == [(False, False, WHOLE)]
    asked.close()


def test_only_what_cannot_be_said_is_changed() -> None:
    """Other values stay as they are, the same objects even; keys are mended too, and depth has an end."""
    plain = {"a": [1, None, "é"], "b": float("inf")}
    assert sayable(plain) is plain
    assert sayable({HALF: (1, b"x", HALF)}) == {WHOLE: [1, b"x", WHOLE]}
    deep: Any = HALF
    for _ in range(5000):
        deep = [deep]
    json.dumps(sayable({"deep": deep, "text": HALF}), ensure_ascii=False).encode()


async def _fetch(desk: AgentDesk, part: int, token: str = "") -> dict[str, Any]:
    return dict(await desk.do({"op": "page", "part": part, "token": token}))


def _unpacked(parts: list[dict[str, Any]]) -> str:
    return gzip.decompress(b"".join(base64.b64decode(part["data"]) for part in parts)).decode()


def test_two_pages_at_the_same_time_are_two(memory: Session) -> None:
    """A download goes on with the page it began with, though another was begun and ended, and the session grew."""
    dice = random.Random(1)
    for _ in range(60):
        memory.append_message({"role": "user", "content": dice.randbytes(4000).hex()})
    desk = AgentDesk(None, memory)  # type: ignore[arg-type]  # nobody is asked

    async def both() -> None:
        first = [await _fetch(desk, 0)]
        memory.append_message({"role": "user", "content": "afterwards-added \ud83d"})
        second = [await _fetch(desk, 0)]
        for number in range(1, second[0]["parts"]):
            second.append(await _fetch(desk, number, second[0]["token"]))
        for number in range(1, first[0]["parts"]):
            first.append(await _fetch(desk, number, first[0]["token"]))
        assert "afterwards-added" not in _unpacked(first)
        assert "afterwards-added" in _unpacked(second)
        for number, token in ((1, ""), (1, first[0]["token"]), (10**9, second[0]["token"])):
            with pytest.raises(SessionError, match="not kept any more"):
                await _fetch(desk, number, token)

    asyncio.run(both())

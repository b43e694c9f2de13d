"""Real pi reads what we write, and we read what real pi writes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_nb.messages import AssistantMessage, TextContent, Usage, UserMessage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session

pytestmark = pytest.mark.npm
Peer = Callable[..., Any]


def described(session: Session) -> dict[str, Any]:
    """Return what the peer says of a session, as we see it."""
    context = session.context()
    tools = context.active_tool_names
    return {
        "file": str(session.file),
        "leafId": session.leaf_id,
        "entries": [entry.to_wire() for entry in session.entries()],
        "branch": [entry.id for entry in session.path()],
        "messages": [message.to_wire() for message in context.messages],
        "model": context.model and {"provider": context.model.provider, "modelId": context.model.model_id},
        "thinkingLevel": context.thinking_level,
        "activeToolNames": None if tools is None else list(tools),
        "name": session.name,
        "labels": dict(session.labels),
    }


def user(text: str) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), timestamp=1767225600000)


def assistant(text: str) -> AssistantMessage:
    return AssistantMessage(
        content=(TextContent(text=text),),
        api="faux",
        provider="faux",
        model="faux-1",
        usage=Usage.of(input=1, output=2),
        stop_reason="stop",
        timestamp=1767225600000,
    )


@pytest.fixture
def ours(tmp_path: Path) -> Session:
    """A session with a branch, a label, a change of model, a compaction, a name, and a moved leaf, closed."""
    with SessionRepo(tmp_path).create("/demo/proj", metadata={"by": "pi_nb"}) as session:
        session.append_model_change("faux", "faux-2")
        session.append_message(user("one"))
        first = session.append_message(assistant("answer one"))
        session.append_message(user("two ☕ \u2028 \ud83d"))
        session.append_message(assistant("answer two"), extra={"cell": "c1"})
        session.append_label(first, "first answer")
        session.checkout(first)
        session.append_branch_summary(first, "what was tried")
        session.append_thinking_level_change("high")
        session.append_custom_message("note", "from an application", details={"a": [1, None]})
        session.append_active_tools_change(["read"])
        third = session.append_message(user("three"))
        session.append_compaction("the story so far", third, 1234, details={"files": []})
        session.append_message(assistant("answer three"))
        session.append_session_info("a name")
        session.move_to(third)
    return session


def test_pi_reads_what_we_write(ours: Session, peer: Peer) -> None:
    """Leaf, branch, every entry, context messages, model, level, tools, name and labels are the same to both."""
    assert peer("read", ours.file) == described(ours)


def test_we_go_on_where_pi_went_on(ours: Session, peer: Peer, tmp_path: Path) -> None:
    """Pi appends to our file, we open it again, and see what it sees."""
    seen = peer("extend", ours.file)
    with SessionRepo(tmp_path).open(ours.id) as session:
        assert session.warnings == ()
        assert described(session) == seen
        session.append_message(user("said by us"))
        assert described(session) == peer("read", session.file)


def test_we_read_what_pi_writes(peer: Peer, tmp_path: Path) -> None:
    """A session made by pi is listed, opened and shown as pi shows it."""
    seen = peer("write", tmp_path / "sessions")
    repo = SessionRepo(tmp_path / "sessions")
    info = repo.list("/demo/proj")[0]
    assert (info.file, info.name, info.metadata) == (Path(seen["file"]), "a name of two lines", {"by": "pi"})
    before = info.file.read_bytes()
    with repo.open(info.id) as session:
        assert session.warnings == ()
        assert described(session) == seen
    assert info.file.read_bytes() == before


def test_pi_reads_our_forks(ours: Session, peer: Peer, tmp_path: Path) -> None:
    """A fork at an answer has pi's own ids and context."""
    repo = SessionRepo(tmp_path)
    with repo.open(ours.id, read_only=True) as session, repo.fork(session, at=session.path()[2].id) as fork:
        assert peer("read", fork.file) == described(fork)


def test_the_command_line_of_today_reads_it_too(ours: Session, peer: Peer, packages: Path, tmp_path: Path) -> None:
    """Pi 1.6.0 knows no leaf entries; where the last line is none it has our branch and our context."""
    if not (packages / "node_modules" / "@earendil-works" / "pi-coding-agent").is_dir():
        pytest.skip("pi 1.6.0 is not in the npm folder (PI_NB_NPM_CACHE)")
    with SessionRepo(tmp_path).open(ours.id) as session:
        session.append_message(user("at the end"))
    seen = peer("manager", session.file)
    mine = described(session)
    assert (seen["leafId"], seen["branch"], seen["messages"]) == (mine["leafId"], mine["branch"], mine["messages"])
    assert seen["entries"] == [entry["id"] for entry in mine["entries"]]
    assert seen["name"] == "a name"
    assert json.loads(session.file.read_text(encoding="utf-8").splitlines()[-1])["type"] == "message"

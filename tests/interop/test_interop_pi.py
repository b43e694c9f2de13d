"""Real pi reads what we write, and we read what real pi writes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_nb.messages import AssistantMessage, TextContent, Usage, UserMessage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session

pytestmark = pytest.mark.npm
Peer = Callable[..., Any]
Step = tuple[str, int, str]
Act = Callable[[Session, str, str], Any]


def _compact(session: Session, _: str, text: str) -> None:
    """Keep the last entry, unless it is a compaction: 0.80.10 shows the summaries of kept compactions too."""
    path = session.path()
    kept = path[-1].id if path and path[-1].type != "compaction" else "nothing"
    session.append_compaction(text or "so far", kept, 7)


ACTS: dict[str, Act] = {
    "user": lambda session, _, text: session.append_message(user(text)),
    "assistant": lambda session, _, text: session.append_message(assistant(text)),
    "move": lambda session, entry, _: session.move_to(entry),
    "root": lambda session, *_: session.move_to(None),
    "label": lambda session, entry, text: session.append_label(entry, text),
    "name": lambda session, _, text: session.append_session_info(text),
    "model": lambda session, _, text: session.append_model_change("faux", text or "m"),
    "level": lambda session, *_: session.append_thinking_level_change("low"),
    "note": lambda session, _, text: session.append_custom_message("note", text),
    "custom": lambda session, _, text: session.append_custom("data", {"text": text}),
    "summary": lambda session, entry, text: session.append_branch_summary(entry, text),
    "compact": _compact,
}


def played(script: list[Step], repo: SessionRepo) -> Session:
    """Return a new session, with something said, in which these steps were taken."""
    session = repo.create("/demo/proj")
    session.append_message(user("at first"))
    session.append_message(assistant("at once"))
    for name, number, text in script:
        entries = session.entries()
        ACTS[name](session, entries[number % len(entries)].id, text)
    return session


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


def test_the_command_line_of_today_goes_on_where_the_file_ends(ours: Session, peer: Peer, tmp_path: Path) -> None:
    """Pi 1.6.0 knows no leaf entries: it disagrees where one is the last line, and a handoff makes it agree."""
    with SessionRepo(tmp_path).open(ours.id) as session:
        last = session.entries()[len(session) - 1]
        assert last.type == "leaf"
        assert peer("manager", session.file)["leafId"] == last.id
        assert session.handoff()
        assert as_manager(session) == peer("manager", session.file)
        assert session.handoff() is None


def test_we_read_what_the_command_line_of_today_writes(peer: Peer, tmp_path: Path) -> None:
    """A session made by pi 1.6.0, with branches, a summary and a compaction, is to us what it is to pi."""
    seen = peer("manager-write", tmp_path)
    before = Path(seen["file"]).read_bytes()
    with SessionRepo(tmp_path).open(seen["file"], read_only=True) as session:
        assert session.warnings == ("The session is read-only: it was opened for reading.",) or not session.warnings
        assert as_manager(session) == seen
    assert Path(seen["file"]).read_bytes() == before


def as_manager(session: Session) -> dict[str, Any]:
    """Return what pi 1.6.0 says of a session, as we see it."""
    mine = described(session)
    keys = ("file", "leafId", "branch", "messages", "model", "thinkingLevel", "name")
    return {key: mine[key] for key in keys} | {"entries": [entry["id"] for entry in mine["entries"]]}


STEPS = st.lists(st.tuples(st.sampled_from(sorted(ACTS)), st.integers(0, 30), st.text(max_size=8)), max_size=14)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(scripts=st.lists(STEPS, min_size=8, max_size=8))
def test_both_agree_on_whatever_is_done(scripts: list[list[Step]], peer: Peer) -> None:
    """Random steps: both pis see our leaf, branch, context and state; 1.6.0 after a handoff."""
    with tempfile.TemporaryDirectory() as folder:
        sessions = [played(script, SessionRepo(folder)) for script in scripts]
        files = [session.file for session in sessions]
        assert peer("read", *files) == [described(session) for session in sessions]
        for session in sessions:
            session.handoff()
        assert peer("manager", *files) == [as_manager(session) for session in sessions]
        for session in sessions:
            session.close()

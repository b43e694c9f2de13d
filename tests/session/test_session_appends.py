"""What is appended is what the file says, then and later, whatever becomes of what was handed over."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import SessionError
from pi_nb.messages import AssistantMessage, TextContent, ToolCall, ToolResultMessage, Usage, UserMessage
from pi_nb.session import lines
from pi_nb.session.loading import load
from pi_nb.session.pieces import PIECE
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """A session in a file."""
    made = SessionRepo(tmp_path).create("/demo", id="s")
    made.append_message(UserMessage(content="hello"))
    return made


def reread(session: Session) -> list[bytes]:
    """Return the lines of the file."""
    assert session.file is not None
    return list(load(session.file).scan.index.lines)


def test_what_is_changed_afterwards_changes_nothing(session: Session) -> None:
    """A caller's own dictionaries go on being the caller's: memory and file say the same, and a fork too."""
    data: dict[str, Any] = {"a": [1]}
    arguments = {"path": "x"}
    call = AssistantMessage(content=(ToolCall(id="1", name="n", arguments=arguments),), usage=Usage.of(input=3))
    result = ToolResultMessage(tool_call_id="1", tool_name="n", content=(TextContent(text="ok"),), details=data)
    ids = [
        session.append_custom("c", data),
        session.append_message(call),
        session.append_message(result),
        session.append_compaction("s", None, 5, details=data),
        session.append_message(UserMessage(content="x"), extra=data),
    ]
    data["a"].append(2)
    data["b"] = float("nan")
    call.content[0].arguments["path"] = "changed"  # type: ignore[union-attr]
    assert session.get(ids[0]).data == {"a": [1]}  # type: ignore[union-attr]
    assert session.get(ids[1]).message.content[0].arguments == {"path": "x"}  # type: ignore[union-attr]
    assert list(session.storage.index.lines) == reread(session)
    assert session.file is not None
    session.file.unlink()
    session.append_message(UserMessage(content="written anew"))
    assert len(reread(session)) == 7


def test_entries_just_written_are_those_read_back(session: Session) -> None:
    """Every kind of entry is the same right after its append and when the file is opened again."""
    first = session.leaf_id
    assert first is not None
    usage = Usage.of(input=1, output=2)
    session.append_model_change("p", "m")
    session.append_thinking_level_change("high")
    session.append_active_tools_change(("a", "b"))
    session.append_message(AssistantMessage(content=(TextContent(text="t"),), usage=usage, stop_reason="stop"))
    session.append_compaction("so far", first, 9, details={"x": (1, 2)}, usage=usage)
    session.append_branch_summary(first, "there", usage=usage, from_hook=True)
    session.append_custom("c", (1, {"deep": [TextContent(text="value")]}))
    session.append_custom_message("c", [TextContent(text="block")], details=usage)
    session.append_context_edit(first, [TextContent(text="other")])
    session.append_usage("k", "p", "m", usage)
    session.append_label(first, "one")
    session.append_session_info("name")
    session.move_to(first)
    now = list(session.entries())
    with SessionRepo(session.file.parent.parent).open("s", read_only=True) as again:  # type: ignore[union-attr]
        assert list(again.entries()) == now
        assert [lines.encode(entry) for entry in again.entries()] == [lines.encode(entry) for entry in now]


@pytest.mark.parametrize("name", ["type", "id", "parentId", "timestamp", "message"])
def test_extra_fields_stand_beside_an_entrys_own(session: Session, name: str) -> None:
    """An application cannot write over the envelope; it is told, and nothing is written."""
    before = reread(session)
    with pytest.raises(SessionError, match=f"as the entry's own: {name}") as caught:
        session.append_message(UserMessage(content="x"), extra={name: 7})
    assert caught.value.code == "invalid_entry"
    with pytest.raises(SessionError, match="targetId"):
        session.move_to(None, extra={"targetId": 5})
    assert reread(session) == before


@pytest.mark.parametrize("depth", [600, 3_000])
def test_deep_values_are_read_back_at_once(session: Session, depth: int) -> None:
    """What can be written can be read in the same process, and does not fail who listens."""
    deep: Any = []
    for _ in range(depth):
        deep = [deep]
    heard: list[int] = []
    session.subscribe(lambda entry, position: heard.append(position))
    made = session.append_custom("c", {"deep": deep})
    found: Any = session.entry(made).data["deep"]  # type: ignore[attr-defined]
    for _ in range(depth):
        (found,) = found
    assert (found, heard) == ([], [1])


def test_a_bad_long_file_leaves_no_thread(tmp_path: Path) -> None:
    """Reading ahead ends with the reading, also when it fails."""
    file = tmp_path / "s.jsonl"
    header = b'{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/"}\n'
    file.write_bytes(header + b"{oops}\n" + b" " * (2 * PIECE) + b"\n")
    with pytest.raises(SessionError) as kept:
        load(file)
    assert kept.value.line == 2
    assert [thread.name for thread in threading.enumerate() if "pi_nb-read" in thread.name] == []

"""Entries and headers as values: kept whole, known or not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from pydantic import ValidationError

from pi_nb.messages import AssistantMessage, UnknownMessage, UserMessage
from pi_nb.session.entries import Header, MessageEntry, UnknownEntry, parse_entry
from pi_nb.session.ids import new_entry_id, new_session_id, now_iso, parse_time, time_ms

from .conftest import entry, said

KINDS: list[dict[str, Any]] = [
    said("1", None),
    said("2", "1", role="assistant"),
    entry("model_change", "3", "2", provider="p", modelId="m"),
    entry("thinking_level_change", "4", "3", thinkingLevel="high"),
    entry("active_tools_change", "5", "4", activeToolNames=[]),
    entry("compaction", "6", "5", summary="S", firstKeptEntryId="2", tokensBefore=10, details={"a": 1}, fromHook=True),
    entry("branch_summary", "7", "6", fromId="2", summary="B"),
    entry("custom", "8", "7", customType="c", data={"x": [1, None]}),
    entry("custom", "8b", "7", customType="c"),
    entry("custom_message", "9", "8", customType="c", content="hey", display=False, details=None),
    entry("label", "a", "9", targetId="1", label="x"),
    entry("label", "b", "a", targetId="1"),
    entry("session_info", "c", "b", name=None),
    entry("leaf", "d", "c", targetId=None),
    entry("context_edit", "e", "d", targetId="1", replacement=None),
    entry("context_edit", "f", "e", targetId="1", replacement={"content": "new"}),
    entry("usage", "g", "f", kind="k", provider="p", model="m", usage={"input": 1}, note="n"),
]


@pytest.mark.parametrize("data", KINDS, ids=lambda data: data["type"])
def test_every_kind_survives_a_round_trip(data: dict[str, Any]) -> None:
    """Reading and writing an entry changes nothing, nulls and absent fields included."""
    parsed = parse_entry(data)
    assert type(parsed) is not UnknownEntry
    assert parsed.to_wire() == data


@pytest.mark.parametrize(
    "data",
    [
        entry("mystery", "1", None, payload={"deep": [1]}),
        {**said("1", None), "cell": {"id": "x"}},
        said("1", None, role="narrator"),
        entry("message", "1", None, message={"role": "user", "content": [{"type": "hologram", "z": 1}], "odd": None}),
        entry("compaction", "1", None, summary=5),
        entry("message", "1", None),
        entry("message", "1", None, message="no object"),
        entry("label", "1", None),
    ],
)
def test_what_is_not_known_is_kept(data: dict[str, Any]) -> None:
    """Unknown kinds, roles, blocks, fields and shapes are written back as they were."""
    assert parse_entry(data).to_wire() == data


@pytest.mark.parametrize("content", ["missing", None])
@pytest.mark.parametrize(("role", "kind"), [("user", UserMessage), ("assistant", AssistantMessage)])
def test_a_message_without_content_is_an_empty_one(role: str, kind: type, content: str | None) -> None:
    """Hand-edited files lack content now and then; that makes an empty message, not an error."""
    message = {"role": role} if content == "missing" else {"role": role, "content": None}
    parsed = parse_entry(entry("message", "1", None, message=message))
    assert isinstance(parsed, MessageEntry)
    assert isinstance(parsed.message, kind)
    assert parsed.message.content == ()


def test_a_message_with_a_bad_field_keeps_its_role() -> None:
    """A tool result without a call id is no tool result to send, but it is still shown and kept."""
    parsed = parse_entry(entry("message", "1", None, message={"role": "toolResult", "content": []}))
    assert isinstance(parsed, MessageEntry)
    assert type(parsed.message) is UnknownMessage
    assert parsed.message.role == "toolResult"


@pytest.mark.parametrize("change", [{"id": 5}, {"parentId": 1}, {"timestamp": None}, {"type": None}])
def test_a_wrong_envelope_is_an_error(change: dict[str, Any]) -> None:
    """Without type, id, parent and time nothing is an entry."""
    with pytest.raises(ValidationError):
        parse_entry({**said("1", None), **change})


def test_headers_keep_what_they_do_not_know() -> None:
    """A header's optional fields are left out when unset, and unknown ones are kept."""
    data = {"type": "session", "version": 3, "id": "x", "timestamp": "t", "cwd": "/", "future": [1]}
    assert json.dumps(Header.model_validate(data).to_wire()) == json.dumps(data)
    assert Header(version=3, id="x", timestamp="t", cwd="/").to_wire() == {
        k: v for k, v in data.items() if k != "future"
    }


def test_ids() -> None:
    """Session ids are UUIDs of version 7 in order of time; entry ids are 8 hexadecimal digits, none taken."""
    first, second = new_session_id(), new_session_id()
    assert first[14] == second[14] == "7"
    assert first[19] in "89ab"
    assert first[:13] <= second[:13]
    taken = {new_entry_id(()) for _ in range(2_000)}
    assert len({new_entry_id(taken) for _ in range(2_000)} | taken) == 4_000
    assert all(len(id) == 8 and int(id, 16) >= 0 for id in taken)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_ids_are_not_those_of_a_parent_process() -> None:
    """A forked process has its own randomness."""
    code = """
import os
from pi_nb.session.ids import new_entry_id
new_entry_id(())
child = os.fork()
if child:
    os.wait()
print(new_entry_id(()), flush=True)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert len(set(done.stdout.split())) == 2


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-01-01T00:00:00.000Z", 1767225600000),
        ("2026-01-01", 1767225600000),
        ("2026-01-01T00:00:00+02:00", 1767218400000),
        ("2026-01-01T00:00:00", 1767225600000),
        ("yesterday", None),
        ("", None),
        (5, None),
    ],
)
def test_times_are_read_tolerantly(text: object, ms: int | None) -> None:
    """A time that is none is None, never an error."""
    assert time_ms(text) == ms


def test_now() -> None:
    """A time stamp has milliseconds and a Z, and can be read."""
    stamp = now_iso()
    assert len(stamp) == 24
    assert stamp.endswith("Z")
    assert parse_time(stamp) is not None

"""What the tests of sessions share: small files, small trees, and a folder of their own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:  # lets tests import what stands beside them, however pytest was started
    sys.path.insert(0, ROOT)

HEADER = {"type": "session", "version": 3, "id": "s-1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/demo"}


def said(id: str, parent: str | None, text: str = "", role: str = "user", **more: Any) -> dict[str, Any]:
    """Return a message entry as it stands in a file."""
    message = {"role": role, "content": [{"type": "text", "text": text or id}], "timestamp": 1}
    if role == "assistant":
        message |= {"api": "a", "provider": "p", "model": "m", "stopReason": "stop"}
    return entry("message", id, parent, message=message, **more)


def entry(type: str, id: str, parent: str | None, **fields: Any) -> dict[str, Any]:
    """Return an entry of any kind as it stands in a file."""
    return {"type": type, "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", **fields}


def line(value: Any) -> bytes:
    """Return a value as pi writes it, line feed included."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


@pytest.fixture
def repo(tmp_path: Path) -> SessionRepo:
    return SessionRepo(tmp_path / "sessions")


@pytest.fixture
def make_file(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes a session file: bytes as they are, anything else as a line."""

    def make(*parts: Any, header: Any = HEADER, name: str = "s.jsonl") -> Path:
        file = tmp_path / name
        parts = parts if header is None else (header, *parts)
        file.write_bytes(b"".join(part if isinstance(part, bytes) else line(part) for part in parts))
        return file

    return make


@pytest.fixture
def opened(make_file: Callable[..., Path]) -> Iterator[Callable[..., Session]]:
    """Return what writes a session file and opens it; it is closed afterwards."""
    sessions: list[Session] = []

    def make(*parts: Any, repair: bool = False, **options: Any) -> Session:
        sessions.append(Session(JsonlSessionStorage.open(make_file(*parts, **options), repair=repair)))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


@pytest.fixture(params=["memory", "jsonl"])
def session(request: pytest.FixtureRequest, repo: SessionRepo) -> Iterator[Session]:
    """A new session, of each kind of storage."""
    made = Session(InMemorySessionStorage()) if request.param == "memory" else repo.create("/demo")
    yield made
    made.close()

"""Where sessions are kept, and which of them belong to something; light, so that a notebook extension loads at once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["default_root", "find_bound"]

_LONGEST_HEADER = 64 * 1024


def default_root() -> Path:
    """Return the folder pi's sessions are in: what the environment names, else ``~/.pi/agent/sessions``."""
    named = os.environ.get("PI_CODING_AGENT_SESSION_DIR")
    if named:
        return Path(named).expanduser()
    agent = os.environ.get("PI_CODING_AGENT_DIR")
    return (Path(agent).expanduser() if agent else Path.home() / ".pi" / "agent") / "sessions"


def find_bound(root: Path, key: str, value: str) -> list[Path]:
    """Return the session files whose header's metadata has this value, the one written last first.

    Only the first line of each file is read; a file without a header that can be read is passed over.
    """
    found = [file for file in root.glob("*/*.jsonl") if file.is_file() and value in _bindings(file, key)]
    return sorted(found, key=_written, reverse=True)


def _bindings(file: Path, key: str) -> Iterator[object]:
    try:
        with file.open("rb") as lines:
            metadata = json.loads(lines.readline(_LONGEST_HEADER))["metadata"]
        yield metadata[key]
    except (OSError, ValueError, KeyError, TypeError):  # no file any more, no JSON, no such metadata
        return


def _written(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0

"""Where sessions are kept, and which of them belong to something; light, so that a notebook extension loads at once."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["default_root", "find_bound", "header_metadata", "session_files", "written"]

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
    found = [file for file in session_files(root) if value == header_metadata(file).get(key)]
    return sorted(found, key=written, reverse=True)


def session_files(root: Path) -> Iterator[Path]:
    """Yield what may be a session's file in any folder of the root; never a pipe or a device, which have no end."""
    yield from (file for file in root.glob("*/*.jsonl") if file.is_file())


def header_metadata(file: Path) -> dict[str, Any]:
    """Return what a session file's first line says of where it belongs; nothing if it cannot be read."""
    try:
        with file.open("rb") as lines:
            metadata = json.loads(lines.readline(_LONGEST_HEADER))["metadata"]
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):  # no file any more, no header
        return {}
    return metadata if isinstance(metadata, dict) else {}


def written(file: Path) -> float:
    """Return when a file was written last, in seconds since 1970; 0 if it is not there any more."""
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0

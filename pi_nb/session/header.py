"""The first line of a session file."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

from pi_nb.errors import SessionError
from pi_nb.session import lines
from pi_nb.session.entries import Header

__all__ = ["CURRENT_VERSION", "parse_header"]

CURRENT_VERSION: Final = 3


def parse_header(line: bytes, name: str) -> tuple[Header, list[str]]:
    """Return the header that a line holds, and what is odd about it, one sentence each.

    Args:
        line: The first line of a file.
        name: The file, for messages.

    Raises:
        SessionError: ``invalid_session`` if it is no header, or of a version this program does not know.
    """
    try:
        data = lines.decode(line)
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("type") != "session":
        raise SessionError(f"{name} is no session: its first line is not a session header.", path=name, line=1)
    fault = _fault(data)
    if fault:
        raise SessionError(f"{name} is no session that can be read: {fault}.", path=name, line=1)
    try:
        return Header.model_validate({"version": 1, **data}), _warnings(data)
    except ValidationError as error:
        raise SessionError(f"{name} is no session that can be read: {error}.", path=name, line=1) from error


def _fault(data: dict[str, Any]) -> str | None:
    """Return what makes a header useless, or None."""
    version = data.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int | float) or version not in (1, 2, 3):
        return f"its version is {version!r} and this program knows 1 to {CURRENT_VERSION}; a newer one may read it"
    if not isinstance(data.get("id"), str) or not data["id"]:
        return "its header has no id"
    for name in ("timestamp", "cwd", "parentSession"):
        if data.get(name) is not None and not isinstance(data[name], str):
            return f"{name} in its header is not a string"
    if data.get("metadata") is not None and not isinstance(data["metadata"], dict):
        return "metadata in its header is not an object"
    return None


def _warnings(data: dict[str, Any]) -> list[str]:
    """Return what can be lived with."""
    missing = [f"The header has no {name}." for name in ("timestamp", "cwd") if not data.get(name)]
    null = [name for name in ("parentSession", "metadata") if name in data and data[name] is None]
    return missing + [f"The header's {name} is null; it should be left out." for name in null]

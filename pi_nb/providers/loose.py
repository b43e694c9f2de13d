"""Reading JSON that may be of any shape: each function gives its type, or that type's nothing."""

from __future__ import annotations

from typing import Any

__all__ = ["as_count", "as_index", "as_list", "as_object", "as_text"]


def as_object(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """Return an array, or an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """Return a text, or an empty one."""
    return value if isinstance(value, str) else ""


def as_index(value: Any) -> int:
    """Return a position, or the first."""
    return value if isinstance(value, int) else 0


def as_count(value: Any) -> int:
    """Return a number of things, or none."""
    return max(0, int(value)) if isinstance(value, int | float) and value == value and abs(value) < 1e15 else 0

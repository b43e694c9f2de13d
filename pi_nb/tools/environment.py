"""What the programs that tools start see of this process's environment: not its keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping

__all__ = ["SECRET_ENDINGS", "child_environment", "is_secret"]

SECRET_ENDINGS = ("_API_KEY", "_TOKEN", "_SECRET", "_ACCESS_KEY", "_PASSWORD")
"""Endings of names of variables that are kept from commands."""


def is_secret(name: str) -> bool:
    """Tell whether a variable of this name is likely to hold a key."""
    return f"_{name.upper()}".endswith(SECRET_ENDINGS)


def child_environment(environment: Mapping[str, str], *, keep: Collection[str] = ()) -> dict[str, str]:
    """Return the variables a program may see.

    Args:
        environment: Those of this process.
        keep: Names that may be seen although they look like secrets.
    """
    return {name: value for name, value in environment.items() if name in keep or not is_secret(name)}

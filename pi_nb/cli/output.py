"""What commands write to standard output."""

from __future__ import annotations

import sys

__all__ = ["say"]


def say(text: str) -> None:
    """Write text and a line end, line by line: a reader that goes away in the middle is then noticed."""
    for line in text.split("\n"):
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()

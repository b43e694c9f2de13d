"""Session files that are only looked at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.tree import Session

__all__ = ["open_untouched"]


@contextmanager
def open_untouched(file: Path, *, repair: bool = False) -> Iterator[Session]:
    """Yield the session in a file and leave file and folder as they are: no lock, no rewriting, no backup.

    Args:
        file: The file.
        repair: True to leave bad lines out, in memory.

    Raises:
        SessionError: It cannot be opened.
    """
    session = Session(JsonlSessionStorage.open(file, repair=repair, read_only=True))
    try:
        yield session
    finally:
        session.close()

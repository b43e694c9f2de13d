"""Session files as people name them on the command line, and opening those that are only looked at."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pi_nb.errors import SessionError
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session

__all__ = ["add_file", "add_root", "near", "open_untouched", "session_file"]


def add_file(command: argparse.ArgumentParser) -> None:
    """Declare ``FILE``, and the folder in which an id or a name is looked up."""
    command.add_argument("file", metavar="FILE", help="session file; or a session's id, an end of one, or its name")
    add_root(command)


def add_root(command: argparse.ArgumentParser) -> None:
    """Declare the folder in which sessions are looked for."""
    command.add_argument("--root", type=Path, metavar="DIR", help="folder of the sessions (default: pi's own)")


def session_file(ref: str, root: Path | None = None) -> Path:
    """Return the file that a command line names: by its path, or by a session's id, an end of one, or its name.

    Args:
        ref: What was typed. Something with a folder, or with a suffix of session files, is always a path.
        root: Folder of the sessions; None for pi's own.

    Raises:
        SessionError: No session, or more than one, goes by that name.
    """
    path = Path(ref).expanduser()
    if path.exists() or path.name != ref or path.suffix == ".jsonl":
        return path
    try:
        return SessionRepo(root).resolve(ref)
    except SessionError as error:
        if error.code != "not_found":
            raise
        hint = "Give a file, an id or an end of one, or a name: pi-nb list shows them."
        raise SessionError(str(error), code="not_found", hint=hint) from None


def near(path: str | Path, root: Path | None = None) -> str:
    """Return a path in short: from the root on if it is below it, else from the home folder on, else whole."""
    for folder, start in ((root, ""), (Path.home(), f"~{os.sep}")):
        if folder is not None and Path(path).is_relative_to(folder):
            return f"{start}{Path(path).relative_to(folder)}"
    return str(path)


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

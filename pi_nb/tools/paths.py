"""Paths as a model writes them, and what to say when one leads nowhere."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from pi_nb.errors import ToolError

__all__ = ["follow", "locate", "missing", "named_errors", "printable", "shown"]

_LOOKED_AT = 5_000  # names in a folder that are compared with one that is missing


def locate(path: str, cwd: str | Path) -> Path:
    """Return the absolute path that a model's ``path`` means; ``~`` is the user's home, ``..`` is left to the system.

    Raises:
        ToolError: No system could have a file of that name.
    """
    if not path.strip():
        raise ToolError("path is empty.")
    try:
        os.fsencode(path)
        return Path(cwd).absolute() / Path(path).expanduser()
    except UnicodeEncodeError:
        raise ToolError(f"path is not valid text: {path!a}") from None
    except RuntimeError:
        raise ToolError(f"{path}: there is no such user.") from None


def follow(path: Path) -> Path:
    """Return where a path leads, links followed, as far as it exists.

    Raises:
        ToolError: Its links go round in a circle, or the system cannot tell.
    """
    try:
        end = path.resolve()
        circle = any(_is_link(place) for place in (end, *end.parents))  # what Python 3.13 leaves of one
    except (OSError, RuntimeError, ValueError) as error:
        raise ToolError(f"{printable(path)}: {error}.") from error
    if circle:
        raise ToolError(f"{printable(path)}: the links go round in a circle.")
    return end


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:  # somebody else's folder; opening will say so
        return False


def printable(path: str | Path) -> str:
    """Return a path as text that can be stored, whatever bytes the name is made of."""
    return os.fsencode(path).decode("utf-8", "replace")


def shown(path: Path, cwd: str | Path) -> str:
    """Return the path as a model should write it: relative when it is inside ``cwd``."""
    base = Path(cwd).absolute()
    return printable(path.relative_to(base) if path.is_relative_to(base) else path)


def missing(path: Path, cwd: str | Path) -> ToolError:
    """Return the error for a path that does not exist, with the names nearest to it."""
    text = f"{shown(path, cwd)}: there is no such file or folder."
    folder = next((parent for parent in path.parents if parent.is_dir()), None)
    if folder is None:
        return ToolError(text)
    wrong = path.relative_to(folder).parts[0]
    near = [shown(folder / name, cwd) for name in _near(wrong, folder)]
    if near:
        text += f" Near it: {', '.join(near)}."
    elif folder != path.parent:
        text += f" {shown(folder, cwd)} has no {printable(wrong)}."
    return ToolError(text)


def _near(name: str, folder: Path) -> list[str]:
    try:
        names = [entry.name for entry in islice(folder.iterdir(), _LOOKED_AT)]
    except OSError:
        return []
    by_fold = {other.casefold(): other for other in sorted(names)}
    found = difflib.get_close_matches(name.casefold(), by_fold, n=3, cutoff=0.6)
    return [by_fold[fold] for fold in found]


@contextmanager
def named_errors(path: Path, cwd: str | Path) -> Iterator[None]:
    """Turn what the system says about ``path`` into an error for the model.

    Raises:
        ToolError: The system refused.
    """
    try:
        yield
    except FileNotFoundError:
        raise missing(path, cwd) from None
    except OSError as error:
        raise ToolError(f"{shown(path, cwd)}: {error.strerror or error}.") from error
    except ValueError as error:  # a name with a NUL in it
        raise ToolError(f"{shown(path, cwd)!a}: {error}.") from error

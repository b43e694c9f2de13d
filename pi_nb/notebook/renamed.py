"""Finding the session of a notebook that was renamed: its cells are known by their ids, which a new name keeps.

A session's header cannot be written anew, so it goes on naming the old file. It is this notebook's if that file is
gone and prompts in it were written by cells that are here. A notebook that was copied has the cells too, but the
file it was copied from is still there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from pi_nb.session.root import header_metadata, session_files, written

__all__ = ["find_renamed"]

_CELL = re.compile(rb'"cell":\s*\{"id":\s*"([^"#]+)["#]')
_PIECE = 1024 * 1024
_LONGEST_CELL = 256  # bytes of a cell's mark, which may stand across the border of two pieces


def find_renamed(root: Path, notebook: str) -> Path | None:
    """Return the file of the session that a notebook had under another name; the one written last, or None.

    Args:
        root: The folder of session files.
        notebook: Path of the notebook as it is called now.
    """
    cells = _cells(Path(notebook))
    found = [file for file in session_files(root) if _is_orphan(file)] if cells else []
    mine = [file for file in found if not cells.isdisjoint(_written_by(file))]
    return max(mine, key=written, default=None)


def _cells(notebook: Path) -> set[bytes]:
    """Return the ids of a notebook's cells."""
    try:
        cells = json.loads(notebook.read_bytes())["cells"]
        return {cell["id"].encode() for cell in cells if isinstance(cell.get("id"), str)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):  # not saved yet, or no notebook
        return set()


def _is_orphan(file: Path) -> bool:
    """Return whether a session belongs to a notebook that is not there any more."""
    name = header_metadata(file).get("notebook")
    try:
        return isinstance(name, str) and name.endswith(".ipynb") and not Path(name).exists()
    except (OSError, ValueError):  # no file can have this name
        return False


def _written_by(file: Path) -> Iterator[bytes]:
    """Yield the ids of the cells that wrote a session's prompts."""
    try:
        with file.open("rb") as stream:
            rest = b""
            while piece := stream.read(_PIECE):  # not line by line: one may be as long as the file
                yield from (match[1] for match in _CELL.finditer(rest + piece))
                rest = piece[-_LONGEST_CELL:]
    except OSError:
        return

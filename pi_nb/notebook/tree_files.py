"""Files that the live tree has made of its session: a fork, and a page to keep or send."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pi_nb.errors import UserError
from pi_nb.notebook.whole_file import write_whole

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.tree import Session

__all__ = ["export", "fork"]


def fork(runtime: Runtime, entry: str | None, where: Literal["whole", "at", "before"]) -> Mapping[str, Any]:
    """Copy the session, or the path to an entry or to before it, into a file of its own; nobody goes there.

    The copy belongs to this notebook too, but as if it were older: a kernel restart comes back to the session that is
    open now.

    Raises:
        UserError: There is nothing to copy.
        SessionError: There is no such entry, or the file cannot be written.
    """
    source = runtime.session
    if not len(source) or (where != "whole" and entry is None):
        raise UserError("There is nothing to copy yet.")
    if where == "before" and entry is not None and source.entry(entry).parent_id is None:
        raise UserError("There is nothing before this prompt.", hint="%pi_session new begins an empty session.")
    place = {} if where == "whole" else {where: entry}
    copy = runtime.repo.fork(source, cwd=runtime.place.cwd, metadata=runtime.place.metadata, **place)
    with copy:
        name = _name(runtime, copy)
        made = {"session": copy.id, "entries": len(copy), "name": name, "file": str(copy.file)}
    if copy.file is not None and source.file is not None:
        with contextlib.suppress(OSError):
            before = source.file.stat().st_mtime - 1
            os.utime(copy.file, (before, before))
    return {**made, "open": f"%pi_session open {copy.id[-8:]}"}


def _name(runtime: Runtime, copy: Session) -> str | None:
    """Give the copy of a session that has a name one of its own."""
    from pi_nb.notebook.session_list import free_name

    if copy.name:
        copy.append_session_info(free_name(runtime, copy.name, "fork"))
    return copy.name


def export(runtime: Runtime) -> Mapping[str, Any]:
    """Write the session as one page into the notebook's folder, over an earlier one of the same session.

    Raises:
        UserError: It cannot be written.
    """
    from pi_nb.views.page import tree_page

    session = runtime.session
    notebook = Path(runtime.place.name).stem if runtime.place.kind == "notebook" and runtime.place.name else ""
    end = re.sub(r"[^\w.-]", "_", session.id[-8:])  # whatever a file says its id is, this stays in the folder
    file = Path(runtime.place.cwd) / f"{'-'.join(filter(None, (notebook, end)))}.html"
    write_whole(file, tree_page(session))
    return {"file": str(file), "name": file.name}

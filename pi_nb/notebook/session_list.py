"""``%pi_session list``: the sessions of a folder, each in a line that tells it from the others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pi_nb.notebook.caption import clean
from pi_nb.session.preview import preview
from pi_nb.views.plain import short_session, visible

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.listing import SessionInfo

__all__ = ["free_name", "sessions_text"]

PREVIEW = 50  # characters of a first prompt


def sessions_text(runtime: Runtime) -> str:
    """Return the sessions of the working directory, the newest first; the one that is open has a mark."""
    infos = runtime.repo.list(runtime.place.cwd)
    if not infos:
        return f"There are no sessions in {runtime.repo.folder(runtime.place.cwd)}."
    here = runtime.session.id if runtime.has_session else None
    rows = [_row(info) for info in infos]
    wide = max(len(row[1]) for row in rows)
    return "\n".join(
        clean(f"{'▸' if info.id == here else ' '} {when}  {size:>{wide}}  {visible(rest)}").rstrip()
        for info, (when, size, rest) in zip(infos, rows, strict=True)
    )


def _row(info: SessionInfo) -> tuple[str, str, str]:
    """Return id and time, size, and what else tells a session from others."""
    seen = preview(info.file)
    when = info.modified.astimezone().strftime("%Y-%m-%d %H:%M") if info.modified else "?"
    said = seen.first_prompt if len(seen.first_prompt) <= PREVIEW else seen.first_prompt[: PREVIEW - 1] + "…"
    bound = next((str(info.metadata[key]) for key in ("notebook", "terminal") if key in info.metadata), "")
    origin = f"copy of {Path(info.parent_session).stem[-8:]}" if info.parent_session else ""
    known = (info.name or (f"“{said}”" if said else "nothing said yet"), origin, bound)
    size = f"{seen.entries:,} entr{'y' if seen.entries == 1 else 'ies'}"
    return f"{short_session(info.id)}  {when}", size, "  ".join(filter(None, known))


def free_name(runtime: Runtime, name: str, kind: str) -> str:
    """Return a name for a copy of a session, unlike those of the others here: ``Boats (fork)``, ``Boats (fork 2)``."""
    taken = {info.name for info in runtime.repo.list(runtime.place.cwd)}
    names = (f"{name} ({kind}{f' {number}' if number > 1 else ''})" for number in range(1, len(taken) + 2))
    return next(candidate for candidate in names if candidate not in taken)

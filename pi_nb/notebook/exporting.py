"""``%pi_session export``: a session as one page with its live tree, as Markdown, or as the lines it is kept in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pi_nb.errors import UserError
from pi_nb.messages import UserMessage
from pi_nb.notebook.caption import Caption, clean
from pi_nb.notebook.transcript import Transcript
from pi_nb.notebook.whole_file import file_named, write_whole
from pi_nb.session.entries import MessageEntry

if TYPE_CHECKING:
    from pi_nb.session.tree import Session

__all__ = ["export"]


def export(session: Session, target: str) -> Path:
    """Write a session to a file; its ending says how: ``.html``, ``.md`` or ``.jsonl``.

    Args:
        session: What to write.
        target: The file; it is made anew if it is there.

    Raises:
        UserError: The ending says nothing, the file is the session's own, or it cannot be written.
    """
    from pi_nb.views.page import tree_page

    file = file_named(target)

    write = {".html": tree_page, ".md": as_markdown, ".jsonl": as_lines}.get(file.suffix.lower())
    if write is None:
        raise UserError(f"{target!r} does not say what to write.", hint="FILE.html, FILE.md or FILE.jsonl.")
    if session.file is not None and file.resolve() == session.file.resolve():
        raise UserError("That is the session's own file.", hint="Name another one.")
    write_whole(file, write(session))
    return file


def as_lines(session: Session) -> str:
    """Return the header and all entries, one a line, as they are kept."""
    from pi_nb.session import lines
    from pi_nb.views.tree_rows import line_at

    header = lines.encode(session.header.to_wire()).decode("utf-8", "replace")
    return "\n".join([header, *(line_at(session, place) for place in range(len(session)))]) + "\n"


def as_markdown(session: Session) -> str:
    """Return the active branch as Markdown, prompt by prompt."""
    from pi_nb.notebook.answer_markdown import answer_markdown
    from pi_nb.notebook.markdown import to_safe_markdown

    pieces = [f"# {clean(session.name or session.id)}"]
    for prompt, run in _turns(session):
        pieces.append("\n".join(f"> {line}" for line in to_safe_markdown(clean(prompt)).split("\n")))
        pieces.append(answer_markdown(run.snapshot(), Caption()))
    return "\n\n".join(pieces) + "\n"


def _turns(session: Session) -> Iterator[tuple[str, Transcript]]:
    """Yield each prompt of the active branch with what followed it."""
    from pi_nb.harness.events import MessageEnd
    from pi_nb.views.entry_line import content_text

    run: Transcript | None = None
    said = ""
    for entry in session.path():
        if not isinstance(entry, MessageEntry):
            continue
        if isinstance(entry.message, UserMessage) or run is None:
            if run is not None:
                run.settle(stored=True)
                yield said, run
            run = Transcript()
            said = content_text(getattr(entry.message, "content", ""))
        run.feed(MessageEnd(entry.message, entry.id))
    if run is not None:
        run.settle(stored=True)
        yield said, run

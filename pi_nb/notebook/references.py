"""Short names for entries, as the session has them, and ``cell:7`` for what cell ``[7]`` wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_nb.errors import UserError
from pi_nb.messages import AssistantMessage, UserMessage
from pi_nb.notebook.cells import written_in
from pi_nb.session.entries import MessageEntry
from pi_nb.session.refs import label_problem, resolve_ref
from pi_nb.views.plain import visible

if TYPE_CHECKING:
    from pi_nb.session.entries import Entry
    from pi_nb.session.tree import Session

__all__ = ["answer_to", "check_label", "find_entry", "give_label", "is_prompt", "seen", "short"]

_CELL = re.compile(r"cell:(\d+)(?:\.(\d+))?(.*)")


def find_entry(session: Session, text: str, *, notebook: str | None = None) -> str | None:
    """Return the id of the entry that a reference names; None for the root.

    Args:
        session: Where to look.
        text: The reference.
        notebook: Whose cells are meant, where the session belongs to another notebook.

    Raises:
        UserError: It names nothing, or several entries.
    """
    cell = _CELL.fullmatch(text.strip())
    if cell is None:
        return resolve_ref(session, text)
    prompt = written_in(session, int(cell[1]), int(cell[2]) if cell[2] else None, notebook=notebook)
    if prompt is None:
        which = f"branch {cell[2]}" if cell[2] else "prompt"
        raise UserError(
            f"Cell [{cell[1]}] has written no {which} in this session.", hint="%pi_log shows what was written."
        )
    return resolve_ref(session, answer_to(session, prompt.id) + cell[3])


def answer_to(session: Session, prompt_id: str) -> str:
    """Return the last answer to a prompt, or the prompt itself if there is none."""
    found = place = prompt_id
    while following := [e for e in map(session.get, session.children(place)) if e is not None and not is_prompt(e)]:
        place = following[0].id
        if isinstance(following[0], MessageEntry) and isinstance(following[0].message, AssistantMessage):
            found = place
    return found


def is_prompt(entry: Entry | None) -> bool:
    """Return whether an entry is something the user said."""
    return isinstance(entry, MessageEntry) and isinstance(entry.message, UserMessage)


def check_label(session: Session, label: str, entry_id: str | None = None) -> None:
    """Check that a label can be used to return to its entry.

    Raises:
        UserError: It cannot.
    """
    problem = label_problem(session, label, entry_id)
    if problem:
        raise UserError(
            problem, hint="Not root, -, @…, cell:N, an entry's id, nor ending in ^ or ~; for example: --label plan"
        )


def give_label(session: Session, entry_id: str, label: str) -> str:
    """Label an entry; the label is taken from the entry that had it, so that it names one place.

    Returns:
        What to say if the label has moved; else nothing.
    """
    had = [t for t, name in session.labels.items() if name == label and t != entry_id and session.get(t)]
    for target in had:
        session.append_label(target, None)
    if session.labels.get(entry_id) != label:
        session.append_label(entry_id, label)
    return f"The label {label} has moved here from {', '.join(map(short, had))}." if had else ""


def seen(session: Session, entry_id: str | None) -> str | None:
    """Return an entry, or the one above it where it is a note that trees do not show: a label, a name."""
    while entry_id is not None and (entry := session.get(entry_id)) is not None and entry.type in _NOTES:
        entry_id = entry.parent_id
    return entry_id


_NOTES = frozenset({"label", "session_info", "custom", "usage"})


def short(entry_id: str | None) -> str:
    """Return an id as it is shown: its first eight characters, or ``root``."""
    return visible(entry_id[:8]) if entry_id else "root"

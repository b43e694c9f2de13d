"""``%pi_label``: names for entries, to return to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_nb.errors import UserError
from pi_nb.notebook.arguments import near
from pi_nb.notebook.references import check_label, find_entry, give_label, short
from pi_nb.notebook.status import brief, last_message
from pi_nb.views.plain import visible

if TYPE_CHECKING:
    from pi_nb.session.tree import Session

__all__ = ["clear_label", "label_entry", "labels_text"]


def labels_text(session: Session) -> str:
    """Return all labels with what they name."""
    named = session.labels.items()
    lines = [f"{visible(label):16}  {short(target)}  {brief(session, target)}" for target, label in named]
    return "\n".join(lines) or "There are no labels. %pi_label NAME [REF] makes one."


def label_entry(session: Session, label: str, ref: str | None, *, notebook: str | None = None) -> str:
    """Label an entry, by default the message the branch ends with; return what to say about it.

    Raises:
        UserError: There is no such entry, nothing to label yet, or a reference could not use the label.
    """
    target = find_entry(session, ref, notebook=notebook) if ref is not None else last_message(session)
    if target is None:
        raise UserError("There is nothing to label before the first prompt.")
    check_label(session, label, target)
    moved = give_label(session, target, label)
    return "\n".join(filter(None, (f"{label}: {short(target)} {brief(session, target)}", moved)))


def clear_label(session: Session, label: str) -> str:
    """Take a label away; return what to say about it.

    Raises:
        UserError: There is no such label.
    """
    targets = [target for target, name in session.labels.items() if name == label]
    if not targets:
        known = list(session.labels.values())
        raise UserError(f"There is no label {label!r}.", hint=near(label, known) or "%pi_label lists them.")
    for target in targets:
        session.append_label(target, None)
    return f"{label} names nothing any more."

"""Which of several prompts at one point of the tree this is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_nb.notebook.references import is_prompt
from pi_nb.session.entries import MessageEntry

if TYPE_CHECKING:
    from pi_nb.session.entries import Entry
    from pi_nb.session.tree import Session

__all__ = ["prompts_from", "sibling", "siblings"]


def sibling(session: Session, prompt_id: str | None) -> tuple[int, int] | None:
    """Return a prompt's place among those that continue from the same point, counted from 1; None if it is alone."""
    prompts = siblings(session, prompt_id) if prompt_id else []
    return (prompts.index(prompt_id) + 1, len(prompts)) if prompt_id in prompts and len(prompts) > 1 else None


def siblings(session: Session, prompt_id: str) -> list[str]:
    """Return the prompts that continue from the same point, branch by branch.

    A change of model, thinking level or tools is not a point of its own: a prompt that another model was asked is still
    a sibling.
    """
    return [entry.id for entry in prompts_from(session, session.entry(prompt_id).parent_id)]


def prompts_from(session: Session, place: str | None) -> list[MessageEntry]:
    """Return the prompts that continue from a place, whatever settings lie between; branch by branch."""
    found: list[MessageEntry] = []
    waiting = list(reversed(session.children(_before_settings(session, place))))
    while waiting:
        entry = session.get(waiting.pop())
        if isinstance(entry, MessageEntry) and is_prompt(entry):
            found.append(entry)
        elif entry is not None and _is_setting(entry):
            waiting += reversed(session.children(entry.id))
    return found


def _before_settings(session: Session, place: str | None) -> str | None:
    while place is not None and _is_setting(session.get(place)):
        place = session.entry(place).parent_id
    return place


_SETTINGS = frozenset(
    {"model_change", "thinking_level_change", "active_tools_change", "label", "session_info", "custom"}
)


def _is_setting(entry: Entry | None) -> bool:
    return entry is not None and entry.type in _SETTINGS

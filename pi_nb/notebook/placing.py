"""Where a prompt belongs, and moving the leaf there.

A cell that was run before and whose prompt lies on the active path gives a sibling; any other prompt is appended.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pi_nb.harness.navigation import destination
from pi_nb.notebook.branch_settings import BranchSettings
from pi_nb.notebook.cells import written_anywhere, written_by
from pi_nb.notebook.references import answer_to, find_entry, seen, short

if TYPE_CHECKING:
    from pi_nb.harness.agent import AgentHarness
    from pi_nb.notebook.asks import Ask
    from pi_nb.session.tree import Session

__all__ = ["earlier_prompt", "parent_of", "place_leaf"]


def earlier_prompt(session: Session, ask: Ask) -> str | None:
    """Return the prompt that this cell wrote before, if it lies on the active path and a sibling is wanted."""
    if ask.append or ask.place is not None or not ask.cell.stable:
        return None
    return next((entry.id for entry in written_by(session, ask.cell)), None)


def parent_of(session: Session, ask: Ask) -> str | None:
    """Return the entry that the prompt will hang from."""
    if ask.place is not None:
        target = find_entry(session, ask.place, notebook=ask.cell.notebook)
        chosen = session.get(target) if target and target != session.leaf_id else None
        return destination(chosen)[0] if chosen else target
    earlier = earlier_prompt(session, ask)
    return session.entry(earlier).parent_id if earlier else session.leaf_id


def _elsewhere(session: Session, ask: Ask) -> str:
    """Return what to say where the cell's earlier answer is on another branch; nothing if there is none."""
    if ask.append or ask.place is not None or not ask.cell.stable:
        return ""
    earlier = written_anywhere(session, ask.cell)
    if earlier is None:
        return ""
    answer = answer_to(session, earlier.id)
    label = session.labels.get(answer, "")
    name = short(answer) if not label or _is_taken(label, ask) else label
    return f"Added at the leaf: this cell's earlier answer is on another branch. %pi_checkout {name} goes there."


def _is_taken(label: str, ask: Ask) -> bool:
    """Return whether the run gives a label to its own answer, so that it leads to the earlier one no more."""
    return ask.label is not None and re.fullmatch(rf"{re.escape(ask.label)}(-\d+)?", label) is not None


async def place_leaf(harness: AgentHarness, ask: Ask) -> str:
    """Move the leaf to where the prompt belongs; return what to say about it. On the owner thread."""
    before = BranchSettings.of(harness)
    note = await _place(harness, ask)
    return " ".join(filter(None, (note, _sentence(BranchSettings.of(harness).since(before)))))


def _sentence(changes: str) -> str:
    return f"{changes[0].upper()}{changes[1:]}." if changes else ""


async def _place(harness: AgentHarness, ask: Ask) -> str:
    session, left = harness.session, harness.session.leaf_id
    if ask.place is not None:
        await harness.navigate_tree(find_entry(session, ask.place, notebook=ask.cell.notebook))
        return ""
    earlier = earlier_prompt(session, ask)
    if earlier is None:
        return _elsewhere(session, ask)
    if left == earlier:  # nothing was answered; the harness takes the leaf it is at for a place to stay
        session.move_to(session.entry(earlier).parent_id)
    else:
        await harness.navigate_tree(earlier)
    back = short(seen(session, left))
    return f"Run again: a new branch beside the earlier answer, which stays. %pi_checkout {back} returns to it."

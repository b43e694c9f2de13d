"""Several answers to one prompt that are stored already, shown side by side again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pi_nb.notebook.caption import Caption
from pi_nb.notebook.columns import Column, columns_bundle
from pi_nb.notebook.redraw import Redraw
from pi_nb.notebook.replay import Stored, find_stored, transcript_of
from pi_nb.notebook.reply import Replies, Reply
from pi_nb.notebook.status import leaf_line

if TYPE_CHECKING:
    from pi_nb.notebook.asks import Ask
    from pi_nb.notebook.fan_out import Fan, Variant
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.tree import Session

__all__ = ["find_stored_fan", "show_stored_fan"]


def find_stored_fan(runtime: Runtime, ask: Ask, fan: Fan) -> list[Stored] | None:
    """Return the stored run of every variant, or None if one is missing."""
    found: list[Stored] = []
    for number, variant in enumerate(fan.variants, 1):
        one = replace(ask, branch=number, model=variant.model or ask.model, thinking=variant.thinking or ask.thinking)
        stored = find_stored(runtime, one)
        if stored is None:
            return None
        found.append(stored)
    return found


def show_stored_fan(runtime: Runtime, ask: Ask, fan: Fan, stored: list[Stored]) -> list[Reply]:
    """Show stored runs side by side, put the leaf where it was then, and return their replies."""
    session, runtime.begun = runtime.session, True
    _place_leaf(session, fan, stored)
    runs = [transcript_of(one).snapshot() for one in stored]
    replies = Replies(Reply.of(run, session.id, replayed=True) for run in runs)
    columns = [
        Column(variant.title(number), run, Caption(), score=fan.scored(reply))
        for number, (variant, run, reply) in enumerate(zip(fan.variants, runs, replies, strict=True), 1)
    ]
    note = "Replayed: these are the stored answers; nothing was sent."
    bundle = columns_bundle(columns, note=note, closing=f"Leaf: {leaf_line(session)}.")
    entries = [list(run.entries) for run in runs]
    Redraw(runtime.ip).close(bundle, {"pi_nb": {"session": session.id, "columns": entries, "replayed": True}})
    runtime.reply = replies[(fan.pick or 1) - 1]
    if ask.out:
        runtime.ip.user_ns[ask.out] = replies
    return replies


def _place_leaf(session: Session, fan: Fan, stored: list[Stored]) -> None:
    """Put the leaf behind the answer that was picked, or before the prompt."""
    if session.read_only:
        return
    if fan.pick is not None:
        session.move_to(stored[fan.pick - 1].run[-1].id)
    else:
        session.move_to(_before(session, fan.variants[0], stored[0]))


def _before(session: Session, variant: Variant, stored: Stored) -> str | None:
    """Return the place a branch hangs from: above its prompt and the settings of its own."""
    place = stored.run[0].parent_id
    for _ in range(variant.settings):
        place = None if place is None else session.entry(place).parent_id
    return place

"""What of a context is really sent: providers leave messages out, and some make one of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pi_nb.messages import UserMessage
from pi_nb.models import Model
from pi_nb.providers.transform import sending
from pi_nb.session.context import Context

__all__ = ["Sent", "sent_of"]


@dataclass(frozen=True, slots=True)
class Sent:
    """What becomes of a context.

    Attributes:
        context: The messages that are sent, as they are in the session.
        unsent: For the entries of the others, why they are not.
        notes: What else there is to say of it, a sentence each.
    """

    context: Context
    unsent: Mapping[str, str]
    notes: list[str]


def sent_of(context: Context, model: Model | None, *, prompt: str | None = None) -> Sent:
    """Return what a model is sent of a context.

    Args:
        context: The projection of a path.
        model: The model; what is left out depends on it a little.
        prompt: What the user says next, or None.
    """
    said = () if prompt is None else (UserMessage(content=prompt),)
    found = sending((*context.messages, *said), model or Model("none", "none"))
    items = list(context.items)
    kept = [item for place, item in enumerate(items) if place not in found.unsent]
    unsent = {items[place].entry_id: why for place, why in found.unsent.items() if place < len(items)}
    return Sent(replace(context, items=kept), unsent, [_joined(run, len(items)) for run in found.together])


def _joined(places: Sequence[int], prompt: int) -> str:
    names = ["the prompt" if place == prompt else str(place + 1) for place in places]
    return (
        f"Messages {', '.join(names[:-1])} and {names[-1]} follow one another, all from the user: "
        "providers that insist on turns are sent them as one."
    )

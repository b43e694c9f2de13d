"""``%pi_diff``: two branches beside each other, after what they have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from typing import TYPE_CHECKING, Any

from pi_nb.harness.estimate import estimate_context
from pi_nb.harness.totals import Totals, totals_of
from pi_nb.notebook.references import answer_to, find_entry, is_prompt, short
from pi_nb.notebook.status import brief
from pi_nb.views.entry_line import message_line, message_text

if TYPE_CHECKING:
    from pi_nb.session.context import ContextItem
    from pi_nb.session.tree import Session

__all__ = ["Comparison", "Said", "Side", "compare"]


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a branch: who said it, and what."""

    entry_id: str
    who: str
    text: str


@dataclass(frozen=True, slots=True)
class Side:
    """One of two branches, from where they part.

    Attributes:
        ref: As it was named.
        leaf_id: Where it ends.
        model: ``provider:model`` there, or None.
        thinking: Thinking level there.
        tokens: About how many tokens a model would be sent there.
        said: Its messages that the other one does not have.
        spent: What they cost.
    """

    ref: str
    leaf_id: str | None
    model: str | None
    thinking: str
    tokens: int
    said: tuple[Said, ...]
    spent: Totals

    @property
    def answer(self) -> str:
        """Text of its last answer; all that was said if there is none."""
        answers = [said.text for said in self.said if said.who == "assistant"]
        return answers[-1] if answers else "\n\n".join(said.text for said in self.said)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two branches.

    Attributes:
        common: How many messages they have in common.
        point: The last of them in a few words; empty if there is none.
        left: The first branch.
        right: The second branch.
    """

    common: int
    point: str
    left: Side
    right: Side

    @property
    def rows(self) -> list[tuple[Said | None, Said | None]]:
        """What was said, pair by pair; None where one branch has nothing any more."""
        return list(zip_longest(self.left.said, self.right.said))

    @property
    def facts(self) -> list[tuple[str, str, str]]:
        """What can be told of both in a word: name, left, right."""
        sides = (self.left, self.right)
        delta = self.right.tokens - self.left.tokens
        rows = [
            ("ends at", *(short(side.leaf_id) for side in sides)),
            ("model", *(side.model or "none named" for side in sides)),
            ("thinking", *(side.thinking for side in sides)),
            ("messages", *(f"{self.common} + {len(side.said)}" for side in sides)),
            ("context", f"about {self.left.tokens:,} tokens", f"about {self.right.tokens:,} tokens ({delta:+,})"),
            ("spent here", *(_spent(side.spent) for side in sides)),
        ]
        return [(row[0], row[1], row[2]) for row in rows]


def _spent(totals: Totals) -> str:
    cost = f", ${totals.cost:.4f}" if totals.cost else ""
    return f"{totals.tokens:,} tokens{cost}" if totals.calls else "nothing"


def compare(session: Session, left: str, right: str, *, notebook: str | None = None) -> Comparison:
    """Compare two branches of a session.

    Args:
        session: The session.
        left: Reference to an entry of the first; of a prompt, its answer is meant.
        right: Reference to an entry of the second.
        notebook: Whose cells are meant, where the session belongs to another notebook.

    Raises:
        UserError: A reference names nothing, or several entries.
    """
    ids = [_end(session, find_entry(session, ref, notebook=notebook)) for ref in (left, right)]
    contexts = [session.context(entry_id) for entry_id in ids]
    shared = _shared(*(context.items for context in contexts))
    sides = [_side(session, ref, context, shared) for ref, context in zip((left, right), contexts, strict=True)]
    point = contexts[0].items[shared - 1].entry_id if shared else None
    return Comparison(shared, f"{short(point)} {brief(session, point)}" if point else "", *sides)


def _end(session: Session, entry_id: str | None) -> str | None:
    """Return the answer to a prompt; any other entry is what it is."""
    if entry_id is not None and is_prompt(session.get(entry_id)):
        return answer_to(session, entry_id)
    return entry_id


def _shared(left: Sequence[ContextItem], right: Sequence[ContextItem]) -> int:
    """Return how many messages are the same, from the beginning."""
    pairs = zip(left, right, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0].entry_id == pair[1].entry_id, pairs))


def _side(session: Session, ref: str, context: Any, shared: int) -> Side:
    path = session.path(context.leaf_id)
    items = context.items[shared:]
    own = {item.entry_id for item in items}
    return Side(
        ref=ref,
        leaf_id=context.leaf_id,
        model=f"{context.model.provider}:{context.model.model_id}" if context.model else None,
        thinking=context.thinking_level,
        tokens=estimate_context(context, path).tokens,
        said=tuple(Said(item.entry_id, message_line(item.message).head, message_text(item.message)) for item in items),
        spent=totals_of(entry for entry in path if entry.id in own),
    )

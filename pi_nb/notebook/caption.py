"""The line under an answer: which model, how many tokens, the price, the time, which of its siblings it is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_nb.providers.surrogates import well_formed

if TYPE_CHECKING:
    from pi_nb.messages import Usage
    from pi_nb.notebook.transcript import Snapshot

__all__ = ["Caption", "clean", "money", "seconds", "tokens"]


@dataclass(frozen=True, slots=True)
class Caption:
    """What is said around an answer.

    Attributes:
        model: ``provider:model`` that is asked, shown until the answer names its own.
        sibling: Which of how many answers to be given at this point of the tree, such as (2, 3); None if alone.
        why: Why this model was chosen and how to choose another; on the first answer only.
        note: What happened to the leaf before the prompt was sent, or an empty string.
        doing: What goes on while nothing of the answer arrives, or an empty string.
    """

    model: str = ""
    sibling: tuple[int, int] | None = None
    why: str = ""
    note: str = ""
    doing: str = ""

    def facts(self, run: Snapshot) -> list[str]:
        """Return the pieces of the line; empty ones left out."""
        pieces = [
            run.model or self.model,
            tokens(run.usage),
            money(run.usage.cost.total),
            seconds(run.seconds) if run.seconds else "",  # a stored answer took no time
            "\u2039{}/{}\u203a".format(*self.sibling) if self.sibling else "",
            _ENDINGS.get(run.stop_reason or "", "") if run.settled else "",
        ]
        return [piece for piece in pieces if piece]


_ENDINGS = {
    "aborted": "stopped; what had arrived is kept in the tree, and not sent to the model when you go on",
    "length": "cut off at the output limit",
    "error": "failed",
}


def tokens(usage: Usage) -> str:
    """Return a usage such as ``1,204 in, 233 out, 900 cached``; nothing if nothing was counted."""
    counts = ((usage.input, "in"), (usage.output, "out"), (usage.cache_read, "cached"))
    if not any(count for count, _ in counts):
        return ""
    return ", ".join(f"{count:,} {name}" for count, name in counts if count or name != "cached")


def money(dollars: float) -> str:
    """Return a price with enough digits to be told from nothing; an empty string for nothing."""
    if dollars <= 0:
        return ""
    return f"${dollars:.2f}" if dollars >= 1 else f"${dollars:.4f}" if dollars >= 0.0001 else "< $0.0001"


def seconds(duration: float) -> str:
    """Return a duration such as ``0.8 s`` or ``2 min 5 s``."""
    if duration < 60:
        return f"{duration:.1f} s"
    return f"{int(duration) // 60} min {int(duration) % 60} s"


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SECRET_NAME = re.compile(r"(API_?KEY|TOKEN|SECRET|PASSWORD)S?$", re.IGNORECASE)


def clean(text: str) -> str:
    """Return text fit to be shown: no control characters (they steer terminals), no key from the environment.

    Half characters, which nothing can print, become U+FFFD.
    """
    text = _CONTROL.sub("", well_formed(text).replace("\r\n", "\n").replace("\r", "\n"))
    for name, value in os.environ.items():
        if len(value) >= 8 and value in text and _SECRET_NAME.search(name):
            text = text.replace(value, f"[{name} hidden]")
    return text

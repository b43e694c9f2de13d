"""Models and how they are named: ``provider:model``.

The reference is split at the first colon, so that model names may contain colons (``ollama:llama3.2:1b``).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from pi_nb.errors import UserError

__all__ = ["EXAMPLE_MODEL", "THINKING_LEVELS", "Model", "ModelRef", "ThinkingLevel", "parse_model_ref"]

ThinkingLevel = Literal["off", "minimal", "low", "medium", "high", "xhigh"]
EXAMPLE_MODEL: Final = "anthropic:claude-sonnet-5-5"  # what hints name, everywhere the same
THINKING_LEVELS: Final[tuple[str, ...]] = get_args(ThinkingLevel)


@dataclass(frozen=True, slots=True)
class ModelRef:
    """Which model, by name: what a session remembers."""

    provider: str
    model_id: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model_id}"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens.

    Attributes:
        above: Prices of long prompts: for those of more tokens than the number, all tokens cost the price beside it.
    """

    input: float = 0.0
    output: float = 0.0
    cache_read: float = 0.0
    cache_write: float = 0.0
    above: tuple[tuple[int, Price], ...] = ()

    def at(self, prompt_tokens: int) -> Price:
        """Return the price of a call whose prompt, cached parts included, is that long."""
        return max(((start, price) for start, price in self.above if prompt_tokens > start), default=(0, self))[1]


@dataclass(frozen=True, slots=True)
class Model:
    """A model and what is known of it.

    Attributes:
        provider: Name of the provider that serves it.
        id: The provider's own name for it.
        api: Wire format, such as ``anthropic-messages``; stored in its answers.
        context_window: Tokens that fit, prompt and answer together.
        max_tokens: Most tokens of one answer.
        reasoning: True if it can think before answering.
        vision: True if it takes images.
        price: What it costs; zeros when unknown or free.
        thinking_levels: The levels it really has, ``off`` among them if it can stop thinking; empty when unknown.
    """

    provider: str
    id: str
    api: str = ""
    context_window: int = 128_000
    max_tokens: int = 16_384
    reasoning: bool = False
    vision: bool = False
    price: Price = field(default_factory=Price)
    thinking_levels: tuple[str, ...] = ()

    @property
    def ref(self) -> ModelRef:
        """The model's name, as a session stores it."""
        return ModelRef(self.provider, self.id)

    def __str__(self) -> str:
        return f"{self.provider}:{self.id}"


def parse_model_ref(text: str) -> ModelRef:
    """Return the reference that ``provider:model`` names.

    Raises:
        UserError: There is no colon, or nothing on one side of it.
    """
    provider, colon, model_id = text.strip().partition(":")
    if not colon or not provider or not model_id:
        raise UserError(
            f"{text!r} is not a model reference.", hint=f"Write provider:model, for example {EXAMPLE_MODEL}."
        )
    return ModelRef(provider, model_id)

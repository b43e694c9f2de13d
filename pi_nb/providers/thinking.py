"""Thinking levels, from pi's six words to what each provider calls them.

A level that a model does not have becomes the nearest one it has, the lower if two are as near; ``off`` becomes the
least a model can do if it cannot stop thinking.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from pi_nb.models import THINKING_LEVELS, Model

__all__ = [
    "ALL_LEVELS",
    "anthropic_levels",
    "anthropic_thinking",
    "budget_tokens",
    "clamp",
    "gemini_levels",
    "gemini_thinking",
    "openai_effort",
    "openai_levels",
    "takes_temperature",
    "thinking_note",
]

ALL_LEVELS: Final = THINKING_LEVELS
_USUAL: Final = ("off", "low", "medium", "high")

_BUDGETS: Final = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16_384, "xhigh": 32_000}
_VERSION = re.compile(r"claude-[a-z]+-(\d+)(?:-(\d{1,2}))?(?!\d)")
_FIRST_ADAPTIVE = (4, 6)
_FIRST_XHIGH = (4, 7)


def clamp(level: str, allowed: Sequence[str]) -> str:
    """Return the level in ``allowed`` (``off`` for not thinking) that is nearest to ``level``."""
    order = {name: position for position, name in enumerate(THINKING_LEVELS)}
    wanted = order.get(level, 0)
    if level == "off" and "off" in allowed:
        return "off"
    thinking = [name for name in allowed if name != "off"] or ["off"]
    return min(thinking, key=lambda name: (abs(order[name] - wanted), order[name]))


def thinking_note(model: Model, level: str) -> str:
    """Return what to tell about a level that the model does not have; empty if it has it, or nobody knows."""
    if not model.thinking_levels or level in model.thinking_levels:
        return ""
    nearest = clamp(level, model.thinking_levels)
    if nearest == "off":
        return f"{model} does not think; thinking {level} changes nothing."
    if level == "off":
        return f"{model} cannot do without thinking; it thinks {nearest}."
    return f"{model} has no thinking level {level}; it thinks {nearest}."


def budget_tokens(level: str) -> int:
    """Return how many tokens a model that counts may think at ``level``; 0 for ``off``."""
    return _BUDGETS.get(level, 0)


# ---------------------------------------------------------------- Anthropic


def anthropic_levels(model: Model) -> tuple[str, ...]:
    """Return the levels a Claude model has."""
    if not model.reasoning:
        return ("off",)
    version = _claude_version(model.id)
    if version >= _FIRST_ADAPTIVE:
        return (*_USUAL, "xhigh") if version >= _FIRST_XHIGH else _USUAL
    return ALL_LEVELS


def anthropic_thinking(model: Model, level: str, *, max_tokens: int) -> dict[str, Any]:
    """Return the fields of an Anthropic request that ask for thinking at ``level``; empty for none."""
    if level == "off" or not model.reasoning:
        return {}
    if _claude_version(model.id) >= _FIRST_ADAPTIVE:
        effort = clamp(level, anthropic_levels(model))
        return {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": effort}}
    budget = min(budget_tokens(level), max_tokens - 1024)  # leave room for an answer
    return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= 1024 else {}


def takes_temperature(model: Model) -> bool:
    """Return whether a Claude model lets its temperature be set: the later ones refuse."""
    return _claude_version(model.id) < _FIRST_XHIGH


def _claude_version(name: str) -> tuple[int, int]:
    """Return a Claude model's version; names that do not tell are taken for old models with a budget."""
    match = _VERSION.search(name)
    return (int(match.group(1)), int(match.group(2) or 0)) if match else (0, 0)


# ---------------------------------------------------------------- OpenAI and those who follow it

_EFFORTS: Final[tuple[tuple[re.Pattern[str], tuple[str, ...]], ...]] = (
    (re.compile(r"gpt-oss"), ("low", "medium", "high")),
    (re.compile(r"gpt-5(-mini|-nano)?($|-20)"), ("minimal", "low", "medium", "high")),
    (re.compile(r"gpt-5\.1"), ("off", "low", "medium", "high")),
    (re.compile(r"gpt-(6-astra|6-cyber|5\.6-cyber)"), ("low", "medium", "high", "xhigh")),
    (re.compile(r"gpt-(5\.[2-9]|[6-9])"), ("off", "low", "medium", "high", "xhigh")),
    (re.compile(r"\bo[134]\b"), ("low", "medium", "high")),
)


def openai_levels(model: Model) -> tuple[str, ...]:
    """Return the levels a model has that is told its effort as OpenAI's are."""
    if not model.reasoning:
        return ("off",)
    return next((levels for pattern, levels in _EFFORTS if pattern.search(model.id)), _USUAL)


def openai_effort(model: Model, level: str) -> str | None:
    """Return ``reasoning_effort`` for ``level``; None to leave it out."""
    if not model.reasoning:
        return None
    effort = clamp(level, openai_levels(model))
    if effort != "off":
        return effort
    return "none" if any(pattern.search(model.id) for pattern, _ in _EFFORTS) else None


# ---------------------------------------------------------------- Gemini


def gemini_levels(model: Model) -> tuple[str, ...]:
    """Return the levels a Gemini model has; the later ones cannot stop thinking, nor can 2.5 Pro."""
    if not model.reasoning:
        return ("off",)
    if "gemini-2" in model.id:
        return ALL_LEVELS[1:] if "pro" in model.id else ALL_LEVELS
    return ("low", "medium", "high")


def gemini_thinking(model: Model, level: str) -> dict[str, Any]:
    """Return the part of Gemini's ``generationConfig`` that asks for thinking at ``level``; empty for none."""
    if not model.reasoning:
        return {}
    if "gemini-2" in model.id:
        least = 128 if "pro" in model.id else 0  # 2.5 Pro cannot stop thinking
        budget = max(least, min(budget_tokens(level), 24_576))
        return {"thinkingConfig": {"includeThoughts": level != "off", "thinkingBudget": budget}}
    name = clamp("minimal" if level == "off" else level, gemini_levels(model))
    return {"thinkingConfig": {"includeThoughts": level != "off", "thinkingLevel": name.upper()}}

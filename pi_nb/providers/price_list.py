"""Prices and context windows from the package ``genai-prices``, which is kept up to date for all providers.

Optional at run time: without it, or for a model it does not have, the small table in
:mod:`~pi_nb.providers.catalogue` and the user's own file speak. It costs 70 ms to load, so it is loaded when the
first model is looked up, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any

from pi_nb.models import Price

__all__ = ["Listed", "listed", "listed_names"]

_FIELDS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")


@dataclass(frozen=True, slots=True)
class Listed:
    """What the list says of a model; None for what it does not say."""

    context_window: int | None
    price: Price


@cache
def listed(provider: str, model_id: str) -> Listed | None:
    """Return what is listed of a model, at today's prices; None if nothing is."""
    found = _providers().get(provider)
    model = found.find_model(model_id) if found is not None else None
    if model is None:
        return None
    return Listed(model.context_window, _price(model.get_prices(datetime.now(UTC))))


def listed_names(provider: str) -> list[str]:
    """Return the names of a provider's listed models that are not on their way out."""
    found = _providers().get(provider)
    return [str(model.id) for model in found.models if not model.deprecated] if found is not None else []


@cache
def _providers() -> dict[str, Any]:
    try:
        from genai_prices import data_snapshot
    except ImportError:
        return {}
    return {provider.id: provider for provider in data_snapshot.get_snapshot().providers}


def _price(prices: Any) -> Price:
    found = [getattr(prices, name, None) for name in _FIELDS]
    starts = sorted({tier.start for value in found for tier in getattr(value, "tiers", ())})
    return replace(_at(found, 0), above=tuple((start, _at(found, start)) for start in starts))


def _at(found: Sequence[Any], tokens: int) -> Price:
    """Return the prices for prompts of more than ``tokens``."""
    input, output, cache_read, cache_write = (_amount(value, tokens) for value in found)
    return Price(input, output, cache_read, cache_write)


def _amount(value: Any, tokens: int) -> float:
    if not hasattr(value, "tiers"):
        return float(value or 0)
    return float(next((tier.price for tier in reversed(value.tiers) if tier.start <= tokens), value.base))

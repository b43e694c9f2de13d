"""What the user knows better: a file of models, over what the catalogue says.

``models.toml`` in this package's data folder, or the file that ``PI_NB_MODELS`` names (TOML, or JSON by its ending)::

    ["anthropic:claude-next"]
    context_window = 500_000
    max_tokens = 64_000
    reasoning = true
    vision = true
    price = { input = 3, output = 15, cache_read = 0.3, cache_write = 3.75 }   # dollars per million tokens

Whatever is left out stays as the catalogue has it.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pi_nb.errors import UserError
from pi_nb.models import Model, Price, parse_model_ref
from pi_nb.providers.weights import data_folder

__all__ = ["corrected", "own_names"]

_FACTS: Mapping[str, type] = {
    "api": str,
    "context_window": int,
    "max_tokens": int,
    "reasoning": bool,
    "vision": bool,
    "price": dict,
    "thinking_levels": list,
}
_PRICES = ("input", "output", "cache_read", "cache_write")


def corrected(model: Model) -> Model:
    """Return a model with what the user's file says of it.

    Raises:
        UserError: The file cannot be read, or says something that cannot be.
    """
    return replace(model, **_own().get(str(model), {}))


def own_names(provider: str) -> list[str]:
    """Return the names of a provider's models in the user's file."""
    refs = map(parse_model_ref, _own())
    return [ref.model_id for ref in refs if ref.provider == provider]


def _own() -> Mapping[str, dict[str, Any]]:
    given = os.environ.get("PI_NB_MODELS", "").strip()
    path = Path(given).expanduser() if given else data_folder() / "models.toml"
    try:
        return _read(path, path.stat().st_mtime_ns)
    except FileNotFoundError:
        if given:
            raise UserError(f"PI_NB_MODELS names {given}, which is not there.") from None
        return {}


@lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> Mapping[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        data = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    return {str(parse_model_ref(ref)): _facts(path, ref, entry) for ref, entry in data.items()}


def _facts(path: Path, ref: str, entry: Any) -> dict[str, Any]:
    given = entry if isinstance(entry, dict) else {"": entry}
    for name, value in given.items():
        if name not in _FACTS or type(value) is not _FACTS[name]:
            raise UserError(f"{path.name}: {ref}: {name} = {value!r}", hint=f"Known: {', '.join(_FACTS)}.")
    facts = dict(given)
    if "price" in facts:
        facts["price"] = _price(path, ref, facts["price"])
    if "thinking_levels" in facts:
        facts["thinking_levels"] = tuple(map(str, facts["thinking_levels"]))
    return facts


def _price(path: Path, ref: str, given: Mapping[str, Any]) -> Price:
    known = set(given) <= set(_PRICES)
    if not known or not all(isinstance(value, int | float) for value in given.values()):
        raise UserError(f"{path.name}: {ref}: price = {given!r}", hint=f"Known: {', '.join(_PRICES)}.")
    input, output, cache_read, cache_write = (float(given.get(name, 0)) for name in _PRICES)
    return Price(input, output, cache_read, cache_write)

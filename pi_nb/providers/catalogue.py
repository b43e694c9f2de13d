"""What is known of well-known models, and how to say that one is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from pi_nb.errors import ProviderError

__all__ = ["near", "unknown_model"]


def near(name: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return the known names most like ``name``, best first."""
    names = list(known)
    found = get_close_matches(name, names, n=limit, cutoff=0.4)
    return found or [n for n in names if name.lower() in n.lower()][:limit]


def unknown_model(provider: str, model_id: str, known: Iterable[str]) -> ProviderError:
    """Return the error for a model that ``provider`` does not have, naming those that are near."""
    names = list(known)
    close = near(model_id, names) or names[:5]
    hint = f"Did you mean {' or '.join(f'{provider}:{name}' for name in close)}?" if close else ""
    return ProviderError(f"{provider} has no model {model_id!r}.", code="not_found", hint=hint)

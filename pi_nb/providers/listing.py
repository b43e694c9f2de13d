"""Which models a provider has: asked of its server, or from what is known without asking."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pi_nb.errors import ProviderError
from pi_nb.models import Model
from pi_nb.providers.base import Provider
from pi_nb.providers.catalogue import known_models
from pi_nb.providers.own_models import own_names
from pi_nb.providers.price_list import listed_names

__all__ = ["ModelList", "list_models"]


@dataclass(frozen=True, slots=True)
class ModelList:
    """The models of a provider.

    Attributes:
        provider: Its name.
        models: What is known of each, in the order of their names.
        live: True if its server was asked; False if these are those known here.
        note: Why the server did not tell, in one line; empty if it did, or has nothing to tell.
    """

    provider: str
    models: tuple[Model, ...]
    live: bool
    note: str = ""


async def list_models(provider: Provider, *, seconds: float = 5.0) -> ModelList:
    """Return a provider's models. Never raises: a server that does not answer in time is told in ``note``.

    Args:
        provider: Any provider; those that list models have an async ``model_names()``.
        seconds: How long to wait for its server.
    """
    names: list[str] = []
    note = ""
    if hasattr(provider, "model_names"):
        try:
            async with asyncio.timeout(seconds):
                names = await provider.model_names()
        except TimeoutError:
            note = f"{provider.name} did not tell its models within {seconds:g} s."
        except ProviderError as error:
            note = f"{provider.name} did not tell its models: {error}"
        except (LookupError, TypeError, ValueError):
            note = f"{provider.name} did not tell its models: there is no list of models in its answer."
    own = own_names(provider.name)
    found = {*(names or known_names(provider.name)), *own}
    return ModelList(provider.name, tuple(map(provider.model, sorted(found))), bool(names), note)


def known_names(provider: str) -> list[str]:
    """Return the names of models known without asking: the table's, the user's, and the price list's."""
    table = [name for owner, name in known_models() if owner == provider]
    return list(dict.fromkeys([*own_names(provider), *table, *listed_names(provider)]))

"""``%pi_model provider:``: the models a provider has, with what is known of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_nb.models import Model
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.providers.listing import ModelList

__all__ = ["facts", "models_text"]


def models_text(runtime: Runtime, provider: str) -> str:
    """Return a provider's models as a table; its server is asked."""
    return _table(runtime.wait(runtime.registry.list_models(provider)))


def facts(model: Model) -> str:
    """Return what is known of a model, in a few words."""
    price = model.price
    told = [f"{model.context_window:,} tokens"]
    told += ["thinks"] if model.reasoning else []
    told += ["sees"] if model.vision else []
    told += [f"${price.input:g} in, ${price.output:g} out"] if price.output else []
    return ", ".join(told)


def _table(found: ModelList) -> str:
    lines = [found.note] if found.note else []
    if not found.models:
        return "\n".join([*lines, f"{found.provider} lists no models; name one: %pi_model {found.provider}:MODEL."])
    width = max(len(str(model)) for model in found.models)
    lines += [f"{model!s:{width}}  {facts(model)}" for model in found.models]
    source = "from its server" if found.live else "known here; others may be named too"
    return "\n".join([*lines, f"{len(found.models)} models, {source}. Prices are per million tokens."])

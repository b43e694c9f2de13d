"""The providers there are, by name, and which model to begin with.

A registry holds providers, or promises of them: :func:`default_registry` imports and builds a provider when it is
first asked for, so that listing names costs nothing and needs no key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any

from pi_nb.errors import ProviderError, UserError
from pi_nb.models import Model, parse_model_ref
from pi_nb.providers.base import Keyed, Provider
from pi_nb.providers.catalogue import near

if TYPE_CHECKING:
    from pi_nb.providers.listing import ModelList
    from pi_nb.providers.network import Network
    from pi_nb.providers.record import Recording
    from pi_nb.providers.timeouts import Timeouts

__all__ = ["DefaultModel", "Registry", "default_registry"]


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """The model to begin with, ``provider:model``, and why it was chosen."""

    ref: str
    reason: str

    def __str__(self) -> str:
        return self.ref


class Registry:
    """Providers by name.

    Args:
        providers: Those it begins with.
        recording: Record and replay what its HTTP providers exchange (:mod:`pi_nb.providers.record`); None to do as
            the process does.
        timeouts: How long its HTTP providers wait; None for what each has.
        network: Proxy and certificates of its HTTP providers; None for what each has.
    """

    def __init__(
        self,
        providers: Iterable[Provider] = (),
        *,
        recording: Recording | None = None,
        timeouts: Timeouts | None = None,
        network: Network | None = None,
    ) -> None:
        self._equipment: dict[str, Any] = {"recording": recording, "timeouts": timeouts, "network": network}
        self._lock = RLock()
        self._ready: dict[str, Provider] = {}
        self._promised: dict[str, Callable[[], Provider]] = {}
        self._overridden: dict[str, Model] = {}
        self._listed: dict[str, tuple[Model, ...]] = {}
        for provider in providers:
            self.register(provider)

    def __repr__(self) -> str:
        return f"<Registry {' '.join(self.names())}>"

    def register(self, provider: Provider) -> None:
        """Add a provider; one of the same name is replaced."""
        with self._lock:
            self._ready[provider.name] = self._equipped(provider)

    def _equipped(self, provider: Provider) -> Provider:
        for name, value in self._equipment.items():
            if value is not None and hasattr(provider, name):
                setattr(provider, name, value)
        return provider

    def wait_for(self, timeouts: Timeouts) -> None:
        """Let every HTTP provider, those to come included, wait so long from now on."""
        with self._lock:
            self._equipment["timeouts"] = timeouts
            for provider in self._ready.values():
                self._equipped(provider)

    def promise(self, name: str, build: Callable[[], Provider]) -> None:
        """Add a provider that is built when it is first asked for."""
        with self._lock:
            self._ready.pop(name, None)
            self._promised[name] = build

    def names(self) -> list[str]:
        """Return the names of all providers, sorted."""
        return sorted({*self._ready, *self._promised})

    def get(self, name: str) -> Provider:
        """Return a provider by name.

        Raises:
            UserError: There is none of that name; the message names those that are near.
        """
        with self._lock:
            if name not in self._ready and name in self._promised:
                self._ready[name] = self._equipped(self._promised[name]())
            if name in self._ready:
                return self._ready[name]
        close = near(name, self.names())
        hint = f"Did you mean {' or '.join(close)}?" if close else f"Known: {', '.join(self.names())}."
        raise UserError(f"There is no provider {name!r}.", hint=hint)

    def resolve(self, ref: str) -> tuple[Provider, Model]:
        """Return the provider and the model that ``provider:model`` names.

        Raises:
            UserError: Not a reference, or no such provider.
            ProviderError: ``not_found``: the provider has no such model.
        """
        parsed = parse_model_ref(ref)
        provider = self.get(parsed.provider)
        own = self._overridden.get(str(parsed))
        return provider, provider.model(parsed.model_id) if own is None else own

    def missing_key(self, name: str) -> ProviderError | None:
        """Return why a provider would refuse requests for want of a key; None if it has one, needs none, or is unsure.

        Raises:
            UserError: There is no provider of that name.
        """
        provider = self.get(name)
        return provider.missing_key() if isinstance(provider, Keyed) else None

    def override(self, model: Model) -> None:
        """Use these facts of a model from now on, whatever the catalogue says; for one session's worth.

        What is to last goes into a file: :mod:`pi_nb.providers.own_models`.
        """
        api = model.api or getattr(self.get(model.provider), "api", "")
        self._overridden[str(model)] = replace(model, api=api)

    async def list_models(self, name: str, *, seconds: float = 5.0) -> ModelList:
        """Return the models of a provider, as its server tells them, or those known here if it does not.

        Args:
            name: The provider's.
            seconds: How long to wait for its server.

        Raises:
            UserError: There is no provider of that name.
        """
        from pi_nb.providers.listing import list_models

        found = await list_models(self.get(name), seconds=seconds)
        models = tuple(self._overridden.get(str(model), model) for model in found.models)
        self._listed[name] = models
        return replace(found, models=models)

    def known_models(self) -> list[Model]:
        """Return models by name without asking anybody: those overridden, listed before, and in the table."""
        from pi_nb.providers.catalogue import known_models

        table = [model for (provider, _), model in known_models().items() if provider in self.names()]
        listed = [model for models in self._listed.values() for model in models]
        return list({str(model): model for model in (*table, *listed, *self._overridden.values())}.values())

    def default(self) -> DefaultModel:
        """Return the model to begin with: the first of these that applies.

        ``PI_NB_MODEL``; a provider whose key is in the environment; one whose key is in the keyring, if that is open;
        Ollama, if it answers on its port and has a model; the local model, if it was fetched; the scripted demo.
        Providers that are not in this registry do not count.
        """
        return next(choice for choice in self._choices() if choice is not None)

    def _choices(self) -> Iterator[DefaultModel | None]:
        yield _from_setting()
        ours = {variable: model for variable, model in _WITH_KEYS.items() if model.split(":")[0] in self.names()}
        yield from (DefaultModel(ours[name], f"{name} is set") for name in ours if os.environ.get(name, "").strip())
        yield _from_keyring(ours)
        if "ollama" in self.names():
            yield _from_ollama()
        if "local" in self.names():
            yield _from_local()
        yield DefaultModel("scripted:demo", _NOTHING)

    async def aclose(self) -> None:
        """Close every provider that was built; they may be used again afterwards."""
        with self._lock:
            built = list(self._ready.values())
        for provider in built:
            await provider.aclose()


# ---------------------------------------------------------------- the model to begin with

# the variable a key is in, and a model of its provider that is good for its price
_WITH_KEYS = {
    "ANTHROPIC_API_KEY": "anthropic:claude-sonnet-5-5",
    "OPENAI_API_KEY": "openai:gpt-6-sol",
    "GEMINI_API_KEY": "google:gemini-3.8-flash",
    "GOOGLE_API_KEY": "google:gemini-3.8-flash",
    "OPENROUTER_API_KEY": "openrouter:openrouter/auto",
    "DEEPSEEK_API_KEY": "deepseek:deepseek-flash",
    "MISTRAL_API_KEY": "mistral:mistral-medium-latest",
    "GROQ_API_KEY": "groq:openai/gpt-oss-120b",
}
_NOTHING = (
    "there is no key in the environment (such as ANTHROPIC_API_KEY) or the keyring, no Ollama on its port, and no "
    "local model (pi-nb local fetch)"
)


def _from_setting() -> DefaultModel | None:
    chosen = os.environ.get("PI_NB_MODEL", "").strip()
    return DefaultModel(chosen, "PI_NB_MODEL is set") if chosen else None


def _from_keyring(models: Mapping[str, str]) -> DefaultModel | None:
    from pi_nb.providers.keyrings import quietly_held

    name = quietly_held(models)
    return DefaultModel(models[name], f"{name} is in the keyring") if name else None


def _from_ollama() -> DefaultModel | None:
    from pi_nb.providers.ollama import installed_models

    names = installed_models()
    return DefaultModel(f"ollama:{names[0]}", "Ollama answers on its port") if names else None


def _from_local() -> DefaultModel | None:
    from pi_nb.providers.local import installed

    return DefaultModel("local:smollm2", "the local model was fetched") if installed() else None


# ---------------------------------------------------------------- all of ours


def default_registry(
    *, recording: Recording | None = None, timeouts: Timeouts | None = None, network: Network | None = None
) -> Registry:
    """Return a registry of every provider this package has, none of them built yet.

    Args:
        recording: Record and replay what is exchanged; None to do as the process does.
        timeouts: How long to wait; None for what the environment says.
        network: Proxy and certificates; None for the environment's.
    """
    registry = Registry(recording=recording, timeouts=timeouts, network=network)
    registry.promise("anthropic", _anthropic)
    registry.promise("openai", _openai)
    for name in ("openrouter", "deepseek", "groq", "mistral", "ollama", "vllm", "llamacpp", "lmstudio"):
        registry.promise(name, partial(_openai_chat, name))
    registry.promise("openai-compatible", _compatible)
    registry.promise("google", _google)
    registry.promise("local", _local)
    registry.promise("scripted", _demo)
    return registry


def _anthropic() -> Provider:
    from pi_nb.providers.anthropic import AnthropicProvider

    return AnthropicProvider()


def _openai() -> Provider:
    """Return OpenAI by its Responses API, which its newer models need to call tools; elsewhere Chat is spoken."""
    if os.environ.get("OPENAI_BASE_URL", "").strip():
        return _openai_chat("openai")
    from pi_nb.providers.openai_responses import OpenAIResponsesProvider

    return OpenAIResponsesProvider()


def _openai_chat(dialect: str) -> Provider:
    from pi_nb.providers.openai_chat import OpenAIChatProvider

    return OpenAIChatProvider(dialect)


def _compatible() -> Provider:
    from pi_nb.providers.compatible import CompatibleProvider

    return CompatibleProvider()


def _google() -> Provider:
    from pi_nb.providers.google import GoogleProvider

    return GoogleProvider()


def _local() -> Provider:
    from pi_nb.providers.local import LocalProvider

    return LocalProvider()


def _demo() -> Provider:
    from pi_nb.providers.demo import DemoProvider

    return DemoProvider()

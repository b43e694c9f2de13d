"""Who speaks OpenAI's Chat Completions, and what each says differently."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pi_nb.models import Model
from pi_nb.providers.service import Service
from pi_nb.providers.thinking import ALL_LEVELS, budget_tokens, clamp, openai_effort, openai_levels

__all__ = ["DIALECTS", "Dialect"]


@dataclass(frozen=True, slots=True)
class Dialect(Service):
    """One provider's way of speaking.

    Attributes:
        max_tokens: What it calls the limit of an answer.
        ask_usage: True if tokens are only told when asked for.
        turns: True if user messages must not follow one another, as some chat templates insist.
        context_window: What to assume of a model that is not in the table.
        thinking: Returns the request's fields for a thinking level.
        levels: Returns the thinking levels that a model has behind it.
    """

    max_tokens: str = "max_tokens"
    ask_usage: bool = True
    turns: bool = False
    context_window: int = 128_000
    thinking: Callable[[Model, str], Mapping[str, Any]] = lambda model, level: {}
    levels: Callable[[Model], tuple[str, ...]] = openai_levels

    def url(self) -> str:
        """Return the base URL: the environment's, or the usual one."""
        url = Service.url(self)
        return _ollama_url(url) if self.name == "ollama" else url


def _ollama_url(host: str) -> str:
    """Return the URL for what Ollama accepts in ``OLLAMA_HOST``: a host, a port, both, or a URL."""
    host = host.rstrip("/")
    if host.startswith(("http://", "https://")):
        return host if re.search(r"/v1$", host) else f"{host}/v1"
    name, _, port = host.partition(":")
    name = "127.0.0.1" if name in ("", "0.0.0.0") else name  # noqa: S104 - that address is for listening
    return f"http://{name}:{port or 11434}/v1"


# ---------------------------------------------------------------- thinking


def _effort(model: Model, level: str) -> Mapping[str, Any]:
    effort = openai_effort(model, level)
    return {} if effort is None else {"reasoning_effort": effort}


def _openrouter(model: Model, level: str) -> Mapping[str, Any]:
    if not model.reasoning:
        return {}
    return {"reasoning": {"enabled": False} if level == "off" else {"effort": clamp(level, _USUAL)}}


def _deepseek(model: Model, level: str) -> Mapping[str, Any]:
    if not model.reasoning:
        return {}
    if level == "off":
        return {"thinking": {"type": "disabled"}}
    return {"thinking": {"type": "enabled"}, "reasoning_effort": clamp(level, ("low", "high"))}


def _mistral(model: Model, level: str) -> Mapping[str, Any]:
    return {"reasoning_effort": "none" if level == "off" else "high"} if model.reasoning else {}


def _groq(model: Model, level: str) -> Mapping[str, Any]:
    if "qwen" in model.id:
        return {"reasoning_effort": "none" if level == "off" else "default", "reasoning_format": "parsed"}
    return _effort(model, level)


def _template(model: Model, level: str) -> Mapping[str, Any]:
    """Servers that pass a switch to the model's chat template."""
    if not model.reasoning:
        return {}
    fields: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": level != "off"}}
    if "gpt-oss" in model.id:
        fields["reasoning_effort"] = openai_effort(model, level)
    elif level != "off":
        fields["thinking_budget_tokens"] = budget_tokens(level)  # llama.cpp; others ignore it
    return fields


def _thinkers(*levels: str) -> Callable[[Model], tuple[str, ...]]:
    """Return what gives these levels to every model that thinks."""
    return lambda model: levels if model.reasoning else ("off",)


def _template_levels(model: Model) -> tuple[str, ...]:
    return openai_levels(model) if "gpt-oss" in model.id or not model.reasoning else ALL_LEVELS


_USUAL: Final = ("low", "medium", "high")


def _local(name: str, port: int, url_env: str, thinking: Callable[[Model, str], Mapping[str, Any]]) -> Dialect:
    return Dialect(
        name,
        f"http://127.0.0.1:{port}/v1",
        url_env=url_env,
        needs_key=False,
        turns=True,
        context_window=32_768,
        thinking=thinking,
        levels=_template_levels if thinking is _template else openai_levels,
    )


DIALECTS: Final[Mapping[str, Dialect]] = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            "openai",
            "https://api.openai.com/v1",
            url_env="OPENAI_BASE_URL",
            key_env=("OPENAI_API_KEY",),
            max_tokens="max_completion_tokens",
            thinking=_effort,
        ),
        Dialect(
            "openrouter",
            "https://openrouter.ai/api/v1",
            key_env=("OPENROUTER_API_KEY",),
            thinking=_openrouter,
            levels=_thinkers("off", *_USUAL),
        ),
        Dialect(
            "deepseek",
            "https://api.deepseek.com",
            key_env=("DEEPSEEK_API_KEY",),
            thinking=_deepseek,
            levels=_thinkers("off", "low", "high"),
        ),
        Dialect("groq", "https://api.groq.com/openai/v1", key_env=("GROQ_API_KEY",), thinking=_groq),
        Dialect(
            "mistral",
            "https://api.mistral.ai/v1",
            key_env=("MISTRAL_API_KEY",),
            ask_usage=False,
            thinking=_mistral,
            levels=_thinkers("off", "high"),
        ),
        _local("ollama", 11434, "OLLAMA_HOST", _effort),
        _local("vllm", 8000, "VLLM_BASE_URL", _template),
        _local("llamacpp", 8080, "LLAMACPP_BASE_URL", _template),
        _local("lmstudio", 1234, "LMSTUDIO_BASE_URL", _effort),
    )
}

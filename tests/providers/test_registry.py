"""Providers by name, and the model to begin with."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest

from pi_nb.errors import ProviderError, UserError
from pi_nb.messages import UserMessage
from pi_nb.providers.base import Provider, Request
from pi_nb.providers.registry import DefaultModel, Registry, default_registry
from pi_nb.providers.scripted import ScriptedProvider
from tests.providers.raw_server import Answer, serving
from tests.providers.replay import collect
from tests.providers.test_http_providers import WHOLE

NAMES = [
    *("anthropic", "deepseek", "google", "groq", "llamacpp", "lmstudio", "local", "mistral", "ollama", "openai"),
    *("openai-compatible", "openrouter", "scripted", "vllm"),
]
KEYS = ("ANTHROPIC", "OPENAI", "GEMINI", "GOOGLE", "OPENROUTER", "GROQ", "DEEPSEEK", "MISTRAL")


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path):
    """No key, no Ollama, no weights."""
    for name in KEYS:
        monkeypatch.delenv(f"{name}_API_KEY", raising=False)
    monkeypatch.delenv("PI_NB_MODEL", raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("PI_NB_DATA_DIR", str(tmp_path))


def test_every_provider_can_be_had():
    """Each name gives a provider of that name, without a key; so does ``repr``."""
    registry = default_registry()
    assert registry.names() == NAMES
    for name in NAMES:
        provider = registry.get(name)
        assert isinstance(provider, Provider)
        assert provider.name == name
        assert registry.get(name) is provider
    asyncio.run(registry.aclose())


def test_references_resolve():
    """``provider:model`` is split at the first colon."""
    provider, model = default_registry().resolve("ollama:llama3.2:1b")
    assert (provider.name, model.id, model.provider, str(model)) == (
        "ollama",
        "llama3.2:1b",
        "ollama",
        "ollama:llama3.2:1b",
    )


def test_known_models_have_their_limits():
    """The table is used, also for dated names."""
    registry = default_registry()
    model = registry.resolve("anthropic:claude-sonnet-4-5-20250929")[1]
    assert (model.context_window, model.max_tokens, model.vision, model.price.output) == (200_000, 64_000, True, 15)
    guess = registry.resolve("openai:gpt-9-vision")[1]
    assert (guess.vision, guess.reasoning) == (True, True)


def test_openai_speaks_what_its_address_speaks(monkeypatch):
    """OpenAI itself is asked by Responses; a base URL of one's own by Chat Completions."""
    assert default_registry().resolve("openai:gpt-6-sol")[1].api == "openai-responses"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert default_registry().resolve("openai:gpt-6-sol")[1].api == "openai-completions"


def test_unknown_provider_names_near_ones():
    """A slip of the pen is answered with what was meant."""
    with pytest.raises(UserError) as caught:
        default_registry().resolve("antropic:claude")
    assert "anthropic" in caught.value.hint
    with pytest.raises(UserError):
        default_registry().resolve("no-colon")
    with pytest.raises(ProviderError) as caught:
        default_registry().resolve("scripted:dmo")
    assert "scripted:demo" in caught.value.hint


def test_own_providers():
    """A registry takes any provider; the latest of a name counts."""
    mine, other = ScriptedProvider(name="mine"), ScriptedProvider(name="mine")
    registry = Registry([mine])
    assert registry.resolve("mine:x")[0] is mine
    registry.register(other)
    assert registry.get("mine") is other
    assert repr(registry) == "<Registry mine>"
    assert registry.default().ref == "scripted:demo"


def test_first_choice_is_the_setting(monkeypatch):
    """``PI_NB_MODEL`` goes before everything."""
    monkeypatch.setenv("PI_NB_MODEL", "ollama:x")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert default_registry().default() == DefaultModel("ollama:x", "PI_NB_MODEL is set")


@pytest.mark.parametrize("name", KEYS)
def test_second_choice_is_a_key(monkeypatch, name):
    """A provider whose key is there is chosen, and the choice resolves."""
    monkeypatch.setenv(f"{name}_API_KEY", "k")
    registry = default_registry()
    choice = registry.default()
    assert choice.reason == f"{name}_API_KEY is set"
    assert registry.resolve(choice.ref)[1].context_window >= 100_000


def test_third_choice_is_ollama(monkeypatch):
    """Ollama counts if it answers at once and has a model that chats; the latest one is taken."""
    models = [
        {"name": "old:1b", "modified_at": "2025"},
        {"name": "new:8b", "modified_at": "2026"},
        {"name": "nomic-embed-text", "modified_at": "2027"},
    ]
    with serving(
        Answer([json.dumps({"models": models}).encode()], headers={"content-type": "application/json"})
    ) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        assert str(default_registry().default()) == "ollama:new:8b"
    with serving(Answer([b"hello"])) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        assert default_registry().default().ref == "scripted:demo"


@pytest.mark.parametrize("host", ["http://me:word@127.0.0.1:notaport", "http://[::1", "a\x01b", "127.0.0.1:99999"])
def test_a_mistyped_ollama_host_is_no_ollama(monkeypatch, host):
    """An address that is none is passed over, as one where nobody listens."""
    monkeypatch.setenv("OLLAMA_HOST", host)
    assert default_registry().default().ref == "scripted:demo"


def test_ollama_on_its_usual_port(monkeypatch):
    """Nothing is set: Ollama is found where it listens by itself, chosen, and answers."""
    monkeypatch.delenv("OLLAMA_HOST")
    told = json.dumps({"models": [{"name": "qwen3:8b"}]}).encode()
    try:
        server = serving(
            Answer([told], headers={"content-type": "application/json"}), Answer(WHOLE["openai_chat"]), port=11434
        )
        with server as ollama:
            registry = default_registry()
            choice = registry.default()
            assert choice == DefaultModel("ollama:qwen3:8b", "Ollama answers on its port")
            provider, model = registry.resolve(choice.ref)
            last = asyncio.run(collect(provider, Request(model, (UserMessage(content="go"),))))[-1]
            assert [one.path for one in ollama.received] == ["/api/tags", "/v1/chat/completions"]
    except OSError:
        pytest.skip("an Ollama, or something else, listens on port 11434 here")
    assert last.message.text == "Hi"


def test_last_choice_is_the_demo():
    """With nothing at all, the demo answers, and the reason says why, and so what would change it."""
    choice = default_registry().default()
    assert choice.ref == "scripted:demo"
    for part in ("no key", "such as ANTHROPIC_API_KEY", "keyring", "Ollama", "pi-nb local fetch"):
        assert part in choice.reason


def test_listing_and_choosing_import_no_http_client():
    """A registry costs nothing until a provider is used."""
    code = (
        "import sys; from pi_nb.providers.registry import default_registry; r = default_registry(); r.names();"
        "r.resolve('scripted:demo'); assert 'httpx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

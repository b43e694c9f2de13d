"""What is known of models: the table, today's price list, the user's own file, and what servers tell."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest

from pi_nb.errors import UserError
from pi_nb.models import Model, Price
from pi_nb.providers import price_list
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.catalogue import look_up
from pi_nb.providers.listing import known_names, list_models
from pi_nb.providers.registry import Registry, default_registry
from pi_nb.providers.thinking import thinking_note
from tests.providers.raw_server import Answer, serving
from tests.providers.replay import FAMILIES, make_provider
from tests.providers.test_http_providers import NAME, refusal

FACTS = {
    "anthropic:claude-next": {"context_window": 500_000, "reasoning": True, "price": {"input": 3, "output": 15}},
    "openai:gpt-6-sol": {"max_tokens": 1000, "thinking_levels": ["off", "high"]},
}
TOML = """
["anthropic:claude-next"]
context_window = 500_000
reasoning = true
price = { input = 3, output = 15 }

["openai:gpt-6-sol"]
max_tokens = 1000
thinking_levels = ["off", "high"]
"""


@pytest.fixture(autouse=True)
def own_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("PI_NB_DATA_DIR", str(tmp_path))
    monkeypatch.delenv("PI_NB_MODELS", raising=False)
    return tmp_path


def model(ref, registry=None):
    return (registry or default_registry()).resolve(ref)[1]


# ---------------------------------------------------------------- today's prices


def test_the_price_list_knows_models_the_table_does_not():
    """Window and price of a model come from the list, also for cached tokens."""
    found = model("openrouter:anthropic/claude-sonnet-4.5")
    assert found.context_window >= 200_000
    assert 0 < found.price.cache_read < found.price.input < found.price.cache_write < found.price.output
    assert found.reasoning


def test_long_prompts_cost_more():
    """A price that depends on the prompt's length is taken by its length, cached parts included."""
    found = model("google:gemini-2.5-pro")
    ((start, dearer),) = found.price.above
    assert dearer.output > found.price.output
    for cached, rate in ((start - 1000, found.price), (start, dearer)):
        builder = MessageBuilder(found)
        builder.count(input=1000, output=10, cache_read=cached)
        cost = builder.usage.cost
        assert cost.input == pytest.approx(1000 * rate.input / 1e6)
        assert cost.total == pytest.approx((1000 * rate.input + 10 * rate.output + cached * rate.cache_read) / 1e6)


def test_prices_by_length():
    """The highest limit that is exceeded counts."""
    price = Price(1, above=((10, Price(2)), (20, Price(3))))
    assert [price.at(tokens).input for tokens in (0, 10, 11, 20, 21)] == [1, 1, 2, 2, 3]


def test_without_the_price_list_the_table_speaks(monkeypatch):
    """The package may be missing: known models keep their prices, others have none."""
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    price_list._providers.cache_clear()
    price_list.listed.cache_clear()
    try:
        assert model("anthropic:claude-sonnet-4-5").price == Price(3, 15, 0.3, 3.75)
        assert model("anthropic:claude-of-tomorrow").price == Price()
    finally:
        monkeypatch.undo()
        price_list._providers.cache_clear()
        price_list.listed.cache_clear()


def test_names_cost_no_price_list():
    """Listing providers and choosing the model to begin with load neither the list nor an HTTP client."""
    code = "import sys; from pi_nb.providers.registry import default_registry as d; d().names(); d().known_models()"
    code += "; print([m for m in ('genai_prices', 'httpx') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_models_are_allowed():
    """Any name may be used; it costs nothing that is known."""
    found = model("openai:gpt-of-tomorrow-8")
    assert (found.id, found.price, found.context_window) == ("gpt-of-tomorrow-8", Price(), 128_000)


# ---------------------------------------------------------------- the user's own facts


@pytest.mark.parametrize(("name", "text"), [("models.toml", TOML), ("mine.json", json.dumps(FACTS))])
def test_a_file_of_own_facts(own_folder, monkeypatch, name, text):
    """What the file says goes first, what it leaves out stays; a change is seen at once."""
    path = own_folder / name
    path.write_text(text)
    if name != "models.toml":
        monkeypatch.setenv("PI_NB_MODELS", str(path))
    new = model("anthropic:claude-next")
    assert (new.context_window, new.reasoning, new.price) == (500_000, True, Price(3, 15))
    known = model("openai:gpt-6-sol")
    assert (known.max_tokens, known.thinking_levels, known.price.input) == (1000, ("off", "high"), 2)
    assert "claude-next" in known_names("anthropic")
    path.unlink()
    if name == "models.toml":
        assert model("openai:gpt-6-sol").max_tokens == 128_000


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('["a:b"]\ncolour = 1', "colour"),
        ('["a:b"]\ncontext_window = "big"', "context_window"),
        ('["a:b"]\nprice = { gold = 1 }', "price"),
        ("[[[", "cannot be read"),
        ('["nonsense"]', "not a model reference"),
    ],
)
def test_mistakes_in_the_file_are_told(own_folder, text, told):
    """A file that says what cannot be is one clear line."""
    (own_folder / "models.toml").write_text(text)
    with pytest.raises(UserError, match=told):
        look_up("openai", "x", api="y")


def test_a_file_that_is_named_must_be_there(monkeypatch):
    """A wrong path is told, not passed over."""
    monkeypatch.setenv("PI_NB_MODELS", "/nowhere/models.toml")
    with pytest.raises(UserError, match="not there"):
        look_up("openai", "x", api="y")


def test_overriding_for_a_session():
    """A program says what it knows of a model; the wire format is the provider's."""
    registry = default_registry()
    registry.override(Model("openai", "gpt-x", context_window=999, price=Price(1)))
    found = model("openai:gpt-x", registry)
    assert (found.context_window, found.price.input, found.api) == (999, 1, "openai-responses")
    assert found in registry.known_models()


# ---------------------------------------------------------------- what servers tell


@pytest.mark.parametrize("family", FAMILIES)
def test_a_server_tells_its_models(family):
    """The list is the server's, with what is known of each model, and is remembered for completion."""
    rows = ["gpt-6-sol", "brand-new"]
    listed = {"data": [{"id": name} for name in rows], "models": [{"name": f"models/{name}"} for name in rows]}

    async def run(url):
        registry = Registry([make_provider(family, url)])
        found = await registry.list_models(NAME[family])
        await registry.aclose()
        return found, registry.known_models()

    with serving(refusal(200, listed)) as server:
        found, known = asyncio.run(run(server.url))
    assert [one.id for one in found.models] == ["brand-new", "gpt-6-sol"]
    assert (found.live, found.note) == (True, "")
    assert f"{NAME[family]}:brand-new" in map(str, known)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Answer([1.0, b"{}"]), "did not tell its models within 0.2 s"),
        (refusal(401, {"error": {"message": "bad key test-key"}}), "bad key [key]"),
        (refusal(200, b"<html>"), "no list of models"),
        (refusal(200, {"data": 3}), "no list of models"),
    ],
)
def test_a_server_that_does_not_tell(answer, told):
    """It is said why, and the models known here are listed instead."""

    async def run(url):
        provider = make_provider("openai_chat", url)
        found = await list_models(provider, seconds=0.2)
        await provider.aclose()
        return found

    with serving(answer) as server:
        found = asyncio.run(run(server.url))
    assert told in found.note
    assert not found.live
    assert "gpt-6-sol" in [one.id for one in found.models]


def test_providers_without_a_list():
    """The scripted provider and the local one have no server to ask."""
    registry = default_registry()
    assert asyncio.run(registry.list_models("scripted")).note == ""
    assert asyncio.run(registry.list_models("local")).models == ()


# ---------------------------------------------------------------- thinking levels


@pytest.mark.parametrize(
    ("ref", "level", "told"),
    [
        ("openai:gpt-5", "off", "openai:gpt-5 cannot do without thinking; it thinks minimal."),
        ("openai:gpt-5", "xhigh", "openai:gpt-5 has no thinking level xhigh; it thinks high."),
        ("openai:gpt-4o", "high", "openai:gpt-4o does not think; thinking high changes nothing."),
        ("openai:gpt-5.5", "xhigh", ""),
        (
            "anthropic:claude-sonnet-5-5",
            "minimal",
            "anthropic:claude-sonnet-5-5 has no thinking level minimal; it thinks low.",
        ),
        ("anthropic:claude-sonnet-4-5", "minimal", ""),
        ("google:gemini-2.5-flash", "off", ""),
        ("google:gemini-3.8-flash", "off", "google:gemini-3.8-flash cannot do without thinking; it thinks low."),
        ("deepseek:deepseek-flash", "medium", "deepseek:deepseek-flash has no thinking level medium; it thinks low."),
        ("mistral:magistral-medium", "low", "mistral:magistral-medium has no thinking level low; it thinks high."),
        ("ollama:llama3", "off", ""),
        ("scripted:demo", "high", ""),
    ],
)
def test_a_level_that_is_not_there_is_told(ref, level, told):
    """Which level is used instead is said in one line; a level that is there needs none."""
    assert thinking_note(model(ref), level) == told

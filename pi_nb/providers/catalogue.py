"""What is known of well-known models, a guess for the others, and how to say that one does not exist.

The table is a starting point, not a gate: any name may be used. It says what no list of prices says (longest answers,
who thinks, who sees pictures), and prices for when :mod:`~pi_nb.providers.price_list` has none. Limits are in tokens,
prices in US dollars per million tokens (prompt, answer, prompt read from the cache, prompt written to it).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from difflib import get_close_matches
from functools import cache

from pi_nb.errors import ProviderError
from pi_nb.models import Model, Price
from pi_nb.providers.own_models import corrected
from pi_nb.providers.price_list import listed

__all__ = ["known_models", "look_up", "near", "unknown_model"]

# provider, model, context window, longest answer, abilities (R: thinks, V: sees pictures), prices
_TABLE = """
anthropic  claude-opus-5-5      1000000 128000 RV  4     20    0.2    5
anthropic  claude-opus-5        1000000 128000 RV  5     25    0.5    6.25
anthropic  claude-opus-4-8      1000000 128000 RV  5     25    0.5    6.25
anthropic  claude-opus-4-7      1000000 128000 RV  5     25    0.5    6.25
anthropic  claude-opus-4-6      1000000 128000 RV  5     25    0.5    6.25
anthropic  claude-opus-4-5       200000  64000 RV  5     25    0.5    6.25
anthropic  claude-opus-4-1       200000  32000 RV  15    75    1.5    18.75
anthropic  claude-sonnet-5-5    1000000 128000 RV  2     10    0.1    2.5
anthropic  claude-sonnet-5      1000000 128000 RV  2     10    0.2    2.5
anthropic  claude-sonnet-4-6    1000000 128000 RV  3     15    0.3    3.75
anthropic  claude-sonnet-4-5     200000  64000 RV  3     15    0.3    3.75
anthropic  claude-haiku-5-5     1000000 128000 RV  0.1   0.5   0.01   0.125
anthropic  claude-haiku-4-5      200000  64000 RV  1     5     0.1    1.25
anthropic  claude-fable-5       1000000 128000 RV  10    50    1      12.5
openai     gpt-6-sol             272000 128000 RV  2     10    0.2    2.5
openai     gpt-6-luna            272000 128000 RV  0.1   0.5   0.01   0.125
openai     gpt-6-astra           272000 128000 RV  10    50    1      12.5
openai     gpt-5.6-sol           272000 128000 RV  4     20    0.4    5
openai     gpt-5.6-luna          272000 128000 RV  0.2   1.2   0.02   0.25
openai     gpt-5.5               272000 128000 RV  5     30    0.5    0
openai     gpt-5.4               272000 128000 RV  2.5   15    0.25   0
openai     gpt-5.4-mini          400000 128000 RV  0.75  4.5   0.075  0
openai     gpt-5.2               400000 128000 RV  1.75  14    0.175  0
openai     gpt-5.1               400000 128000 RV  1.25  10    0.125  0
openai     gpt-5                 400000 128000 RV  1.25  10    0.125  0
openai     gpt-5-mini            400000 128000 RV  0.25  2     0.025  0
openai     gpt-5-nano            400000 128000 RV  0.05  0.4   0.005  0
openai     gpt-4.1              1047576  32768 V   2     8     0.5    0
openai     gpt-4.1-mini         1047576  32768 V   0.4   1.6   0.1    0
openai     gpt-4o                128000  16384 V   2.5   10    1.25   0
openai     gpt-4o-mini           128000  16384 V   0.15  0.6   0.075  0
google     gemini-3.8-flash     1048576  65536 RV  0.75  3.75  0.075  0
google     gemini-3.5-flash     1048576  65536 RV  1.5   9     0.15   0
google     gemini-3.1-pro-preview 1048576 65536 RV 2     12    0.2    0
google     gemini-2.5-pro       1048576  65536 RV  1.25  10    0.125  0
google     gemini-2.5-flash     1048576  65536 RV  0.3   2.5   0.03   0
deepseek   deepseek-flash       1000000 384000 RV  0.3   1.2   0.006  0
deepseek   deepseek-v4-pro      1000000 384000 R   1.32  3.96  0.044  0
mistral    mistral-large-latest 1048576 262144 RV  0.7   2.1   0.07   0
mistral    mistral-medium-latest 262144 262144 RV  1.5   7.5   0.15   0
mistral    mistral-small-latest  262144 256000 RV  0.15  0.6   0.015  0
mistral    codestral-latest      256000   4096 -   0.3   0.9   0.03   0
groq       openai/gpt-oss-120b   131072  65536 R   0.15  0.6   0.075  0
groq       openai/gpt-oss-20b    131072  65536 R   0.075 0.3   0.0375 0
groq       llama-3.3-70b-versatile 131072 32768 -  0.59  0.79  0      0
groq       llama-3.1-8b-instant  131072 131072 -   0.05  0.08  0      0
"""

_SEES = re.compile(
    r"vision|llava|pixtral|[-.]vl\b|vl[-:]|gpt-[4-9]|\bo[134]\b|claude|gemini|gemma-?[3-9]|llama-?4", re.I
)
_THINKS = re.compile(
    r"reason|think|\br1\b|qwq|qwen-?3|gpt-oss|gpt-[5-9]|\bo[134]\b|magistral|deepseek|glm-[4-9]"
    r"|claude-([a-z]+-)?([4-9]|3[-.]7)|gemini-(2\.5|[3-9])",
    re.I,
)
_DATED = re.compile(r"[-@]20\d\d-?\d\d-?\d\d$")  # a dated name has the limits of the undated one


@cache
def known_models() -> dict[tuple[str, str], Model]:
    """Return the table: provider and model name to model."""
    return {(model.provider, model.id): model for model in map(_row, _TABLE.strip().splitlines())}


def _row(line: str) -> Model:
    provider, name, window, answer, abilities, *prices = line.split()
    input, output, cache_read, cache_write = map(float, prices)
    return Model(
        provider,
        name,
        context_window=int(window),
        max_tokens=int(answer),
        reasoning="R" in abilities,
        vision="V" in abilities,
        price=Price(input, output, cache_read, cache_write),
    )


def look_up(provider: str, model_id: str, *, api: str, context_window: int = 128_000) -> Model:
    """Return what is known of a model; for an unknown one, a guess from its name and ``context_window``.

    The user's own file goes first, then today's price list, then the table here.

    Raises:
        UserError: The user's file says something that cannot be.
    """
    known = known_models().get((provider, model_id)) or known_models().get((provider, _DATED.sub("", model_id)))
    found = listed(provider, model_id)
    if known is None:
        known = Model(
            provider,
            model_id,
            context_window=(found and found.context_window) or context_window,
            reasoning=_THINKS.search(model_id) is not None,
            vision=_SEES.search(model_id) is not None,
        )
    price = known.price if found is None else _joined(found.price, known.price)
    return corrected(replace(known, id=model_id, api=api, price=price))


def _joined(price: Price, table: Price) -> Price:
    """Return the list's price, with the table's for reading a cache where the list has none."""
    return price if price.cache_read or price.above else replace(price, cache_read=table.cache_read)


def near(name: str, known: Iterable[str], *, limit: int = 3) -> list[str]:
    """Return the known names most like ``name``, best first."""
    names = list(known)
    found = get_close_matches(name, names, n=limit, cutoff=0.6)
    return found or [n for n in names if name.lower() in n.lower()][:limit]


def unknown_model(provider: str, model_id: str, known: Iterable[str]) -> ProviderError:
    """Return the error for a model that ``provider`` does not have, naming those that are near."""
    names = list(known)
    close = [f"{provider}:{name}" for name in near(model_id, names)]
    known = ", ".join(f"{provider}:{name}" for name in names[:5])
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Known: {known}." if known else ""
    return ProviderError(f"{provider} has no model {model_id!r}.", code="not_found", hint=hint)

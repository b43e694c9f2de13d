"""Is Ollama here, and what has it got? Asked in passing, so it must answer at once or not count."""

from __future__ import annotations

import socket

import httpx

from pi_nb.providers.dialects import DIALECTS

__all__ = ["installed_models"]

_KNOCK_SECONDS = 0.15
_ANSWER_SECONDS = 1.0


def installed_models() -> list[str]:
    """Return the chat models Ollama has, the latest first; empty if it does not answer at once."""
    try:
        url = httpx.URL(DIALECTS["ollama"].url())
        socket.create_connection((url.host, url.port or 80), timeout=_KNOCK_SECONDS).close()
        answer = httpx.get(url.copy_with(path="/api/tags"), timeout=_ANSWER_SECONDS, trust_env=False)
        rows = answer.json()["models"]
        names = [str(row["name"]) for row in sorted(rows, key=_modified, reverse=True)]
    except (OSError, httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        return []
    return [name for name in names if "embed" not in name]


def _modified(row: dict[str, object]) -> str:
    return str(row.get("modified_at") or "")

"""Where a provider listens, and how it knows its users."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

__all__ = ["ANTHROPIC", "GOOGLE", "OPENAI_RESPONSES", "Service"]


@dataclass(frozen=True, slots=True)
class Service:
    """One provider's address and key.

    Attributes:
        name: The provider's name.
        base_url: Where it listens.
        url_env: Environment variable that overrides it; empty for none.
        key_env: Environment variables that may hold the key, and its names in the keyring.
        needs_key: False if it answers without.
    """

    name: str
    base_url: str
    url_env: str = ""
    key_env: tuple[str, ...] = ()
    needs_key: bool = True

    def url(self) -> str:
        """Return the base URL: the environment's, or the usual one."""
        given = os.environ.get(self.url_env, "").strip() if self.url_env else ""
        return given or self.base_url


ANTHROPIC: Final = Service(
    "anthropic", "https://api.anthropic.com", url_env="ANTHROPIC_BASE_URL", key_env=("ANTHROPIC_API_KEY",)
)
GOOGLE: Final = Service(
    "google",
    "https://generativelanguage.googleapis.com/v1beta",
    url_env="GEMINI_BASE_URL",
    key_env=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
)
OPENAI_RESPONSES: Final = Service(
    "openai", "https://api.openai.com/v1", url_env="OPENAI_BASE_URL", key_env=("OPENAI_API_KEY",)
)

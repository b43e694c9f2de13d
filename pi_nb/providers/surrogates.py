"""Text that can be encoded: JSON may hold halves of characters, UTF-8 may not."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["well_formed", "well_formed_value"]

_SURROGATE = re.compile("[\ud800-\udfff]")


def well_formed(text: str) -> str:
    """Return ``text`` with surrogate pairs joined and single surrogates replaced; it can then be encoded."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def well_formed_value(value: Any) -> Any:
    """Return JSON data with every text in it well-formed."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [well_formed_value(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(key): well_formed_value(item) for key, item in value.items()}
    return value

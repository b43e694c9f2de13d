"""What goes between kernel and page: JSON whose texts can be encoded, whatever stands in a session.

JSON may hold halves of characters (an emoji cut in two), UTF-8 may not: one of them in a message would keep all of it
from being sent. They are replaced here, at the border, on the way out and on the way in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson

from pi_nb.providers.surrogates import well_formed

__all__ = ["sayable", "well_formed"]

_DEEPEST: Final = 100  # levels; nothing that pages and kernels say to one another is nearly as deep


def sayable(value: Any) -> Any:
    """Return JSON data that can be encoded: single surrogates are U+FFFD, what is nested too deeply is left out."""
    try:
        orjson.dumps(value)  # refuses surrogates; the usual case is told so in a fraction of the time
    except TypeError:
        return _replaced(value, _DEEPEST)
    return value


def _replaced(value: Any, levels: int) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {well_formed(str(key)): _replaced(item, levels - 1) for key, item in value.items()} if levels else None
    if isinstance(value, list | tuple):
        return [_replaced(item, levels - 1) for item in value] if levels else None
    return value

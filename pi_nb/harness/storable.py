"""Making JSON of whatever tools, hooks and providers hand over, so that no append fails for what is in it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from pi_nb.harness.listeners import told
from pi_nb.messages import Message, Usage, Value
from pi_nb.session.entries import tolerant_message

__all__ = ["storable", "storable_message", "storable_usage"]


def storable(value: Any) -> Any:
    """Return JSON data for any value: NaN and infinities are null, as in JavaScript; what JSON lacks is its text."""
    try:
        return _plain(value)
    except RecursionError:  # very deep, or in itself
        return {"repr": told(value, repr)}


def storable_message(message: Message) -> Message:
    """Return a message like this one that a session file can hold."""
    data = {name: storable(value) for name, value in message.to_wire().items()}
    usage = getattr(message, "usage", None)
    if isinstance(usage, Usage):
        data["usage"] = storable_usage(usage)
    return tolerant_message(data)


def storable_usage(usage: Usage | None) -> Usage | None:
    """Return a usage whose numbers are numbers; one that is none counts as nothing."""
    return None if usage is None else Usage.model_validate(_counted(usage.to_wire()))


def _counted(data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _counted(value) if isinstance(value, Mapping) else 0 if _is_no_number(value) else storable(value)
        for name, value in data.items()
    }


def _is_no_number(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else told(key, str): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return _opened(value)


def _opened(value: Any) -> Any:
    if isinstance(value, Value):
        return _plain(value.to_wire())
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(mode="python"))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return told(value, repr)

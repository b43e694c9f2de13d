"""Tool calls the demo makes: which tool a prompt means, and arguments that fit its schema."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pi_nb.providers.base import ToolSpec

__all__ = ["example_call", "wanted_tools"]

_ASKS = re.compile(r"\b(tools?|run|execute|compute|calculate)\b", re.IGNORECASE)
_SEVERAL = re.compile(r"\b(two|both|parallel|at once)\b", re.IGNORECASE)
_CODE = re.compile(r"`+(?:\w*\n)?([^`]+)`+")
_QUOTED = re.compile(r"[\"“']([^\"”']+)[\"”']")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FAVOURITES = ("python", "ls", "read")  # the first of these if the prompt names none
_TEXTS = {
    "code": "sum(range(10))",
    "command": "echo hello",
    "path": ".",
    "pattern": "TODO",
    "url": "https://example.org",
}


def wanted_tools(prompt: str, tools: Sequence[ToolSpec]) -> list[ToolSpec]:
    """Return the tools a prompt asks for: those it names, or one of ours if it only asks for some tool."""
    named = [tool for tool in tools if _names(prompt, tool.name)]
    asks = _ASKS.search(prompt) is not None
    if named and (asks or re.search(r"\b(use|call|with)\b", prompt, re.IGNORECASE)):
        return named
    if not asks or not tools:
        return []
    order = sorted(tools, key=lambda tool: _FAVOURITES.index(tool.name) if tool.name in _FAVOURITES else 99)
    return [order[0], order[min(1, len(order) - 1)]] if _SEVERAL.search(prompt) else order[:1]


def _names(prompt: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", prompt, re.IGNORECASE) is not None


def example_call(tool: ToolSpec, prompt: str) -> tuple[ToolSpec, dict[str, Any]]:
    """Return the tool with arguments for it: what its schema requires, filled from the prompt where that has it."""
    properties = tool.parameters.get("properties") or {}
    required = tool.parameters.get("required") or ()
    numbers = iter(_NUMBER.findall(prompt))
    return tool, {name: _value(name, properties.get(name) or {}, prompt, numbers) for name in required}


def _value(name: str, schema: Mapping[str, Any], prompt: str, numbers: Any) -> Any:
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "integer":
            return int(float(next(numbers, "3")))
        case "number":
            return float(next(numbers, "3"))
        case "boolean":
            return True
        case "array":
            return []
        case "object":
            return {}
    return _text(name, prompt)


def _text(name: str, prompt: str) -> str:
    found = _CODE.search(prompt) or _QUOTED.search(prompt)
    return found.group(1).strip() if found else _TEXTS.get(name, "hello from the demo")

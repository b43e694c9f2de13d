"""A block of an Anthropic answer that is kept, not understood: what a tool at the provider was asked, and gave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi_nb.providers.arguments import parse_arguments
from pi_nb.providers.loose import as_text

__all__ = ["OtherBlock"]


class OtherBlock:
    """One block as it arrives; its input may come in pieces, like a tool call's."""

    def __init__(self, block: Mapping[str, Any]) -> None:
        self._block = dict(block)
        self._input: list[str] = []

    def take(self, delta: Mapping[str, Any]) -> None:
        """Add a piece: of the input's JSON, or fields that come at once."""
        if delta.get("type") == "input_json_delta":
            self._input.append(as_text(delta.get("partial_json")))
        else:
            self._block.update({name: value for name, value in delta.items() if name != "type"})

    def whole(self) -> dict[str, Any]:
        """Return the block."""
        text = "".join(self._input)
        return {**self._block, "input": parse_arguments(text).value} if text else self._block

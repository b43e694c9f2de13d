"""What a branch is set to, and how to say that a move of the leaf has changed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_nb.harness.agent import AgentHarness

__all__ = ["BranchSettings"]


@dataclass(frozen=True, slots=True)
class BranchSettings:
    """Model, thinking level and active tools at the leaf; ``named`` is False where the model is the default."""

    model: str
    named: bool
    thinking: str
    tools: tuple[str, ...]

    @classmethod
    def of(cls, harness: AgentHarness) -> BranchSettings:
        """Return what the harness works with now."""
        named = harness.session.context().model is not None
        return cls(str(harness.model or "none"), named, harness.thinking_level, harness.active_tool_names)

    def since(self, before: BranchSettings) -> str:
        """Return what to say of what is other here than it was before the move; nothing if all is the same."""
        changes = []
        if self.model != before.model:
            default = "" if self.named else ", the default: this place names none"
            changes.append(f"model is {self.model} here{default}")
        if self.thinking != before.thinking:
            changes.append(f"thinking is {self.thinking} here")
        if self.tools != before.tools:
            changes.append(f"tools are {', '.join(self.tools) or 'none'} here")
        return "; ".join(changes)

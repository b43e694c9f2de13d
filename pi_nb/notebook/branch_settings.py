"""What a branch is set to, and how to say that a move of the leaf has changed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_nb.harness.agent import AgentHarness

__all__ = ["BranchSettings", "Moved", "moved"]


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


@dataclass(frozen=True, slots=True)
class Moved:
    """A move of the leaf: whether a hook cancelled it, the text to be edited, and what is set otherwise there."""

    cancelled: bool
    editor_text: str | None
    changes: str


async def moved(harness: AgentHarness, target: str | None, **options: Any) -> Moved:
    """Move the leaf; return what came of it.

    Raises:
        HarnessError: As for :meth:`AgentHarness.navigate_tree`.
    """
    before = BranchSettings.of(harness)
    result = await harness.navigate_tree(target, **options)
    return Moved(result.cancelled, result.editor_text, BranchSettings.of(harness).since(before))

"""``scripted:demo``: lessons for a new user, without key or network."""

from __future__ import annotations

from pi_nb.models import Model
from pi_nb.providers.base import Request
from pi_nb.providers.scripted import Reply, ReplySource, ScriptedProvider

__all__ = ["DemoProvider"]


class DemoProvider(ScriptedProvider):
    """Answers from what it sees in the context."""

    def __init__(self, *, tokens_per_second: float | None = None) -> None:
        super().__init__(models=[Model("scripted", "demo", api="scripted")], tokens_per_second=tokens_per_second)

    def _take(self, request: Request) -> ReplySource:
        return Reply(f"This is a scripted demo; it sees {len(request.messages)} messages.")

"""What a prompt gave, as a value for the next cell."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from pi_nb.errors import UserError
from pi_nb.messages import ToolCall, Usage
from pi_nb.notebook.markdown import to_safe_markdown
from pi_nb.notebook.transcript import Snapshot, Tool

__all__ = ["Replies", "Reply"]

_FENCE = re.compile(r"^```\w*\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Replies(list["Reply"]):
    """The answers to one prompt, in order."""

    def wait(self, timeout: float | None = None) -> Replies:
        """Return these replies: they take the place of the background run that was waited for."""
        return self


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer.

    Attributes:
        text: What the model wrote; thinking and tool calls left out.
        tool_calls: Every call of the run, in order.
        usage: Tokens and price of the whole run.
        entry_id: The answer's entry in the session.
        prompt_id: The prompt's entry.
        model: ``provider:model`` that answered.
        stop_reason: Why it ended: ``stop``, ``length``, ``aborted`` or ``error``.
        session_id: The session it is in.
        replayed: True if it was stored before and nothing was asked.
    """

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    entry_id: str | None = None
    prompt_id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    session_id: str | None = None
    replayed: bool = False

    @classmethod
    def of(cls, run: Snapshot, session_id: str, *, replayed: bool = False) -> Reply:
        """Return what a run gave."""
        calls = (part for part in run.parts if isinstance(part, Tool))
        return cls(
            text=run.text,
            tool_calls=tuple(ToolCall(id=call.call_id, name=call.name, arguments=call.args) for call in calls),
            usage=run.usage,
            entry_id=run.answer_entry,
            prompt_id=run.prompt_entry,
            model=run.model,
            stop_reason=run.stop_reason,
            session_id=session_id,
            replayed=replayed,
        )

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Reply {self.entry_id} {self.model} {self.stop_reason} {len(self.text)} characters>"

    def _repr_markdown_(self) -> str:
        return to_safe_markdown(self.text)

    def wait(self, timeout: float | None = None) -> Reply:
        """Return this reply: it takes the place of the background run that was waited for."""
        return self

    def json(self) -> Any:
        """Return the text read as JSON, or the first code block in it that is JSON.

        Raises:
            UserError: There is no JSON in it.
        """
        for candidate in (self.text, *_FENCE.findall(self.text)):
            try:
                return json.loads(candidate)
            except ValueError:
                continue
        raise UserError("The answer is not JSON.", hint=f"It begins with {self.text[:60]!r}.")

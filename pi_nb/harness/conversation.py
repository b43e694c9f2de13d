"""A conversation as plain text, for a model that summarises it, and the files that were touched in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pi_nb.harness.estimate import compact_json, utf16_length
from pi_nb.messages import (
    AssistantMessage,
    Message,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from pi_nb.providers.transform import to_llm

__all__ = ["FileLists", "conversation_text"]

_RESULT_LIMIT = 2_000  # UTF-16 units of a tool result that a summariser sees


def conversation_text(messages: Sequence[Message]) -> str:
    """Return the conversation as paragraphs, each with who speaks in front."""
    return "\n\n".join(part for message in to_llm(messages) for part in _paragraphs(message))


def _paragraphs(message: Message) -> Iterable[str]:
    if isinstance(message, UserMessage):
        yield from _labelled("User", text_of(message.content))
    elif isinstance(message, ToolResultMessage):
        yield from _labelled("Tool result", _limited(text_of(message.content)))
    elif isinstance(message, AssistantMessage):
        blocks = (TextContent(text=message.content),) if isinstance(message.content, str) else message.content
        thinking = [block.thinking for block in blocks if isinstance(block, ThinkingContent)]
        text = [block.text for block in blocks if isinstance(block, TextContent)]
        calls = [_call(block) for block in blocks if isinstance(block, ToolCall)]
        yield from _labelled("Assistant thinking", "\n".join(thinking))
        yield from _labelled("Assistant", "\n".join(text))
        yield from _labelled("Assistant tool calls", "; ".join(calls))


def _labelled(label: str, text: str) -> Iterable[str]:
    if text:
        yield f"[{label}]: {text}"


def _limited(text: str) -> str:
    over = utf16_length(text) - _RESULT_LIMIT
    if over <= 0:
        return text
    units = text.encode("utf-16-le", "surrogatepass")[: 2 * _RESULT_LIMIT]
    # a note as long as pi's: what both send is then of one length
    return f"{units.decode('utf-16-le', 'ignore')}\n\n[and {over} more characters, left out]"


def _call(call: ToolCall) -> str:
    arguments = call.arguments if isinstance(call.arguments, Mapping) else {}
    return f"{call.name}({', '.join(f'{name}={compact_json(value)}' for name, value in arguments.items())})"


@dataclass(slots=True)
class FileLists:
    """Files that were read and files that were changed, as far as the tool calls tell."""

    read: set[str]
    modified: set[str]

    @classmethod
    def of(cls, messages: Iterable[Message], *earlier: Any) -> FileLists:
        """Return the files of the calls in these messages, and those that ``details`` of earlier summaries list."""
        lists = cls(set(), set())
        for details in earlier:
            if isinstance(details, Mapping):
                lists.read.update(_names(details.get("readFiles")))
                lists.modified.update(_names(details.get("modifiedFiles")))
        for message in messages:
            if isinstance(message, AssistantMessage):
                for call in message.tool_calls:
                    lists._note(call)
        return lists

    def _note(self, call: ToolCall) -> None:
        path = call.arguments.get("path") if isinstance(call.arguments, Mapping) else None
        if not isinstance(path, str) or not path:
            return
        if call.name == "read":
            self.read.add(path)
        elif call.name in {"write", "edit"}:
            self.modified.add(path)

    @property
    def details(self) -> dict[str, list[str]]:
        """The lists as a summary entry keeps them: sorted, and files only read apart from changed ones."""
        return {"readFiles": sorted(self.read - self.modified), "modifiedFiles": sorted(self.modified)}

    def as_text(self) -> str:
        """Return the lists as the end of a summary; empty if there are no files."""
        details = self.details
        parts = [
            f"<{tag}>\n{chr(10).join(names)}\n</{tag}>"
            for tag, names in (("read-files", details["readFiles"]), ("modified-files", details["modifiedFiles"]))
            if names
        ]
        return "".join(f"\n\n{part}" for part in parts)


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list | tuple) else []

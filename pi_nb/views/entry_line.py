"""One entry in one line: what a row of a tree says, in any of the pictures.

Every string that comes out of here is visible text (:mod:`pi_nb.views.plain`): one line, nothing that acts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pi_nb.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi_nb.session.entries import (
    ActiveToolsChangeEntry,
    BranchSummaryEntry,
    CompactionEntry,
    ContextEditEntry,
    CustomEntry,
    CustomMessageEntry,
    LabelEntry,
    LeafEntry,
    MessageEntry,
    ModelChangeEntry,
    SessionInfoEntry,
    ThinkingLevelChangeEntry,
    UsageEntry,
)
from pi_nb.views.plain import clip, short_id, visible

__all__ = ["Line", "call_line", "content_text", "entry_line", "message_line", "message_text"]

_PREVIEW: Final = 300  # characters looked at; no picture shows more of one entry
_CALL: Final = 48  # cells of one tool call
_BREAKS: Final = re.compile(r"\s*\n\s*")  # a space in a preview, as in the live tree
_TELLING: Final = ("command", "path", "file_path", "pattern", "query", "url", "code", "name")


class Line(NamedTuple):
    """What a row says.

    Attributes:
        kind: Sort of entry, for its colour: user, assistant, tool, custom, summary, setting, note or unknown.
        head: What it is: a role, or what was set.
        text: What it holds, shortened.
        calls: Tool calls of an answer, each in a few words.
        failure: Why an answer or a tool failed; empty if it did not.
        model: Model that gave the answer; empty if unknown.
    """

    kind: str
    head: str
    text: str = ""
    calls: tuple[str, ...] = ()
    failure: str = ""
    model: str = ""

    @property
    def is_message(self) -> bool:
        """True for what is said; False for what is set or noted beside it."""
        return self.kind in {"user", "assistant", "tool", "custom", "summary"}

    def __str__(self) -> str:
        calls = " ".join(f"[{call}]" for call in self.calls)
        failure = f"({self.failure})" if self.failure else ""
        said = " ".join(part for part in (self.text, calls, failure) if part)
        if self.is_message:
            return f"{self.head}: {said}" if said else self.head
        return f"[{self.head}: {said}]" if said else f"[{self.head}]"


def entry_line(entry: Any) -> Line:
    """Return an entry in one line."""
    describe = _ENTRIES.get(type(entry))
    return Line("unknown", _brief(entry.type)) if describe is None else describe(entry)


def message_line(message: Any) -> Line:
    """Return a message in one line."""
    describe = _MESSAGES.get(type(message))
    if describe is None:
        return Line("unknown", _brief(message.role), _content(getattr(message, "content", None)))
    return describe(message)


def message_text(message: Any) -> str:
    """Return all that a message says, as it is (not made visible): its text or summary, its calls, its failure."""
    if isinstance(message, BranchSummaryMessage | CompactionSummaryMessage):
        return message.summary
    if isinstance(message, BashExecutionMessage):
        return f"$ {message.command}\n{message.output}"
    line = message_line(message)
    calls = [f"[{call}]" for call in line.calls]
    failure = [f"({line.failure})"] if line.failure else []
    return "\n".join(part for part in (*_parts(getattr(message, "content", None)), *calls, *failure) if part)


def content_text(content: Any) -> str:
    """Return the text of a message's content; of content that is not understood, what looks like text."""
    if isinstance(content, str):
        return content
    return "".join(map(_text_of_block, content)) if isinstance(content, list | tuple) else ""


def _text_of_block(block: Any) -> str:
    if isinstance(block, TextContent):
        return block.text
    text = block.get("text") if isinstance(block, Mapping) and block.get("type") == "text" else ""
    return text if isinstance(text, str) else ""


def _parts(content: Any) -> list[str]:
    return [_part(block) for block in content] if isinstance(content, list | tuple) else [content_text(content)]


def _part(block: Any) -> str:
    if isinstance(block, ImageContent):
        return f"[{visible(block.mime_type, limit=40)}, {len(block.data) * 3 // 4:,} bytes]"
    return f"(thinking) {block.thinking}" if isinstance(block, ThinkingContent) else _text_of_block(block)


def call_line(call: ToolCall) -> str:
    """Return a tool call in a few words: its name and the argument that tells most."""
    telling = _telling(call.arguments)
    return clip(f"{_brief(call.name)}: {telling}" if telling else _brief(call.name), _CALL)


def _telling(arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return _brief(arguments)
    for name in _TELLING:
        if isinstance(arguments.get(name), str):
            return _brief(arguments[name])
    return ", ".join(f"{_brief(name)}={_brief(value)}" for name, value in list(arguments.items())[:3])


def _brief(value: Any) -> str:
    """Return a value as visible text of bounded length; what is nested is not looked into."""
    if value is None:
        return ""
    if isinstance(value, str):
        return visible(_BREAKS.sub(" ", value[: 2 * _PREVIEW].strip()), limit=_PREVIEW)
    return str(value) if isinstance(value, bool | int | float) else "…"


# ---------------------------------------------------------------- messages


def _content(content: Any) -> str:
    """Return the beginning of a content's text, with a note for each picture."""
    pictures = sum(isinstance(block, ImageContent) for block in content) if isinstance(content, tuple) else 0
    note = "" if not pictures else "[image]" if pictures == 1 else f"[{pictures} images]"
    return " ".join(part for part in (_brief(content_text(content)), note) if part)


def _assistant(message: Any) -> Line:
    failure = ""
    if message.stop_reason in {"error", "aborted"}:
        reason = _brief(message.error_message)
        failure = (
            f"{message.stop_reason}: {reason}" if reason and message.stop_reason == "error" else message.stop_reason
        )
    calls = tuple(map(call_line, message.tool_calls))
    return Line("assistant", "assistant", _content(message.content), calls, failure, _brief(message.model))


def _tool_result(message: Any) -> Line:
    name = _brief(message.tool_name) or "tool"
    text = f"[{name}] {_content(message.content)}".rstrip()
    return Line("tool", "result", text, failure="failed" if message.is_error else "")


def _bash(message: Any) -> Line:
    failure = f"exit {message.exit_code}" if message.exit_code else "cancelled" if message.cancelled else ""
    return Line("tool", "shell", f"$ {_brief(message.command)}", failure=failure)


def _custom(message: Any) -> Line:
    return Line("custom", _brief(message.custom_type) or "custom", _content(message.content))


def _branch_summary(message: Any) -> Line:
    return Line("summary", "branch summary", _brief(message.summary))


def _compaction(message: Any) -> Line:
    tokens = message.tokens_before
    size = f"{tokens:,.0f} tokens → " if isinstance(tokens, int | float) else ""
    return Line("summary", "compaction", f"{size}{_brief(message.summary)}")


_MESSAGES: Final[Mapping[type, Callable[[Any], Line]]] = {
    UserMessage: lambda message: Line("user", "user", _content(message.content)),
    AssistantMessage: _assistant,
    ToolResultMessage: _tool_result,
    BashExecutionMessage: _bash,
    CustomMessage: _custom,
    BranchSummaryMessage: _branch_summary,
    CompactionSummaryMessage: _compaction,
    SystemMessage: lambda message: Line("setting", "system", _content(message.content)),
}


# ---------------------------------------------------------------- other entries


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(_brief, names)) or "none"


def _pointed(id: str | None) -> str:
    return "the beginning" if id is None else short_id(id)


def _model(entry: Any) -> Line:
    return Line("setting", "model", f"{_brief(entry.provider)}:{_brief(entry.model_id)}")


def _label(entry: Any) -> Line:
    label = _brief(entry.label)
    return Line("note", "label" if label else "label removed", f"{label} → {_pointed(entry.target_id)}".strip(" →"))


def _edit(entry: Any) -> Line:
    omitted = entry.replacement is None
    return Line("note", "omitted" if omitted else "edited", _pointed(entry.target_id))


def _usage(entry: Any) -> Line:
    return Line("note", "usage", f"{_brief(entry.kind)} {_brief(entry.provider)}:{_brief(entry.model)}")


_ENTRIES: Final[Mapping[type, Callable[[Any], Line]]] = {
    MessageEntry: lambda entry: message_line(entry.message),
    CustomMessageEntry: _custom,
    BranchSummaryEntry: _branch_summary,
    CompactionEntry: _compaction,
    ModelChangeEntry: _model,
    ThinkingLevelChangeEntry: lambda entry: Line("setting", "thinking", _brief(entry.thinking_level)),
    ActiveToolsChangeEntry: lambda entry: Line("setting", "tools", _names(entry.active_tool_names)),
    CustomEntry: lambda entry: Line("note", _brief(entry.custom_type) or "custom"),
    LabelEntry: _label,
    SessionInfoEntry: lambda entry: Line("note", "name", _brief(entry.name) or "none"),
    LeafEntry: lambda entry: Line("note", "leaf moved to", _pointed(entry.target_id)),
    ContextEditEntry: _edit,
    UsageEntry: _usage,
}

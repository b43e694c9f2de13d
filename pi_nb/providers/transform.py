"""Makes any history acceptable to any provider.

Two steps, both pure. :func:`to_llm` turns the roles only we know into what every model knows: user, assistant and
tool result. :func:`acceptable` then makes the order and the content such that no provider refuses it: a session is
edited, branched, aborted, compacted and continued by other models, and providers are strict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pi_nb.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    Message,
    SystemMessage,
    TextContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from pi_nb.models import Model
from pi_nb.providers.blocks import clean_answer, clean_result, clean_user
from pi_nb.providers.call_ids import CallIds

__all__ = [
    "BRANCH_PREFIX",
    "COMPACTION_PREFIX",
    "NO_RESULT",
    "SUMMARY_SUFFIX",
    "LlmMessage",
    "Sending",
    "acceptable",
    "framed",
    "merge_users",
    "sending",
    "to_llm",
]

LlmMessage: TypeAlias = UserMessage | AssistantMessage | ToolResultMessage

COMPACTION_PREFIX = "What was said before this point has been replaced by a summary of it.\n\n<summary>\n"
BRANCH_PREFIX = "This conversation took another direction for a while and came back. What came of it:\n\n<summary>\n"
SUMMARY_SUFFIX = "\n</summary>"
NO_RESULT = "No result provided"
_BEGINNING = "(The beginning of this conversation is not included.)"
_EMPTY = "(empty message)"
_CONTINUE = "Please continue."
_NOTHING_LEFT = "nothing in it is for this model"


# ---------------------------------------------------------------- roles


def to_llm(messages: Iterable[Message]) -> tuple[LlmMessage, ...]:
    """Return ``messages`` in the roles every model knows.

    What an application or the user's own shell put in becomes a user message, as do summaries. Commands kept from
    the context and roles nobody knows are left out. User messages, answers and results pass unchanged.
    """
    return tuple(out for out in map(_as_llm, messages) if out is not None)


def _as_llm(message: Message) -> LlmMessage | None:
    match message:
        case UserMessage() | AssistantMessage() | ToolResultMessage():
            return message
        case BashExecutionMessage():
            return None if message.exclude_from_context else _said(_command_text(message), message)
        case CustomMessage(content=str(text)) | SystemMessage(content=str(text)):
            return _said(text, message)
        case CustomMessage() | SystemMessage():
            return UserMessage(content=message.content, timestamp=message.timestamp)
        case BranchSummaryMessage():
            return _said(f"{BRANCH_PREFIX}{message.summary}{SUMMARY_SUFFIX}", message)
        case CompactionSummaryMessage():
            return _said(f"{COMPACTION_PREFIX}{message.summary}{SUMMARY_SUFFIX}", message)
    return None


def _said(
    text: str,
    source: BashExecutionMessage | CustomMessage | SystemMessage | BranchSummaryMessage | CompactionSummaryMessage,
) -> UserMessage:
    return UserMessage(content=(TextContent(text=text),), timestamp=source.timestamp)


def _command_text(message: BashExecutionMessage) -> str:
    output = f"```\n{message.output}\n```" if message.output else "(no output)"
    parts = [f"Ran `{message.command}`\n{output}"]
    if message.cancelled:
        parts.append("(command cancelled)")
    elif message.exit_code:
        parts.append(f"Command exited with code {message.exit_code}")
    if message.truncated and message.full_output_path:
        parts.append(f"[Output truncated. Full output: {message.full_output_path}]")
    return "\n\n".join(parts)


# ---------------------------------------------------------------- order


def acceptable(messages: Iterable[Message], model: Model) -> tuple[LlmMessage, ...]:
    """Return ``messages`` as ``model``'s provider will take them.

    * Answers that failed or were aborted are left out, with the results of their calls.
    * Every call is followed at once by its result, in the order of the calls; a missing one is an error result, and
      what stood between is moved after. A result whose call is not there any more becomes text.
    * Call ids are good for the provider and unique; call and result keep the same one.
    * Thinking of another model becomes text, or goes if it is secret; so do signatures.
    * Pictures become one line of text per run of them if the model cannot see them.
    * Blank text and unknown blocks go, and messages that have nothing left.
    """
    order = _Order(model)
    for message in to_llm(messages):
        order.add(message)
    return tuple(order.finish())


@dataclass(frozen=True, slots=True)
class Sending:
    """What becomes of messages on their way to a model.

    Attributes:
        unsent: For messages that are left out, by their place: why.
        together: Places of the user's messages that follow one another; some providers are sent each run as one.
    """

    unsent: Mapping[int, str]
    together: tuple[tuple[int, ...], ...]


def sending(messages: Iterable[Message], model: Model) -> Sending:
    """Return which messages :func:`acceptable` leaves out, and which of the others may be sent as one."""
    order = _Order(model)
    unsent: dict[int, str] = {}
    runs: list[list[int]] = [[]]
    for place, message in enumerate(messages):
        said = _as_llm(message)
        why = "it is not for models" if said is None else order.add(said)
        if why:
            unsent[place] = why
        elif isinstance(said, UserMessage):
            runs[-1].append(place)
        else:
            runs.append([])
    return Sending(unsent, tuple(tuple(run) for run in runs if len(run) > 1))


class _Order:
    """Puts messages into the order providers insist on: each call, then its result, then the rest."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.out: list[LlmMessage] = []
        self.ids = CallIds(model)
        self.calls: dict[str, ToolCall] = {}  # calls of the latest answer, by the id they had
        self.results: dict[str, ToolResultMessage] = {}
        self.waiting: list[UserMessage] = []  # what stood between those calls and their results
        self.dropped: set[str] = set()  # calls of answers that are left out

    def add(self, message: LlmMessage) -> str:
        """Take a message; return why it is left out, or nothing if it is not."""
        match message:
            case AssistantMessage():
                return self._answer(message)
            case ToolResultMessage():
                return self._result(message)
            case _:
                return self._user(clean_user(message, self.model))

    def finish(self) -> list[LlmMessage]:
        self._settle()
        return self.out

    def _answer(self, message: AssistantMessage) -> str:
        if message.stop_reason in ("error", "aborted"):
            self.dropped.update(call.id for call in message.tool_calls)
            return "the answer was stopped" if message.stop_reason == "aborted" else "the answer failed"
        self._settle()
        blocks = clean_answer(message, self.model)
        calls = [block for block in blocks if isinstance(block, ToolCall)]
        native = message.provider == self.model.provider and message.model == self.model.id
        renamed = self.ids.rename([call.id for call in calls], native=native and message.api == self.model.api)
        new_ids = iter(renamed)
        content = tuple(
            block.model_copy(update={"id": next(new_ids)}) if isinstance(block, ToolCall) else block for block in blocks
        )
        if content:
            self.out.append(message.model_copy(update={"content": content}))
        self._expect(calls, [block for block in content if isinstance(block, ToolCall)])
        return "" if content else _NOTHING_LEFT

    def _expect(self, calls: Sequence[ToolCall], renamed: Sequence[ToolCall]) -> None:
        # the same id twice in one answer: the second result of that id belongs to the second call
        self.calls = {}
        for old, new in zip(calls, renamed, strict=True):
            self.calls[_free_key(old.id, self.calls)] = new
        self.dropped.difference_update(self.calls)

    def _result(self, message: ToolResultMessage) -> str:
        key = _free_key(message.tool_call_id, self.results)
        if key in self.calls:
            call = self.calls[key]
            self.results[key] = clean_result(message, self.model, call_id=call.id, name=call.name)
            return ""
        if message.tool_call_id in self.calls:
            return "its call has a result already"
        if message.tool_call_id in self.dropped:
            return "its call is not sent"
        return self._user(_orphan(clean_result(message, self.model, call_id="", name=message.tool_name or "")))

    def _user(self, message: UserMessage | None) -> str:
        if message is None:
            return _NOTHING_LEFT
        (self.waiting if self.calls else self.out).append(message)
        return ""

    def _settle(self) -> None:
        """Write the results of the latest answer's calls, then what had to wait for them."""
        for key, call in self.calls.items():
            self.out.append(self.results.get(key) or _missing(call))
        self.out.extend(self.waiting)
        self.calls, self.results, self.waiting = {}, {}, []


def _free_key(key: str, taken: dict[str, ToolCall] | dict[str, ToolResultMessage]) -> str:
    while key in taken:
        key += "\0"
    return key


def _missing(call: ToolCall) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call.id, tool_name=call.name, content=(TextContent(text=NO_RESULT),), is_error=True
    )


def _orphan(result: ToolResultMessage) -> UserMessage:
    name = f" {result.tool_name}" if result.tool_name else ""
    head = TextContent(text=f"(Result of an earlier call of the tool{name}, which is no longer shown:)")
    content = (TextContent(text=result.content),) if isinstance(result.content, str) else result.content
    return UserMessage(content=(head, *content), timestamp=result.timestamp)


def framed(messages: Sequence[LlmMessage]) -> tuple[LlmMessage, ...]:
    """Return acceptable messages with something of the user's at both ends: a model answers, it does not begin."""
    if not messages:
        return (UserMessage(content=_EMPTY),)
    before = (UserMessage(content=_BEGINNING),) if isinstance(messages[0], AssistantMessage) else ()
    after = (UserMessage(content=_CONTINUE),) if isinstance(messages[-1], AssistantMessage) else ()
    return (*before, *messages, *after)


def merge_users(messages: Iterable[LlmMessage]) -> tuple[LlmMessage, ...]:
    """Return the messages with user messages that follow one another made one: some chat templates insist on turns."""
    out: list[LlmMessage] = []
    for message in messages:
        last = out[-1] if out else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage):
            out[-1] = _merged(last, message)
        else:
            out.append(message)
    return tuple(out)


def _merged(first: UserMessage, second: UserMessage) -> UserMessage:
    if isinstance(first.content, str) and isinstance(second.content, str):
        return first.model_copy(update={"content": f"{text_of(first.content)}\n\n{text_of(second.content)}"})
    blocks = [(TextContent(text=c),) if isinstance(c, str) else c for c in (first.content, second.content)]
    return first.model_copy(update={"content": (*blocks[0], *blocks[1])})

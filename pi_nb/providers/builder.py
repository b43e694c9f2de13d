"""Collects the pieces of an answer; every provider builds its messages here.

Appending a piece costs a list append. The message is built when somebody asks (``partial()``), and what was
joined once is not joined again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from pi_nb.errors import ProviderError
from pi_nb.messages import (
    AssistantMessage,
    Cost,
    TextContent,
    ThinkingContent,
    ToolCall,
    UnknownContent,
    Usage,
    now_ms,
)
from pi_nb.models import Model
from pi_nb.providers.arguments import Arguments, parse_arguments
from pi_nb.providers.base import BlockDelta, BlockEnd, BlockStart, StreamDone, StreamError, StreamStart
from pi_nb.providers.loose import as_count
from pi_nb.providers.surrogates import well_formed

__all__ = ["MessageBuilder"]

BuiltBlock: TypeAlias = TextContent | ThinkingContent | ToolCall | UnknownContent
UNKNOWN = "unknown"


class MessageBuilder:
    """One answer as it arrives.

    Blocks are named by their index, which :meth:`open` gives; several may be open at once, as some providers send
    two tool calls interleaved.

    Args:
        model: The model that answers.
        provider: Name to store in the message; the model's own if None.
        api: Wire format to store in the message; the model's own if None.
        show_arguments: False to leave a tool call's arguments empty until the call is complete.

    Attributes:
        usage: Tokens so far; set it whenever the provider says something about them.
        stop_reason: Why the answer ended, so far.
        error_message: What went wrong, or None.
    """

    def __init__(
        self, model: Model, *, provider: str | None = None, api: str | None = None, show_arguments: bool = True
    ) -> None:
        self.model = model
        self.usage = Usage.of()
        self.stop_reason = "stop"
        self.error_message: str | None = None
        self._provider = provider or model.provider
        self._api = api or model.api
        self._show_arguments = show_arguments
        self._timestamp = now_ms()
        self._blocks: list[_Block] = []

    def __len__(self) -> int:
        return len(self._blocks)

    def __repr__(self) -> str:
        kinds = " ".join(block.kind for block in self._blocks)
        return f"<MessageBuilder {self.model} blocks=[{kinds}] stop={self.stop_reason}>"

    # ------------------------------------------------------------ events

    def start(self) -> StreamStart:
        """Return the event that begins the message."""
        return StreamStart(self.partial)

    def open(self, kind: str, *, id: str = "", name: str = "", arguments: Any = None) -> BlockStart:
        """Begin a block; the event carries its index.

        Args:
            kind: ``text``, ``thinking`` or ``toolcall``.
            id: A tool call's id.
            name: A tool call's name.
            arguments: A tool call's arguments, should it come without pieces.
        """
        self._blocks.append(_Block(kind, id, name, self._show_arguments))
        if isinstance(arguments, dict):
            self._blocks[-1].given = arguments
        return BlockStart(kind, len(self._blocks) - 1, self.partial)

    def append(self, index: int, delta: str) -> BlockDelta | None:
        """Add a piece to a block; None if it must wait for the other half of a surrogate pair."""
        block = self._blocks[index]
        delta = block.take(delta)
        return BlockDelta(block.kind, index, delta, self.partial) if delta else None

    def close(self, index: int, *, content: BuiltBlock | None = None) -> BlockEnd:
        """End a block. ``content``, if given, replaces what was built from the pieces."""
        block = self._blocks[index]
        block.close(content)
        return BlockEnd(block.kind, index, block.result(), self.partial)

    def close_all(self) -> Iterator[BlockEnd]:
        """End every block that is still open, in order."""
        for index, block in enumerate(self._blocks):
            if not block.closed:
                yield self.close(index)

    def done(self) -> StreamDone:
        """Return the last event of an answer that went well."""
        return StreamDone(self.message())

    def failed(self, error: ProviderError, *, stop_reason: str = "error") -> StreamError:
        """Return the last event of an answer that failed; what had arrived is kept."""
        self.stop_reason = stop_reason
        self.error_message = str(error)
        return StreamError(self.message(), error)

    # ------------------------------------------------------------ blocks

    def sign(self, index: int, signature: str, *, redacted: bool = False) -> None:
        """Add a provider's signature to a block: proof of a thought, or the id of a text."""
        block = self._blocks[index]
        block.signature = (block.signature or "") + signature
        block.redacted = redacted or block.redacted
        block.built = None

    def name_call(self, index: int, *, id: str | None = None, name: str | None = None) -> None:
        """Correct a tool call's id or name, which some providers send late."""
        block = self._blocks[index]
        block.id, block.name, block.built = id or block.id, name or block.name, None

    def note(self, index: int, name: str, value: Any) -> None:
        """Add to a list that a provider gives with a block, such as its citations; it is kept under ``name``."""
        block = self._blocks[index]
        block.notes.setdefault(name, []).append(value)
        block.built = None

    def keep(self, data: Mapping[str, Any]) -> None:
        """Add a block of a kind this package does not know, as it came."""
        self._blocks.append(_Block(UNKNOWN, "", "", False))
        self._blocks[-1].close(UnknownContent(**data))

    def mark_damaged(self) -> None:
        """Call a finished answer cut (``length``) if some call's arguments are not whole, so that it is not run."""
        if any(block.kind == "toolcall" and not block.arguments().whole for block in self._blocks):
            self.stop_reason = "length"

    def count(
        self,
        *,
        input: Any = None,
        output: Any = None,
        cache_read: Any = None,
        cache_write: Any = None,
        reasoning: Any = None,
    ) -> None:
        """Set the usage from what a provider says, at the model's price; ``output`` counts ``reasoning`` too."""
        tokens = tuple(map(as_count, (input, output, cache_read, cache_write)))
        price = self.model.price.at(tokens[0] + tokens[2] + tokens[3])
        rates = (price.input, price.output, price.cache_read, price.cache_write)
        costs = [count * rate / 1e6 for count, rate in zip(tokens, rates, strict=True)]
        names = ("input", "output", "cache_read", "cache_write")
        self.usage = Usage.of(
            **dict(zip(names, tokens, strict=True)),
            reasoning=None if reasoning is None else as_count(reasoning),
            cost=Cost(**dict(zip(names, costs, strict=True))),
        )

    @property
    def has_calls(self) -> bool:
        """True if there is a tool call."""
        return any(block.kind == "toolcall" for block in self._blocks)

    # ------------------------------------------------------------ the message

    def partial(self) -> AssistantMessage:
        """Return the message as it stands."""
        return self.message()

    def message(self) -> AssistantMessage:
        """Return the message with its present stop reason."""
        fields: dict[str, Any] = {
            "content": tuple(block.content() for block in self._blocks),
            "api": self._api,
            "provider": self._provider,
            "model": self.model.id,
            "usage": self.usage,
            "stop_reason": self.stop_reason,
            "timestamp": self._timestamp,
        }
        if self.error_message is not None:
            fields["error_message"] = self.error_message
        return AssistantMessage(role="assistant", **fields)


class _Block:
    """One block: its pieces, and what else is known of it."""

    __slots__ = (
        *("_arguments", "_held", "_pieces", "_shown", "built", "closed", "given"),
        *("id", "kind", "name", "notes", "redacted", "signature"),
    )

    def __init__(self, kind: str, id: str, name: str, show_arguments: bool) -> None:
        self.kind, self.id, self.name = kind, id, name
        self.signature: str | None = None
        self.redacted = False
        self.closed = False
        self.built: BuiltBlock | None = None
        self.given: dict[str, Any] | None = None
        self.notes: dict[str, list[Any]] = {}
        self._shown = show_arguments
        self._pieces: list[str] = []
        self._held = ""
        self._arguments: Arguments | None = None

    def take(self, delta: str) -> str:
        """Add a piece; return what can be shown of it now."""
        delta = self._held + delta
        self._held = ""
        if delta and "\ud800" <= delta[-1] <= "\udbff":
            delta, self._held = delta[:-1], delta[-1]
        delta = well_formed(delta)
        if delta:
            self._pieces.append(delta)
            self.built = self._arguments = None
        return delta

    def close(self, content: BuiltBlock | None = None) -> None:
        if self._held:
            self._pieces.append(well_formed(self._held))
            self._held = ""
        self.built = content
        self.closed = True

    @property
    def text(self) -> str:
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    def arguments(self) -> Arguments:
        if self._arguments is None:
            unsaid = not self._pieces and self.given is not None
            self._arguments = Arguments(self.given or {}, True) if unsaid else parse_arguments(self.text)
        return self._arguments

    def result(self) -> str | ToolCall:
        content = self.content()
        return content if isinstance(content, ToolCall) else self.text

    def content(self) -> BuiltBlock:
        if self.built is None:
            self.built = self._build()
        return self.built

    def _build(self) -> BuiltBlock:
        if self.kind == "toolcall":
            return self._call()
        if self.kind == "thinking":
            signed = {} if self.signature is None else {"thinking_signature": self.signature}
            redacted: dict[str, Any] = {"redacted": True} if self.redacted else {}
            return ThinkingContent(thinking=self.text, **signed, **redacted)
        signed = {} if self.signature is None else {"text_signature": self.signature}
        return TextContent(text=self.text, **signed, **self.notes)

    def _call(self) -> ToolCall:
        signed = {} if self.signature is None else {"thought_signature": self.signature}
        arguments = self.arguments().value if self._shown or self.closed else {}
        return ToolCall(id=self.id, name=self.name, arguments=arguments, **signed)

"""Tool calls from a model that was never taught any: its words are held to a JSON schema while it writes them.

The schema says *either* a call of one of the tools *or* an answer, so that what comes is always one of the two. A very
small model cannot be trusted to choose: only tools that the user's latest message names are offered, and after a few
rounds of calls only an answer is allowed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

from pi_nb.messages import Message, ToolResultMessage, UserMessage, text_of, to_wire
from pi_nb.providers.arguments import parse_arguments
from pi_nb.providers.base import BlockDelta, BlockEnd, BlockStart, Request, StreamDone, StreamEvent, ToolSpec
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.chat_reader import ChatReader
from pi_nb.providers.sse import ServerSentEvent

__all__ = ["ConstrainedReader", "constrained", "offered"]

ROUNDS = 2  # calls in a row before an answer must come


def offered(request: Request) -> tuple[ToolSpec, ...]:
    """Return the tools a request offers: those the user's latest message names, unless it is time to answer."""
    said, rounds = _latest(request.messages)
    if rounds >= ROUNDS:
        return ()
    return tuple(tool for tool in request.tools if re.search(rf"\b{re.escape(tool.name)}\b", said, re.IGNORECASE))


def _latest(messages: Sequence[Message]) -> tuple[str, int]:
    """Return what the user said last, and how many rounds of calls came after it."""
    rounds = 0
    for number in range(len(messages) - 1, -1, -1):
        message = messages[number]
        if isinstance(message, UserMessage):
            return text_of(message.content), rounds
        before = messages[number - 1] if number else None
        rounds += isinstance(message, ToolResultMessage) and not isinstance(before, ToolResultMessage)
    return "", rounds


def constrained(body: Mapping[str, Any], tools: Sequence[ToolSpec]) -> dict[str, Any]:
    """Return the body of a Chat Completions request that holds the model to a call of ``tools`` or an answer.

    Without tools the model is free; calls and results in the history are told as text all the same, because its
    template knows neither.
    """
    out = {name: value for name, value in body.items() if name != "tools"}
    out["messages"] = list(_told(body["messages"]))
    if tools:
        out["messages"] = _instructed(out["messages"], tools)
        schema = {"type": "json_schema", "json_schema": {"name": "reply", "schema": _schema(tools)}}
        out["response_format"] = schema
    return out


def _schema(tools: Sequence[ToolSpec]) -> dict[str, Any]:
    calls = [_object(tool={"const": tool.name}, arguments=_parameters(tool)) for tool in tools]
    return {"oneOf": [*calls, _object(answer={"type": "string"})]}


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _parameters(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool's parameters as a grammar can follow them: nothing but what is declared."""
    return {"type": "object", "properties": {}, "additionalProperties": False, **to_wire(dict(tool.parameters))}


def _instructed(messages: list[dict[str, Any]], tools: Sequence[ToolSpec]) -> list[dict[str, Any]]:
    lines = [f"- {tool.name}: {tool.description} Arguments: {json.dumps(_parameters(tool))}" for tool in tools]
    text = "\n".join(
        (
            "You can use these tools:",
            *lines,
            'To use one, reply with {"tool": "its name", "arguments": {…}}. When you know the answer, reply with',
            '{"answer": "the answer"}. Reply with nothing but this JSON.',
        )
    )
    if messages and messages[0]["role"] == "system":
        return [{**messages[0], "content": f"{messages[0]['content']}\n\n{text}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def _told(messages: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the messages with calls and results as text."""
    for message in messages:
        if message["role"] == "tool":
            yield {"role": "user", "content": f"Result of the tool:\n{message['content']}"}
        elif message.get("tool_calls"):
            calls = [call["function"] for call in message["tool_calls"]]
            said = [f'{{"tool": {json.dumps(c["name"])}, "arguments": {c["arguments"]}}}' for c in calls]
            yield {"role": "assistant", "content": "\n".join([*filter(None, [message["content"]]), *said])}
        else:
            yield dict(message)


# ---------------------------------------------------------------- reading


class ConstrainedReader:
    """Turns the chunks of a constrained answer into stream events: the answer's text as it grows, or a call.

    The chunks are read by a :class:`~pi_nb.providers.chat_reader.ChatReader` into a builder of its own, whose text is
    the JSON.
    """

    def __init__(self, builder: MessageBuilder) -> None:
        self._builder = builder
        self._json = MessageBuilder(builder.model)
        self._chunks = ChatReader(self._json)
        self._text = ""
        self._block: int | None = None
        self._shown = ""

    @property
    def complete(self) -> bool:
        """True once the server has said that the answer is complete."""
        return self._chunks.complete

    @complete.setter
    def complete(self, value: bool) -> None:
        self._chunks.complete = value

    def feed(self, event: ServerSentEvent) -> Iterator[StreamEvent]:
        """Yield what one chunk brings."""
        for found in self._chunks.feed(event):
            if isinstance(found, BlockDelta) and found.kind == "text":
                self._text += found.delta
                yield from self._show(parse_arguments(self._text).value.get("answer"))
            elif not isinstance(found, BlockStart | BlockEnd):
                yield found

    def finish(self) -> Iterator[StreamEvent]:
        """Yield the end: the call, or the end of the answer.

        Raises:
            ProviderError: The answer ended too early.
        """
        for found in self._chunks.finish():
            if isinstance(found, StreamDone):
                self._builder.usage = self._json.usage
                self._builder.stop_reason = self._json.stop_reason
                yield from self._conclude()

    def _conclude(self) -> Iterator[StreamEvent]:
        read = parse_arguments(self._text)
        if isinstance(read.value.get("tool"), str):
            yield from self._call(read.value, whole=read.whole)
        else:
            yield from self._show(read.value.get("answer"))
        yield from self._builder.close_all()
        yield self._builder.done()

    def _show(self, answer: Any) -> Iterator[StreamEvent]:
        if not isinstance(answer, str) or not answer.startswith(self._shown) or len(answer) == len(self._shown):
            return
        if self._block is None:
            started = self._builder.open("text")
            self._block = started.index
            yield started
        event = self._builder.append(self._block, answer[len(self._shown) :])
        self._shown = answer
        if event is not None:
            yield event

    def _call(self, read: Mapping[str, Any], *, whole: bool) -> Iterator[StreamEvent]:
        started = self._builder.open("toolcall", id=f"call_{uuid4().hex[:16]}", name=str(read["tool"]))
        yield started
        arguments = read.get("arguments")
        event = self._builder.append(started.index, json.dumps(arguments or {}, ensure_ascii=False))
        if event is not None:
            yield event
        # cut by the limit of an answer, the JSON is not whole: such a call is shown, not run
        self._builder.stop_reason = "toolUse" if whole and isinstance(arguments, dict) else "length"

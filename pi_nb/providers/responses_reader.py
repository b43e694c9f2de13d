"""Reads an answer in the events of OpenAI's Responses API."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pi_nb.errors import ProviderError
from pi_nb.providers.base import StreamEvent
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.failures import failure
from pi_nb.providers.http import event_json
from pi_nb.providers.loose import as_count, as_list, as_object, as_text
from pi_nb.providers.sse import ServerSentEvent

__all__ = ["ResponsesReader"]

_KINDS = {"message": "text", "reasoning": "thinking", "function_call": "toolcall"}
_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "text",
    "response.reasoning_summary_text.delta": "thinking",
    "response.reasoning_text.delta": "thinking",
    "response.function_call_arguments.delta": "toolcall",
}


class ResponsesReader:
    """Turns response events into stream events; each item of the response is a block."""

    def __init__(self, builder: MessageBuilder) -> None:
        self.complete = False
        self._builder = builder
        self._started = False
        self._open: dict[int | str, int] = {}  # the item's place to the block's index
        self._written: set[int] = set()  # blocks that have received pieces
        self._failed: ProviderError | None = None

    def feed(self, event: ServerSentEvent) -> Iterator[StreamEvent]:
        """Yield what one event brings."""
        data = event_json(event)
        if not isinstance(data, dict):
            return
        kind = str(data.get("type", event.event))
        if kind == "error":
            raise failure(data)
        if kind == "response.created" and not self._started:
            self._started = True
            yield self._builder.start()
        elif kind in _DELTAS:
            yield from self._delta(_DELTAS[kind], data)
        elif (handler := _HANDLERS.get(kind)) is not None:
            yield from handler(self, data)

    def finish(self) -> Iterator[StreamEvent]:
        """Yield the ends of what is still open, then the message."""
        if not self.complete:
            raise ProviderError("The answer ended before its response.completed.", code="truncated", retryable=True)
        yield from self._builder.close_all()
        if self._failed is not None:
            raise self._failed
        if self._builder.has_calls and self._builder.stop_reason == "stop":
            self._builder.stop_reason = "toolUse"
        self._builder.mark_damaged()
        yield self._builder.done()

    # ------------------------------------------------------------ items

    def _item_added(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        item = as_object(data.get("item"))
        kind = _KINDS.get(str(item.get("type")))
        if kind is not None:
            yield self._open_item(_place(data), kind, item)

    def _open_item(self, place: int | str, kind: str, item: Mapping[str, Any]) -> StreamEvent:
        ids = filter(None, (as_text(item.get(name)) for name in ("call_id", "id")))
        id = "|".join(ids) if kind == "toolcall" else ""
        started = self._builder.open(kind, id=id, name=as_text(item.get("name")))
        self._open[place] = started.index
        return started

    def _item_done(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        item = as_object(data.get("item"))
        place = _place(data)
        kind = _KINDS.get(str(item.get("type")))
        if kind is None:
            self._builder.keep(item)
            return
        if place not in self._open:
            yield self._open_item(place, kind, item)
        index = self._open.pop(place)
        if index not in self._written:  # servers that send no pieces
            yield from self._append(index, _text_of_item(item))
        self._sign(index, kind, item)
        yield self._builder.close(index)

    def _sign(self, index: int, kind: str, item: Mapping[str, Any]) -> None:
        if kind == "thinking":
            self._builder.sign(index, json.dumps(item, ensure_ascii=False, separators=(",", ":")))
        elif kind == "text" and as_text(item.get("id")):
            signature = {"v": 1, "id": item["id"], **({"phase": item["phase"]} if item.get("phase") else {})}
            self._builder.sign(index, json.dumps(signature, separators=(",", ":")))

    def _delta(self, kind: str, data: dict[str, Any]) -> Iterator[StreamEvent]:
        place = _place(data)
        if place not in self._open:
            yield self._open_item(place, kind, {})
        yield from self._append(self._open[place], as_text(data.get("delta")))

    def _content_added(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        if as_object(data.get("part")).get("type") == "reasoning_text":
            yield from self._part_added(data)

    def _part_added(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        index = self._open.get(_place(data))
        if index is not None and index in self._written:
            yield from self._append(index, "\n\n")  # between the parts of a thought

    def _append(self, index: int, text: str) -> Iterator[StreamEvent]:
        event = self._builder.append(index, text) if text else None
        if event is not None:
            self._written.add(index)
            yield event

    # ------------------------------------------------------------ the end

    def _completed(self, data: dict[str, Any]) -> Iterator[StreamEvent]:
        response = as_object(data.get("response"))
        self.complete = True
        self._count(as_object(response.get("usage")))
        if data.get("type") == "response.failed" or response.get("status") in ("failed", "cancelled"):
            error = response.get("error") or {"message": f"The response was {response.get('status')}."}
            self._failed = failure(error)
        elif data.get("type") == "response.incomplete" or response.get("status") == "incomplete":
            reason = as_object(response.get("incomplete_details")).get("reason")
            self._builder.stop_reason = "length"
            if reason == "content_filter":
                self._failed = ProviderError("The answer was stopped by a content filter.", code="content_filter")
        yield from ()

    def _count(self, usage: Mapping[str, Any]) -> None:
        if not usage:
            return
        asked = as_object(usage.get("input_tokens_details"))
        cached, written = as_count(asked.get("cached_tokens")), as_count(asked.get("cache_write_tokens"))
        self._builder.count(
            input=as_count(usage.get("input_tokens")) - cached - written,
            output=usage.get("output_tokens"),
            cache_read=cached,
            cache_write=written,
            reasoning=as_object(usage.get("output_tokens_details")).get("reasoning_tokens"),
        )


def _place(data: Mapping[str, Any]) -> int | str:
    """Return what tells the items of an answer apart: their number; llama.cpp gives none, but ids."""
    index = data.get("output_index")
    if isinstance(index, int):
        return index
    return as_text(data.get("item_id")) or as_text(as_object(data.get("item")).get("id")) or 0


def _text_of_item(item: Mapping[str, Any]) -> str:
    """Return a finished item's text, or arguments."""
    if item.get("type") == "function_call":
        return as_text(item.get("arguments"))
    parts = [as_object(part) for part in (*as_list(item.get("summary")), *as_list(item.get("content")))]
    between = "" if item.get("type") == "message" else "\n\n"
    return between.join(as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts)


_HANDLERS: Mapping[str, Callable[[ResponsesReader, dict[str, Any]], Iterator[StreamEvent]]] = {
    "response.output_item.added": ResponsesReader._item_added,
    "response.output_item.done": ResponsesReader._item_done,
    "response.reasoning_summary_part.added": ResponsesReader._part_added,
    "response.content_part.added": ResponsesReader._content_added,
    "response.completed": ResponsesReader._completed,
    "response.incomplete": ResponsesReader._completed,
    "response.failed": ResponsesReader._completed,
}

"""A server of one recorded stream, in a process of its own so that only the client's work is measured.

    python tests/bench/stream_server.py FAMILY DELTAS

Prints its port. Every request, whatever it asks, gets the same stream: one write per event, as providers send.
"""

from __future__ import annotations

import json
import socketserver
import sys
from collections.abc import Iterator
from typing import Any

WORDS = ("The", " boat", " leaves", " the", " harbour", " at", " dawn", ",", " slowly", ".")


def main(family: str, deltas: int) -> None:
    events = [b"%x\r\n%s\r\n" % (len(event), event) for event in STREAMS[family](deltas)]
    body = b"".join(events) + b"0\r\n\r\n"

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while (first := self.rfile.readline()).strip():
                length = 0
                while (line := self.rfile.readline()).strip():
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                self.rfile.read(length)
                assert first
                head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
                self.connection.sendall(head + body)

    socketserver.ThreadingTCPServer.daemon_threads = True
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


def _event(data: dict[str, Any], *, named: bool) -> bytes:
    name = f"event: {data['type']}\n" if named else ""
    return f"{name}data: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def anthropic(deltas: int) -> Iterator[bytes]:
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude-sonnet-5-5"}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
    yield _event({"type": "message_start", "message": message}, named=True)
    yield _event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}, named=True)
    for number in range(deltas):
        delta = {"type": "text_delta", "text": WORDS[number % len(WORDS)]}
        yield _event({"type": "content_block_delta", "index": 0, "delta": delta}, named=True)
    yield _event({"type": "content_block_stop", "index": 0}, named=True)
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": ended, "usage": {"output_tokens": deltas}}, named=True)
    yield _event({"type": "message_stop"}, named=True)


def openai_chat(deltas: int) -> Iterator[bytes]:
    common = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-6-sol"}
    common |= {"service_tier": "default", "system_fingerprint": "fp_1"}

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
        return _event({**common, "choices": [choice], "usage": None}, named=False)

    yield chunk({"role": "assistant", "content": "", "refusal": None})
    for number in range(deltas):
        yield chunk({"content": WORDS[number % len(WORDS)]})
    yield chunk({}, "stop")
    usage = {"prompt_tokens": 9, "completion_tokens": deltas, "total_tokens": deltas + 9}
    yield _event({**common, "choices": [], "usage": usage}, named=False)
    yield b"data: [DONE]\n\n"


def openai_responses(deltas: int) -> Iterator[bytes]:
    numbers = iter(range(deltas + 100))

    def event(kind: str, **fields: Any) -> bytes:
        return _event({"type": kind, "sequence_number": next(numbers), **fields}, named=True)

    response: dict[str, Any] = {"id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-6-sol"}
    response |= {"status": "in_progress", "output": [], "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    item: dict[str, Any] = {"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant"}
    part: dict[str, Any] = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    yield event("response.created", response=response)
    yield event("response.output_item.added", output_index=0, item={**item, "content": []})
    yield event("response.content_part.added", **place, part=part)
    words = [WORDS[number % len(WORDS)] for number in range(deltas)]
    for word in words:
        yield event("response.output_text.delta", **place, delta=word, logprobs=[])
    text = "".join(words)
    whole = {**item, "status": "completed", "content": [{**part, "text": text}]}
    yield event("response.output_text.done", **place, text=text, logprobs=[])
    yield event("response.content_part.done", **place, part={**part, "text": text})
    yield event("response.output_item.done", output_index=0, item=whole)
    usage = {"input_tokens": 9, "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0}}
    usage |= {"output_tokens": deltas, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": deltas + 9}
    yield event("response.completed", response={**response, "status": "completed", "output": [whole], "usage": usage})


def gemini(deltas: int) -> Iterator[bytes]:
    counts = {"promptTokenCount": 9, "totalTokenCount": 9 + deltas, "candidatesTokenCount": deltas}
    for number in range(deltas):
        part = {"text": WORDS[number % len(WORDS)]}
        chunk: dict[str, Any] = {"candidates": [{"content": {"parts": [part], "role": "model"}, "index": 0}]}
        if number == deltas - 1:
            chunk["candidates"][0]["finishReason"] = "STOP"
        chunk |= {"usageMetadata": counts, "modelVersion": "gemini-3.8-flash", "responseId": "r1"}
        yield _event(chunk, named=False)


STREAMS = {
    "anthropic": anthropic,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "gemini": gemini,
}

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

"""A small HTTP server that sends exactly the bytes a test says, when it says: cut, slow, dying, refusing."""

from __future__ import annotations

import json
import socket
import socketserver
import ssl
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

SSE = {"content-type": "text/event-stream"}


@dataclass
class Answer:
    """One response: pieces of body in network order; a number among them is a pause in seconds.

    ``end`` says what happens after the pieces: ``finish`` the body, ``close`` or ``reset`` the connection without
    finishing it, or ``hold`` it open until the client goes; ``vanish`` closes it without a word of an answer.
    """

    pieces: Sequence[bytes | float] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: dict(SSE))
    end: str = "finish"


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def cut(body: bytes, size: int) -> list[bytes]:
    return [body[i : i + size] for i in range(0, len(body), size)]


class _Listening(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False


class RawServer:
    """Gives the answers in order, one per request; the last one is repeated."""

    def __init__(self, answers: Sequence[Answer], tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.answers = list(answers)
        self.received: list[Received] = []
        self.connections = 0
        self.client_left = threading.Event()
        self._lock = threading.Lock()
        self._sockets: set[socket.socket] = set()
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                outer._serve(self)

        self._server = _Listening(("127.0.0.1", port), Handler)
        if tls is not None:  # greeted in the connection's own thread, so that a client that turns away stops nobody
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._scheme = "http" if tls is None else "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        with self._lock:
            for sock in self._sockets:
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)

    # ------------------------------------------------------------ one connection

    def _serve(self, handler: socketserver.StreamRequestHandler) -> None:
        with self._lock:
            self._sockets.add(handler.connection)
            self.connections += 1
        try:
            while (request := _read_request(handler.rfile)) is not None:
                with self._lock:
                    self.received.append(request)
                    answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
                if not self._answer(handler.connection, answer):
                    return
        except OSError:
            self.client_left.set()
        finally:
            with self._lock:
                self._sockets.discard(handler.connection)

    def _answer(self, sock: socket.socket, answer: Answer) -> bool:
        """Send one answer; False if the connection is over."""
        if answer.end == "vanish":
            return False
        headers = {"transfer-encoding": "chunked", **answer.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        sock.sendall(f"HTTP/1.1 {answer.status} Status\r\n{head}\r\n".encode())
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in answer.pieces:
            if isinstance(piece, bytes):
                sock.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            else:
                time.sleep(piece)
        if answer.end == "finish":
            sock.sendall(b"0\r\n\r\n")
            return True
        if answer.end == "hold":
            while sock.recv(1024):
                pass
            self.client_left.set()
        if answer.end == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            sock.close()
        return False


def _read_request(stream: Any) -> Received | None:
    first = stream.readline().decode().split()
    if len(first) < 2:
        return None
    headers = {}
    while (line := stream.readline().decode().strip()) != "":
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    body = stream.read(int(headers.get("content-length", 0)))
    return Received(first[0], first[1], headers, body)


@contextmanager
def serving(*answers: Answer, tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[RawServer]:
    server = RawServer(answers, tls, port)
    try:
        yield server
    finally:
        server.close()

"""Record what providers answer, and play it again: for notebooks that anybody can run, and for tests.

    >>> import pi_nb
    >>> pi_nb.recording("demo.jsonl").start()   # in the first cell

From then on every provider's answers are written to ``demo.jsonl``; where the file already holds the answer, it is
played, byte by byte in the pieces it came in, without network or key. Keys are never written. The same can be said
from outside with ``PI_NB_RECORDING=demo.jsonl`` and ``PI_NB_RECORDING_MODE=replay``, which is what CI wants; for one
registry with ``default_registry(recording=…)``; or for any httpx client with :meth:`Recording.transport`.

A request matches if method, address and body are equal; keys, the session's name and ids that this package made up
do not count. Asked several times, the recorded answers are given in their order, and the last one then stays.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from threading import RLock
from typing import Final, Literal, TypeAlias, get_args

import httpx

from pi_nb.errors import ProviderError, UserError
from pi_nb.providers.exchange import Asked, Exchange, difference
from pi_nb.providers.masks import Masks

__all__ = ["ANSWERED", "NO_KEY", "Recording", "RecordingMode", "active_recording", "recording"]

RecordingMode: TypeAlias = Literal["auto", "record", "replay"]
ANSWERED: Final = "pi_nb.answered"  # response extension: the answer is whole, although its body was not read to the end
NO_KEY: Final = "pi_nb.no_key"  # request extension: the error to raise should the request have to be sent
# what says nothing about the answer, or too much about who asked
_UNKEPT = frozenset(
    {"set-cookie", "content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"}
    | {"openai-organization", "openai-project", "anthropic-organization-id", "cf-ray", "alt-svc"}
)


class Recording:
    """A file of exchanges; also a context manager during which every provider uses it.

    Args:
        path: JSON Lines, one exchange a line. Made when there is something to write.
        mode: ``auto``: play what is there, ask and record what is not. ``record``: ask always, the file begins anew.
            ``replay``: never ask.
        pace: How fast to play: 1.0 as it came, 0 without waiting.

    Raises:
        UserError: There is no such mode; or nothing to replay.
    """

    def __init__(self, path: str | Path, *, mode: RecordingMode = "auto", pace: float = 0.0) -> None:
        self.path = Path(path)
        self.mode = mode
        self.pace = pace
        if mode not in get_args(RecordingMode):
            raise UserError(f"{mode!r} is no way to record.", hint=f"Known: {', '.join(get_args(RecordingMode))}.")
        if mode == "replay" and not self.path.is_file():
            raise UserError(f"There is no recording {self.path}.", hint="Record it first: mode='record'.")
        self._lock = RLock()
        self._exchanges = _load(self.path) if mode != "record" else []
        self._begun = mode != "record"
        self._played: defaultdict[str, int] = defaultdict(int)
        self._of: defaultdict[str, list[Exchange]] = defaultdict(list)
        for exchange in self._exchanges:
            self._of[exchange.asked.identity].append(exchange)

    def __repr__(self) -> str:
        return f"<Recording {self.path.name} mode={self.mode} exchanges={len(self)}>"

    def __len__(self) -> int:
        return len(self._exchanges)

    # ------------------------------------------------------------ switching it on

    def start(self) -> Recording:
        """Let every provider of this process use it, until :meth:`stop`."""
        _ACTIVE.append(self)
        return self

    def stop(self) -> None:
        """End what :meth:`start` began."""
        if self in _ACTIVE:
            _ACTIVE.remove(self)

    def __enter__(self) -> Recording:
        return self.start()

    def __exit__(self, *args: object) -> None:
        self.stop()

    def transport(self, network: httpx.AsyncBaseTransport | None = None) -> httpx.AsyncBaseTransport:
        """Return a transport for a client; what is not played goes out through ``network``."""
        return _RecordingTransport(self, network or httpx.AsyncHTTPTransport())

    # ------------------------------------------------------------ for the transport

    def find(self, asked: Asked) -> Exchange | None:
        """Return the recorded answer to play next for a request."""
        with self._lock:
            known = self._of.get(asked.identity) if self.mode != "record" else None
            if not known:
                return None
            number = self._played[asked.identity]
            self._played[asked.identity] += 1
            return known[min(number, len(known) - 1)]

    def add(self, exchange: Exchange) -> None:
        """Write an exchange to the file. It is played only when the file is opened again."""
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a" if self._begun else "w", encoding="utf-8", newline="\n") as file:
                file.write(exchange.to_line() + "\n")
            self._begun = True
            self._exchanges.append(exchange)

    def unknown(self, asked: Asked) -> ProviderError:
        """Return the error for a request that nothing matches; it tells what comes nearest."""
        near = self._nearest(asked)
        told = f"{self.path.name} holds no answer to this {asked.method} {asked.url}"
        if near is not None:
            line = self._exchanges.index(near) + 1
            told += f"; line {line} comes nearest: {difference(near.asked.body, asked.body) or near.asked.url}"
        return ProviderError(f"{told}.", code="invalid_request", hint="Record again, or use mode='auto' to add to it.")

    def _nearest(self, asked: Asked) -> Exchange | None:
        same = [e for e in self._exchanges if (e.asked.method, e.asked.url) == (asked.method, asked.url)]
        end = asked.identity[-2000:]
        return max(same, key=lambda e: SequenceMatcher(None, e.asked.identity[-2000:], end).quick_ratio(), default=None)


def _load(path: Path) -> list[Exchange]:
    if not path.is_file():
        return []
    out = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        try:
            out += [Exchange.of_line(line)] if line.strip() else []
        except ValueError as error:
            raise UserError(f"{path.name}, line {number}: this is not an exchange ({error}).") from None
    return out


# ---------------------------------------------------------------- which one is on

_ACTIVE: list[Recording] = []
_FROM_ENVIRONMENT: dict[tuple[str, str], Recording] = {}


def recording(path: str | Path, *, mode: RecordingMode = "auto", pace: float = 0.0) -> Recording:
    """Open a file of recorded answers; in a notebook ``recording("demo.jsonl").start()``, elsewhere with ``with``.

    Args:
        path: The file, JSON Lines.
        mode: ``auto`` plays what is there and records what is not, ``record`` begins anew, ``replay`` never asks.
        pace: 1.0 plays at the pace it came, 0 without waiting.
    """
    return Recording(path, mode=mode, pace=pace)


def active_recording() -> Recording | None:
    """Return the recording that was started last, or the environment's, or None."""
    if _ACTIVE:
        return _ACTIVE[-1]
    path = os.environ.get("PI_NB_RECORDING", "").strip()
    if not path:
        return None
    mode = os.environ.get("PI_NB_RECORDING_MODE", "").strip() or "auto"
    if (path, mode) not in _FROM_ENVIRONMENT:
        _FROM_ENVIRONMENT[path, mode] = Recording(path, mode=mode)  # type: ignore[arg-type]
    return _FROM_ENVIRONMENT[path, mode]


# ---------------------------------------------------------------- on the wire


class _RecordingTransport(httpx.AsyncBaseTransport):
    def __init__(self, recording: Recording, network: httpx.AsyncBaseTransport) -> None:
        self._recording = recording
        self._network = network

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        masks = Masks.of(request)
        asked = Asked.of(request, masks)
        found = self._recording.find(asked)
        if found is not None:
            return httpx.Response(
                found.status, headers=list(found.headers), stream=_Played(found, self._recording.pace)
            )
        if self._recording.mode == "replay":
            raise self._recording.unknown(asked)
        if (missing := request.extensions.get(NO_KEY)) is not None:
            raise missing
        request.headers["accept-encoding"] = "identity"  # what is packed could not be read, nor be searched for keys
        response = await self._network.handle_async_request(request)
        return _recorded(response, asked, masks, self._recording)

    async def aclose(self) -> None:
        await self._network.aclose()


class _Played(httpx.AsyncByteStream):
    """A recorded body."""

    def __init__(self, exchange: Exchange, pace: float) -> None:
        self._exchange = exchange
        self._pace = pace

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for seconds, chunk in self._exchange.chunks:
            await asyncio.sleep(seconds * self._pace)  # with pace 0 too: whoever wants to interrupt gets his turn
            yield chunk
        if self._exchange.broken:
            raise getattr(httpx, self._exchange.broken, httpx.ReadError)("the recorded connection broke here")


def _recorded(response: httpx.Response, asked: Asked, masks: Masks, recording: Recording) -> httpx.Response:
    headers = [(n, masks.removed(v)) for n, v in response.headers.multi_items() if n.lower() not in _UNKEPT]
    exchange = Exchange(asked, response.status_code, tuple(headers))
    stream = _Recorded(response, exchange, masks, recording)
    stream.answer = httpx.Response(response.status_code, headers=headers, stream=stream)
    return stream.answer


class _Recorded(httpx.AsyncByteStream):
    """A body that is written down when it has ended; not if its reader left in the middle, who will ask again."""

    answer: httpx.Response  # as the client sees it, who may say that it is whole

    def __init__(self, source: httpx.Response, exchange: Exchange, masks: Masks, recording: Recording) -> None:
        self._source = source
        self._exchange = exchange
        self._masks = masks
        self._recording = recording
        self._chunks: list[tuple[float, bytes]] = []
        self._ended = False
        self._broken = ""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        before = time.monotonic()
        try:
            async for chunk in self._source.aiter_bytes():
                now = time.monotonic()
                self._chunks.append((now - before, chunk))
                before = now
                yield chunk
            self._ended = True
        except httpx.HTTPError as error:
            self._broken = type(error).__name__
            raise

    async def aclose(self) -> None:
        await self._source.aclose()
        if self._ended or self._broken or self.answer.extensions.get(ANSWERED):
            broken = "" if self.answer.extensions.get(ANSWERED) else self._broken
            self._recording.add(replace(self._exchange, chunks=tuple(self._covered()), broken=broken))
            self._ended, self._broken = False, ""  # closing twice writes once
            self.answer.extensions.pop(ANSWERED, None)

    def _covered(self) -> Iterator[tuple[float, bytes]]:
        """Yield the chunks without keys: one may be cut in two by the network."""
        body = self._masks.covered(b"".join(chunk for _, chunk in self._chunks))
        start = 0
        for seconds, chunk in self._chunks:
            yield seconds, body[start : start + len(chunk)]
            start += len(chunk)

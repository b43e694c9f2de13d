"""HTTP itself: one client per event loop, a body as server-sent events, httpx's exceptions in our words."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Hashable, Iterator
from contextlib import aclosing, closing, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, cast
from weakref import WeakKeyDictionary

import httpx

from pi_nb.errors import ProviderCode, ProviderError
from pi_nb.providers.failures import failure, parse_error_body
from pi_nb.providers.network import Network
from pi_nb.providers.patience import Patience
from pi_nb.providers.record import Recording, active_recording
from pi_nb.providers.sse import ServerSentEvent, SseDecoder
from pi_nb.providers.timeouts import Timeouts

__all__ = ["Clients", "refusal", "sse_events", "translated"]

_HEAD_LIMIT = 4_000_000  # what is kept of a body that may turn out to be no event stream
_ERROR_LIMIT = 65_536
_DRAIN_SECONDS = 0.5  # an answer that is complete is not worth waiting for the end of its body


class Clients:
    """One ``httpx.AsyncClient`` per event loop, made when first needed.

    A client is held open by an async generator, because a loop that ends (``asyncio.run``) closes its async
    generators: a provider that was used in a loop which is gone leaves no connection behind.

    Args:
        timeouts: How long to wait.
        network: Proxy and certificates.
        outside: False for a server inside this process: nothing to record, and no connection to keep.
    """

    def __init__(self, timeouts: Timeouts, network: Network, *, outside: bool = True) -> None:
        self.recording: Recording | None = None
        self.timeouts = timeouts
        self.network = network
        self._outside = outside
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, _Held]] = WeakKeyDictionary()

    def recorder(self) -> Recording | None:
        """Return what records and replays now: this provider's own recording, or the process's."""
        if not self._outside:
            return None
        return active_recording() if self.recording is None else self.recording

    async def get(self) -> httpx.AsyncClient:
        """Return the running loop's client."""
        clients = self._open.setdefault(asyncio.get_running_loop(), {})
        recording = self.recorder()
        way = (recording, self.network, self.network.surroundings())
        held = clients.get(way)
        if held is None or held.client.is_closed:
            keeper = _keep_open(self.timeouts, recording, self.network, self._outside)
            held = clients[way] = _Held(await anext(keeper), keeper)
        return held.client

    async def aclose(self) -> None:
        """Close the running loop's clients."""
        for held in self._open.pop(asyncio.get_running_loop(), {}).values():
            await held.keeper.aclose()


@dataclass(frozen=True, slots=True)
class _Held:
    client: httpx.AsyncClient
    keeper: AsyncGenerator[httpx.AsyncClient, None]


async def _keep_open(
    timeouts: Timeouts, recording: Recording | None, network: Network, outside: bool
) -> AsyncGenerator[httpx.AsyncClient, None]:
    # reading has its own limits, in _chunks: httpx knows none for the first piece
    limits = httpx.Timeout(connect=timeouts.connect, read=None, write=60.0, pool=timeouts.connect)
    kept = httpx.Limits(max_keepalive_connections=20 if outside else 0)
    async with network.client(timeout=limits, limits=kept) as client:
        if recording is None:
            yield client
        else:
            async with httpx.AsyncClient(timeout=limits, transport=recording.transport(_Through(client))) as recorder:
                yield recorder


class _Through(httpx.AsyncBaseTransport):
    """The network as a client sees it, with proxies and certificates from the environment."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await self._client.send(request, stream=True)


# ---------------------------------------------------------------- reading


class Completable(Protocol):
    """Something that knows when an answer is complete."""

    complete: bool


async def sse_events(
    response: httpx.Response, timeouts: Timeouts, reader: Completable
) -> AsyncGenerator[ServerSentEvent, None]:
    """Yield the events of a body.

    Raises:
        ProviderError: The connection broke or fell silent before ``reader`` was complete, or this is no event stream.
    """
    decoder, head, count = SseDecoder(), b"", 0
    async with aclosing(_chunks(response, timeouts, reader)) as chunks:
        async for chunk in chunks:
            head = head if len(head) > _HEAD_LIMIT or count else head + chunk
            for event in decoder.decode(chunk):
                count += 1
                yield event
    last = decoder.flush()
    if last is not None and _is_whole(last):
        yield last
    elif not count and head.strip() and not _BEGINS_LIKE_EVENTS.match(head):
        for whole in _whole_answer(head):
            yield whole


# a stream that was cut before its first event had come whole: that is for the reader to tell
_BEGINS_LIKE_EVENTS = re.compile(rb"(\xef\xbb\xbf)?(data|event|id|retry|):")


async def _chunks(response: httpx.Response, timeouts: Timeouts, reader: Completable) -> AsyncGenerator[bytes, None]:
    limit = timeouts.first_token
    async with aclosing(_raw(response)) as pieces:
        with closing(Patience()) as patience:
            while True:
                patience.begin(_DRAIN_SECONDS if reader.complete else limit)
                try:
                    chunk = await anext(pieces, None)
                except asyncio.CancelledError:
                    if not patience.ran_out():
                        raise
                    if reader.complete:
                        return
                    what = "The answer stopped coming" if limit == timeouts.idle else "No answer"
                    raise slow(what, limit) from None
                except httpx.HTTPError as error:
                    if reader.complete:
                        return
                    raise _broken(error) from None
                patience.end()
                if chunk is None:
                    return
                yield chunk
                limit = timeouts.idle


def _raw(response: httpx.Response) -> AsyncGenerator[bytes, None]:
    """Return the body's pieces. If it is not packed, two of httpx's layers are left out: a third of its work."""
    packed = response.headers.get("content-encoding", "identity") != "identity"
    pieces: Any = response.aiter_bytes() if packed else aiter(cast(httpx.AsyncByteStream, response.stream))
    return cast(AsyncGenerator[bytes, None], pieces)


def _is_whole(event: ServerSentEvent) -> bool:
    """Return whether the body's last event, which lacks its blank line, was not cut."""
    if event.data == "[DONE]":
        return True
    try:
        json.loads(event.data)
    except ValueError:
        return False
    return True


def _whole_answer(body: bytes) -> list[ServerSentEvent]:
    """Return the events in a body that is no event stream: some servers answer at once, or with an array of events.

    Raises:
        ProviderError: It is neither.
    """
    try:
        data = json.loads(body)
    except ValueError:
        data = None
    if isinstance(data, dict) and ("choices" in data or "candidates" in data):
        data = [data]
    if isinstance(data, list) and all(isinstance(item, dict) and "error" not in item for item in data):
        return [ServerSentEvent(data=json.dumps(item)) for item in data]
    if b'"error"' in body:
        raise failure(body)
    said = parse_error_body(body).message
    raise ProviderError(f"This is no event stream: {said}", code="bad_response", hint="Check the base URL.")


async def refusal(response: httpx.Response, timeouts: Timeouts) -> ProviderError:
    """Return the error that a response with an error status describes."""
    body = b""
    try:
        async with asyncio.timeout(timeouts.connect), aclosing(_raw(response)) as pieces:
            async for chunk in pieces:
                body += chunk
                if len(body) > _ERROR_LIMIT:
                    break
    except (httpx.HTTPError, TimeoutError):
        pass  # the status alone says enough
    return failure(body, status=response.status_code, headers=response.headers)


# ---------------------------------------------------------------- exceptions


def slow(what: str, seconds: float) -> ProviderError:
    """Return the error for something that took too long."""
    return ProviderError(f"{what} for {seconds:g} s.", code="timeout", retryable=True)


def _broken(error: httpx.HTTPError) -> ProviderError:
    if isinstance(error, httpx.DecodingError):
        return ProviderError(f"The answer is garbled: {error}", code="bad_response", retryable=True)
    return ProviderError(
        f"The connection broke in the middle of the answer ({_words(error)}).", code="truncated", retryable=True
    )


@contextmanager
def translated(base_url: str) -> Iterator[None]:
    """Turn what httpx raises while a request is sent into a ProviderError.

    The original is not kept as the cause: it holds the request, and that the key.
    """
    try:
        yield
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _unsent(error, base_url) from None


def _unsent(error: httpx.HTTPError | httpx.InvalidURL, base_url: str) -> ProviderError:
    code: ProviderCode = "connection"
    hint = "Check the network, the base URL, and the proxy if there is one (HTTPS_PROXY)."
    retryable = True
    if isinstance(error, httpx.TimeoutException):
        code = "timeout"
    elif isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol):
        code, hint, retryable = "invalid_request", "The base URL must look like https://host/v1.", False
    elif isinstance(error, httpx.ProxyError):
        hint = "The proxy did not let it through: check HTTPS_PROXY, with user and password if it wants them."
    elif found := _UNTRUSTED.search(str(error)):
        return _untrusted(base_url, found.group(1))
    return ProviderError(
        f"{base_url} could not be reached ({_words(error)}).", code=code, hint=hint, retryable=retryable
    )


# what OpenSSL says of a certificate it does not accept
_UNTRUSTED = re.compile(r"CERTIFICATE_VERIFY_FAILED\] certificate verify failed:? *(.*?)\.?(?: \(_ssl\.c:\d+\))?$")


def _untrusted(base_url: str, reason: str) -> ProviderError:
    """Return the error for a server that cannot prove who it is; whose authority is unknown may still be honest."""
    wrong = "mismatch" in reason or "expired" in reason
    hint = (
        "Check the base URL, and the clock."
        if wrong
        else (
            "If you trust who signed it: SSL_CERT_FILE=/path/of/its/ca.pem (in a notebook: %env SSL_CERT_FILE=…), "
            "or network=Network(verify=…)."
        )
    )
    return ProviderError(f"The certificate of {base_url} is not trusted: {reason}.", code="connection", hint=hint)


def _words(error: Exception) -> str:
    if isinstance(error, httpx.InvalidURL):
        return "it is no address"  # httpx's words quote a piece of it, perhaps of a password
    return str(error) or type(error).__name__

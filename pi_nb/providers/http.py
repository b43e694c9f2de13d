"""A provider behind an HTTP API that streams server-sent events.

A wire format subclasses :class:`HttpProvider` and says what its requests look like and how its events are read. The
reading is without I/O (:class:`Reader`), so that it can be tested with bytes cut anywhere.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, ClassVar, Protocol, TypedDict

import httpx
import orjson

from pi_nb.errors import ProviderError
from pi_nb.models import Model
from pi_nb.providers.base import Request, StreamEvent, StreamResponse
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.catalogue import known_models, near
from pi_nb.providers.client import Clients, refusal, slow, sse_events, translated
from pi_nb.providers.failures import failure
from pi_nb.providers.keys import Key
from pi_nb.providers.masks import shown_url
from pi_nb.providers.network import Network
from pi_nb.providers.record import ANSWERED, NO_KEY, Recording
from pi_nb.providers.service import Service
from pi_nb.providers.sse import ServerSentEvent
from pi_nb.providers.surrogates import well_formed
from pi_nb.providers.timeouts import Timeouts

__all__ = ["HttpProvider", "Network", "Options", "Reader", "Timeouts", "event_json"]


class Reader(Protocol):
    """Turns the events of one answer into stream events.

    Attributes:
        complete: True once the answer's own final mark was seen; what happens to the connection after that does not
            matter.
    """

    complete: bool

    def feed(self, event: ServerSentEvent) -> Iterable[StreamEvent]:
        """Return what one event brings.

        Raises:
            ProviderError: The event says that the answer failed.
        """
        ...

    def finish(self) -> Iterator[StreamEvent]:
        """Yield the last events, ending with ``StreamDone``; the body has ended.

        Raises:
            ProviderError: ``truncated``: it ended too early; or what the stop reason says.
        """
        ...


class Options(TypedDict, total=False):
    """What every provider behind HTTP may be given; see :class:`HttpProvider`."""

    api_key: str | Callable[[], str] | None
    base_url: str | None
    name: str | None
    timeouts: Timeouts | None
    network: Network | None


class HttpProvider(ABC):
    """Answers requests over HTTP.

    Connections are kept per event loop and closed with it, or by :meth:`aclose`. Cancelling the task that reads a
    stream closes its connection at once.

    Args:
        api_key: The key, or a function that returns it; None for the service's environment variables, or the keyring,
            when a request is made.
        base_url: None for the service's environment variable, or its usual address.
        name: The provider's name in references and messages; None for the service's.
        timeouts: How long to wait; None for what the environment says.
        network: Proxy and certificates; None for the environment's.
    """

    api: ClassVar[str]
    service: Service  # whom to ask: most classes have one, of their own

    def __init__(
        self,
        *,
        api_key: str | Callable[[], str] | None = None,
        base_url: str | None = None,
        name: str | None = None,
        timeouts: Timeouts | None = None,
        network: Network | None = None,
    ) -> None:
        self._name = name or self.service.name
        self._base_url = (base_url or self.service.url()).rstrip("/")
        self._key = Key(api_key, env=self.service.key_env, needed=self.service.needs_key)
        self._timeouts = timeouts or Timeouts.of_environment()
        self._clients = Clients(self._timeouts, network or Network())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name} {self._shown_url} key={self._key.where}>"

    @property
    def name(self) -> str:
        """The part before the colon in ``provider:model``."""
        return self._name

    @property
    def _shown_url(self) -> str:
        return shown_url(self._base_url)

    @property
    def base_url(self) -> str:
        """Where requests go."""
        return self._base_url

    @property
    def timeouts(self) -> Timeouts:
        """How long it waits; one that is set counts from the next connection, and the next answer, on."""
        return self._timeouts

    @timeouts.setter
    def timeouts(self, timeouts: Timeouts) -> None:
        self._timeouts = self._clients.timeouts = timeouts

    @property
    def network(self) -> Network:
        """Proxy and certificates; one that is set counts from the next request on."""
        return self._clients.network

    @network.setter
    def network(self, network: Network) -> None:
        self._clients.network = network

    @property
    def recording(self) -> Recording | None:
        """What this provider's exchanges are recorded to and replayed from; None for the process's, if any."""
        return self._clients.recording

    @recording.setter
    def recording(self, recording: Recording | None) -> None:
        self._clients.recording = recording

    def missing_key(self) -> ProviderError | None:
        """Return why requests would be refused for want of a key, or None; what was recorded needs none."""
        error = self._key.lack() if self._clients.recorder() is None else None
        return error and ProviderError(f"{self._name}: {error}", code="auth", hint=error.hint)

    async def aclose(self) -> None:
        """Close this loop's connections. The provider may be used again afterwards."""
        await self._clients.aclose()

    # ------------------------------------------------------------ what a wire format says

    @abstractmethod
    def model(self, model_id: str) -> Model:
        """Return what is known of a model; unknown names give a model with default limits."""

    @abstractmethod
    def path(self, request: Request) -> str:
        """Return the path under the base URL."""

    def address(self, request: Request) -> str:
        """Return the URL that answers a request."""
        return f"{self._base_url}{self.path(request)}"

    def may_sign(self, url: httpx.URL) -> bool:
        """Return whether the key may be sent to an address."""
        return True

    @abstractmethod
    def auth(self, key: str) -> Mapping[str, str]:
        """Return the headers that carry the key."""

    @abstractmethod
    def payload(self, request: Request) -> dict[str, Any]:
        """Return the body of the request."""

    @abstractmethod
    def reader(self, builder: MessageBuilder) -> Reader:
        """Return what reads the answer into ``builder``."""

    def reader_for(self, request: Request, builder: MessageBuilder) -> Reader:
        """Return what reads the answer to a request, where that depends on what was asked."""
        return self.reader(builder)

    async def model_names(self) -> list[str]:
        """Return the names of the models the server has; empty if it does not tell.

        Raises:
            ProviderError: It could not be asked.
        """
        return []

    # ------------------------------------------------------------ one answer

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Yield the events of one answer."""
        builder = MessageBuilder(request.model, provider=self._name, api=self.api)
        try:
            async with aclosing(self._events(request, builder)) as events:
                async for event in events:
                    yield event
        except ProviderError as error:
            yield builder.failed(await self._explained(error, request.model.id))
        except Exception as error:
            said = self._key.redact(f"{type(error).__name__}: {error}")
            yield builder.failed(ProviderError(f"{self._name}: {said}", code="bad_response"))

    async def _events(self, request: Request, builder: MessageBuilder) -> AsyncGenerator[StreamEvent, None]:
        async with self._post(request) as response:
            yield StreamResponse(response.status_code, self._key.redact_all(response.headers))
            reader = self.reader_for(request, builder)
            async with aclosing(sse_events(response, self._timeouts, reader)) as events:
                async for sse in events:
                    for event in reader.feed(sse):
                        yield event
                    if reader.complete:
                        response.extensions[ANSWERED] = True
            for event in reader.finish():
                yield event

    @asynccontextmanager
    async def _post(self, request: Request) -> AsyncIterator[httpx.Response]:
        headers = {"content-type": "application/json", "accept": "text/event-stream", **request.headers}
        payload = self.payload(request)
        if request.on_payload is not None:
            payload = await request.on_payload(payload)
        body = well_formed(json.dumps(payload, ensure_ascii=False, default=str)).encode()
        client = await self._clients.get()
        with translated(self._shown_url):
            sent = client.build_request("POST", self.address(request), content=body, headers=headers)
            try:
                async with asyncio.timeout(self._timeouts.first_token):
                    response = await self._send(client, sent)
            except TimeoutError:
                raise slow("No answer", self._timeouts.first_token) from None
        try:
            if response.status_code >= 300:
                raise await refusal(response, self._timeouts)
            yield response
        finally:
            await response.aclose()

    async def _send(self, client: httpx.AsyncClient, request: httpx.Request) -> httpx.Response:
        """Send a request; once more if the connection that was kept open had just been closed by the server."""
        try:
            return await client.send(request, stream=True, auth=_Signature(self._sign))
        except httpx.RemoteProtocolError:
            return await client.send(request, stream=True, auth=_Signature(self._sign))

    def _sign(self, request: httpx.Request) -> None:
        """Add the key, or else the address's user.

        A replayed answer needs none, so its lack is told only when a request must be sent.
        """
        try:
            if self.may_sign(request.url):
                request.headers.update({**self.auth(self._key.get()), **request.headers})
            if request.url.username and "authorization" not in request.headers:
                next(httpx.BasicAuth(request.url.username, request.url.password).auth_flow(request))
        except ProviderError as error:
            if self._clients.recorder() is None:
                raise
            request.extensions[NO_KEY] = error

    async def _explained(self, error: ProviderError, model_id: str) -> ProviderError:
        """Return the error under the provider's name, without secrets, and with near names for an unknown model."""
        hint = error.hint
        if error.code == "not_found":
            hint = await self._did_you_mean(model_id) or hint
        return self._redacted(error, f"{self._name}: {error}", hint)

    def _redacted(self, error: ProviderError, text: str, hint: str) -> ProviderError:
        return ProviderError(
            self._key.redact(text),
            code=error.code,  # type: ignore[arg-type]
            hint=hint,
            status=error.status,
            request_id=error.request_id and self._key.redact(error.request_id),
            retry_after=error.retry_after,
            retryable=error.retryable,
        )

    async def _did_you_mean(self, model_id: str) -> str:
        try:
            async with asyncio.timeout(3):
                names = await self.model_names()
        except Exception:  # only to be helpful
            names = [name for provider, name in known_models() if provider == self._name]
        close = near(model_id, names)
        return f"Did you mean {' or '.join(f'{self._name}:{name}' for name in close)}?" if close else ""

    async def get_json(self, path: str) -> Any:
        """Return the JSON at ``path`` under the base URL.

        Raises:
            ProviderError: It could not be had.
        """
        client = await self._clients.get()
        with translated(self._shown_url):
            response = await client.get(f"{self._base_url}{path}", auth=_Signature(self._sign), timeout=5)
        if response.status_code >= 300:
            error = failure(response.content, status=response.status_code, headers=response.headers)
            raise self._redacted(error, str(error), error.hint)
        return response.json()


class _Signature(httpx.Auth):
    """Adds the key when a request leaves, so that it stands in no variable that a traceback could show."""

    def __init__(self, sign: Callable[[httpx.Request], None]) -> None:
        self._sign = sign

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        self._sign(request)
        yield request


def _beginning(text: str) -> str:
    """Return the first words; the dots also tell that a key may be cut here."""
    return text if len(text) <= 100 else f"{text[:100]}…"


def event_json(event: ServerSentEvent) -> Any:
    """Return the JSON of an event; None if it holds nothing, as some servers keep a connection open, or OpenAI's end.

    Raises:
        ProviderError: ``bad_response``: it is no JSON. Or what an event called ``error`` says.
    """
    value = _read(event.data)
    if event.event == "error":
        raise failure(value)
    return value


def _read(text: str) -> Any:
    if text.strip() in ("", "[DONE]"):  # gateways end the streams of all providers alike
        return None
    with suppress(ValueError):
        # integers of more than 64 bits would become floats: only Gemini has arguments in its events, not as text
        if "functionCall" not in text:
            return orjson.loads(text)
    try:
        return json.loads(text)  # also reads NaN, and halves of characters
    except (ValueError, RecursionError):
        raise ProviderError(
            f"A piece of the answer is not JSON: {_beginning(text)!r}", code="bad_response", retryable=True
        ) from None

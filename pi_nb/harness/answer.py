"""One answer of a model: the request, its stream, and the tries it takes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial

from pi_nb.errors import HarnessError, PiError, ProviderError, SessionError
from pi_nb.harness.events import AfterProviderResponse, MessageStart, MessageUpdate, RetryEnd, RetryStart
from pi_nb.harness.listeners import told
from pi_nb.harness.run import ABORTED, Run, Settings, failure_message
from pi_nb.harness.signals import Aborted, interruptible, is_cancelled
from pi_nb.harness.tools import spec_of
from pi_nb.messages import AssistantMessage
from pi_nb.providers.base import (
    Request,
    StreamDone,
    StreamError,
    StreamEvent,
    StreamResponse,
    StreamStart,
)

__all__ = ["get_answer"]


async def get_answer(run: Run) -> AssistantMessage:
    """Ask the model once for the run's next answer; tell it piece by piece and write it down.

    Failures are answers too: stop reason ``error`` with an error message, or ``aborted`` with what had arrived. When
    the run was aborted before, nobody is asked.
    """
    settings = run.current
    run.turns += 1
    if run.signal.aborted:
        message = failure_message(settings.model, ABORTED, aborted=True)
    elif run.turns > run.max_turns:
        message = failure_message(settings.model, _too_many(run.max_turns))
    else:
        return await _Answer(run, settings).get()
    await run.say(message)
    return message


def _too_many(turns: int) -> str:
    return f"Stopped after {turns} turns (max_turns). Prompt again to go on from here, or raise the limit."


class _Answer:
    """The tries for one answer. ``shown`` is True from the first piece on; then there is no other try."""

    def __init__(self, run: Run, settings: Settings) -> None:
        self.run = run
        self.settings = settings
        self.message = failure_message(settings.model, "")
        self.error: ProviderError | None = None
        self.shown = False
        self.attempt = 0
        self.made_room = False
        self.retrying = False

    async def get(self) -> AssistantMessage:
        again = True
        while again:
            self.attempt += 1
            self.error = None
            await self._try()
            again = not self.shown and await self._once_more()
        await self._end_retry(success=self.message.stop_reason not in {"error", "aborted"})
        error = self.error if self.message.stop_reason == "error" else None
        await (self.run.conclude if self.shown else self.run.say)(self.message, error)
        return self.message

    async def _try(self) -> None:
        """Make one request; afterwards ``message`` is what came of it."""
        begun: StreamEvent | None = None
        stream: AsyncIterator[StreamEvent] | None = None
        try:
            request = await self._request()
            stream = self.settings.provider().stream(request)
            while True:
                event = await interruptible(anext(stream), self.run.signal)
                begun = event if not isinstance(event, StreamResponse) else begun
                if await self._take(event):
                    return
        except Aborted:
            self.message = self._cut_short(begun)
        except StopAsyncIteration:
            self._fail(ProviderError("The answer ended without an end.", code="truncated"), begun)
        except asyncio.CancelledError:
            if not is_cancelled():
                self._fail(ProviderError("The provider cancelled its own answer."), begun)
                return
            self.run.keep(self._cut_short(begun))
            raise
        except (HarnessError, SessionError):
            raise
        except Exception as error:
            self._fail(error if isinstance(error, ProviderError) else ProviderError(_text_of(error)), begun)
        finally:
            await _close(stream)

    async def _request(self) -> Request:
        run, settings = self.run, self.settings
        context = run.session.context(run.cursor.id)
        messages = await interruptible(run.hooks.context(tuple(context.messages)), run.signal)
        request = Request(
            model=settings.model,
            messages=messages,
            system=settings.system_prompt if run.system_prompt is None else run.system_prompt,
            tools=tuple(spec_of(tool) for tool in settings.tools),
            thinking_level=settings.thinking_level,
            session_id=run.session.id,
            on_payload=partial(run.hooks.before_provider_payload, settings.model),
        )
        return await interruptible(run.hooks.before_provider_request(request), run.signal)

    async def _take(self, event: StreamEvent) -> bool:
        """Tell of one event; return True if it was the last."""
        if isinstance(event, StreamDone):
            self.message = event.message
        elif isinstance(event, StreamError):
            self.message, self.error = event.message, event.error
        elif isinstance(event, StreamResponse):
            await self._tell_of_response(event)
        elif not isinstance(event, StreamStart):
            await self._show(event)
        return isinstance(event, StreamDone | StreamError)

    async def _tell_of_response(self, event: StreamResponse) -> None:
        """Tell of the response; a subscriber that raises here makes the request fail, as in pi."""
        try:
            await self.run.tell(AfterProviderResponse(event.status, dict(event.headers)))
        except HarnessError as error:
            raise ProviderError(str(error)) from error

    async def _show(self, event: StreamEvent) -> None:
        if not self.shown:
            self.shown = True
            await self._end_retry(success=True)
            await self.run.tell(MessageStart(_partial(event) or self.message))
        await self.run.tell(MessageUpdate(event))

    def _cut_short(self, last: StreamEvent | None) -> AssistantMessage:
        so_far = _partial(last)
        if so_far is None:
            return failure_message(self.settings.model, ABORTED, aborted=True)
        return so_far.model_copy(update={"stop_reason": "aborted", "error_message": ABORTED})

    def _fail(self, error: ProviderError, last: StreamEvent | None) -> None:
        so_far = _partial(last)
        self.error = error
        if so_far is None:
            self.message = failure_message(self.settings.model, str(error))
        else:
            self.message = so_far.model_copy(update={"stop_reason": "error", "error_message": str(error)})

    async def _once_more(self) -> bool:
        """Return whether to try again, after making room or waiting as needed."""
        if self._overflowed() and not self.made_room:
            self.made_room = True
            return await self.run.make_room(self.run)
        if self.error is None or not self.run.retry.allows(self.error, self.attempt):
            return False
        return await self._wait(self.error)

    def _overflowed(self) -> bool:
        if self.error is not None:
            return self.error.code == "context_overflow"
        return self.message.stop_reason == "length" and not self.message.content

    async def _wait(self, error: ProviderError) -> bool:
        run = self.run
        delay = run.retry.delay(error, self.attempt)
        self.retrying = True
        run.phase = "retry"
        try:
            await run.tell(RetryStart(self.attempt + 1, run.retry.max_attempts, delay, str(error)))
            await interruptible(asyncio.sleep(delay), run.signal)
        except Aborted:
            self.message = failure_message(self.settings.model, ABORTED, aborted=True)
            return False
        finally:
            run.phase = "turn"
        return True

    async def _end_retry(self, *, success: bool) -> None:
        if self.retrying:
            self.retrying = False
            await self.run.tell(RetryEnd(self.attempt, success))


def _text_of(error: Exception) -> str:
    return str(error) if isinstance(error, PiError) else told(error)


def _partial(event: StreamEvent | None) -> AssistantMessage | None:
    if event is None or isinstance(event, StreamResponse):
        return None
    return event.message if isinstance(event, StreamDone | StreamError) else event.partial()


async def _close(stream: AsyncIterator[StreamEvent] | None) -> None:
    close = getattr(stream, "aclose", None)
    if close is not None:
        with suppress(Exception):  # the answer is there, or an error that says more
            await close()

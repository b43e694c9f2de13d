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
from pi_nb.harness.signals import Aborted, Watch, interruptible, is_cancelled
from pi_nb.harness.tools import spec_of
from pi_nb.messages import AssistantMessage, Usage
from pi_nb.providers.base import (
    BlockDelta,
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
    """The tries for one answer. ``shown`` is True from the first piece of a try on."""

    def __init__(self, run: Run, settings: Settings) -> None:
        self.run = run
        self.settings = settings
        self.message = failure_message(settings.model, "")
        self.error: ProviderError | None = None
        self.shown = False
        self.begun: StreamEvent | None = None  # the last event of this try
        self.half: AssistantMessage | None = None  # what the latest try that said anything said before it broke
        self.attempt = 0
        self.made_room = False
        self.retrying = False

    async def get(self) -> AssistantMessage:
        again = True
        while again:
            self.attempt += 1
            self.error, self.shown = None, False
            await self._try()
            again = await self._once_more()
        failed = self.message.stop_reason in {"error", "aborted"}
        if failed:
            self._keep_half()
        await self._end_retry(success=not failed)
        error = self.error if self.message.stop_reason == "error" else None
        await (self.run.conclude if self.shown else self.run.say)(self.message, error)
        return self.message

    def _keep_half(self) -> None:
        """Let the answer be the half that was shown last, if the last try did not even come that far."""
        if self.half is not None and not self.message.content:
            end = {"stop_reason": self.message.stop_reason, "error_message": self.message.error_message}
            self.message = self.half.model_copy(update=end)

    async def _try(self) -> None:
        """Make one request; afterwards ``message`` is what came of it."""
        self.begun = None
        stream: AsyncIterator[StreamEvent] | None = None
        watch = Watch(self.run.signal)
        try:
            request = await self._request()
            stream = self.settings.provider().stream(request)
            await self._read(stream, watch)
        except Aborted:
            self.message = self._cut_short()
        except StopAsyncIteration:
            self._fail(ProviderError("The answer ended without an end.", code="truncated", retryable=True))
        except asyncio.CancelledError:
            if not is_cancelled():
                self._fail(ProviderError("The provider cancelled its own answer."))
                return
            self._keep_cut_short()
            raise
        except (HarnessError, SessionError):
            raise
        except Exception as error:
            self._fail(error if isinstance(error, ProviderError) else ProviderError(_text_of(error)))
        finally:
            watch.close()
            await _close(stream)

    async def _read(self, stream: AsyncIterator[StreamEvent], watch: Watch) -> None:
        """Tell of the events of an answer up to its last one."""
        tell = self.run.tell
        while True:
            event = await watch.wait(anext(stream))
            if not isinstance(event, StreamResponse):
                self.begun = event
            if self.shown and type(event) is BlockDelta:  # nearly all are
                await tell(MessageUpdate(event))
            elif await self._take(event):
                return

    async def _request(self) -> Request:
        run, settings = self.run, self.settings
        context = run.session.context(run.cursor.id)
        messages = await interruptible(run.hooks.context(context.messages_on_demand), run.signal)
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
            await self.run.tell(MessageStart(_partial(event) or self.message))
        await self.run.tell(MessageUpdate(event))

    def _cut_short(self) -> AssistantMessage:
        so_far = _partial(self.begun)
        if so_far is None:
            return failure_message(self.settings.model, ABORTED, aborted=True)
        return so_far.model_copy(update={"stop_reason": "aborted", "error_message": ABORTED})

    def _keep_cut_short(self) -> None:
        """Write down how far the answer came; for a run whose event loop goes away."""
        self.message = self._cut_short()
        self._keep_half()
        self.run.keep(self.message)

    def _fail(self, error: ProviderError) -> None:
        so_far = _partial(self.begun)
        self.error = error
        if so_far is None:
            self.message = failure_message(self.settings.model, str(error))
        else:
            self.message = so_far.model_copy(update={"stop_reason": "error", "error_message": str(error)})

    async def _once_more(self) -> bool:
        """Return whether to try again, after making room or waiting as needed; what was shown is void then."""
        if self._overflowed() and not self.made_room:
            self.made_room = True
            return await self._make_room()
        if self.error is None or not self.run.retry.allows(self.error, self.attempt):
            return False
        return await self._wait(self.run.retry.delay(self.error, self.attempt))

    def _overflowed(self) -> bool:
        """Return whether the conversation was too long: refused, no room left for a word, or cut without a word."""
        message = self.message
        if self.error is not None:
            return self.error.code == "context_overflow"
        if message.stop_reason in {"error", "aborted"}:
            return False
        return (message.stop_reason == "length" and not message.content) or self._was_cut(message.usage)

    def _was_cut(self, usage: Usage | None) -> bool:
        """Return whether more was sent than fits: some servers leave out the beginning then and say nothing."""
        if usage is None:
            return False
        return usage.input + usage.cache_read + usage.cache_write > self.settings.model.context_window > 0

    async def _make_room(self) -> bool:
        made = await self.run.make_room(self.run)
        if self.run.signal.aborted:
            self._be_aborted()
            return False
        return made and (not self.shown or await self._wait(0.0))

    def _be_aborted(self) -> None:
        self.message = failure_message(self.settings.model, ABORTED, aborted=True)

    async def _wait(self, delay: float) -> bool:
        """Tell that what was shown is void and that there will be another try, and wait for it."""
        run = self.run
        self.half = self.message if self.message.content else self.half
        self.shown, self.retrying = False, True
        run.phase = "retry"
        try:
            reason = self.message.error_message or "The conversation was too long."
            most = max(run.retry.max_attempts, self.attempt + 1)  # room was made, which is a try of its own
            await run.tell(RetryStart(self.attempt + 1, most, delay, reason))
            await interruptible(asyncio.sleep(delay), run.signal)
        except Aborted:
            self._be_aborted()
            return False
        except asyncio.CancelledError:
            self._keep_cut_short()
            raise
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

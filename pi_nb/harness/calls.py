"""The tool calls of one answer: checked, run beside each other, and answered in their order.

Every call gets a result, whatever happens: an unknown tool, wrong arguments, a refusal, an exception, a result that is
none, a limit of time, an abort. A tool that goes on after an abort is cancelled after :data:`GRACE` seconds, and left
alone if it ignores that too.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pi_nb.errors import HarnessError, ToolError
from pi_nb.harness.arguments import fit_arguments
from pi_nb.harness.events import ToolExecutionEnd, ToolExecutionStart, ToolExecutionUpdate
from pi_nb.harness.hooks import ToolCallHook, ToolResultHook
from pi_nb.harness.listeners import told
from pi_nb.harness.run import Run
from pi_nb.harness.signals import Aborted, AbortSignal, interruptible, is_cancelled
from pi_nb.harness.storable import storable
from pi_nb.harness.tools import Tool, ToolContext, ToolResult, to_result
from pi_nb.harness.truncation import shorten_result
from pi_nb.messages import AssistantMessage, ToolCall, ToolResultMessage, now_ms, to_wire

__all__ = ["CANCEL_GRACE", "GRACE", "run_calls"]

GRACE = 0.5
"""Seconds a tool has to end by itself after an abort: enough to end a tree of processes and say what it had printed."""
CANCEL_GRACE = 0.2
"""Seconds it has to end after being cancelled."""

NOT_RUN = "Not run: the run was aborted first."
STOPPED = "Stopped: the run was aborted."


@dataclass(frozen=True, slots=True)
class _Done:
    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class _Ready:
    call: ToolCall
    tool: Tool
    args: dict[str, Any]


async def run_calls(
    run: Run, answer: AssistantMessage, tools: Sequence[Tool]
) -> tuple[tuple[ToolResultMessage, ...], bool]:
    """Run the calls of an answer and add their results to the conversation.

    Returns:
        The results, in the order of the calls, and whether the model should be asked again.

    Raises:
        HarnessError: A subscriber raised.
    """
    batch = _Batch(run, {tool.name: tool for tool in tools})
    calls = answer.tool_calls
    before = len(run.messages)
    try:
        if answer.stop_reason == "length":
            await batch.refuse(calls)
        elif any(getattr(batch.tools.get(call.name), "sequential", False) for call in calls):
            await batch.one_by_one(calls)
        else:
            await batch.side_by_side(calls)
    except asyncio.CancelledError:
        answered = {m.tool_call_id for m in run.messages[before:] if isinstance(m, ToolResultMessage)}
        for call in calls:
            if call.id not in answered:
                run.keep(_message(_Done(call, ToolResult.error(STOPPED))))
        raise
    return tuple(batch.results), not batch.terminates


class _Batch:
    """The calls of one answer while they are being worked on."""

    def __init__(self, run: Run, tools: Mapping[str, Tool]) -> None:
        self.run = run
        self.tools = tools
        self.results: list[ToolResultMessage] = []
        self.terminates = False

    async def refuse(self, calls: Sequence[ToolCall]) -> None:
        """Answer calls that were cut by the output limit: their arguments may be incomplete in any way."""
        for call in calls:
            await self._start(call)
            await self._finish(_Done(call, ToolResult.error(_cut(call))))

    async def one_by_one(self, calls: Sequence[ToolCall]) -> None:
        """Run each call when the one before has its result."""
        done = []
        for place, call in enumerate(calls):
            if place and self.run.signal.aborted:
                await self._record(_Done(call, ToolResult.error(NOT_RUN)))
                continue
            await self._start(call)
            begun = await self._prepare(call)
            outcome = await self._execute(begun) if isinstance(begun, _Ready) else begun
            await self._finish(outcome)
            done.append(outcome)
        self._decide(done)

    async def side_by_side(self, calls: Sequence[ToolCall]) -> None:
        """Check the calls in order, run those that may run at the same time, record the results in order."""
        begun: list[_Ready | _Done] = []
        for place, call in enumerate(calls):
            if place and self.run.signal.aborted:
                begun.append(_Done(call, ToolResult.error(NOT_RUN)))
                continue
            await self._start(call)
            item = await self._prepare(call)
            if isinstance(item, _Done):
                await self._end(item)
            begun.append(item)
        done = await self._gather(begun)
        for outcome in done:
            await self._record(outcome)
        self._decide(done)

    async def _gather(self, begun: Sequence[_Ready | _Done]) -> list[_Done]:
        running: list[asyncio.Task[_Done] | _Done] = []
        try:
            async with asyncio.TaskGroup() as group:
                for item in begun:
                    if isinstance(item, _Done):
                        running.append(item)
                        continue
                    task = group.create_task(self._execute_and_end(item))
                    self.run.adopt(task)
                    running.append(task)
        except BaseExceptionGroup as group_error:
            raise group_error.exceptions[0] from None
        return [item if isinstance(item, _Done) else item.result() for item in running]

    async def _execute_and_end(self, ready: _Ready) -> _Done:
        outcome = await self._execute(ready)
        await self._end(outcome)
        return outcome

    def _decide(self, done: Sequence[_Done]) -> None:
        self.terminates = bool(done) and all(outcome.result.terminate for outcome in done)

    # ------------------------------------------------------------ one call

    async def _start(self, call: ToolCall) -> None:
        await self.run.tell(ToolExecutionStart(call.id, call.name, call.arguments))

    async def _prepare(self, call: ToolCall) -> _Ready | _Done:
        """Return the call ready to run, or the reason why it is not run."""
        tool = self.tools.get(call.name)
        if tool is None:
            return _Done(call, ToolResult.error(_unknown(call.name, self.tools)))
        try:
            args = fit_arguments(tool.parameters, call.arguments, tool=call.name)
            decision = await interruptible(
                self.run.hooks.tool_call(ToolCallHook(call.id, call.name, args)), self.run.signal
            )
        except Aborted:
            return _Done(call, ToolResult.error(NOT_RUN))
        except (ToolError, HarnessError) as error:
            return _Done(call, ToolResult.error(str(error)))
        except Exception as error:  # a schema that is none
            return _Done(call, ToolResult.error(told(error)))
        if decision.block:
            return _Done(call, ToolResult.error(str(decision.reason or f"The call of {call.name} was not allowed.")))
        if self.run.signal.aborted:
            return _Done(call, ToolResult.error(NOT_RUN))
        return _Ready(call, tool, args)

    async def _execute(self, ready: _Ready) -> _Done:
        updates = _Updates(self.run, ready.call)
        ctx = ToolContext(ready.call.id, self.run.signal, updates, self.run.session, self.run.session.cwd)
        work = asyncio.ensure_future(_guard(ready, ctx))
        self.run.adopt(work)
        result = await _outcome(work, self.run.signal, getattr(ready.tool, "timeout", None))
        await updates.finish()
        result = shorten_result(result, keep=getattr(ready.tool, "keep", "head"))
        return _Done(ready.call, await self._patch(ready, result))

    async def _patch(self, ready: _Ready, result: ToolResult) -> ToolResult:
        event = ToolResultHook(
            ready.call.id, ready.call.name, ready.args, result.blocks, result.details, result.is_error
        )
        try:
            patch = await interruptible(self.run.hooks.tool_result(event), self.run.signal)
        except HarnessError as error:
            return ToolResult.error(str(error))
        except Aborted:
            return result
        patched = ToolResult(
            result.content if patch.content is None else patch.content,  # type: ignore[arg-type]
            result.details if patch.details is None else patch.details,
            result.is_error if patch.is_error is None else patch.is_error,
            result.terminate if patch.terminate is None else patch.terminate,
        )
        try:
            return to_result(patched)
        except ToolError as error:
            return ToolResult.error(str(error))

    async def _end(self, outcome: _Done) -> None:
        call, result = outcome.call, outcome.result
        await self.run.tell(ToolExecutionEnd(call.id, call.name, result, result.is_error))

    async def _record(self, outcome: _Done) -> None:
        message = _message(outcome)
        self.results.append(message)
        await self.run.say(message)

    async def _finish(self, outcome: _Done) -> None:
        await self._end(outcome)
        await self._record(outcome)


async def _guard(ready: _Ready, ctx: ToolContext) -> ToolResult:
    """Run the tool; whatever it raises or returns becomes a result."""
    try:
        value = ready.tool.run(ready.args, ctx)
        return to_result(await value if isinstance(value, Awaitable) else value)
    except ToolError as error:
        return ToolResult.error(str(error))
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling() and not ctx.signal.aborted:
            raise
        return ToolResult.error(STOPPED)
    except BaseException as error:
        return ToolResult.error(told(error))


async def _outcome(work: asyncio.Future[ToolResult], signal: AbortSignal, limit: float | None) -> ToolResult:
    """Return the tool's result, or an error one if it does not end in time."""
    try:
        return await interruptible(asyncio.wait_for(asyncio.shield(work), limit), signal)
    except TimeoutError:
        work.cancel()
        return ToolResult.error(f"Stopped: it took longer than {limit:g} seconds.")
    except Aborted:
        await asyncio.wait({work}, timeout=GRACE)
        if not work.done():
            work.cancel()
            await asyncio.wait({work}, timeout=CANCEL_GRACE)
        return work.result() if work.done() and not work.cancelled() else ToolResult.error(STOPPED)
    except asyncio.CancelledError:
        if work.cancelled() and not is_cancelled():  # the tool cancelled itself
            return ToolResult.error(STOPPED)
        work.cancel()
        raise


class _Updates:
    """What a tool reports while it runs, told in order; may be called from any thread."""

    def __init__(self, run: Run, call: ToolCall) -> None:
        self._run = run
        self._call = call
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[ToolResult] = deque()
        self._task: asyncio.Task[None] | None = None
        self._failure: HarnessError | None = None
        self._closed = False

    def __call__(self, partial: Any) -> None:
        result = to_result(partial)
        try:
            here = asyncio.get_running_loop() is self._loop
        except RuntimeError:
            here = False
        if here:
            self._push(result)
        else:
            self._loop.call_soon_threadsafe(self._push, result)

    def _push(self, partial: ToolResult) -> None:
        if self._closed:
            return
        self._waiting.append(partial)
        if self._task is None:
            self._task = self._loop.create_task(self._drain())
            self._run.adopt(self._task)

    async def _drain(self) -> None:
        call = self._call
        while self._waiting:
            partial = self._waiting.popleft()
            try:
                await self._run.tell(ToolExecutionUpdate(call.id, call.name, call.arguments, partial))
            except HarnessError as error:
                self._failure = self._failure or error
        self._task = None

    async def finish(self) -> None:
        """Wait until all has been told; what comes later is dropped.

        Raises:
            HarnessError: A subscriber raised.
        """
        self._closed = True
        if self._task is not None:
            await self._task
        if self._failure is not None:
            raise self._failure


def _message(outcome: _Done) -> ToolResultMessage:
    call, result = outcome.call, outcome.result
    details = {} if result.details is None else {"details": _storable(result.details)}
    return ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        content=result.blocks,
        is_error=bool(result.is_error),
        timestamp=now_ms(),
        **details,
    )


def _storable(details: Any) -> Any:
    """Return the details as a session file can hold them."""
    try:
        plain = to_wire(details)
        json.dumps(plain, allow_nan=False)
    except (TypeError, ValueError, RecursionError):  # no JSON, a number that is none, too deep
        return storable(details)
    return plain


def _cut(call: ToolCall) -> str:
    return (
        f"{call.name} was not run: the answer was cut off at the output limit, so the arguments may be incomplete."
        " Call it again with all of them, in smaller pieces if they are long."
    )


def _unknown(name: str, tools: Mapping[str, Tool]) -> str:
    return f"There is no tool {name}. Available: {', '.join(tools) or 'none'}."

"""The course of one run: turns until nothing is left to say.

A turn is one answer and the results of its tool calls. Steering enters between turns, follow-ups when the run would
stop. Whatever goes wrong ends in a message that says so, and the harness is idle afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from pi_nb.errors import HarnessError, SessionError
from pi_nb.harness.answer import get_answer
from pi_nb.harness.calls import run_calls
from pi_nb.harness.events import (
    AgentEnd,
    AgentStart,
    HarnessEvent,
    MessageEnd,
    MessageStart,
    SavePoint,
    Settled,
    TurnEnd,
    TurnStart,
)
from pi_nb.harness.listeners import broken, told
from pi_nb.harness.queues import MessageQueue
from pi_nb.harness.run import Run, failure_message
from pi_nb.messages import AssistantMessage, Message, TextContent

__all__ = ["drain", "run_agent", "tell_anyway"]


async def run_agent(run: Run, prompts: Sequence[Message]) -> AssistantMessage:
    """Carry out a run that begins with these messages.

    Returns:
        The last answer; it may be one that says what went wrong.

    Raises:
        HarnessError: ``session``: the session could not be written.
    """
    try:
        await _turns(run, prompts)
    except SessionError as error:
        run.leave(run)
        await tell_anyway(run, AgentEnd(tuple(run.messages)), Settled(len(run.queues.next_turn)))
        raise HarnessError(str(error), code="session", hint=error.hint) from error
    except Exception as error:
        return await _fail(run, error)
    answer = run.answer()
    if answer is None:  # pragma: no cover - every turn has one
        raise HarnessError("The run ended without an answer.", code="invalid_state")
    return answer


async def drain(run: Run, queue: MessageQueue) -> tuple[Message, ...]:
    """Take what leaves a queue next; a subscriber that raises leaves it where it was."""
    messages = queue.take()
    if messages:
        try:
            await run.tell(run.queues.update())
        except HarnessError:
            queue.put_back(messages)
            raise
    return messages


async def _turns(run: Run, prompts: Sequence[Message]) -> None:
    await run.tell(AgentStart())
    await run.tell(TurnStart())
    for message in prompts:
        await run.say(message)
    waiting = await drain(run, run.queues.steer)
    going = await _turn(run, waiting)
    while going is not None:
        waiting = await _next_messages(run, going)
        if not going and not waiting:
            break
        await run.tell(TurnStart())
        going = await _turn(run, waiting)
    await _end(run)


async def _next_messages(run: Run, going: bool) -> tuple[Message, ...]:
    """Return what enters before the next answer: steering, or a follow-up if the run would stop."""
    waiting = await drain(run, run.queues.steer)
    if waiting or going:
        return waiting
    return await drain(run, run.queues.follow_up)


async def _turn(run: Run, waiting: Sequence[Message]) -> bool | None:
    """Go through one turn that was begun; return whether the model has to see results, or None if the run is over."""
    for message in waiting:
        await run.say(message)
    answer = await get_answer(run)
    if answer.stop_reason in {"error", "aborted"}:
        await run.end_turn(answer)
        return None
    results, again = await run_calls(run, answer, run.current.tools) if answer.tool_calls else ((), False)
    await run.end_turn(answer, results)
    await run.after_turn(run)
    return again


async def _end(run: Run) -> None:
    run.flush(run)
    run.leave(run)
    await run.tell(AgentEnd(tuple(run.messages)))
    await run.tell(Settled(len(run.queues.next_turn)))


async def _fail(run: Run, error: Exception) -> AssistantMessage:
    """End a run that a subscriber, a hook or an error of ours broke, with a message that says so."""
    failure = broken(error)
    text = str(failure) if isinstance(error, HarnessError) else told(error)
    blank = (TextContent(text=""),)  # what pi writes here
    message = failure_message(run.current.model, text, aborted=run.signal.aborted, content=blank)
    await tell_anyway(run, MessageStart(message))
    entry_id = run.keep(message)
    await tell_anyway(run, MessageEnd(message, entry_id), TurnEnd(message, ()))
    saved = run.flush(run)
    await tell_anyway(run, SavePoint(saved))
    run.leave(run)
    await tell_anyway(run, AgentEnd((message,)), Settled(len(run.queues.next_turn)))
    return message


async def tell_anyway(run: Run, *events: HarnessEvent) -> None:
    """Tell subscribers of a failing run; one that raises again is not listened to."""
    for event in events:
        try:
            await run.tell(event)
        except HarnessError:
            continue

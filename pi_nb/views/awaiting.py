"""Waiting for something awaitable from a plain function."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["when_done"]

_tasks: set[asyncio.Task[Any]] = set()  # a loop holds its tasks only weakly


def when_done(awaited: Awaitable[Any], then: Callable[[Any], None]) -> None:
    """Run something awaitable: on the loop of this thread if one runs, else to its end, here."""

    async def wait() -> Any:
        return await awaited

    try:
        task = asyncio.get_running_loop().create_task(wait())
    except RuntimeError:
        then(_finished(wait))
        return
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    task.add_done_callback(then)


def _finished(wait: Callable[[], Any]) -> Any:
    """Return the outcome of a coroutine that was run to its end."""
    future: Future[Any] = Future()
    try:
        future.set_result(asyncio.run(wait()))
    except Exception as error:
        future.set_exception(error)
    return future

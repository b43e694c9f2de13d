"""Waiting for work, an abort and the end of its time, whichever is first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Literal, TypeAlias

from pi_nb.harness.signals import AbortSignal

__all__ = ["Ending", "first_of"]

Ending: TypeAlias = Literal["done", "aborted", "timeout"]


async def first_of(work: Awaitable[Any], signal: AbortSignal, limit: float | None) -> Ending:
    """Wait for work and say why the waiting ended; the work itself is not stopped.

    Args:
        work: What to wait for; what it raises is left in it, unless it is a coroutine, whose errors are lost.
        signal: Ends the waiting when it is given.
        limit: Seconds to wait at most, or None.
    """
    task = asyncio.ensure_future(work)
    given = asyncio.ensure_future(signal.wait())
    try:
        await asyncio.wait({task, given}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
    finally:
        given.cancel()
    if task.done():
        return "done"
    return "aborted" if signal.aborted else "timeout"

"""The owner thread and the pump: who works where, and how it stops."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from concurrent.futures import Future

import pytest

from pi_nb.notebook.owner import THREAD_NAME, Owner
from pi_nb.notebook.pump import Pump


def owners() -> list[str]:
    """Return the owner threads there are."""
    return [thread.name for thread in threading.enumerate() if thread.name == THREAD_NAME]


def test_the_owner_starts_when_needed_and_ends_cleanly() -> None:
    """No thread before the first piece of work, none after stop; tasks are cancelled and cleaned up."""
    owner, cleaned = Owner(), threading.Event()
    assert (owner.running, owners()) == (False, [])

    async def endless() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.set()

    async def name() -> str:
        return threading.current_thread().name

    assert owner.submit(name()).result(5) == THREAD_NAME
    assert owner.call(lambda: owner.is_current).result(5)
    owner.submit(endless())
    owner.call(lambda: None).result(5)
    owner.stop()
    owner.stop()
    assert cleaned.is_set()
    assert owners() == []
    assert owner.submit(name()).result(5) == THREAD_NAME
    owner.stop()


def test_the_pump_draws_works_and_returns() -> None:
    """Jobs from other threads run on the pumping thread, in order, until the future is done."""
    future: Future[str] = Future()
    pump = Pump(abort=lambda: pytest.fail("nobody interrupted"))
    ticks: list[str] = []

    def elsewhere() -> None:
        first = pump.call(threading.current_thread)
        ticks.append(first.result(5).name)
        failing = pump.call(lambda: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            failing.result(5)
        future.set_result("done")

    thread = threading.Thread(target=elsewhere)
    thread.start()
    assert pump.run(future, lambda: ticks.append("tick")) == "done"
    thread.join(5)
    assert threading.current_thread().name in ticks
    assert "tick" in ticks


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_one_interrupt_aborts_and_two_give_up() -> None:
    """The first asks the run to stop and waits for it; the second does not wait."""
    future: Future[str] = Future()
    asked: list[int] = []

    def interrupt() -> None:
        signal.raise_signal(signal.SIGINT)

    pump = Pump(abort=lambda: asked.append(1))
    ticks = iter([lambda: None, interrupt, lambda: None, lambda: future.set_result("partial")])
    assert pump.run(future, lambda: next(ticks)()) == "partial"
    assert (asked, pump.interrupted) == ([1], True)

    pump = Pump(abort=lambda: asked.append(2))
    ticks = iter([interrupt, interrupt])
    with pytest.raises(KeyboardInterrupt):
        pump.run(Future(), lambda: next(ticks)())
    assert asked == [1, 2]


def test_the_pump_hands_on_what_went_wrong() -> None:
    """An error of the run is the pump's."""
    future: Future[str] = Future()
    future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        Pump(abort=lambda: None).run(future, lambda: None)

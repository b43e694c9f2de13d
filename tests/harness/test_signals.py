import asyncio
import threading

import pytest

from pi_nb.harness.signals import Aborted, AbortSignal, interruptible


def test_a_value_comes_through():
    """Without an abort what was awaited gives its value or its exception."""

    async def work():
        signal = AbortSignal()
        assert await interruptible(asyncio.sleep(0, "value"), signal) == "value"
        with pytest.raises(ValueError, match="boom"):
            await interruptible(failing(), signal)

    async def failing():
        raise ValueError("boom")

    asyncio.run(work())


def test_an_abort_interrupts_the_wait_and_not_the_task():
    """The wait ends with Aborted; the task goes on and can wait again for other things."""

    async def work():
        signal = AbortSignal()
        asyncio.get_running_loop().call_later(0.01, signal.abort)
        with pytest.raises(Aborted):
            await interruptible(asyncio.sleep(30), signal)
        assert asyncio.current_task().cancelling() == 0
        await asyncio.sleep(0)

    asyncio.run(work())


def test_an_abort_given_before_waits_for_nothing():
    """A signal that was given before does not even begin the work, and leaves no coroutine behind."""

    async def work():
        signal = AbortSignal()
        signal.abort()
        begun = []

        async def inner():
            begun.append(1)

        with pytest.raises(Aborted):
            await interruptible(inner(), signal)
        assert begun == []

    asyncio.run(work())


def test_a_cancellation_from_elsewhere_is_passed_on():
    """Cancelling the task is not mistaken for an abort."""

    async def work():
        signal = AbortSignal()
        task = asyncio.create_task(interruptible(asyncio.sleep(30), signal))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())


def test_an_abort_together_with_a_cancellation_is_a_cancellation():
    """If both come at once, the cancellation wins: somebody outside wants the task gone."""

    async def work():
        signal = AbortSignal()
        task = asyncio.create_task(interruptible(asyncio.sleep(30), signal))
        await asyncio.sleep(0)
        task.cancel()
        signal.abort()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(work())


def test_work_that_swallows_the_interruption_does_not_strike_later():
    """If the work ends with a value all the same, no cancellation is left over for the next wait."""

    async def stubborn():
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            return "stayed"

    async def work():
        signal = AbortSignal()
        asyncio.get_running_loop().call_later(0.01, signal.abort)
        assert await interruptible(stubborn(), signal) == "stayed"
        await asyncio.sleep(0.01)
        assert asyncio.current_task().cancelling() == 0

    asyncio.run(work())


def test_a_signal_is_given_once():
    """Callbacks are called once, late ones at once, removed ones never."""
    signal = AbortSignal()
    called = []
    signal.on_abort(lambda: called.append("a"))
    remove = signal.on_abort(lambda: called.append("b"))
    remove()
    remove()
    signal.abort()
    signal.abort()
    signal.on_abort(lambda: called.append("late"))
    assert called == ["a", "late"]
    assert repr(signal) == "<AbortSignal aborted>"


def test_a_thread_can_wait_for_a_signal():
    """A synchronous tool may sleep until the signal comes."""
    signal = AbortSignal()
    assert signal.sleep(0.001) is False
    threading.Timer(0.01, signal.abort).start()
    assert signal.sleep(5) is True
    assert signal.aborted


def test_a_coroutine_can_wait_for_a_signal():
    """An asynchronous tool may await the signal, and stop doing so."""

    async def work():
        signal = AbortSignal()
        asyncio.get_running_loop().call_later(0.01, signal.abort)
        await asyncio.wait_for(signal.wait(), 5)
        await asyncio.wait_for(signal.wait(), 5)

    asyncio.run(work())

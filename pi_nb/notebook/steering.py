"""``%pi_steer``, ``%pi_followup``, ``%pi_next``, ``%pi_abort``: speaking to a run that goes on, and stopping it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_nb.errors import UserError
from pi_nb.messages import text_of
from pi_nb.notebook.interpolate import interpolate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pi_nb.messages import Message
    from pi_nb.notebook.runtime import Runtime

__all__ = ["abort", "followup", "next_turn", "steer"]

SETTLED = 5.0  # seconds to wait for a run that was stopped to be shown as it ended


def steer(runtime: Runtime, text: str) -> str:
    """Say something before the next answer of the run that goes on; return what to say about it.

    Raises:
        UserError: Nothing is running, or there is nothing to say.
    """
    words = _words(runtime, text)
    _check_running(runtime)
    runtime.wait(runtime.harness.steer(words))
    return "It will be told before its next answer."


def followup(runtime: Runtime, text: str) -> str:
    """Say something when the run would stop; return what to say about it.

    Raises:
        UserError: Nothing is running, or there is nothing to say.
    """
    words = _words(runtime, text)
    _check_running(runtime)
    runtime.wait(runtime.harness.follow_up(words))
    return "It will be asked when the run would stop."


def next_turn(runtime: Runtime, text: str) -> str:
    """Say something in front of the next prompt; return what to say about it.

    Raises:
        UserError: There is nothing to say.
    """
    words = _words(runtime, text)
    runtime.wait(runtime.harness.next_turn(words))
    return "It goes in front of the next prompt."


def abort(runtime: Runtime) -> str:
    """Stop what goes on; return what to say about it."""
    if not runtime.has_session or not runtime.busy:
        return "Nothing is running."
    result = runtime.wait(runtime.harness.abort())
    if runtime.background is not None:  # the next cell may ask at once
        runtime.background.settle(SETTLED)
    unsaid = [*_quoted(result.cleared_steer), *_quoted(result.cleared_follow_up)]
    return "Stopped. What had arrived is kept in the tree, and not sent to the model when you go on." + (
        f" Not said any more: {', '.join(unsaid)}." if unsaid else ""
    )


def _words(runtime: Runtime, text: str) -> str:
    if not text.strip():
        raise UserError("There is nothing to say.", hint="The text goes behind the magic, or below it with %%.")
    return interpolate(text, runtime.ip.ev)


def _check_running(runtime: Runtime) -> None:
    if not runtime.busy:
        raise UserError("Nothing is running.", hint="%%pi asks; %pi_next goes in front of the next prompt.")


def _quoted(messages: Sequence[Message]) -> list[str]:
    return [repr(text_of(getattr(message, "content", ""))) for message in messages]

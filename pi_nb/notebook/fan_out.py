"""One prompt, several branches: ``--n 3``, ``--models a,b``, ``--thinking low,high``, run beside each other.

All of them hang from one place. The leaf waits there until one is picked: ``--pick 2``, ``%pi_checkout cell:7.2``, a
label, or a click. One that fails does not hurt the others; an interrupt stops all and keeps what there is.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from pi_nb.errors import PiError, UserError
from pi_nb.harness import events
from pi_nb.messages import AssistantMessage
from pi_nb.notebook import askers
from pi_nb.notebook.asks import Ask, check, check_key, check_model
from pi_nb.notebook.caption import Caption, clean
from pi_nb.notebook.checks import check_level
from pi_nb.notebook.columns import Column, columns_bundle
from pi_nb.notebook.fan_replay import find_stored_fan, show_stored_fan
from pi_nb.notebook.jobs import Background, follow, leave
from pi_nb.notebook.placing import place_leaf
from pi_nb.notebook.prompting import configure, described
from pi_nb.notebook.redraw import Redraw
from pi_nb.notebook.references import give_label, short
from pi_nb.notebook.replay import begins_at_root
from pi_nb.notebook.reply import Replies, Reply
from pi_nb.notebook.status import leaf_line
from pi_nb.notebook.trace import BranchTracing
from pi_nb.notebook.transcript import Snapshot, Transcript

if TYPE_CHECKING:
    from argparse import Namespace

    from pi_nb.notebook.runtime import Runtime

__all__ = ["MOST", "Fan", "Variant", "fan_from", "fan_out"]

MOST = 16  # columns


@dataclass(frozen=True, slots=True)
class Variant:
    """What is different about one branch; None is as the place says."""

    model: str | None = None
    thinking: str | None = None

    def title(self, number: int) -> str:
        """Return what its column is called."""
        name = ", ".join(part for part in (self.model, self.thinking and f"thinking {self.thinking}") if part)
        return f"{number} · {name}" if name else str(number)

    @property
    def settings(self) -> int:
        """How many entries its own settings are."""
        return (self.model is not None) + (self.thinking is not None)


@dataclass(frozen=True, slots=True)
class Fan:
    """How a prompt is spread.

    Attributes:
        variants: One for each branch.
        pick: Number of the branch to go on with, counted from 1; None to decide later.
        score: Called with each reply, for a number or a word to compare them by; or None.
    """

    variants: tuple[Variant, ...]
    pick: int | None = None
    score: Callable[[Reply], Any] | None = None

    def scored(self, reply: Reply) -> str:
        """Return a reply's score as it is shown; of a scorer that raises, what it said; empty without a scorer."""
        if self.score is None:
            return ""
        try:
            value = self.score(reply)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return f"{value:.4g}" if isinstance(value, float) else str(value)


def fan_from(runtime: Runtime, given: Namespace) -> Fan | None:
    """Return how a ``%%pi`` spreads its prompt; None if it does not.

    Raises:
        UserError: A model or level is unknown, there are too many branches, or nothing to pick from.
    """
    models = _names(given.models) or (None,)
    levels = _names(given.thinking) if given.thinking and "," in given.thinking else ()
    count = given.n or 1
    variants = tuple(Variant(model, level) for model, level, _ in product(models, levels or (None,), range(count)))
    if not (given.models or levels or given.n):
        if given.pick or given.score:
            raise UserError(
                "--pick and --score need several answers.", hint="--n 3, --models a,b or --thinking low,high"
            )
        return None
    if len(variants) > MOST:
        raise UserError(f"{len(variants)} branches at once are too many; the most is {MOST}.")
    if given.pick is not None and given.pick > len(variants):
        raise UserError(f"There is no branch {given.pick} to pick; there will be {len(variants)}.")
    for variant in variants:
        _check(runtime, variant)
    return Fan(variants, given.pick, _scorer(runtime, given.score))


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _check(runtime: Runtime, variant: Variant) -> None:
    if variant.model is not None:
        check_model(runtime, variant.model)
    if variant.thinking is not None:
        check_level(variant.thinking)


def _scorer(runtime: Runtime, expression: str | None) -> Callable[[Reply], Any] | None:
    if not expression:
        return None
    try:
        scorer = runtime.ip.ev(expression)
    except Exception as error:
        raise UserError(f"--score {expression} cannot be evaluated: {type(error).__name__}: {error}") from error
    if not callable(scorer):
        raise UserError(f"--score {expression} is no function.", hint="It is called with each reply.")
    return scorer  # type: ignore[no-any-return]


def fan_out(runtime: Runtime, ask: Ask, fan: Fan) -> list[Reply] | Background:
    """Send a prompt along several branches, show the answers side by side, and return them in order.

    Raises:
        UserError: Something in the request is unknown, or a run is going on; nothing was sent.
        Stopped: The user stopped them.
    """
    check(runtime, ask)
    stored = find_stored_fan(runtime, ask, fan) if ask.replay else None
    if stored is not None:
        return show_stored_fan(runtime, ask, fan, stored)
    if begins_at_root(runtime, ask):
        ask = replace(ask, place="root")
    _check_keys(runtime, ask, fan)
    runtime.begun = True
    if ask.background:
        return leave(runtime, FanJob(runtime, ask, fan))
    replies: list[Reply] = follow(runtime, lambda: FanJob(runtime, ask, fan))
    return replies


def _check_keys(runtime: Runtime, ask: Ask, fan: Fan) -> None:
    """Check that somebody can be asked; who lacks a key among others fails in a column of its own.

    Raises:
        ProviderError: ``auth``: all of them lack their keys.
    """
    missing: list[PiError] = []
    for variant in fan.variants:
        try:
            check_key(runtime, replace(ask, model=variant.model or ask.model))
        except PiError as error:
            missing.append(error)
    if len(missing) == len(fan.variants):
        raise missing[0]


class FanJob:
    """Several runs of one prompt, and the cell that shows them."""

    def __init__(self, runtime: Runtime, ask: Ask, fan: Fan) -> None:
        self.out = ask.out
        self.left = False
        self._runtime = runtime
        self._harness = runtime.harness
        self._live = runtime.live
        self._ask = ask
        self._fan = fan
        self._transcripts = [Transcript() for _ in fan.variants]
        self._failures: dict[int, str] = {}
        self._output = Redraw(runtime.ip)
        self._note = ""
        self._picked: int | None = None
        self._tracing = BranchTracing(runtime, len(fan.variants)) if runtime.tracing else None
        self.begun = threading.Event()
        if ask.background:
            self.draw()  # whatever the runs show beside their answers comes below them
        self.future: Future[Any] = runtime.submit(self._run())
        self.future.add_done_callback(lambda _: self.begun.set())

    # ------------------------------------------------------------ on the owner thread

    async def _run(self) -> None:
        harness, ask = self._harness, self._ask
        self._note = await place_leaf(harness, ask)
        await configure(self._runtime, harness, ask)
        before = harness.system_prompt, harness.max_turns
        beside = [replace(ask, branch=number).beside(before[0]) for number in range(1, len(self._fan.variants) + 1)]
        harness.system_prompt = before[0] if ask.system is None else ask.system
        harness.max_turns = ask.max_turns or before[1]
        self._live.show_status("running")
        try:
            at = harness.session.leaf_id
            await asyncio.gather(*(self._one(k, at, fields) for k, fields in enumerate(beside)))
            await self._pick()
        finally:
            harness.system_prompt, harness.max_turns = before
            self._live.show_status("idle")

    async def _one(self, k: int, at: str | None, beside: dict[str, Any]) -> None:
        """Run one branch; what goes wrong is that branch's own matter."""
        variant, transcript = self._fan.variants[k], self._transcripts[k]
        hear = partial(self._hear, k)
        askers.enter(askers.Asker(f"answer {variant.title(k + 1)}", hear))
        if self._tracing is not None:
            self._tracing.enter(k)
        try:
            answer = await self._harness.prompt(
                self._ask.content,
                at=at,
                model=variant.model,
                thinking_level=variant.thinking,
                listener=hear,
                extra=beside,
            )
            self._failures[k] = _why(answer)
        except Exception as error:
            self._failures[k] = clean(str(error)) or type(error).__name__
        finally:
            transcript.settle()
            self._live.growing.end(f"{id(self)}.{k}")

    async def _pick(self) -> None:
        """Go on with the branch that was picked, if it came to an end."""
        if self._fan.pick is None:
            return
        run = self._transcripts[self._fan.pick - 1].snapshot()
        if _is_whole(run):
            await self._harness.navigate_tree(run.answer_entry)
            self._picked = self._fan.pick

    def _hear(self, k: int, event: events.HarnessEvent) -> None:
        self._transcripts[k].feed(event)
        self._live.growing.hear(event, f"{id(self)}.{k}")
        if self._tracing is not None:
            self._tracing.feed(k, event)
        self.begun.set()

    async def stop(self) -> None:
        """Stop all of them, also before they have begun."""
        begun = not self._harness.is_idle
        await self._harness.abort()
        if not begun:
            self.future.cancel()

    # ------------------------------------------------------------ on the cell's thread

    def draw(self) -> None:
        """Show what is new."""
        self._output.draw(lambda: columns_bundle(self._columns(), note=self._note))

    def finish(self) -> list[Reply]:
        """Pick, label and score; show the answers as they ended and return them."""
        for transcript in self._transcripts:
            transcript.settle()
        session = self._harness.session
        runs = [transcript.snapshot() for transcript in self._transcripts]
        replies = Replies(Reply.of(run, session.id) for run in runs)
        scores = [self._fan.scored(reply) for reply in replies]
        self._label(runs)
        if any(run.entries for run in runs):
            closing = self._whereabouts(runs)
            metadata = {"session": session.id, "columns": [described(session.id, run) for run in runs]}
            bundle = columns_bundle(self._columns(scores), note=self._note, closing=closing)
            self._output.close(bundle, {"pi_nb": metadata})
        if self._tracing is not None:
            self._tracing.close()
        self._runtime.reply = replies[(self._fan.pick or 1) - 1]
        return replies

    def failure(self) -> PiError | None:
        """Return why nothing could begin; a branch that failed says so in its column."""
        if not self.future.done() or self.future.cancelled():
            return None
        error = self.future.exception()
        return error if isinstance(error, PiError) or error is None else PiError(str(error))

    def _columns(self, scores: Sequence[str] = ()) -> list[Column]:
        model = str(self._harness.model)
        return [
            Column(
                title=variant.title(k + 1),
                run=transcript.snapshot(),
                caption=Caption(model=variant.model or model),
                failure=self._failures.get(k, ""),
                score=scores[k] if scores else "",
            )
            for k, (variant, transcript) in enumerate(zip(self._fan.variants, self._transcripts, strict=True))
        ]

    def _label(self, runs: list[Snapshot]) -> None:
        for k, run in enumerate(runs, 1):
            if self._ask.label and run.answer_entry:
                give_label(self._harness.session, run.answer_entry, f"{self._ask.label}-{k}")

    def _whereabouts(self, runs: Sequence[Snapshot]) -> str:
        """Say where the leaf is, and how to go on with one of the answers that came to their ends."""
        where = leaf_line(self._harness.session)
        if self._picked is not None:
            return f"Leaf: {where}. That is answer {self._picked}."
        cell, good = self._ask.cell.number, [k for k, run in enumerate(runs, 1) if _is_whole(run)]
        start = f"Nothing is picked yet; the leaf is before the prompt: {where}."
        if not good:
            return f"{start} None of the answers is whole."
        ways = [short(runs[k - 1].answer_entry) if cell is None else f"cell:{cell}.{k}" for k in good]
        eg = min(1, len(good) - 1)  # the second, where there is one: that the numbers begin at 1 is to be seen
        others = [way for way in ways if way != ways[eg]]
        also = f" ({', '.join(others)}: with the other{'s' if len(others) > 1 else ''})" if others else ""
        picked = good[eg]
        return f"{start} %pi_checkout {ways[eg]} goes on with answer {picked}{also}; --pick {picked} does so at once."


def _is_whole(run: Snapshot) -> bool:
    return run.answer_entry is not None and run.stop_reason not in ("aborted", "error")


def _why(answer: AssistantMessage) -> str:
    if answer.stop_reason != "error":
        return ""
    return clean(answer.error_message or "It said nothing of why.")

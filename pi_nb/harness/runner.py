"""Starting runs, each at its place, and putting the leaf back when those with a place of their own are over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pi_nb.errors import HarnessError, SessionError
from pi_nb.harness.activities import Activities
from pi_nb.harness.branch_run import BranchRun
from pi_nb.harness.compactor import Compactor
from pi_nb.harness.configuration import Configuration, check_level
from pi_nb.harness.events import HarnessEvent
from pi_nb.harness.hooks import BeforeAgentStart, Hooks
from pi_nb.harness.listeners import Listener, Listeners
from pi_nb.harness.loop import drain, run_agent, tell_anyway
from pi_nb.harness.pending import PendingEntries
from pi_nb.harness.queues import Queues
from pi_nb.harness.resources import Resources
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.run import Cursor, Run
from pi_nb.harness.signals import Aborted, interruptible
from pi_nb.messages import AssistantMessage, ImageContent, Message, UserMessage, text_of
from pi_nb.models import Model
from pi_nb.session.tree import Session

__all__ = ["Brief", "Change", "Runner"]


@dataclass(frozen=True, slots=True)
class Brief:
    """What runs are made with at the moment they begin."""

    system_prompt: str
    resources: Resources
    retry: RetryPolicy
    max_turns: int
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What is different on the branch of a run with a place of its own; None is as the branch says."""

    model: str | Model | None = None
    thinking_level: str | None = None

    def make(self, config: Configuration) -> None:
        """Change a run's own configuration.

        Raises:
            HarnessError: There is no such thinking level.
            UserError, ProviderError: There is no such model.
        """
        if self.model is not None:
            config.model = config.find_model(self.model)
        if self.thinking_level is not None:
            config.thinking_level = check_level(self.thinking_level)

    def write(self, session: Session, run: Run) -> None:
        """Write the change down at the run's place."""
        if self.model is not None:
            run.cursor.add(session.append_model_change, run.current.model.provider, run.current.model.id)
        if self.thinking_level is not None:
            run.cursor.add(session.append_thinking_level_change, self.thinking_level)


@dataclass(eq=False)
class Runner:
    """Makes and attends the runs of one harness."""

    session: Session
    config: Configuration
    hooks: Hooks
    queues: Queues
    listeners: Listeners
    activities: Activities
    compactor: Compactor
    pending: PendingEntries
    _home: str | None = field(default=None, init=False)
    _scattered: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.activities.settle = self._settle_anyway

    async def at_leaf(self, message: UserMessage, brief: Brief, news: Sequence[HarnessEvent] = ()) -> AssistantMessage:
        """Run at the session's leaf, which moves along; ``news`` is told first."""
        leaf_id = self._remember_home()
        run = self._run(Cursor(self.session, leaf_id, follows=self._is_alone), self.config, brief, self.listeners.emit)
        run.flush = lambda run: self.pending.flush(run.cursor)
        self.activities.begin(run)
        return await self.activities.attend(run, self._perform(run, message, brief, news))

    def at_entry(
        self, message: UserMessage, brief: Brief, at: str | None, change: Change, listener: Listener | None
    ) -> BranchRun:
        """Begin a run at an entry of its own; the leaf is where it was when all such runs are over."""
        asyncio.get_running_loop()  # raises before anything has begun
        config = self.config.copy()
        for _ in config.restore_at(self.session, at):
            continue
        cursor = Cursor(self.session, at, follows=lambda: False)
        change.make(config)
        listeners = Listeners(() if listener is None else (listener,))
        run = self._run(cursor, config, brief, listeners.emit)
        modes = self.queues.steer.mode, self.queues.follow_up.mode
        run.queues = Queues(steering_mode=modes[0], follow_up_mode=modes[1])
        self._remember_home()
        self._scattered = True
        self.activities.begin(run, beside=True)
        task = self.activities.launch(run, self._perform(run, message, brief, change=change))
        return BranchRun(run, listeners, task)

    def settle(self) -> None:
        """Put the leaf back and write what waits, once nobody is busy any more."""
        if self.activities.count:
            return
        if self._scattered:
            self._scattered = False
            self.session.move_to(self._home)
        self.pending.flush()

    def _settle_anyway(self) -> None:
        """Settle after something that nobody may wait for any more, so that a failure is a notice."""
        try:
            self.settle()
        except SessionError as error:
            self.compactor.notices.append(str(error))

    def _run(
        self,
        cursor: Cursor,
        config: Configuration,
        brief: Brief,
        tell: Callable[[HarnessEvent], Awaitable[None]],
    ) -> Run:
        return Run(
            session=self.session,
            cursor=cursor,
            tell=tell,
            settings=lambda: config.settings(brief.system_prompt),
            current=config.settings(brief.system_prompt),
            hooks=self.hooks,
            queues=self.queues,
            retry=brief.retry,
            max_turns=brief.max_turns,
            flush=lambda _run: False,
            leave=self._leave,
            make_room=self.compactor.make_room,
            after_turn=self.compactor.after_turn,
        )

    def _remember_home(self) -> str | None:
        """Return where a run at the leaf begins: the leaf, as it was before any run with a place of its own."""
        if not self._scattered:
            self._home = self.session.leaf_id
        return self._home

    def _is_alone(self) -> bool:
        return self.activities.count == 1 and not self._scattered

    def _leave(self, run: Run) -> None:
        if run is self.activities.holder:
            self._home = run.cursor.id
        if self.activities.end(run):
            self.settle()

    async def _perform(
        self,
        run: Run,
        message: UserMessage,
        brief: Brief,
        news: Sequence[HarnessEvent] = (),
        *,
        change: Change = Change(),
    ) -> AssistantMessage:
        run.prompt, run.extra = message, brief.extra
        try:
            change.write(self.session, run)
            for event in news:
                await run.tell(event)
            return await run_agent(run, await self._prompts(run, message, brief))
        except SessionError as error:
            raise HarnessError(str(error), code="session", hint=error.hint) from error
        finally:
            self._leave(run)

    async def _prompts(self, run: Run, message: UserMessage, brief: Brief) -> Sequence[Message]:
        """Return what the run begins with: what waited for it, the prompt, and what a hook adds."""
        waiting = await drain(run, run.queues.next_turn)
        blocks = () if isinstance(message.content, str) else message.content
        images = tuple(block for block in blocks if isinstance(block, ImageContent))
        event = BeforeAgentStart(text_of(message.content), images, brief.system_prompt, brief.resources)
        try:
            patch = await interruptible(self.hooks.before_agent_start(event), run.signal)
        except Aborted:
            return (*waiting, message)
        except HarnessError:
            run.queues.next_turn.put_back(waiting)
            if waiting:
                await tell_anyway(run, run.queues.update())
            raise
        run.system_prompt = patch.system_prompt
        return (*waiting, message, *patch.messages)

"""The agent: one session, a provider, tools and hooks, as one state machine.

::

    idle ──prompt──────► turn ⇄ retry ──► idle
    idle ──compact─────► compaction ────► idle
    idle ──navigate────► branch_summary ► idle

``prompt``, ``compact`` and ``navigate_tree`` need an idle harness, ``steer`` and ``follow_up`` one that is not; all
else may be called at any time, from the harness's event loop. Each method says what it needs. Runs that are given a
place of their own (``prompt(…, at=entry_id)``) go on beside each other and beside a run at the leaf.

    >>> harness = AgentHarness(session, model="anthropic:claude-sonnet-5-5", tools=[add])
    >>> stop = harness.subscribe(lambda event: print(event.type))
    >>> answer = await harness.prompt("What is 2 + 2?")
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from pi_nb.errors import HarnessError
from pi_nb.harness.base import HarnessBase
from pi_nb.harness.branch_run import AbortResult, BranchRun
from pi_nb.harness.compaction import CompactionResult
from pi_nb.harness.events import Abort, HarnessEvent
from pi_nb.harness.listeners import Listener
from pi_nb.harness.navigation import NavigateResult, Navigator, plan_move
from pi_nb.harness.queues import MessageQueue
from pi_nb.harness.run import Activity, Cursor, Settings
from pi_nb.harness.runner import Brief, Change
from pi_nb.harness.said import Prompt, user_message
from pi_nb.messages import AssistantMessage, ImageContent
from pi_nb.models import Model
from pi_nb.session.entries import LeafEntry
from pi_nb.session.tree import LEAF

__all__ = ["AbortResult", "AgentHarness"]

T = TypeVar("T")


class AgentHarness(HarnessBase):
    """Runs an agent over one session.

    Model, thinking level and active tools come from the session's branch; the arguments here count where the branch
    says nothing. What a branch asks for and this place does not have is told in ``notices``.

    Args:
        session: Where the conversation is kept.
        model: ``provider:model`` or a model; None for the registry's choice.
        registry: Where providers are found; None for all this package has.
        tools: What the model may call.
        system_prompt: Standing instructions; ``harness.system_prompt`` may be set at any time.
        thinking_level: ``off`` … ``xhigh``; None is ``off``.
        active_tools: Names of the tools it may call; None for all.
        max_turns: Most answers of one run.
        retry: How failed requests are repeated.
        compaction: When and how long conversations are compacted.
        steering_mode: How many steering messages enter at once.
        follow_up_mode: How many follow-ups enter at once.
        resources: Skills and prompt templates.

    Raises:
        HarnessError: ``invalid_argument``: a tool name comes twice or is unknown, or there is no such thinking level.
        UserError, ProviderError: There is no such model.
    """

    # ------------------------------------------------------------ prompts

    async def prompt(
        self,
        content: Prompt,
        *,
        images: Sequence[ImageContent] = (),
        at: Any = LEAF,
        model: str | Model | None = None,
        thinking_level: str | None = None,
        listener: Listener | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> AssistantMessage:
        """Say something and return the last answer. A provider's failure is an answer, with ``error_message`` set.

        Needs an idle harness; with ``at`` there may be other runs, but no compaction and no move.

        Args:
            content: A text, or blocks of text and images.
            images: More images, after the text.
            at: Entry to run at (None: before the first), beside whatever else goes on; the session's leaf stays where
                it is. Left out, the run is at the leaf, which moves along.
            model: For a run at an entry: the model to ask there, written to that branch.
            thinking_level: For a run at an entry: how much to think there, written to that branch.
            listener: For a run at an entry: hears its events, which nobody else does.
            extra: Fields of an application to write beside the prompt, such as the cell it came from.

        Raises:
            HarnessError: ``busy``; ``invalid_state``: no model is set; ``invalid_argument``: there is no such entry,
                or nothing is said; ``hook``: a ``before_agent_start`` hook raised; ``session``: the session could
                not be written.
        """
        if at is LEAF:
            message = user_message(content, images)
            self._activities.check("The prompt")
            news = self._follow_the_leaf()
            work = self._runner.at_leaf(message, self._brief(extra), news)
        else:
            run = self.start(
                content,
                at=at,
                images=images,
                model=model,
                thinking_level=thinking_level,
                listener=listener,
                extra=extra,
            )
            work = self._activities.see_out(run.task)
        try:
            return await work
        finally:
            self._seen = len(self.session)

    def start(
        self,
        content: Prompt,
        *,
        at: str | None,
        images: Sequence[ImageContent] = (),
        model: str | Model | None = None,
        thinking_level: str | None = None,
        listener: Listener | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> BranchRun:
        """Begin a run at an entry, beside whatever else goes on, and return it to be spoken to, stopped or awaited.

        Needs a harness without compaction or move. Arguments and errors as for :meth:`prompt`.
        """
        message = user_message(content, images)
        self._activities.check("The prompt", beside=True)
        if at is not None and self.session.get(at) is None:
            raise HarnessError(f"There is no entry {at}.", code="invalid_argument")
        return self._runner.at_entry(message, self._brief(extra), at, Change(model, thinking_level), listener)

    async def skill(self, name: str, extra: str | None = None) -> AssistantMessage:
        """Prompt with a skill, followed by what the user adds. Needs an idle harness.

        Raises:
            HarnessError: ``invalid_argument``: there is no such skill; or as for :meth:`prompt`.
        """
        self._activities.check("The prompt")
        return await self.prompt(self._resources.skill(name).invocation(extra))

    async def prompt_from_template(self, name: str, args: Sequence[str] | str = ()) -> AssistantMessage:
        """Prompt with a template and its arguments; a string is split into words as a shell does.

        Needs an idle harness.

        Raises:
            HarnessError: ``invalid_argument``: there is no such template; or as for :meth:`prompt`.
        """
        self._activities.check("The prompt")
        return await self.prompt(self._resources.prompt_template(name).invocation(args))

    def _brief(self, extra: Mapping[str, Any] | None) -> Brief:
        self._settings()
        return Brief(self.system_prompt, self._resources, self.retry, self.max_turns, extra)

    def _settings(self) -> Settings:
        return self._config.settings(self.system_prompt)

    # ------------------------------------------------------------ queues

    async def steer(self, content: Prompt) -> None:
        """Say something before the next answer of the current run. Needs a harness that is busy at the leaf.

        Raises:
            HarnessError: ``invalid_state``: nothing is running.
        """
        await self._queue(self._queues.steer, content, "steer")

    async def follow_up(self, content: Prompt) -> None:
        """Say something when the current run would stop. Needs a harness that is busy at the leaf.

        Raises:
            HarnessError: ``invalid_state``: nothing is running.
        """
        await self._queue(self._queues.follow_up, content, "follow up")

    async def next_turn(self, content: Prompt) -> None:
        """Say something in front of the next prompt. At any time.

        Raises:
            HarnessError: ``hook``: a subscriber raised; it waits all the same.
        """
        self._queues.next_turn.put(user_message(content))
        await self._tell(self._queues.update())

    async def take_back(self) -> AbortResult:
        """Take back what waits to be said to the current run. At any time.

        Raises:
            HarnessError: ``hook``: a subscriber raised; it was taken back all the same.
        """
        result = AbortResult(self._queues.steer.clear(), self._queues.follow_up.clear())
        await self._tell(self._queues.update())
        return result

    async def _queue(self, queue: MessageQueue, content: Prompt, what: str) -> None:
        if self._activities.holder is None:
            raise HarnessError(f"There is no run to {what}.", code="invalid_state", hint="Use prompt().")
        queue.put(user_message(content))
        await self._tell(self._queues.update())

    # ------------------------------------------------------------ stopping

    async def abort(self) -> AbortResult:
        """Stop everything and wait until the harness is idle; what waited to be said is handed back. At any time.

        Called from within a run (by a subscriber, hook or tool) it gives the signal and does not wait.

        Raises:
            HarnessError: ``hook``: a subscriber raised; everything was stopped all the same.
        """
        result = AbortResult(self._queues.steer.clear(), self._queues.follow_up.clear())
        self._activities.abort()
        failure: HarnessError | None = None
        try:
            await self._tell(self._queues.update())
        except HarnessError as error:
            failure = error
        end = self._end_abort(result)
        if self._activities.is_inside():
            task = asyncio.get_running_loop().create_task(end)
            self._background.add(task)
            task.add_done_callback(self._background.discard)
        else:
            await end
        if failure is not None:
            raise failure
        return result

    async def _end_abort(self, result: AbortResult) -> None:
        await self._activities.wait()
        await self._tell(Abort(result.cleared_steer, result.cleared_follow_up))

    async def wait_for_idle(self) -> None:
        """Return when nothing is going on that the caller does not itself work for. At any time."""
        await self._activities.wait()

    # ------------------------------------------------------------ the tree

    async def navigate_tree(
        self,
        target_id: str | None,
        *,
        summarize: bool = False,
        instructions: str | None = None,
        replace_instructions: bool = False,
        label: str | None = None,
        exact: bool = False,
        extra: Mapping[str, Any] | None = None,
        left: Any = LEAF,
    ) -> NavigateResult:
        """Move the leaf to an entry and become what that branch says. Needs an idle harness.

        A user message puts the leaf before it and gives its text back for editing; the current leaf does nothing.

        Args:
            target_id: Where to go; None is before the first entry.
            summarize: True to write a summary of the branch that is left under the new leaf.
            instructions: What the summary should look at especially.
            replace_instructions: True if ``instructions`` take the place of the built-in ones.
            label: Name for the summary, or for the target if there is none.
            exact: True to put the leaf on the entry itself, whatever it is, as taking back a move does.
            extra: Fields of an application to write beside the move, such as which move it takes back.
            left: The entry at which the branch to summarise ends; left out, it is the leaf. A branch that was left
                without a summary can so be given one afterwards.

        Raises:
            HarnessError: ``busy``; ``invalid_argument``: there is no such entry; ``hook``.
            BranchSummaryError: The summary could not be made; the leaf did not move.
        """
        self._activities.check("The move", alone=True)
        if target_id == self.session.leaf_id and left is LEAF:
            return NavigateResult(False, leaf_id=target_id)
        plan = plan_move(
            self.session,
            target_id,
            summarize=summarize,
            instructions=instructions,
            replace_instructions=replace_instructions,
            label=label,
            exact=exact,
            extra=extra,
            left=left,
        )
        navigator = Navigator(self.session, self._hooks, self.retry, self._settings, self._tell)
        activity = Activity("branch_summary")
        return await self._do(activity, self._navigate(navigator.navigate(plan, activity.signal)))

    async def _navigate(self, move: Coroutine[Any, Any, NavigateResult]) -> NavigateResult:
        result = await move
        if not result.cancelled:
            for event in self._config.restore_at(self.session, self.session.leaf_id):
                await self._tell(event)
        return result

    async def compact(self, instructions: str | None = None) -> CompactionResult:
        """Summarise the older part of the branch, so that the context becomes smaller. Needs an idle harness.

        Args:
            instructions: What the summary should look at especially.

        Raises:
            CompactionError: There is nothing to compact, it was cancelled, or the model failed; nothing was written.
            HarnessError: ``busy``; ``invalid_state``: no model is set; ``hook``; ``session``.
        """
        self._activities.check("The compaction", alone=True)
        settings = self._settings()
        cursor = Cursor(self.session, self.session.leaf_id, follows=lambda: True)
        activity = Activity("compaction")
        work = self._compactor.compact(cursor, settings, activity.signal, self._tell, instructions)
        return await self._do(activity, work)

    async def _do(self, activity: Activity, work: Coroutine[Any, Any, T]) -> T:
        """Carry out something that holds the leaf and is not a run."""
        self._activities.begin(activity)
        return await self._activities.attend(activity, self._and_end(activity, work))

    async def _and_end(self, activity: Activity, work: Coroutine[Any, Any, T]) -> T:
        try:
            return await work
        finally:
            self._activities.end(activity)
            self._runner.settle()
            self._seen = len(self.session)

    def _follow_the_leaf(self) -> Sequence[HarnessEvent]:
        """Become what the branch says if somebody else has moved the leaf; return what there is to tell of it."""
        moved = any(isinstance(entry, LeafEntry) for entry in self.session.entries(self._seen))
        self._seen = len(self.session)
        return tuple(self._config.restore_at(self.session, self.session.leaf_id)) if moved else ()

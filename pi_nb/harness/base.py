"""What a harness is made of: its parts, its configuration, its subscribers and hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, overload

from pi_nb.errors import HarnessError, SessionError
from pi_nb.harness.activities import Activities
from pi_nb.harness.compaction import CompactionSettings
from pi_nb.harness.compactor import Compactor
from pi_nb.harness.configuration import Configuration, check_level, check_tool_names
from pi_nb.harness.events import HarnessEvent, ModelUpdate, ResourcesUpdate, ThinkingLevelUpdate, ToolsUpdate
from pi_nb.harness.hooks import (
    AgentStartPatch,
    BeforeAgentStart,
    BeforeCompact,
    BeforeProviderPayload,
    BeforeProviderRequest,
    BeforeTree,
    CompactDecision,
    ContextHook,
    Handler,
    HandlerOf,
    Hooks,
    ToolCallDecision,
    ToolCallHook,
    ToolResultHook,
    ToolResultPatch,
    TreeDecision,
)
from pi_nb.harness.listeners import Listener, Listeners
from pi_nb.harness.pending import PendingEntries
from pi_nb.harness.queues import QueueMode, Queues
from pi_nb.harness.resources import Resources
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.run import Phase
from pi_nb.harness.runner import Runner
from pi_nb.harness.tools import Tool
from pi_nb.messages import Message
from pi_nb.models import Model
from pi_nb.providers.base import Request
from pi_nb.providers.registry import Registry, default_registry
from pi_nb.session.items import Items
from pi_nb.session.tree import Session

__all__ = ["HarnessBase"]

Remove: TypeAlias = Callable[[], None]

_AT_ONCE = 25  # messages; about half a millisecond
_PAUSE = 0.005


class HarnessBase:
    """The parts of a harness and everything about it that can be set; :class:`AgentHarness` is what it does."""

    def __init__(
        self,
        session: Session,
        *,
        model: str | Model | None = None,
        registry: Registry | None = None,
        tools: Sequence[Tool] = (),
        system_prompt: str = "",
        thinking_level: str | None = None,
        active_tools: Sequence[str] | None = None,
        max_turns: int = 50,
        retry: RetryPolicy | None = None,
        compaction: CompactionSettings | None = None,
        steering_mode: QueueMode = "one-at-a-time",
        follow_up_mode: QueueMode = "one-at-a-time",
        resources: Resources | None = None,
    ) -> None:
        self.session = session
        self.system_prompt = system_prompt
        self.max_turns = max_turns
        self.retry = retry or RetryPolicy()
        self.notices: list[str] = []
        self._config = Configuration(
            registry or default_registry(),
            model=model,
            thinking_level=thinking_level or "off",
            tools=tools,
            active=active_tools,
            notices=self.notices,
        )
        self._hooks = Hooks()
        self._listeners = Listeners()
        self._queues = Queues(steering_mode=steering_mode, follow_up_mode=follow_up_mode)
        self._resources = resources or Resources()
        self._activities = Activities()
        self._pending = PendingEntries()
        self._compactor = Compactor(session, compaction or CompactionSettings(), self._hooks, self.retry, self.notices)
        self._runner = Runner(
            session,
            self._config,
            self._hooks,
            self._queues,
            self._listeners,
            self._activities,
            self._compactor,
            self._pending,
        )
        self._background: set[asyncio.Task[None]] = set()
        self._seen = len(session)
        for _ in self._config.restore_at(session, session.leaf_id):
            continue

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.phase} model={self.model} session={self.session.id[-8:]}>"

    # ------------------------------------------------------------ state

    @property
    def phase(self) -> Phase:
        """What the harness is doing: ``idle``, ``turn``, ``retry``, ``compaction`` or ``branch_summary``."""
        return self._activities.phase

    @property
    def is_idle(self) -> bool:
        """True if a prompt would be taken."""
        return self.phase == "idle"

    @property
    def model(self) -> Model | None:
        """The model that answers next."""
        return self._config.model

    @property
    def thinking_level(self) -> str:
        """How much it thinks."""
        return self._config.thinking_level

    @property
    def tools(self) -> tuple[Tool, ...]:
        """All tools, active or not."""
        return tuple(self._config.tools.values())

    @property
    def active_tool_names(self) -> tuple[str, ...]:
        """Names of the tools the model may call."""
        return self._config.active

    @property
    def resources(self) -> Resources:
        """Skills and prompt templates."""
        return self._resources

    @property
    def queues(self) -> Queues:
        """What waits to be said; the modes of ``steer`` and ``follow_up`` may be set."""
        return self._queues

    # ------------------------------------------------------------ configuration

    def configuration_at(self, entry_id: str | None) -> Configuration:
        """Return model, thinking level and tools as they would be with the leaf at an entry; None is the root.

        At any time.

        Raises:
            SessionError: There is no such entry, or its path is broken.
        """
        return self._config.at(self.session, entry_id)

    async def set_model(self, model: str | Model) -> None:
        """Speak to another model from the next answer on. At any time; during a run it is written when the turn ends.

        Raises:
            UserError, ProviderError: There is no such model.
            HarnessError: ``session``: it could not be written; ``hook``.
        """
        found = self._config.find_model(model)
        previous = self._config.model
        self._write(self.session.append_model_change, found.provider, found.id)
        self._config.model = found
        await self._tell(ModelUpdate(found, previous, source="set"))

    async def set_thinking_level(self, level: str) -> None:
        """Let the model think more or less from the next answer on. At any time, like :meth:`set_model`.

        Raises:
            HarnessError: ``invalid_argument``: there is no such level; ``session``; ``hook``.
        """
        previous = self._config.thinking_level
        self._write(self.session.append_thinking_level_change, check_level(level))
        self._config.thinking_level = level
        await self._tell(ThinkingLevelUpdate(level, previous))

    async def set_active_tools(self, names: Sequence[str]) -> None:
        """Let the model call these tools from the next answer on. At any time, like :meth:`set_model`.

        Raises:
            HarnessError: ``invalid_argument``: a name is unknown or comes twice; ``session``; ``hook``.
        """
        check_tool_names(names, tuple(self._config.tools))
        await self.set_tools(self.tools, names)

    async def set_tools(self, tools: Sequence[Tool], active: Sequence[str] | None = None) -> None:
        """Use other tools from the next answer on. At any time, like :meth:`set_model`.

        Args:
            tools: All tools.
            active: Names of those the model may call; None for those that are active now.

        Raises:
            HarnessError: ``invalid_argument``: a name is unknown or comes twice; ``session``; ``hook``.
        """
        previous, previous_active = tuple(self._config.tools), self._config.active
        names = previous_active if active is None else tuple(active)
        known = [tool.name for tool in tools]
        check_tool_names(known, known, "tool")
        check_tool_names(names, known)
        self._write(self.session.append_active_tools_change, list(names))
        self._config.replace_tools(tools, names)
        await self._tell(ToolsUpdate(tuple(known), previous, names, previous_active, source="set"))

    async def set_resources(self, resources: Resources) -> None:
        """Use other skills and prompt templates. At any time; a run that goes on keeps those it began with.

        Raises:
            HarnessError: ``hook``: a subscriber raised.
        """
        previous, self._resources = self._resources, resources
        await self._tell(ResourcesUpdate(resources, previous))

    async def read_ahead(self) -> None:
        """Read the conversation at the leaf a little at a time, so that the request of the first prompt need not.

        For the time between opening a long session and saying something: it takes a tenth of one processor, and ends
        when something begins. Without it nothing is different but for the time that request takes. At any time.

        Raises:
            SessionError: The path to the leaf is broken.
        """
        items = self.session.context().items
        while isinstance(items, Items) and items.make(_AT_ONCE):
            await asyncio.sleep(_PAUSE)
            if not self.is_idle:
                return

    async def append_message(self, message: Message) -> None:
        """Add a message to the conversation: at once when idle, else when the current turn ends.

        Raises:
            HarnessError: ``session``: it could not be written.
        """
        self._write(self.session.append_message, message)

    def _write(self, append: Callable[..., str], *args: object) -> None:
        if not self.is_idle:
            self._pending.put(append, *args)
            return
        try:
            append(*args)
        except SessionError as error:
            raise HarnessError(str(error), code="session", hint=error.hint) from error

    # ------------------------------------------------------------ subscribers and hooks

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Hear the events of :mod:`pi_nb.harness.events`; return how to stop that. At any time.

        Listeners may be asynchronous; the harness waits for each. One that raises fails the run.
        """
        return self._listeners.add(listener)

    @overload
    def on(
        self, hook: Literal["before_agent_start"], handler: HandlerOf[BeforeAgentStart, AgentStartPatch]
    ) -> Remove: ...
    @overload
    def on(self, hook: Literal["context"], handler: HandlerOf[ContextHook, Sequence[Message]]) -> Remove: ...
    @overload
    def on(
        self, hook: Literal["before_provider_request"], handler: HandlerOf[BeforeProviderRequest, Request]
    ) -> Remove: ...
    @overload
    def on(
        self, hook: Literal["before_provider_payload"], handler: HandlerOf[BeforeProviderPayload, dict[str, Any]]
    ) -> Remove: ...
    @overload
    def on(self, hook: Literal["tool_call"], handler: HandlerOf[ToolCallHook, ToolCallDecision]) -> Remove: ...
    @overload
    def on(self, hook: Literal["tool_result"], handler: HandlerOf[ToolResultHook, ToolResultPatch]) -> Remove: ...
    @overload
    def on(
        self, hook: Literal["session_before_compact"], handler: HandlerOf[BeforeCompact, CompactDecision]
    ) -> Remove: ...
    @overload
    def on(self, hook: Literal["session_before_tree"], handler: HandlerOf[BeforeTree, TreeDecision]) -> Remove: ...
    def on(self, hook: str, handler: Handler) -> Remove:
        """Add a handler to a hook of :mod:`pi_nb.harness.hooks`; return how to take it back. At any time.

        Raises:
            UserError: There is no hook of that name.
        """
        return self._hooks.add(hook, handler)

    async def tell(self, event: HarnessEvent) -> None:
        """Tell the subscribers of something that a hook does, such as asking somebody. At any time.

        Raises:
            HarnessError: ``hook``: a subscriber raised.
        """
        await self._tell(event)

    async def _tell(self, event: HarnessEvent) -> None:
        await self._listeners.emit(event)

"""A session at work: its harness, and the tree view that shows both.

The view hears of a run from here and from nowhere else: its status when the run begins and settles, and the answer
that is coming as one provisional row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pi_nb.harness import events
from pi_nb.harness.agent import AgentHarness
from pi_nb.notebook.branch_settings import Moved, moved
from pi_nb.notebook.growing import Growing, Rows
from pi_nb.notebook.toolbox import configured_tools
from pi_nb.notebook.tree_agent import NotebookTreeAgent

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.tree import Session
    from pi_nb.views.tree_view import TreeView

__all__ = ["Live"]

_LONG = 1_000  # entries; a session as long as that is read ahead of its first prompt


class Live:
    """The harness of one session and its view, made when first wanted.

    Args:
        runtime: Where settings, tools and providers are.
        session: What it works on.
        before: The one whose place it takes, because settings have changed: its view goes on being shown, and what
            waits for the next prompt goes on waiting.
    """

    def __init__(self, runtime: Runtime, session: Session, *, before: Live | None = None) -> None:
        settings = runtime.settings
        self.session = session
        self.harness = AgentHarness(
            session,
            model=settings.model or None,
            registry=runtime.registry,
            tools=tuple(runtime.tools.values()),
            active_tools=configured_tools(runtime),
            system_prompt=settings.system_prompt,
            thinking_level=settings.thinking,
            max_turns=settings.max_turns,
        )
        self.harness.on("tool_call", runtime.approvals.hook(session))
        self._owner = runtime.owner
        self._runtime = runtime
        view = self._view = before.retire() if before is not None else None
        if before is not None:
            self.harness.queues.next_turn.put_back(before.harness.queues.next_turn.clear())
        agent = view.tree_agent if view is not None else None
        self._agent = agent if isinstance(agent, NotebookTreeAgent) else NotebookTreeAgent(runtime)
        self.growing = Growing(self._grow)
        self._unsubscribe = self.harness.subscribe(self._feed)
        if len(session) > _LONG:
            self._owner.submit(self.harness.read_ahead())

    @property
    def tree_view(self) -> TreeView:
        """The live tree; one widget per session, re-displayed."""
        if self._view is None:
            from pi_nb.views.tree_view import TreeView

            self._view = TreeView(
                self.session, checkout=self._move, restore=self._put_back, submit=self._owner.call, agent=self._agent
            )
            self._agent.tell = self._view.set_agent
            if not self.harness.is_idle:
                self._view.set_status("running")
                self._owner.call(self._agent.catch_up)
        return self._view

    async def _move(self, target: str | None) -> Moved:
        """Move the leaf with the harness that counts now: settings may have made another one."""
        return await moved(self._runtime.harness, target)

    async def _put_back(self, leaf: str | None, extra: Mapping[str, str]) -> Moved:
        return await moved(self._runtime.harness, leaf, exact=True, extra=extra)

    def retire(self) -> TreeView | None:
        """Let another take over, with the view if there is one."""
        self._unsubscribe()
        view, self._view = self._view, None
        return view

    def show_status(self, status: str) -> None:
        """Let the tree say ``running`` or ``idle``, for runs with subscribers of their own; on the owner thread."""
        if self._view is not None:
            self._view.set_status(status)
            self._agent.watch()

    def close(self, *, leaving: bool = False) -> None:
        """Stop feeding the view and close it; or leave it in the page, because the kernel ends."""
        self._unsubscribe()
        if self._view is not None:
            (self._view.leave if leaving else self._view.close)()

    def _feed(self, event: events.HarnessEvent) -> None:
        """Tell the view of one event; on the owner thread."""
        if self._view is None:
            return
        self._agent.hear(event)
        self.growing.hear(event)
        if isinstance(event, events.AgentStart):
            self._view.set_status("running")
        elif isinstance(event, events.Settled):
            self.growing.end()
            self._view.set_status("idle")

    def _grow(self, rows: Rows) -> None:
        if self._view is not None:
            self._view.set_lives(rows)

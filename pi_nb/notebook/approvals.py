"""Which tool calls may run in this notebook, and who is asked about the others.

Rules belong to a session: what was allowed in one is asked about again in the next, unless it was saved for the
notebook (``%pi_tools --save``). A function that the user wrote and added may run; everything else begins as
:class:`~pi_nb.tools.policy.ToolPolicy` says.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from pi_nb.errors import ToolError, UserError
from pi_nb.harness.events import HarnessEvent, ToolCallHeld
from pi_nb.harness.hooks import ToolCallDecision, ToolCallHook
from pi_nb.harness.threads import in_thread
from pi_nb.notebook import saved_rules
from pi_nb.notebook.askers import asker
from pi_nb.notebook.asking import Asking, OpenQuestion
from pi_nb.tools.policy import Answer, Question, ToolPolicy
from pi_nb.tools.rules import Rule, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.tree import Session

__all__ = ["Approvals", "how_to_allow"]


def how_to_allow(tool: str) -> str:
    """Return what the user can type to allow a tool."""
    return f"%pi_tools --allow {tool}"


class Approvals:
    """The policies of the sessions a kernel has been in."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._asking = Asking(runtime)
        self._policies: dict[str, ToolPolicy] = {}
        self._trusted: list[str] = []

    def __repr__(self) -> str:
        return f"<Approvals sessions={len(self._policies)}>"

    def policy(self, session: Session) -> ToolPolicy:
        """Return the policy of a session; one that is new begins with what was saved for the notebook."""
        if session.id not in self._policies:
            self._policies[session.id] = self._new_policy(session)
        return self._policies[session.id]

    def _new_policy(self, session: Session) -> ToolPolicy:
        policy = ToolPolicy(session.cwd, ask=self._ask, how_to_allow=how_to_allow)
        for name in self._trusted:
            _trust(policy, name)
        policy.rules += saved_rules.load_rules(self._notebook) if self._notebook else []
        return policy

    @property
    def current(self) -> ToolPolicy:
        """The policy of the session of this notebook."""
        return self.policy(self._runtime.session)

    @property
    def _notebook(self) -> str:
        return self._runtime.place.name

    async def _ask(self, question: Question) -> Answer | None:
        who = asker()
        return await self._asking.ask(question, by=who.title if who else "")

    def hook(self, session: Session) -> Callable[[ToolCallHook], Awaitable[ToolCallDecision]]:
        """Return what decides about the calls of a session; the card of one that waits for an answer says so."""

        async def decide(call: ToolCallHook) -> ToolCallDecision:
            policy = self.policy(session)
            if not await in_thread(_is_asked, policy=policy, call=call):
                return await policy(call)
            await self._tell(ToolCallHeld(call.tool_call_id, call.tool_name, held=True))
            try:
                return await policy(call)
            finally:
                await self._tell(ToolCallHeld(call.tool_call_id, call.tool_name, held=False))

        return decide

    async def _tell(self, event: HarnessEvent) -> None:
        """Tell of an event whoever shows the run that this task belongs to."""
        who = asker()
        if who is None:
            await self._runtime.harness.tell(event)
        else:
            who.hear(event)

    @property
    def question(self) -> OpenQuestion | None:
        """The question that waits for an answer, or None."""
        return self._asking.question

    def show_question(self) -> None:
        """Show that question in the cell that runs now as well."""
        self._asking.show_again()

    def close(self) -> None:
        """Let go of the page."""
        self._asking.close()

    # ------------------------------------------------------------ rules

    def trust(self, tool: str) -> None:
        """Let a function of the user's run without asking, unless a rule says otherwise."""
        if tool not in self._trusted:
            self._trusted.append(tool)
            for policy in self._policies.values():
                _trust(policy, tool)

    def change(self, verdict: Verdict, words: str) -> None:
        """Add rules given as ``TOOL`` or ``TOOL:PATH``, separated by commas.

        Raises:
            UserError: A tool's name is missing.
        """
        for word in filter(None, (part.strip() for part in words.split(","))):
            tool, _, path = word.partition(":")
            if not tool:
                raise UserError(f"{word!r} names no tool.", hint="For example: --allow write:build")
            self.current.set(verdict, tool, path or None)

    def save(self) -> Path:
        """Save for this notebook what was decided in this session, answers with "always" included.

        Raises:
            UserError: There is no notebook to save it for, nothing to save, or the file cannot be written.
        """
        if not self._notebook:
            raise UserError("This kernel belongs to no notebook, so there is nothing to save rules for.")
        rules = self.decided()
        if not rules:
            raise UserError("Nothing was decided yet.", hint="For example: %pi_tools --allow bash --save")
        return saved_rules.save_rules(self._notebook, rules)

    def reset(self) -> bool:
        """Begin anew with the default rules; return whether saved ones were forgotten as well.

        Raises:
            UserError: What was saved cannot be forgotten.
        """
        forgotten = bool(self._notebook) and saved_rules.forget_rules(self._notebook)
        fresh, policy = self._new_policy(self._runtime.session), self.current
        policy.rules[:] = fresh.rules
        policy.forget()
        return forgotten

    def decided(self) -> list[Rule]:
        """Return the rules that were added to the default ones, answers with "always" included, oldest first."""
        policy = self.current
        plain = ToolPolicy(policy.cwd)
        defaults = [*plain.rules, *(Rule("allow", name) for name in self._trusted)]
        given = list(policy.rules)
        for rule in defaults:
            if rule in given:
                given.remove(rule)
        return [*given, *policy.granted]


def _is_asked(policy: ToolPolicy, call: ToolCallHook) -> bool:
    try:
        return policy.rule_for(call.tool_name, call.input).verdict == "ask"
    except ToolError:
        return False


def _trust(policy: ToolPolicy, tool: str) -> None:
    policy.rules.insert(1, Rule("allow", tool))  # after "ask about everything", before what anybody decided

"""Whether a tool may run: allowed, asked about or denied, by tool and by path.

    policy = ToolPolicy(session.cwd, ask=asker)
    harness.on("tool_call", policy)
    policy.allow("write", "build")      # below the folder build
    policy.deny("*", "secrets")         # nothing in there
    policy.allow("bash")                # whatever the command

To begin with, reading is allowed inside the working directory, and everything else is asked about. Of the rules that
fit a call the last one decides. With nobody to ask, asking means denying.

A path is judged by where it leads, with links and ``..`` followed, and a search of a folder also by what is below it.
This keeps an honest model from mistakes. It is no sandbox: a shell command that is allowed may do anything, which is
why it is asked about, with all of it shown.
"""

from __future__ import annotations

import asyncio
import fnmatch
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from pi_nb.errors import ToolError, UserError
from pi_nb.harness.hooks import ToolCallDecision, ToolCallHook
from pi_nb.harness.threads import in_thread
from pi_nb.tools.paths import follow, locate, printable, shown
from pi_nb.tools.rules import Rule, Verdict, Verdicts, covers, fits

__all__ = ["PRIVATE", "READING", "Answer", "Asker", "Question", "Rule", "ToolPolicy", "Verdict", "Verdicts"]

READING = ("read", "grep", "find", "ls")
"""Tools that change nothing."""
PRIVATE = (
    "~/.aws",
    "~/.config",
    "~/.gnupg",
    "~/.jupyter",
    "~/.local/share/jupyter/runtime",
    "~/.netrc",
    "~/.pi",
    "~/.ssh",
    "~/Library/Jupyter/runtime",
)
"""What is asked about even inside the working directory, which is often the home folder: keys and tokens."""

_DEFAULT_PATH: Mapping[str, str | None] = {
    "read": None,
    "write": None,
    "edit": None,
    "grep": ".",
    "find": ".",
    "ls": ".",
}


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked.

    Attributes:
        call_id: The model's id of the call.
        tool: Name of the tool.
        arguments: All of them, as the tool would get them.
        path: Where the call's path leads, or None for a tool without one.
        why: Why it is asked about, a sentence.
        always: What "always" would allow for the rest of the session, such as ``write below /home/ada/work``.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    path: Path | None
    why: str
    always: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said: whether the call may run, whether such calls may from now on, and why not."""

    allowed: bool
    always: bool = False
    reason: str = ""


Asker: TypeAlias = Callable[[Question], Answer | bool | Awaitable[Answer | bool | None] | None]
"""Asks somebody. None means that there is nobody to ask."""


class ToolPolicy:
    """Decides about tool calls; register it with ``harness.on("tool_call", policy)``.

    Attributes:
        cwd: The working directory, which relative paths start from.
        rules: The rules, in the order they were added.
        granted: What was allowed for the rest of the session by an answer.
    """

    def __init__(
        self,
        cwd: str | Path,
        *,
        ask: Asker | None = None,
        how_to_allow: Callable[[str], str] = lambda tool: f"policy.allow({tool!r})",
    ) -> None:
        """Begin with the default rules.

        Args:
            cwd: The working directory; the same as the tools have, or relative paths would be judged by another place.
            ask: Asks the user; without it everything that would be asked about is denied.
            how_to_allow: Returns what the user can type to allow a tool, for the reason of a denial.
        """
        self.cwd = Path(cwd).absolute()
        self.granted: list[Rule] = []
        self._ask = ask
        self._how_to_allow = how_to_allow
        self._asking: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self.rules: list[Rule] = [Rule("ask", "*")]
        self.rules += [Rule("allow", tool, self.cwd) for tool in READING]
        self.rules += [Rule("ask", "*", Path(path).expanduser()) for path in PRIVATE if _home_is_known()]

    def __repr__(self) -> str:
        return f"<ToolPolicy cwd={printable(self.cwd)} rules={len(self.rules)} granted={len(self.granted)}>"

    # ------------------------------------------------------------ rules

    def allow(self, tool: str, path: str | Path | None = None) -> None:
        """Let a tool run without asking, on one file or below one folder only if a path is given."""
        self.set("allow", tool, path)

    def ask(self, tool: str, path: str | Path | None = None) -> None:
        """Ask before each run of a tool. What had been granted to it is taken back."""
        self.set("ask", tool, path)

    def deny(self, tool: str, path: str | Path | None = None) -> None:
        """Never let a tool run."""
        self.set("deny", tool, path)

    def set(self, verdict: Verdict, tool: str, path: str | Path | None = None) -> None:
        """Add a rule, which comes before all there are.

        Raises:
            UserError: There is no such verdict.
        """
        if verdict not in Verdicts:
            raise UserError(f"There is no verdict {verdict!r}.", hint=f"Known: {', '.join(Verdicts)}.")
        self.rules.append(Rule(verdict, tool, None if path is None else locate(str(path), self.cwd)))
        if verdict == "ask":
            self.granted = [rule for rule in self.granted if not fnmatch.fnmatchcase(rule.tool, tool)]

    def forget(self) -> None:
        """Take back everything that was allowed "always" by an answer."""
        self.granted.clear()

    def rule_for(self, tool: str, arguments: Mapping[str, Any]) -> Rule:
        """Return the rule that decides about a call; what was granted is among them, and no match for a denial.

        Raises:
            ToolError: The path of the call cannot be one.
        """
        target = self.target(tool, arguments)
        ruling = next(rule for rule in reversed(self.rules) if fits(rule, tool, target))
        if ruling.verdict == "ask":
            return next((rule for rule in self.granted if covers(rule, ruling, tool, target)), ruling)
        return ruling

    def target(self, tool: str, arguments: Mapping[str, Any]) -> Path | None:
        """Return where the path of a call leads, links followed, or None if the tool has none.

        Raises:
            ToolError: The path cannot be one.
        """
        path = arguments.get("path", _DEFAULT_PATH[tool]) if tool in _DEFAULT_PATH else None
        return None if path is None else follow(locate(str(path), self.cwd))

    # ------------------------------------------------------------ calls

    async def __call__(self, call: ToolCallHook) -> ToolCallDecision:
        """Decide about a call; this is the hook."""
        try:
            ruling = await self._rule_for(call)
            if ruling.verdict == "ask":
                async with self._one_at_a_time():  # two may ask the same, and "always" answers both
                    ruling = await self._rule_for(call)
                    return await self._decide(call, ruling)
            return await self._decide(call, ruling)
        except ToolError as error:
            return ToolCallDecision(block=True, reason=str(error))

    async def _rule_for(self, call: ToolCallHook) -> Rule:
        ruling: Rule = await in_thread(self.rule_for, tool=call.tool_name, arguments=call.input)
        return ruling

    async def _decide(self, call: ToolCallHook, ruling: Rule) -> ToolCallDecision:
        if ruling.verdict == "allow":
            return ToolCallDecision()
        if ruling.verdict == "deny":
            return ToolCallDecision(block=True, reason=f"Not run: {call.tool_name} is denied here (rule: {ruling}).")
        question, grant = await in_thread(self._question, call=call, ruling=ruling)
        answer = None if self._ask is None else self._ask(question)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, bool):
            answer = Answer(answer)
        if answer is None:
            return ToolCallDecision(block=True, reason=self._nobody(question))
        if not answer.allowed:
            why = answer.reason.strip()
            return ToolCallDecision(block=True, reason=f"Not run: the user said no{f': {why}' if why else '.'}")
        if answer.always:
            self.granted.append(grant)
        return ToolCallDecision()

    def _question(self, call: ToolCallHook, ruling: Rule) -> tuple[Question, Rule]:
        """Return what to ask about a call, and the rule that "always" would make."""
        tool, target, home = call.tool_name, self.target(call.tool_name, call.input), follow(self.cwd)
        grant = Rule("allow", tool, target)
        if target is not None and ruling.path is None and target.is_relative_to(home):
            grant = Rule("allow", tool, home)
        why = _why(tool, target, home, private=ruling.path is not None)
        return Question(call.tool_call_id, tool, call.input, target, why, _scope(grant)), grant

    def _nobody(self, question: Question) -> str:
        return (
            f"Not run: {question.why} That needs the user's consent, and there is nobody to ask here."
            f" The user can allow it beforehand: {self._how_to_allow(question.tool)}"
        )

    def _one_at_a_time(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._asking is None or self._asking[0] is not loop:
            self._asking = (loop, asyncio.Lock())
        return self._asking[1]


def _why(tool: str, target: Path | None, home: Path, *, private: bool) -> str:
    if target is None:
        return f"{tool} may do anything."
    where = shown(target, home)
    if private:
        return f"{tool} would touch {where}, which is private, or has something private in it."
    if tool not in READING:
        return f"{tool} would change {where}."
    if target.is_relative_to(home):
        return f"{tool} would show {where}."
    return f"{tool} would show {where}, which is outside the working directory."


def _scope(grant: Rule) -> str:
    if grant.path is None:
        return f"{grant.tool}, whatever it does"
    return f"{grant.tool} {'below' if grant.path.is_dir() else 'on'} {printable(grant.path)}"


def _home_is_known() -> bool:
    try:
        return bool(Path.home())
    except RuntimeError:
        return False

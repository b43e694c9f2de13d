"""``scripted:demo``: lessons for a new user, without key or network.

It is not a model and says so in every answer. It knows only what is in the messages it is sent, so it shows exactly
what a model would know at this place of the tree: on another branch it knows something else.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pi_nb.errors import ProviderError
from pi_nb.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
    text_of,
)
from pi_nb.models import EXAMPLE_MODEL, Model
from pi_nb.providers.base import Request, ToolSpec
from pi_nb.providers.demo_calls import example_call, wanted_tools
from pi_nb.providers.demo_notes import facts_in, name_in, sentences
from pi_nb.providers.scripted import Reply, ReplySource, ScriptedBlock, ScriptedProvider
from pi_nb.providers.transform import BRANCH_PREFIX, COMPACTION_PREFIX, LlmMessage, acceptable

__all__ = ["DemoProvider"]

_USUAL_PACE = 90.0  # tokens per second: quick, and still seen to be streaming
_COUNTING = 6.0  # times as slow: a hundred numbers in some ten seconds, so that a hand can stop them
_PACE_ENV = "PI_NB_DEMO_PACE"


class DemoProvider(ScriptedProvider):
    """Answers from what it sees in the context.

    Args:
        tokens_per_second: Pace; 0 for none. None for the environment's ``PI_NB_DEMO_PACE``, or 90.
    """

    def __init__(self, *, tokens_per_second: float | None = None) -> None:
        pace = _pace_of_environment() if tokens_per_second is None else tokens_per_second
        demo = Model("scripted", "demo", api="scripted", reasoning=True, vision=True)
        super().__init__(models=[demo], tokens_per_second=pace or None, chunk_size=12)
        self._overloaded: set[tuple[int, str]] = set()  # requests that have seen their one failure
        self._asked: Counter[int] = Counter()  # how often each context was sent

    def _take(self, request: Request) -> ReplySource:
        scene = _Scene(request)
        if scene.is_summary_request:
            return Reply(_notes(scene))
        if scene.results:
            return Reply(_after_tools(scene) + _footer(scene))
        return self._failure_once(scene) or _lesson(replace(scene, time=self._time(scene)))

    def _time(self, scene: _Scene) -> int:
        """Return how often this was asked now, this time included: siblings are to differ."""
        asked = hash(tuple(text_of(message.content) for message in scene.messages))
        self._asked[asked] += 1
        return self._asked[asked]

    def _failure_once(self, scene: _Scene) -> Reply | None:
        """Return a failure for the first of two equal requests that ask for one."""
        if not _OVERLOAD.search(scene.asked):
            return None
        place = (len(scene.request.messages), scene.asked)
        if place in self._overloaded:
            self._overloaded.remove(place)
            return None
        self._overloaded.add(place)
        return Reply(error=ProviderError("The demo plays an overloaded provider.", code="overloaded", retryable=True))


def _pace_of_environment() -> float:
    try:
        return max(0.0, float(os.environ.get(_PACE_ENV, "") or _USUAL_PACE))
    except ValueError:
        return _USUAL_PACE


# ---------------------------------------------------------------- what is seen


@dataclass(frozen=True)
class _Scene:
    """The context, as far as the demo reads it."""

    request: Request
    time: int = 1

    @cached_property
    def messages(self) -> tuple[LlmMessage, ...]:
        """What a model would be sent: answers that were stopped or failed are not in it."""
        return acceptable(self.request.messages, self.request.model)

    @cached_property
    def said(self) -> list[str]:
        """What the user said on this branch, in order; the last is the prompt."""
        users = [message for message in self.messages if isinstance(message, UserMessage)]
        texts = [text_of(message.content) for message in users]
        return [text for text in texts if text.strip() and not text.startswith((BRANCH_PREFIX, COMPACTION_PREFIX))]

    @cached_property
    def told(self) -> list[str]:
        """What summaries in the context tell: their list items."""
        texts = [text_of(m.content) for m in self.messages if isinstance(m, UserMessage)]
        summaries = [text for text in texts if text.startswith((BRANCH_PREFIX, COMPACTION_PREFIX))]
        return [line[2:].strip() for text in summaries for line in text.splitlines() if line.startswith("- ")]

    @property
    def asked(self) -> str:
        return self.said[-1] if self.said else ""

    @cached_property
    def facts(self) -> list[str]:
        return facts_in(self.said)

    @property
    def new_facts(self) -> list[str]:
        return facts_in(self.said[-1:])

    @property
    def results(self) -> list[ToolResultMessage]:
        """The results the last message ends with, if tools have just run."""
        found: list[ToolResultMessage] = []
        for message in reversed(self.messages):
            if not isinstance(message, ToolResultMessage):
                break
            found.insert(0, message)
        return found

    @property
    def pictures(self) -> int:
        last = self.messages[-1] if self.messages else None
        content = last.content if isinstance(last, UserMessage) else ""
        return sum(isinstance(block, ImageContent) for block in content)

    @property
    def is_summary_request(self) -> bool:
        return "<conversation>" in self.asked and not self.request.tools


def _footer(scene: _Scene) -> str:
    """Return what each answer ends with: that it is scripted and what it was sent; at first, how to get a model."""
    again = f", for the {_nth(scene.time)} time" if scene.time > 1 else ""
    sent = f"\n\n*Scripted demo, not a model; it was sent {_number(len(scene.messages), 'message')}{again}.*"
    if any(isinstance(message, AssistantMessage) for message in scene.messages):
        return sent
    return sent[:-1] + (
        f" For a real one: `%pi_model {EXAMPLE_MODEL}` with a key in the environment, or `pi-nb local fetch`.*"
    )


def _nth(count: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(0 if 10 < count % 100 < 14 else count % 10, "th")
    return f"{count}{ending}"


def _number(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _listed(facts: Sequence[str]) -> str:
    return "\n".join(f"- {fact}" for fact in facts)


# ---------------------------------------------------------------- lessons


def _lesson(scene: _Scene) -> Reply:
    """Return the first lesson whose words are in the prompt; else what was told and asked on this branch."""
    tools = wanted_tools(scene.asked, scene.request.tools)
    if tools:
        return _calling(scene, tools)
    for pattern, lesson in _LESSONS.items():
        if re.search(pattern, scene.asked, re.IGNORECASE):
            answer = lesson(scene)
            return answer if isinstance(answer, Reply) else _reply(scene, answer)
    return _reply(scene, _conversation(scene))


def _reply(scene: _Scene, text: str, *blocks: ScriptedBlock, stop_reason: str = "stop") -> Reply:
    thinks = scene.request.thinking_level != "off" or re.search(r"\bthink", scene.asked, re.IGNORECASE)
    thought = (ThinkingContent(thinking=_thought(scene)),) if thinks else ()
    return Reply((*thought, TextContent(text=text + ("" if blocks else _footer(scene))), *blocks), stop_reason)


def _thought(scene: _Scene) -> str:
    seen = f"I was sent {_number(len(scene.messages), 'message')}; {len(scene.said)} of them the user wrote."
    facts = f" They state: {'; '.join(scene.facts)}." if scene.facts else " They state nothing I could remember."
    return f"{seen}{facts} The last one asks: {_sentence(scene.asked)} Other branches are out of my sight."


def _quoted(text: str, limit: int = 120) -> str:
    text = " ".join(text.split())
    return f"“{text if len(text) <= limit else text[: limit - 1] + '…'}”"


def _sentence(text: str) -> str:
    """Return words in quotation marks with one full stop: theirs, or ours."""
    quoted = _quoted(text)
    return quoted if quoted[-2:-1] in tuple(".!?…") else f"{quoted}."


def _conversation(scene: _Scene) -> str:
    asks = any(sentence.endswith("?") for sentence in sentences(scene.asked))
    if asks or re.search(r"\b(what do you know|who am i|recall)\b", scene.asked, re.IGNORECASE):
        return _what_i_know(scene)
    if scene.new_facts:
        return _noted(scene)
    return _echo(scene)


def _noted(scene: _Scene) -> str:
    name = name_in(scene.new_facts)
    head = f"Nice to meet you, **{name}**." if name else "Noted, for this branch."
    return (
        f"{head} What you have told me so far:\n\n{_listed([*scene.told, *scene.facts])}\n\n"
        "Ask *what do you know?* here, then step back with `%pi_checkout @~1` and tell me something else: "
        "the two branches will not know of each other."
    )


def _what_i_know(scene: _Scene) -> str:
    known = [*scene.told, *scene.facts]
    if not known:
        return (
            "On this branch you have told me nothing yet. Try *My name is Ada*, or *Remember: the boat is green*, "
            "and ask again. Then branch: what is said there stays there."
        )
    name = name_in(known)
    head = f"{name}, this" if name else "This"
    about = _about(scene.asked, known)
    left = len(known) - len(about)
    rest = f"\n\n(And {_number(left, 'other thing')}.)" if left else ""
    return f"{head} is what I know here:\n\n{_listed(about)}{rest}"


def _about(asked: str, known: list[str]) -> list[str]:
    """Return the facts that the questions in a prompt are about; all of them if none is."""
    question = " ".join(sentence for sentence in sentences(asked) if sentence.endswith("?")).lower()
    mine = re.findall(r"\bmy ([\w ]+?)\W*$", question)
    exact = [fact for fact in known if any(fact.startswith(f"your {thing} ") for thing in mine)]
    return exact or [fact for fact in known if _words(fact) & _words(question)] or known


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W\d_]{3,}", text.lower())) - _EMPTY_WORDS


_EMPTY_WORDS = frozenset(
    ("the", "your", "you", "about", "what", "know", "does", "did", "and", "that", "this", "for", "with", "are", "was")
)


_OPENINGS = ("You said", "What I was told", "Your words")


def _echo(scene: _Scene) -> str:
    before = scene.said[-2] if len(scene.said) > 1 else ""
    middle = (
        f"\n\nBefore that you said: {_sentence(before)}" if before else " It is the first thing said on this branch."
    )
    picture = f" I see {_number(scene.pictures, 'picture')} with it." if scene.pictures else ""
    return (
        f"{_OPENINGS[(scene.time - 1) % len(_OPENINGS)]}: {_sentence(scene.asked)}{picture}{middle}\n\n"
        f"That makes {_number(len(scene.said), 'prompt')} from the root to here. `help` lists what I can show."
    )


def _help(scene: _Scene) -> str:
    tools = ", ".join(f"`{tool.name}`" for tool in scene.request.tools)
    offer = f"use a tool ({tools}), or two at once" if tools else "use a tool, once some are active (`%pi_tools`)"
    return (
        "I can show what an answer may hold. Say:\n\n"
        "| say | and see |\n|:--|:--|\n"
        "| *My name is Ada*, *Remember: …* | what a branch knows |\n"
        "| *What do you know?* | … and what it does not |\n"
        "| *think* | thinking, before the answer |\n"
        "| *markdown* | a list, a table, code |\n"
        "| *count to 100* | a long answer, to be stopped |\n"
        "| *overload* | a failure that passes, tried again |\n"
        "| *error* | a failure that does not |\n\n"
        f"I can also {offer}. Then click a node of the tree, or `%pi_checkout` one, and go another way."
    )


def _markdown(scene: _Scene) -> str:
    return (
        "### How a branch grows\n\n"
        "1. a prompt hangs from the **leaf**\n2. the answer hangs from the prompt, and becomes the leaf\n"
        "3. move the leaf, and the next prompt makes a *sibling*\n\n"
        "| word | meaning |\n|:--|:--|\n| leaf | where the next entry hangs |\n"
        "| path | root to leaf: what a model sees |\n\n"
        "```python\ndef path(entry, parents):\n    while entry is not None:\n        yield entry\n"
        "        entry = parents[entry]\n```\n\n"
        "And a line of mathematics: a tree of $n$ entries has $n - 1$ links."
    )


def _count(scene: _Scene) -> Reply:
    match = re.search(r"count to (\d{1,4})", scene.asked, re.IGNORECASE)
    last = max(1, min(int(match.group(1)) if match else 100, 1000))
    numbers = ", ".join(str(number) for number in range(1, last + 1))
    stopped = "Had you stopped me, what was said until then would have stayed in the tree, but no model be sent it."
    return replace(_reply(scene, f"{numbers}.\n\n{stopped}"), slowness=_COUNTING)


def _error(scene: _Scene) -> Reply:
    error = ProviderError(
        "The demo failed because you asked it to; trying again would not help.", code="invalid_request"
    )
    return Reply("You asked for an error, here it com", error=error)


def _thinking(scene: _Scene) -> str:
    return "You see above what a model thinks before it answers. `%pi_thinking high` asks a real one for more of it."


def _greeting(scene: _Scene) -> str:
    return (
        "Hello! I am the demo that answers while no model is set up. Tell me something (*My name is Ada*), "
        "ask *what do you know?*, or say `help`."
    )


_OVERLOAD = re.compile(r"\boverload", re.IGNORECASE)
_LESSONS: Mapping[str, Callable[[_Scene], str | Reply]] = {
    r"^\W*(help|lessons?|what can you (do|show))\b": _help,
    r"^\W*(hi|hello|hey|good (morning|day|evening))\W*$": _greeting,
    r"\bmarkdown\b": _markdown,
    r"\bcount to \d": _count,
    r"^\W*(show (me )?)?(an? )?(error|failure)\b": _error,
    r"^\W*(please )?think\b(?!.*\?)": _thinking,
    r"\boverload": lambda scene: "I was overloaded once, and the request was sent again: that is why you see this.",
}


# ---------------------------------------------------------------- tools, summaries


def _calling(scene: _Scene, tools: Sequence[ToolSpec]) -> Reply:
    calls = tuple(
        ToolCall(id=f"demo_{len(scene.messages)}_{n}", name=tool.name, arguments=arguments)
        for n, (tool, arguments) in enumerate(example_call(tool, scene.asked) for tool in tools)
    )
    names = " and ".join(f"`{call.name}`" for call in calls)
    return _reply(
        scene, f"The script calls {names}, with arguments made from your words.", *calls, stop_reason="toolUse"
    )


def _after_tools(scene: _Scene) -> str:
    parts = []
    for result in scene.results:
        verb = "failed" if result.is_error else "returned"
        text = text_of(result.content).strip() or "(nothing)"
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
        parts.append(f"`{result.tool_name}` {verb}:\n\n{fence}\n{text[:1500]}\n{fence}")
    after = "Call and result are entries of the tree like any other; a model would go on from here."
    return "\n\n".join([*parts, after])


def _notes(scene: _Scene) -> str:
    """Return a summary of a conversation, for compaction and for branches that are left."""
    said = re.findall(r"^\[User\]:? ?(.+)$", scene.asked, re.MULTILINE)
    goal = _quoted(said[0]) if said else "(none)"
    facts = facts_in(said)
    return (
        f"## Goal\n{goal}\n\n## Done\n{_number(len(said), 'prompt')} answered by the scripted demo.\n\n"
        f"## Facts\n{_listed(facts) or '(none)'}"
    )

"""What can be done from a live tree beside moving the leaf: prompting, steering, stopping, summarising, forking.

The views know no harness. Whoever has one hands a :class:`TreeAgent` to the view; a view without one has no prompt
box. Its state is one small trait, so that a page that comes later, or again, knows it at once::

    page -> kernel   prompt{text} · steer{text} · followup{text} · next{text} · takeback{} · abort{} · taken{number}
                     summarise{left, at, instructions} · answer{call, allowed, always, reason}
                     fork{entry, where} · export{} · page{part, token}
    kernel -> page   ack{id, …} · nak{id, error}, and the trait ``agent``

A prompt is acknowledged when it is written, not when it is answered: until then its text stays in the page's box.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from pi_nb.errors import SessionError
from pi_nb.session.tree import Session
from pi_nb.views.plain import short_session
from pi_nb.views.sayable import well_formed

__all__ = ["OPS", "AgentDesk", "AgentState", "Answered", "TreeAgent"]

Answered: TypeAlias = Mapping[str, Any]
Where: TypeAlias = Literal["whole", "at", "before"]

_PAGES: Final = 4  # pages that are fetched at the same time
_PART: Final = 180_000  # bytes of a page in one message; Jupyter drops messages above a rate, so a page comes in parts


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentState:
    """How an agent stands, as the page shows it.

    Attributes:
        phase: ``run`` can be spoken to and stopped; ``summary`` can be stopped; empty if nothing goes on at the leaf.
        doing: What keeps it busy where nothing arrives, or empty.
        steer: What will be said before the next answer.
        follow_up: What will be said when the run would stop.
        next_turn: What will be said in front of the next prompt.
        returned: Texts that were not said and belong in the box again, until a page has ``taken`` them.
        returned_number: Counts the times that texts were returned.
        problem: Why the last run from the view gave no answer, or empty.
        question: A tool call that waits for consent, as JSON; or None.
    """

    phase: Literal["", "run", "summary"] = ""
    doing: str = ""
    steer: tuple[str, ...] = ()
    follow_up: tuple[str, ...] = ()
    next_turn: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    returned_number: int = 0
    problem: str = ""
    question: Mapping[str, Any] | None = field(default=None)

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON for a page."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


class TreeAgent(Protocol):
    """Does what the page asks for; every method runs on the thread that owns the session.

    What cannot be done is a :class:`~pi_nb.errors.PiError` whose sentence the page shows.
    """

    def state(self) -> AgentState:
        """Return how it stands."""
        ...

    async def prompt(self, text: str) -> Answered:
        """Ask at the leaf; return when the prompt is written."""
        ...

    async def steer(self, text: str) -> None:
        """Say something before the next answer of the run."""
        ...

    async def follow_up(self, text: str) -> None:
        """Say something when the run would stop."""
        ...

    async def next_turn(self, text: str) -> None:
        """Say something in front of the next prompt."""
        ...

    async def take_back(self) -> None:
        """Return what waits to be said to the run."""
        ...

    async def abort(self) -> None:
        """Stop whatever goes on; return when it has ended."""
        ...

    async def summarise(self, left: str, at: str | None, instructions: str | None) -> Answered:
        """Write a summary of the branch that ends at ``left`` under the leaf, which has to be at ``at``."""
        ...

    async def fork(self, entry: str | None, where: Where) -> Answered:
        """Copy the session, or the path to an entry or to before it, into a new one; the view stays where it is."""
        ...

    async def export(self) -> Answered:
        """Write the session as one page beside the notebook; return its ``file``."""
        ...

    def answer(self, call: str, *, allowed: bool, always: bool, reason: str) -> None:
        """Answer the question about a tool call."""
        ...

    def taken(self, number: int) -> None:
        """Forget what was returned: a page has it."""
        ...


class AgentDesk:
    """Turns what a page asks into calls of an agent."""

    def __init__(self, agent: TreeAgent, session: Session) -> None:
        self.agent = agent
        self._session = session
        self._pages: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"<AgentDesk {self.agent!r}>"

    async def do(self, content: Mapping[str, Any]) -> Answered:
        """Do what a page asks, and return the answer's fields."""
        return await _DOES[str(content["op"])](self, content) or {}

    # ------------------------------------------------------------ speaking

    async def prompt(self, content: Mapping[str, Any]) -> Answered:
        """Ask at the leaf."""
        return await self.agent.prompt(_text(content))

    async def steer(self, content: Mapping[str, Any]) -> None:
        """Speak to the run."""
        await self.agent.steer(_text(content))

    async def followup(self, content: Mapping[str, Any]) -> None:
        """Speak to the run when it would stop."""
        await self.agent.follow_up(_text(content))

    async def next(self, content: Mapping[str, Any]) -> None:
        """Speak in front of the next prompt."""
        await self.agent.next_turn(_text(content))

    async def takeback(self, _content: Mapping[str, Any]) -> None:
        """Give back what waits."""
        await self.agent.take_back()

    async def abort(self, _content: Mapping[str, Any]) -> None:
        """Stop."""
        await self.agent.abort()

    async def taken(self, content: Mapping[str, Any]) -> None:
        """Note that a page has what was returned."""
        number = content.get("number")
        if isinstance(number, int):
            self.agent.taken(number)

    async def answer(self, content: Mapping[str, Any]) -> None:
        """Answer a question about a tool call."""
        if not isinstance(content.get("allowed"), bool):
            raise SessionError("That is no answer.", code="unknown")
        allowed, always = content["allowed"], content.get("always") is True
        reason = str(content.get("reason") or "")
        self.agent.answer(str(content.get("call")), allowed=allowed, always=allowed and always, reason=reason)

    # ------------------------------------------------------------ the tree

    async def summarise(self, content: Mapping[str, Any]) -> Answered:
        """Summarise a branch that was left."""
        instructions = _name(content, "instructions")
        return await self.agent.summarise(_name(content, "left") or "", _name(content, "at"), instructions)

    async def fork(self, content: Mapping[str, Any]) -> Answered:
        """Copy the session, or a path of it."""
        where = content.get("where")
        if where not in ("whole", "at", "before"):
            raise SessionError("A fork is of the whole session, at an entry or before one.", code="unknown")
        return await self.agent.fork(_name(content, "entry"), where)

    async def export(self, _content: Mapping[str, Any]) -> Answered:
        """Write the page beside the notebook."""
        return await self.agent.export()

    async def page(self, content: Mapping[str, Any]) -> Answered:
        """Return a part of the session as a page, compressed.

        The first part makes the page anew and gives it a token, by which the other parts are asked for: several pages
        may be fetched at once, and the session may grow meanwhile.
        """
        part, token = content.get("part"), content.get("token")
        number = part if isinstance(part, int) and part > 0 else 0
        if not number:
            token = uuid.uuid4().hex
            self._keep(token, await asyncio.to_thread(_packed, self._session))
        packed = self._pages.get(token) if isinstance(token, str) else None
        parts = -(-len(packed or b"") // _PART)
        if packed is None or number >= parts:
            raise SessionError("That page is not kept any more.", code="not_found", hint="Download it again.")
        if number + 1 == parts:
            self._pages.pop(str(token), None)
        piece = packed[number * _PART : (number + 1) * _PART]
        name = f"{short_session(self._session.id)}.html"
        data = base64.b64encode(piece).decode()
        return {"name": name, "part": number, "parts": parts, "token": token, "data": data}

    def _keep(self, token: str, packed: bytes) -> None:
        """Keep a page until its last part was asked for, or enough others were."""
        self._pages[token] = packed
        while len(self._pages) > _PAGES:
            del self._pages[next(iter(self._pages))]


_DOES: Final[Mapping[str, Callable[[AgentDesk, Mapping[str, Any]], Coroutine[Any, Any, Answered | None]]]] = {
    "prompt": AgentDesk.prompt,
    "steer": AgentDesk.steer,
    "followup": AgentDesk.followup,
    "next": AgentDesk.next,
    "takeback": AgentDesk.takeback,
    "abort": AgentDesk.abort,
    "taken": AgentDesk.taken,
    "answer": AgentDesk.answer,
    "summarise": AgentDesk.summarise,
    "fork": AgentDesk.fork,
    "export": AgentDesk.export,
    "page": AgentDesk.page,
}

OPS: Final = frozenset(_DOES)
"""What a page can ask of a desk."""


def _packed(session: Session) -> bytes:
    from pi_nb.views.page import tree_page

    return gzip.compress(well_formed(tree_page(session)).encode(), 6)


def _text(content: Mapping[str, Any]) -> str:
    text = content.get("text")
    if not isinstance(text, str) or not text.strip():
        raise SessionError("There is nothing to say.", code="unknown")
    return text


def _name(content: Mapping[str, Any], name: str) -> str | None:
    value = content.get(name)
    return value if isinstance(value, str) and value.strip() else None

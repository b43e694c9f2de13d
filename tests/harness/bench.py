"""What the harness's tests share: a harness over a real session and a scripted model, and what was seen of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pi_nb.errors import ProviderError
from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.events import HarnessEvent
from pi_nb.harness.retry import RetryPolicy
from pi_nb.messages import ImageContent, Message, TextContent, ToolCall, UserMessage, text_of
from pi_nb.models import Model
from pi_nb.providers.anthropic import AnthropicProvider
from pi_nb.providers.base import Request
from pi_nb.providers.openai_chat import OpenAIChatProvider
from pi_nb.providers.registry import Registry
from pi_nb.providers.scripted import Reply, ReplySource, ScriptedProvider
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session
from tests.providers.strict import anthropic_refusals, openai_refusals

AT_ONCE = RetryPolicy(base_delay=0.0)
OVERLOADED = ProviderError("overloaded", code="overloaded", status=529, retryable=True)
OVERFLOW = ProviderError("prompt is too long", code="context_overflow", status=400)
PICTURE = ImageContent(data="iVBORw0KGgo=", mime_type="image/png")


@dataclass
class Bench:
    """A harness, and what there is to see of it."""

    harness: AgentHarness
    session: Session
    provider: ScriptedProvider
    events: list[HarnessEvent] = field(default_factory=list)

    @property
    def types(self) -> list[str]:
        return [event.type for event in self.events if event.type != "message_update"]

    def said(self, at: Any = None) -> list[str]:
        """Return the conversation at an entry, or at the leaf: role and text of each message."""
        messages = (self.session.context(at) if at else self.session.context()).messages
        return [f"{m.role}: {text_of(getattr(m, 'content', ''))}" for m in messages]

    def kinds(self) -> list[str]:
        return [e.message.role if e.type == "message" else e.type for e in self.session.entries()]


def bench(*replies: ReplySource, folder: Path | None = None, models: Sequence[Model] = (), **options: Any) -> Bench:
    """Return a harness over a new session, in memory or in a folder, whose model gives these replies."""
    pace = options.pop("pace", None)
    provider = ScriptedProvider(replies, models=models, tokens_per_second=pace)
    session = options.pop("session", None)
    if session is None:
        session = Session(InMemorySessionStorage()) if folder is None else SessionRepo(folder).create(str(folder))
    options.setdefault("retry", AT_ONCE)
    options.setdefault("model", str(models[0]) if models else "scripted:one")
    harness = AgentHarness(session, registry=Registry([provider]), **options)
    made = Bench(harness, session, provider)
    harness.subscribe(made.events.append)
    return made


def calling(*calls: tuple[str, dict[str, Any]], text: str = "") -> Reply:
    """Return an answer that calls tools; the calls are named c1, c2, …"""
    blocks: list[Any] = [TextContent(text=text)] if text else []
    blocks += [ToolCall(id=f"c{n}", name=name, arguments=args) for n, (name, args) in enumerate(calls, 1)]
    return Reply(blocks, stop_reason="toolUse")


def refusals(session: Session) -> list[str]:
    """Return what strict providers would refuse in a prompt that continues a session at its leaf."""
    return refused((*session.context().messages, UserMessage(content="and now?")))


def refused(messages: Sequence[Message]) -> list[str]:
    """Return what strict providers would refuse in these messages."""
    found: list[str] = []
    for provider, api, strict in (
        (AnthropicProvider(), "anthropic-messages", anthropic_refusals),
        (OpenAIChatProvider(), "openai-completions", openai_refusals),
    ):
        model = Model(provider.name, "m", api=api)
        found += strict(provider.payload(Request(model, messages)))
    return found

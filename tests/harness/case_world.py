"""The scripted harness of the handed 2xx cases, and each of their scenarios written again in Python."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pi_nb.errors import PiError, ProviderError, ToolError
from pi_nb.harness import events as ev
from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.compaction import CompactionResult
from pi_nb.harness.hooks import CompactDecision
from pi_nb.harness.tools import ToolContext, ToolResult
from pi_nb.messages import AssistantMessage, TextContent, ToolCall, UserMessage
from pi_nb.models import Model
from pi_nb.providers.base import Request
from pi_nb.providers.registry import Registry
from pi_nb.providers.scripted import Reply, ScriptedProvider
from pi_nb.providers.transform import to_llm
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session


@dataclass(frozen=True)
class CaseTool:
    name: str
    work: Callable[[dict[str, Any], ToolContext], Awaitable[Any]]
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    description: str = "A tool of the cases."

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> Any:
        return await self.work(args, ctx)


@dataclass
class Answer:
    """One answer of a scenario's provider."""

    content: Sequence[Any] = ()
    stop: str | None = None
    error: str | None = None
    raises: str | None = None
    wait_abort: bool = False
    on_stream: Callable[[CaseRun], Awaitable[None]] | None = None


class CaseRun:
    """A harness, what its provider is to answer, and everything that was seen."""

    def __init__(self, answers: Sequence[Answer], tools: Sequence[CaseTool] = ()) -> None:
        self.answers = list(answers)
        self.marks: list[Any] = []
        self.seen: list[str] = []
        self.waiting: set[asyncio.Task[None]] = set()
        self.provider = ScriptedProvider([self._answer] * 20, name="p", api="a", models=[Model("p", "m1", api="a")])
        self.session = Session(InMemorySessionStorage())
        self.h = AgentHarness(self.session, model="p:m1", registry=Registry([self.provider]), tools=tools)
        self.h.subscribe(lambda event: self.seen.append(event_text(event)))

    async def _answer(self, _request: Request) -> Reply:
        number = len(self.provider.requests)
        answer = self.answers[number - 1] if number <= len(self.answers) else Answer([TextContent(text=f"end{number}")])
        if answer.on_stream is not None:
            await answer.on_stream(self)
        if answer.raises is not None:
            raise ProviderError(answer.raises)
        calls = any(isinstance(block, ToolCall) for block in answer.content)
        return Reply(
            list(answer.content),
            stop_reason=answer.stop or ("toolUse" if calls else "stop"),
            error=answer.error,
            hang=answer.wait_abort,
        )

    async def attempt(self, work: Awaitable[Any]) -> dict[str, Any]:
        """Return what some work gives, as a case writes it."""
        try:
            return {"ok": True, "value": brief(await work)}
        except PiError as error:
            return {"ok": False, "code": error.code}

    def later(self, work: Awaitable[None]) -> None:
        self.waiting.add(asyncio.ensure_future(work))  # type: ignore[arg-type]

    async def dump(self, results: list[Any]) -> dict[str, Any]:
        """Return all that was seen, after one more prompt that shows whether the harness is idle."""
        await asyncio.gather(*self.waiting)
        entries = [entry_text(entry) for entry in self.session.entries()]
        idle = self.h.is_idle
        await self.h.prompt("probe")
        contexts = [
            {"model": r.model.id, "messages": [message_text(m) for m in to_llm(r.messages)]}
            for r in self.provider.requests
        ]
        return {
            "results": results,
            "providerContexts": contexts,
            "events": [text for text in self.seen if text],
            "entries": entries,
            "marks": self.marks,
            "phaseIdleAfter": idle,
        }


def brief(value: Any) -> Any:
    if isinstance(value, AssistantMessage):
        return {"role": "assistant", "stopReason": value.stop_reason, "text": value.text}
    if hasattr(value, "cleared_steer"):
        return {"clearedSteer": list(value.cleared_steer), "clearedFollowUp": list(value.cleared_follow_up)}
    return value


def message_text(message: Any) -> str:
    if isinstance(message.content, str):
        return f"{message.role}:{message.content}"
    parts = [f"<{b.id}>" if isinstance(b, ToolCall) else getattr(b, "text", "") for b in message.content]
    return f"{message.role}:{'|'.join(parts)}"


def entry_text(entry: Any) -> str:
    if entry.type != "message":
        return str(entry.type)
    message = entry.message
    parts = ["message", message.role]
    if message.role == "assistant":
        parts.append(message.stop_reason)
    elif message.role == "toolResult":
        parts += [message.tool_call_id] + (["error"] if message.is_error else [])
    return ":".join([*parts, message_text(message).partition(":")[2][:90]])


def event_text(event: ev.HarnessEvent) -> str:
    match event:
        case ev.MessageStart(message) | ev.MessageEnd(message):
            return f"{event.type}:{message.role}"
        case ev.ToolExecutionStart() | ev.ToolExecutionEnd():
            return f"{event.type}:{event.tool_call_id}"
        case ev.QueueUpdate(steer, follow_up, next_turn):
            return f"queue_update:{len(steer)}/{len(follow_up)}/{len(next_turn)}"
        case ev.SavePoint(pending):
            return f"save_point:{str(pending).lower()}"
        case ev.Settled(count):
            return f"settled:{count}"
        case ev.Abort(steer, follow_up):
            return f"abort:{len(steer)}/{len(follow_up)}"
        case ev.MessageUpdate() | ev.AfterProviderResponse() | ev.ToolExecutionUpdate():
            return ""
    return event.type


def said(text: str) -> TextContent:
    return TextContent(text=text)


def call(id: str, name: str, arguments: dict[str, Any] | None = None) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments or {})


# ---------------------------------------------------------------- the scenarios


async def follow_ups_one_at_a_time() -> dict[str, Any]:
    async def queue(run: CaseRun) -> None:
        await run.h.follow_up("F1")
        await run.h.follow_up("F2")
        await run.h.steer("S1")

    run = CaseRun([Answer([said("a1")], on_stream=queue)])
    return await run.dump([await run.attempt(run.h.prompt("go"))])


async def next_turn_order() -> dict[str, Any]:
    async def queue(run: CaseRun) -> None:
        await run.h.next_turn("N2")
        await run.h.follow_up("F")

        async def abort() -> None:
            await asyncio.sleep(0.005)
            result = await run.h.abort()
            cleared = {"clearedSteer": len(result.cleared_steer), "clearedFollowUp": len(result.cleared_follow_up)}
            run.marks.append(cleared)

        run.later(abort())

    run = CaseRun([Answer([said("pa")], wait_abort=True, on_stream=queue)])
    await run.h.next_turn("N1")
    results = [await run.attempt(run.h.prompt("go"))]
    await asyncio.sleep(0.03)
    results.append(await run.attempt(run.h.prompt("go2")))
    return await run.dump(results)


async def steer_survives_provider_error() -> dict[str, Any]:
    run = CaseRun([Answer(error="500 boom", on_stream=lambda run: run.h.steer("LATE"))])
    results = [await run.attempt(run.h.prompt("go"))]
    results.append(await run.attempt(run.h.prompt("retry")))
    return await run.dump(results)


async def abort_idle() -> dict[str, Any]:
    run = CaseRun([])
    return await run.dump([await run.attempt(run.h.abort())])


async def abort_parallel_tools() -> dict[str, Any]:
    async def work(_args: dict[str, Any], ctx: ToolContext) -> Any:
        if ctx.call_id == "c1":

            async def abort() -> None:
                begun = asyncio.get_running_loop().time()
                await run.h.abort()
                waited = asyncio.get_running_loop().time() - begun >= 0.06
                run.marks.append(f"abort waited for slow tool: {str(waited).lower()}")

            run.later(abort())
            await asyncio.sleep(0.005)
            raise ToolError("cancelled")
        await asyncio.sleep(0.1)
        return "ignored signal"

    run = CaseRun([Answer([call("c1", "t"), call("c2", "t")])], [CaseTool("t", work)])
    results = [await run.attempt(run.h.prompt("go"))]
    await asyncio.sleep(0.02)
    return await run.dump(results)


async def tool_arg_coercion() -> dict[str, Any]:
    async def work(args: dict[str, Any], _ctx: ToolContext) -> Any:
        return ToolResult(json.dumps(args, separators=(",", ":")), {})

    kinds = {"n": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"}}
    schema = {"type": "object", "properties": kinds, "required": list(kinds)}
    calls = [call("c1", "t", {"n": "3", "s": None, "b": "true"}), call("c2", "t", {})]
    run = CaseRun([Answer(calls), Answer([said("fin")])], [CaseTool("t", work, schema)])
    return await run.dump([await run.attempt(run.h.prompt("go"))])


async def length_truncated_calls() -> dict[str, Any]:
    async def work(_args: dict[str, Any], _ctx: ToolContext) -> Any:
        return "echo"

    cut = Answer([said("x"), call("c1", "echo"), call("c2", "echo")], stop="length")
    run = CaseRun([cut, Answer([said("fin")])], [CaseTool("echo", work)])
    return await run.dump([await run.attempt(run.h.prompt("go"))])


async def provider_throws() -> dict[str, Any]:
    run = CaseRun([Answer(raises="no auth")])
    return await run.dump([await run.attempt(run.h.prompt("go"))])


async def subscriber_throws_message_end() -> dict[str, Any]:
    run = CaseRun([Answer([said("a1")])])
    thrown: list[bool] = []

    def once(event: ev.HarnessEvent) -> None:
        if event.type == "message_end" and not thrown:
            thrown.append(True)
            raise RuntimeError("sub")

    run.h.subscribe(once)
    run.answers.insert(0, Answer([said("a1")]))
    return await run.dump([await run.attempt(run.h.prompt("go"))])


async def compact_hook() -> dict[str, Any]:
    run = CaseRun([Answer([said("a1")])])
    results: list[Any] = [await run.attempt(run.h.prompt("go"))]
    kept = run.session.path()[1].id
    modes = iter(
        [
            CompactDecision(cancel=True),
            CompactDecision(compaction=CompactionResult("HOOK", kept, 9)),
            RuntimeError("hook"),
        ]
    )

    def decide(_event: Any) -> CompactDecision:
        mode = next(modes)
        if isinstance(mode, Exception):
            raise mode
        return mode

    run.h.on("session_before_compact", decide)

    async def summary() -> str:
        return (await run.h.compact()).summary

    results.append(await run.attempt(summary()))
    results.append(await run.attempt(summary()))
    run.session.append_message(UserMessage(content="more", timestamp=1))
    results.append(await run.attempt(summary()))
    entry: Any = next(entry for entry in run.session.entries() if entry.type == "compaction")
    results.append({"fromHook": entry.from_hook})
    return await run.dump(results)


SCENARIOS: dict[str, Callable[[], Awaitable[dict[str, Any]]]] = {
    "abort-idle": abort_idle,
    "abort-parallel-tools": abort_parallel_tools,
    "compact-hook": compact_hook,
    "followups-one-at-a-time": follow_ups_one_at_a_time,
    "length-truncated-calls": length_truncated_calls,
    "next-turn-order": next_turn_order,
    "provider-throws": provider_throws,
    "steer-survives-provider-error": steer_survives_provider_error,
    "subscriber-throws-message-end": subscriber_throws_message_end,
    "tool-arg-coercion": tool_arg_coercion,
}

__all__ = ["SCENARIOS"]

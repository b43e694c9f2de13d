"""The small world in which the recorded runs took place: two models, a dozen tools, a scripted provider."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pi_nb.errors import ProviderError, ToolError
from pi_nb.harness.signals import Aborted, interruptible
from pi_nb.harness.tools import ToolContext, ToolResult
from pi_nb.messages import TextContent, ThinkingContent, ToolCall, Usage, parse_message
from pi_nb.models import Model
from pi_nb.providers.base import Request
from pi_nb.providers.scripted import Reply, ReplySource, ScriptedProvider

MODELS = {
    "faux-1": Model("faux", "faux-1", api="faux", context_window=128_000, max_tokens=16_384),
    "faux-2": Model("faux", "faux-2", api="faux", context_window=200_000, max_tokens=32_000, reasoning=True),
}


# ---------------------------------------------------------------- tools


@dataclass(frozen=True)
class WorldTool:
    name: str
    parameters: dict[str, Any]
    work: Callable[[dict[str, Any], ToolContext], Any]
    sequential: bool = False
    description: str = "A tool of the recorded runs."

    async def run(self, args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        result: ToolResult = await self.work(args, ctx)
        return result


def _schema(**kinds: str) -> dict[str, Any]:
    return {"type": "object", "properties": {n: {"type": k} for n, k in kinds.items()}, "required": list(kinds)}


def _result(text: str, details: Any = None, *, terminate: bool = False) -> ToolResult:
    return ToolResult((TextContent(text=text),), {} if details is None else details, terminate=terminate)


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)


async def _echo(args: dict[str, Any], _ctx: ToolContext) -> ToolResult:
    return _result(f"echo: {args['text']}", {"len": len(args["text"].encode("utf-16-le")) // 2})


async def _add(args: dict[str, Any], _ctx: ToolContext) -> ToolResult:
    total = args["a"] + args["b"]
    return _result(_number(total), {"sum": int(total) if float(total).is_integer() else total})


async def _fail(args: dict[str, Any], _ctx: ToolContext) -> ToolResult:
    raise ToolError(args["message"])


def _sleeper(word: str) -> Callable[[dict[str, Any], ToolContext], Any]:
    async def work(args: dict[str, Any], ctx: ToolContext) -> ToolResult:
        try:
            await interruptible(asyncio.sleep(args["ms"] / 1000), ctx.signal)
        except Aborted:
            raise ToolError("tool saw abort") from None
        return _result(f"{word}: {args['text']}")

    return work


async def _progress(args: dict[str, Any], ctx: ToolContext) -> ToolResult:
    for step in range(1, int(args["steps"]) + 1):
        ctx.update(_result(f"step {step}", {"i": step}))
    return _result("all steps", {"steps": args["steps"]})


def _saying(text: Callable[[dict[str, Any]], str], *, terminate: bool = False) -> Callable[..., Any]:
    async def work(args: dict[str, Any], _ctx: ToolContext) -> ToolResult:
        return _result(text(args), terminate=terminate)

    return work


async def _nothing(_args: dict[str, Any], _ctx: ToolContext) -> ToolResult:
    return ToolResult()


TOOLS = {
    tool.name: tool
    for tool in (
        WorldTool("echo", _schema(text="string"), _echo),
        WorldTool("add", _schema(a="number", b="number"), _add),
        WorldTool("fail", _schema(message="string"), _fail),
        WorldTool("slow", _schema(ms="number", text="string"), _sleeper("slow")),
        WorldTool("seq", _schema(ms="number", text="string"), _sleeper("seq"), sequential=True),
        WorldTool("progress", _schema(steps="number"), _progress),
        WorldTool("finish", _schema(text="string"), _saying(lambda a: f"finished: {a['text']}", terminate=True)),
        WorldTool("read", _schema(path="string"), _saying(lambda a: f"contents of {a['path']}")),
        WorldTool("write", _schema(path="string", content="string"), _saying(lambda a: f"wrote {a['path']}")),
        WorldTool("edit", _schema(path="string"), _saying(lambda a: f"edited {a['path']}")),
        WorldTool("nodetails", _schema(), _nothing),
    )
}


# ---------------------------------------------------------------- the provider


def expand(value: Any) -> Any:
    """Return data with every ``{"$repeat": text, "times": n, "prefix": text}`` written out."""
    if isinstance(value, dict):
        if "$repeat" in value:
            return value.get("prefix", "") + value["$repeat"] * value["times"]
        return {key: expand(item) for key, item in value.items()}
    return [expand(item) for item in value] if isinstance(value, list) else value


def block_of(data: dict[str, Any]) -> TextContent | ThinkingContent | ToolCall:
    kinds = {"text": TextContent, "thinking": ThinkingContent, "toolCall": ToolCall}
    return kinds[data["type"]].model_validate(data)


class WorldProvider(ScriptedProvider):
    """Gives the recorded replies, with the tokens the recording counted for them."""

    def __init__(self, replies: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]], pace: float | None) -> None:
        super().__init__(name="faux", api="faux", models=list(MODELS.values()), tokens_per_second=pace)
        self.asked: list[Request | None] = []
        self.calls = calls
        self.left: deque[Reply] = deque(
            self._reply(reply, calls[index]["reply"] if index < len(calls) else {})
            for index, reply in enumerate(replies)
        )

    @staticmethod
    def _reply(data: dict[str, Any], recorded: dict[str, Any]) -> Reply:
        data = expand(data)
        content = data.get("content") or []
        failed = data.get("stopReason") in {"error", "aborted"}
        usage = recorded.get("usage")
        return Reply(
            [TextContent(text=content)] if isinstance(content, str) else [block_of(block) for block in content],
            stop_reason=data.get("stopReason", "stop"),
            error=data.get("errorMessage", "") if failed else None,
            usage=Usage.model_validate(usage) if usage else None,
        )

    def _take(self, request: Request) -> ReplySource:
        self.asked.append(request)
        if self.left:
            return self.left.popleft()
        call = self.calls[len(self.asked) - 1] if len(self.asked) <= len(self.calls) else {}
        usage = call.get("reply", {}).get("usage")
        error = ProviderError("No more faux responses queued")
        return Reply(error=error, usage=Usage.model_validate(usage) if usage else None)

    def pass_over(self) -> None:
        """Drop the reply of a call that pi makes with a signal given before, and this package does not make."""
        self.asked.append(None)
        if self.left:
            self.left.popleft()


def message_of(data: dict[str, Any]) -> Any:
    return parse_message(expand({"timestamp": 0, **data}))

"""Plays the input of a recorded run on this package and writes down what happened, in the recording's form."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pi_nb.errors import PiError
from pi_nb.harness import events as ev
from pi_nb.harness import hooks as hk
from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.branch_summary import BranchSummary
from pi_nb.harness.compaction import CompactionResult, CompactionSettings
from pi_nb.harness.resources import PromptTemplate, Resources, Skill
from pi_nb.harness.tools import ToolResult
from pi_nb.messages import AssistantMessage, ImageContent, ToolCall, to_wire
from pi_nb.providers.base import BlockDelta, BlockEnd, StreamEvent
from pi_nb.providers.registry import Registry
from pi_nb.providers.transform import to_llm
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session
from tests.harness.golden_world import MODELS, TOOLS, WorldProvider, message_of

CWD = "/demo/proj"


@dataclass
class Play:
    """One recorded run, played again."""

    golden: dict[str, Any]
    root: Path
    results: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    forks: list[Session] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    started: list[asyncio.Task[None]] = field(default_factory=list)
    asked_before: int = 0

    def __post_init__(self) -> None:
        setup = self.golden["setup"]
        self.repo = SessionRepo(self.root)
        self.session = self.repo.create(CWD, metadata=setup.get("metadata"))
        self.provider = WorldProvider(
            self.golden["replies"], self.golden["providerCalls"], setup.get("tokensPerSecond")
        )
        self.harness = self._harness()

    def _harness(self) -> AgentHarness:
        setup = self.golden["setup"]
        harness = AgentHarness(
            self.session,
            model=MODELS[setup.get("model", "faux-1")],
            registry=Registry([self.provider]),
            tools=[TOOLS[name] for name in setup.get("tools", ())],
            system_prompt=setup.get("systemPrompt", "SYS"),
            thinking_level=setup.get("thinkingLevel"),
            active_tools=setup.get("activeToolNames"),
            compaction=CompactionSettings(auto=False),  # 0.80.10 compacts only when told to
            steering_mode=setup.get("steeringMode", "one-at-a-time"),
            follow_up_mode=setup.get("followUpMode", "one-at-a-time"),
            resources=resources_of(setup.get("resources") or {}),
        )
        harness.subscribe(self._on_event)
        for name in hk.HOOKS:
            harness.on(name, self._hook(name))
        return harness

    async def play(self) -> dict[str, Any]:
        """Carry out the actions and return what came of them."""
        for action in self.golden["actions"]:
            await self._do(action, "main")
        for task in self.started:
            await task
        outcome = self._outcome()
        for session in (*self.forks, self.session):
            session.close()
        return outcome

    # ------------------------------------------------------------ actions

    async def _do(self, action: dict[str, Any], where: str) -> None:
        record: dict[str, Any] = {"op": action["op"], "where": where, "ok": True}
        try:
            value = await self._operation(action)
            if value is not None:
                record["value"] = value.get("$") if isinstance(value, dict) and "$" in value else value
        except PiError as error:
            record["ok"] = False
            record["error"] = {"name": type(error).__name__, "code": error.code, "message": str(error)}
        self.results.append(record)

    async def _operation(self, action: dict[str, Any]) -> Any:
        action = self._resolved(action)
        op = action["op"]
        method: Callable[[dict[str, Any]], Any] = getattr(self, f"_op_{op}")
        return await method(action)

    def _resolved(self, value: Any) -> Any:
        """Return data with ``@e3`` (an entry by its number) and ``@leaf`` replaced by ids."""
        if isinstance(value, dict):
            return {key: self._resolved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._resolved(item) for item in value]
        if value == "@leaf":
            return self.session.leaf_id
        if isinstance(value, str) and value.startswith("@e") and value[2:].isdigit():
            return self.session.entries()[int(value[2:]) - 1].id
        return value

    async def _op_prompt(self, action: dict[str, Any]) -> Any:
        images = [ImageContent.model_validate(image) for image in action.get("images", ())]
        return to_wire(await self.harness.prompt(action["text"], images=images))

    async def _op_steer(self, action: dict[str, Any]) -> None:
        await self.harness.steer(action["text"])

    async def _op_followUp(self, action: dict[str, Any]) -> None:
        await self.harness.follow_up(action["text"])

    async def _op_nextTurn(self, action: dict[str, Any]) -> None:
        await self.harness.next_turn(action["text"])

    async def _op_abort(self, _action: dict[str, Any]) -> Any:
        result = await self.harness.abort()
        return to_wire({"clearedSteer": result.cleared_steer, "clearedFollowUp": result.cleared_follow_up})

    async def _op_appendMessage(self, action: dict[str, Any]) -> None:
        await self.harness.append_message(message_of(action["message"]))

    async def _op_seedMessages(self, action: dict[str, Any]) -> None:
        for message in action["messages"]:
            await self.harness.append_message(message_of(message))

    async def _op_setModel(self, action: dict[str, Any]) -> None:
        await self.harness.set_model(MODELS[action["model"]])

    async def _op_setThinkingLevel(self, action: dict[str, Any]) -> None:
        await self.harness.set_thinking_level(action["level"])

    async def _op_setActiveTools(self, action: dict[str, Any]) -> None:
        await self.harness.set_active_tools(action["names"])

    async def _op_setTools(self, action: dict[str, Any]) -> None:
        await self.harness.set_tools([TOOLS[name] for name in action["names"]], action.get("active"))

    async def _op_setResources(self, action: dict[str, Any]) -> None:
        await self.harness.set_resources(resources_of(action.get("resources") or {}))

    async def _op_compact(self, action: dict[str, Any]) -> Any:
        result = await self.harness.compact(action.get("instructions"))
        return {
            "summary": result.summary,
            "firstKeptEntryId": result.first_kept_entry_id,
            "tokensBefore": result.tokens_before,
            "details": result.details,
        }

    async def _op_navigate(self, action: dict[str, Any]) -> Any:
        options = action.get("options") or {}
        result = await self.harness.navigate_tree(
            action["target"],
            summarize=options.get("summarize", False),
            instructions=options.get("customInstructions"),
            replace_instructions=options.get("replaceInstructions", False),
            label=options.get("label"),
        )
        value = {"cancelled": result.cancelled, "editorText": result.editor_text, "summaryEntry": result.summary_entry}
        return {key: to_wire(item) for key, item in value.items() if item is not None}

    async def _op_skill(self, action: dict[str, Any]) -> Any:
        return to_wire(await self.harness.skill(action["name"], action.get("extra")))

    async def _op_template(self, action: dict[str, Any]) -> Any:
        return to_wire(await self.harness.prompt_from_template(action["name"], action.get("args") or ()))

    async def _op_label(self, action: dict[str, Any]) -> Any:
        return self.session.append_label(action["target"], action.get("label"))

    async def _op_getLabel(self, action: dict[str, Any]) -> Any:
        return self.session.labels.get(action["target"])

    async def _op_name(self, action: dict[str, Any]) -> Any:
        return self.session.append_session_info(action["name"])

    async def _op_getName(self, _action: dict[str, Any]) -> Any:
        return self.session.name

    async def _op_custom(self, action: dict[str, Any]) -> Any:
        return self.session.append_custom(action["customType"], action.get("data"))

    async def _op_customMessage(self, action: dict[str, Any]) -> Any:
        content = message_of({"role": "user", "content": action["content"]}).content
        return self.session.append_custom_message(
            action["customType"], content, display=action["display"], details=action.get("details")
        )

    async def _op_moveTo(self, action: dict[str, Any]) -> Any:
        summary = action.get("summary")
        left = self.session.leaf_id
        self.session.move_to(action["target"])
        if summary is None:
            return None
        text, details = (summary, None) if isinstance(summary, str) else (summary["summary"], summary.get("details"))
        hook = None if isinstance(summary, str) else summary.get("fromHook")
        return self.session.append_branch_summary(left, text, details=details, from_hook=hook)

    async def _op_getLeafId(self, _action: dict[str, Any]) -> Any:
        return {"$": self.session.leaf_id}

    async def _op_branchIds(self, action: dict[str, Any]) -> Any:
        path = self.session.path(action["from"]) if action.get("from") else self.session.path()
        return [entry.id for entry in path]

    async def _op_fork(self, action: dict[str, Any]) -> None:
        options = action.get("options") or {}
        entry_id, position = options.get("entryId"), options.get("position", "before")
        at = entry_id if position == "at" else None
        before = entry_id if position == "before" else None
        self.forks.append(self.repo.fork(self.session, at=at, before=before, cwd=CWD))

    async def _op_reopen(self, _action: dict[str, Any]) -> None:
        file = self.session.file
        assert file is not None
        self.session.close()
        self.session = self.repo.open(file)
        self.harness = self._harness()

    async def _op_state(self, _action: dict[str, Any]) -> Any:
        harness = self.harness
        assert harness.model is not None
        names = list(harness.active_tool_names)
        return {"model": harness.model.id, "thinkingLevel": harness.thinking_level, "activeTools": names}

    # ------------------------------------------------------------ subscriber, triggers, hooks

    async def _on_event(self, event: ev.HarnessEvent) -> None:
        record = record_of(event)
        self._note_requests(event)
        self.events.append(record)
        for index, trigger in enumerate(self.golden["triggers"]):
            if all(record.get(key) == value for key, value in trigger["on"].items() if key != "nth"):
                wanted = trigger["on"].get("nth", trigger.get("nth", 1))
                if self._count(f"trigger {index}") == wanted:
                    await self._fire(trigger["do"], f"trigger:{record['type']}")

    def _note_requests(self, event: ev.HarnessEvent) -> None:
        if isinstance(event, ev.TurnStart):
            self.asked_before = len(self.provider.asked)
        unasked = len(self.provider.asked) == self.asked_before
        if isinstance(event, ev.MessageEnd) and _is_cut_short(event.message) and unasked:
            self.provider.pass_over()

    async def _fire(self, actions: list[dict[str, Any]], where: str) -> None:
        for action in actions:
            if action["op"] == "throw":
                raise RuntimeError(action.get("message", "thrown"))
            if action["op"] == "abort" or action.get("nowait"):
                self.started.append(asyncio.create_task(self._do(action, where)))
                await asyncio.sleep(0)  # JavaScript runs an async function at once up to its first await
            else:
                await self._do(action, where)

    def _count(self, key: str) -> int:
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key]

    def _hook(self, name: str) -> Callable[[Any], Any]:
        def handle(event: Any) -> Any:
            chosen = None
            fields = {"toolName": getattr(event, "tool_name", None), "toolCallId": getattr(event, "tool_call_id", None)}
            for index, hook in enumerate(self.golden["hooks"]):
                if hook["type"] != name or any(fields.get(k) != v for k, v in (hook.get("match") or {}).items()):
                    continue
                if hook.get("nth") in (None, self._count(f"hook {index}")):
                    chosen = hook
            if chosen is None:
                return None
            if "throw" in chosen:
                raise RuntimeError(chosen["throw"] if isinstance(chosen["throw"], str) else "thrown")
            return hook_result(name, self._resolved(chosen), event)

        return handle

    # ------------------------------------------------------------ what came of it

    def _outcome(self) -> dict[str, Any]:
        context = context_of(self.session)
        return {
            "results": self.results,
            "events": self.events,
            "providerCalls": [None if r is None else call_of(r) for r in self.provider.asked],
            "jsonl": lines_of(self.session),
            "forks": [lines_of(fork) for fork in self.forks],
            "paths": [str(session.file) for session in (self.session, *self.forks)],
            "context": context,
            "llm": to_wire(to_llm(self.session.context().messages)),
            "labels": dict(self.session.labels),
            "sessionName": self.session.name,
            "forkContexts": [context_of(fork) for fork in self.forks],
            "unusedReplies": len(self.provider.left),
        }


def _is_cut_short(message: Any) -> bool:
    return isinstance(message, AssistantMessage) and message.stop_reason == "aborted" and not message.content


def resources_of(data: dict[str, Any]) -> Resources:
    skills = [
        Skill(s["name"], s.get("description", ""), s.get("content", ""), s.get("filePath", ""))
        for s in data.get("skills") or ()
    ]
    templates = [
        PromptTemplate(t["name"], t["content"], t.get("description", "")) for t in data.get("promptTemplates") or ()
    ]
    return Resources(tuple(skills), tuple(templates))


def lines_of(session: Session) -> list[dict[str, Any]]:
    if session.file is not None and session.file.exists():
        return [json.loads(line) for line in session.file.read_text(encoding="utf-8").split("\n") if line]
    return [session.header.to_wire()]


def context_of(session: Session) -> dict[str, Any]:
    context = session.context()
    model = context.model
    return {
        "leafId": session.leaf_id,
        "model": None if model is None else {"provider": model.provider, "modelId": model.model_id},
        "thinkingLevel": context.thinking_level,
        "activeToolNames": None if context.active_tool_names is None else list(context.active_tool_names),
        "messages": to_wire(context.messages),
        "roles": [message.role for message in context.messages],
    }


def call_of(request: Any) -> dict[str, Any]:
    options = {
        "reasoning": None if request.thinking_level == "off" else request.thinking_level,
        "sessionId": request.session_id,
        "maxTokens": request.max_tokens,
    }
    return {
        "model": request.model.id,
        "systemPrompt": request.system,
        "messages": to_wire(to_llm(request.messages)),
        "tools": [tool.name for tool in request.tools],
        "options": {key: value for key, value in options.items() if value is not None},
    }


def hook_result(name: str, hook: dict[str, Any], event: Any) -> Any:
    """Return a recorded hook's answer as ours."""
    if "dropFirst" in hook:
        return event.messages[hook["dropFirst"] :]
    data = hook.get("return")
    if data is None:
        return None
    makers: dict[str, Callable[[dict[str, Any], Any], Any]] = {
        "before_agent_start": lambda d, _: hk.AgentStartPatch(
            [message_of(m) for m in d.get("messages") or ()], d.get("systemPrompt")
        ),
        "context": lambda d, _: None if d.get("messages") is None else [message_of(m) for m in d["messages"]],
        "before_provider_request": lambda _d, e: e.request,
        "tool_call": lambda d, _: hk.ToolCallDecision(d.get("block", False), d.get("reason", "")),
        "tool_result": lambda d, _: hk.ToolResultPatch(
            _blocks(d.get("content")), d.get("details"), d.get("isError"), d.get("terminate")
        ),
        "session_before_compact": lambda d, _: hk.CompactDecision(d.get("cancel", False), _compaction(d)),
        "session_before_tree": lambda d, _: hk.TreeDecision(
            d.get("cancel", False),
            _branch_summary(d),
            d.get("customInstructions"),
            d.get("replaceInstructions"),
            d.get("label"),
        ),
    }
    return makers[name](data, event)


def _blocks(content: Any) -> Any:
    return None if content is None else message_of({"role": "user", "content": content}).content


def _compaction(data: dict[str, Any]) -> CompactionResult | None:
    given = data.get("compaction")
    if given is None:
        return None
    return CompactionResult(given["summary"], given["firstKeptEntryId"], given["tokensBefore"], given.get("details"))


def _branch_summary(data: dict[str, Any]) -> BranchSummary | None:
    given = data.get("summary")
    return None if given is None else BranchSummary(given["summary"], given.get("details"))


# ---------------------------------------------------------------- events in the recording's form


def record_of(event: ev.HarnessEvent) -> dict[str, Any]:
    """Return an event as the recording writes it."""
    fields = {name: _plain(getattr(event, name)) for name in event.__dataclass_fields__}
    record: dict[str, Any] = {"type": event.type}
    if isinstance(event, ev.MessageUpdate):
        return {**record, "assistantMessageEvent": _stream_record(event.stream)}
    if isinstance(event, ev.MessageEnd):
        fields = {name: value for name, value in fields.items() if name not in ("entry_id", "error")}  # ours alone
    if isinstance(event, ev.SessionCompact):
        fields["compactionEntry"] = fields.pop("entry")
    kept = {"new_leaf_id", "old_leaf_id"} if isinstance(event, ev.SessionTree) else set()
    return {**record, **{_camel(name): value for name, value in fields.items() if value is not None or name in kept}}


def _stream_record(event: StreamEvent) -> dict[str, Any]:
    record: dict[str, Any] = {"type": event.type, "contentIndex": getattr(event, "index", None)}
    if isinstance(event, BlockDelta):
        record["delta"] = event.delta
    elif isinstance(event, BlockEnd):
        key = "toolCall" if isinstance(event.content, ToolCall) else "content"
        record[key] = to_wire(event.content)
    return record


def _plain(value: Any) -> Any:
    if isinstance(value, ToolResult):
        if not value.blocks and value.details is None:
            return {}
        plain: dict[str, Any] = {"content": to_wire(value.blocks)}
        if value.details is not None:
            plain["details"] = value.details
        if value.terminate:
            plain["terminate"] = True
        return plain
    if hasattr(value, "context_window"):
        return {"provider": value.provider, "id": value.id}
    if isinstance(value, Resources):
        named = {"skills": value.skills, "promptTemplates": value.prompt_templates}
        return {name: [_resource(item) for item in items] for name, items in named.items() if items}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return to_wire(value)


def _resource(value: Skill | PromptTemplate) -> dict[str, Any]:
    fields = {_camel(name): getattr(value, name) for name in value.__dataclass_fields__}
    return {key: item for key, item in fields.items() if item}  # what is unset is not there


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)

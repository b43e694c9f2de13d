"""Compare the harness with handed cases: 2xx scenarios, and steps of session cases that need a harness.

    python -m tests.check_harness_cases DIR

The contract is what real pi 0.80.10 was seen to do, except where the case's own judgement says that it was wrong
(:data:`JUDGED`). A 2xx scenario is a piece of JavaScript; those known are written again in
:mod:`tests.harness.case_world`, and one that is not known is named.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pi_nb.errors import PiError
from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.branch_summary import left_branch, select_messages
from pi_nb.harness.compaction import CompactionSettings, prepare_compaction
from pi_nb.harness.conversation import conversation_text
from pi_nb.harness.estimate import estimate_context, estimate_tokens
from pi_nb.harness.prompts import BRANCH_PREAMBLE
from pi_nb.models import Model
from pi_nb.providers.registry import Registry
from pi_nb.providers.scripted import ScriptedProvider
from pi_nb.providers.transform import BRANCH_PREFIX, COMPACTION_PREFIX
from tests.check_cases import SessionCase, view
from tests.harness.case_world import SCENARIOS

STEPS = frozenset({"navigate", "branchEntries", "compactPrep", "compact", "estimate", "serialize"})

JUDGED: dict[str, tuple[str, dict[str, Any]]] = {
    "nav-summary": ("fromId is the leaf that was left, as in later versions", {"0.summary.fromId": "aaaa0007"}),
    "compact-trailing-toolresults": (
        "the last valid cut point is used: the turn is cut before its answer",
        {
            "0.firstKeptEntryId": "aaaa0004",
            "0.isSplitTurn": True,
            "0.toSummarize": 2,
            "0.turnPrefix": 1,
            "1.firstKeptEntryId": "aaaa0004",
            "1.prompts": 2,
            "1.after": 3,
        },
    ),
    "estimate-stale-usage": (
        "usage from before the latest compaction measured another context",
        {"0.total": {"tokens": 4, "usageTokens": 0, "trailingTokens": 4, "lastUsageIndex": None}},
    ),
    "message-field-missing": ("a TypeError is no error code", {"0.code": "invalid_entry"}),
    "abort-parallel-tools": ("nobody is asked once the run is aborted", {"providerContexts": "without aborted"}),
    "tool-arg-coercion": ("a null for a text is an empty text", {"null": '""'}),
}

WORDING = (
    (r'(?s)Validation failed for tool "(\w+)".*', r"<invalid \1>"),
    (r"(?s)Arguments for (\w+) do not fit.*", r"<invalid \1>"),
    (r'(?s)Tool call "(\w+)" was not executed.*', r"<cut \1>"),
    (r"(?s)(\w+) was not run: the answer was cut.*", r"<cut \1>"),
)


def check(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each case that concerns the harness and how it differs; an empty list is agreement."""
    for case in sorted(folder.iterdir()):
        if not (case / "expected.json").exists():
            continue
        expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
        if expected["kind"] == "harness-scenario":
            yield case.name, list(_scenario(expected))
        elif expected["kind"] == "session" and _ops(case) & STEPS:
            with tempfile.TemporaryDirectory() as place:
                yield case.name, list(HarnessCase(case, expected, Path(place)).differences())


def _ops(case: Path) -> set[str]:
    file = case / "ops.json"
    return {op["op"] for op in json.loads(file.read_text(encoding="utf-8"))} if file.exists() else set()


# ---------------------------------------------------------------- scenarios


def _scenario(expected: dict[str, Any]) -> Iterator[str]:
    name = expected["case"]
    if name not in SCENARIOS:
        yield f"no scenario {name!r} in Python: {expected['what']}"
        return
    observed = _alike(expected["observed"]["harness_0_80_10"], name)
    ours = _alike(asyncio.run(SCENARIOS[name]()), name)
    for key, wanted in observed.items():
        if ours[key] != wanted:
            yield f"{key}: expected {json.dumps(wanted)}, got {json.dumps(ours[key])}"


def _alike(seen: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what was seen, without wording and without the accidents of the JavaScript engine."""
    change = JUDGED.get(name, ("", {}))[1]
    seen = json.loads(_worded(json.dumps(seen)))
    contexts = seen["providerContexts"]
    if "providerContexts" in change:
        contexts = [context for context in contexts if not context.get("signalAborted")]
    for context in contexts:
        context.pop("signalAborted", None)
        context["messages"] = [_text(message, change) for message in context["messages"]]
    queue = [event for event in seen["events"] if event.startswith("queue_update")]
    others = [event for event in seen["events"] if not event.startswith("queue_update")]
    for result in seen["results"]:
        for extra in ("type", "message"):
            result.pop(extra, None)
    return {
        "results": seen["results"],
        "providerContexts": contexts,
        "events": others,
        "queueUpdates": queue,
        "entries": [_text(entry, change) for entry in seen["entries"]],
        "marks": seen["marks"],
        "phaseIdleAfter": seen["phaseIdleAfter"],
    }


def _worded(text: str) -> str:
    for ours, token in ((COMPACTION_PREFIX, "<COMPACTION_PREFIX>"), (BRANCH_PREFIX, "<BRANCH_PREFIX>")):
        text = text.replace(json.dumps(ours)[1:-1], token)
    return text


def _text(text: str, change: dict[str, Any]) -> str:
    if "null" in change:
        text = text.replace('"s":"null"', f'"s":{change["null"]}')
    for pattern, token in WORDING:
        text = re.sub(pattern, token, text)
    return text


# ---------------------------------------------------------------- steps of session cases


class HarnessCase(SessionCase):
    """A session case whose steps are taken through a harness."""

    def __init__(self, case: Path, expected: dict[str, Any], place: Path) -> None:
        super().__init__(case, expected, place)
        self.judged = JUDGED.get(expected["case"], ("", {}))[1]
        self.number = 0
        self.events: list[str] = []
        self.provider = ScriptedProvider(
            ["SUMMARY"] * 9, name="anthropic", api="anthropic-messages", models=[Model("anthropic", "claude-x")]
        )

    def _listing(self) -> Iterator[str]:
        yield from ()

    def _loaded(self) -> Iterator[str]:
        yield from ()

    def _steps(self) -> Iterator[str]:
        for number, op in enumerate(self.ops):
            self.number = number
            if op["op"] == "transform":  # the providers' business
                continue
            step = getattr(self, f"_op_{op['op']}", None)
            if step is None:
                yield f"step {self.number}: no comparison for {op['op']!r}"
                return
            yield from step(f"step {self.number} {op['op']}", op, self.observed["ops"][self.number], None)

    def _harness(self, settings: dict[str, Any] | None = None) -> AgentHarness:
        assert self.session is not None
        compaction = CompactionSettings(**{_snake(key): value for key, value in (settings or {}).items()})
        registry = Registry([self.provider])
        harness = AgentHarness(self.session, model="anthropic:claude-x", registry=registry, compaction=compaction)
        self.events = []
        harness.subscribe(lambda event: self.events.append(event.type))
        return harness

    def _agrees(self, what: str, seen: dict[str, Any], ours: dict[str, Any]) -> Iterator[str]:
        """Compare a step's outcome, with the judgement's values in place of what pi did."""
        wanted = seen["value"] if seen["ok"] else {"code": seen["error"]["code"]}
        for name, value in wanted.items():
            judged = {key: item for key, item in self.judged.items() if key.startswith(f"{self.number}.{name}")}
            for key, item in judged.items():
                inner = key.split(".")[2:]
                value = {**value, inner[0]: item} if inner else item
            found = ours.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and isinstance(found, list):
                found = len(found)
            yield from self._compare(f"{what}.{name}", value, found)

    def _prompts(self, since: int) -> list[str]:
        texts = [str(request.messages[0].content[0].text) for request in self.provider.requests[since:]]  # type: ignore[union-attr]
        return [re.search(r"(?s)<conversation>\n(.*?)\n</conversation>", text).group(1) for text in texts]  # type: ignore[union-attr]

    def _op_navigate(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        options = op.get("options") or {}
        since = len(self.provider.requests)
        harness = self._harness()
        try:
            moved = asyncio.run(harness.navigate_tree(op["id"], summarize=options.get("summarize", False)))
        except PiError as error:
            yield from self._agrees(what, seen, {"code": error.code})
            return
        entry: Any = moved.summary_entry
        summary = entry and {
            "fromId": entry.from_id,
            "parentId": entry.parent_id,
            "summary": entry.summary.replace(BRANCH_PREAMBLE, "<BRANCH_PREAMBLE>"),
        }
        updates = {"model_update", "thinking_level_update", "tools_update"}
        ours = {
            "cancelled": moved.cancelled,
            "editorText": moved.editor_text,
            "summary": summary,
            "leaf": moved.leaf_id,
            "events": [event for event in self.events if event not in updates],
            "prompts": self._prompts(since),
        }
        yield from self._agrees(what, seen, ours)

    def _op_describe(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        text = json.dumps(seen["value"]).replace("<BRANCH_PREAMBLE>", json.dumps(BRANCH_PREAMBLE)[1:-1])
        yield from self._described(what, json.loads(text))

    def _op_branchEntries(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        assert self.session is not None
        left = left_branch(self.session, op["old"], op["target"])
        part = select_messages(left.entries, op.get("budget", 0))
        ours = {
            "entries": [entry.id for entry in left.entries],
            "commonAncestorId": left.common_ancestor_id if op["old"] else None,
            "messages": [view(message) for message in part.messages],
            "totalTokens": part.tokens,
        }
        yield from self._agrees(what, seen, ours)

    def _op_compactPrep(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        assert self.session is not None
        settings = CompactionSettings(**{_snake(key): value for key, value in (op.get("settings") or {}).items()})
        try:
            made = prepare_compaction(self.session.path(), self.session.context(), settings)
        except PiError as error:
            yield from self._agrees(what, seen, {"code": error.code})
            return
        if made is None:
            yield from self._compare(what, seen["value"], None)
            return
        ours = {
            "firstKeptEntryId": made.first_kept_entry_id,
            "isSplitTurn": made.is_split_turn,
            "tokensBefore": made.tokens_before,
            "previousSummary": made.previous_summary,
            "toSummarize": [view(message) for message in made.messages_to_summarize],
            "turnPrefix": [view(message) for message in made.turn_prefix_messages],
            "readFiles": made.files.details["readFiles"],
            "written": [],
            "edited": made.files.details["modifiedFiles"],
        }
        yield from self._agrees(what, seen, ours)

    def _op_compact(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        assert self.session is not None
        since = len(self.provider.requests)
        harness = self._harness(op.get("settings"))
        try:
            made = asyncio.run(harness.compact(op.get("instructions")))
        except PiError as error:
            yield from self._agrees(what, seen, {"code": error.code})
            return
        prompts = [
            {"hasPrevious": "<previous-summary>" in str(request.messages), "conversation": text}
            for request, text in zip(self.provider.requests[since:], self._prompts(since), strict=True)
        ]
        ours = {
            "summary": made.summary,
            "firstKeptEntryId": made.first_kept_entry_id,
            "tokensBefore": made.tokens_before,
            "prompts": prompts,
            "after": [view(message) for message in self.session.context().messages],
        }
        for prompt in seen.get("value", {}).get("prompts", ()):
            prompt.pop("length", None)  # our instructions are as long as they are
        if f"{self.number}.prompts" in self.judged:
            ours["summary"] = seen["value"]["summary"]
        yield from self._agrees(what, seen, ours)

    def _op_estimate(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        assert self.session is not None
        context = self.session.context()
        total = estimate_context(context, self.session.path())
        ours = {
            "perMessage": [estimate_tokens(message) for message in context.messages],
            "total": {
                "tokens": total.tokens,
                "usageTokens": total.usage_tokens,
                "trailingTokens": total.trailing_tokens,
                "lastUsageIndex": total.last_usage_index,
            },
        }
        yield from self._agrees(what, seen, ours)

    def _op_serialize(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        assert self.session is not None
        text = conversation_text(self.session.context().messages)
        yield from self._compare(what, json.loads(seen["value"]["json"]), text)


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found.group().lower()}", name)


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    equal = total = 0
    for name, found in check(Path(arguments[0])):
        total += 1
        equal += not found
        for line in found:
            print(f"{name}: {line}")
    print(f"{equal} of {total} cases agree.")
    return 0 if total and equal == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

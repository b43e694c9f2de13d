"""Play recorded runs of pi's own harness on this package and print every difference.

    python -m tests.check_golden DIR

DIR holds recorded runs, one JSON file each. The exit status is 1 if anything differs. Where this package means to be
different, :data:`DIFFERENCES` says so and why, and both sides are made alike before they are compared.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pi_nb.harness.prompts import BRANCH_PREAMBLE, SUMMARISER
from pi_nb.providers.transform import BRANCH_PREFIX, COMPACTION_PREFIX, SUMMARY_SUFFIX
from tests.harness.golden_play import Play

COMPARED = (
    "results",
    "events",
    "providerCalls",
    "jsonl",
    "forks",
    "context",
    "llm",
    "labels",
    "sessionName",
    "forkContexts",
    "unusedReplies",
)
DROPPED = frozenset({"timestamp", "createdAt", "signal"})
LONG = 1_500


# ---------------------------------------------------------------- the recording's normal form


class Names:
    """Stable names for what has a new id in every run."""

    def __init__(self, files: list[list[dict[str, Any]]], paths: list[str]) -> None:
        self.names: dict[str, str] = {}
        for number, (lines, path) in enumerate(zip(files, paths, strict=True), 1):
            self.names[path] = f"<path S{number}>"
            self.names[lines[0]["id"]] = f"S{number}"
            if number == 1:
                self.names.update({entry["id"]: f"e{place}" for place, entry in enumerate(lines[1:], 1)})

    def apply(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, list | tuple):
            return [self.apply(item) for item in value]
        if isinstance(value, dict):
            return {self._text(key): self.apply(item) for key, item in value.items() if key not in DROPPED}
        return value

    def _text(self, text: str) -> Any:
        if text in self.names:
            return self.names[text]
        for long, name in self.names.items():
            if len(long) >= 20 and long in text:
                text = text.replace(long, name)
        text = re.sub(r"\b[0-9a-f]{8}\b", lambda found: self.names.get(found.group(), found.group()), text)
        units = len(text.encode("utf-16-le", "surrogatepass")) // 2
        if units <= LONG:
            return text
        digest = hashlib.sha256(text.encode()).hexdigest()
        return {"$long": {"len": units, "sha256": digest, "head": text[:60], "tail": text[-60:]}}


# ---------------------------------------------------------------- intended differences


@dataclass(frozen=True)
class Difference:
    """Something that is meant to be different: ``make_alike`` is applied to both sides."""

    name: str
    reason: str
    make_alike: Callable[[dict[str, Any]], None]


def walk(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object in some data."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk(item)


def _error_texts(run: dict[str, Any]) -> None:
    for result in run["results"]:
        if "error" in result:
            error = result["error"]
            error.pop("message", None)
            error.pop("cause", None)
            error["name"] = "SessionError" if error["name"] == "SessionError" else "HarnessError"


TOOL_TEXTS = (
    (r"(?s)^Validation failed for tool \"(\w+)\":.*|^Arguments for (\w+) do not fit its parameters:.*", "invalid"),
    (r"^Tool (\S+) not found$|^There is no tool (\S+)\. Available: .*", "unknown"),
    (r"(?s)^Tool call \"(\w+)\" was not executed: the resp.*|^(\w+) was not run: the answer was cut off.*", "cut"),
    (r"^Tool execution was blocked$|^The call of \w+ was not allowed\.$", "blocked"),
    (r"^Operation aborted$|^Not run: the run was aborted first\.$|^Stopped: the run was aborted\.$", "aborted"),
)


def _tool_texts(run: dict[str, Any]) -> None:
    for block in walk(run):
        if isinstance(block.get("text"), str):
            for pattern, name in TOOL_TEXTS:
                found = re.match(pattern, block["text"])
                if found:
                    block["text"] = f"<{name} {next((g for g in found.groups() if g), '')}>"


def _prompt_texts(run: dict[str, Any]) -> None:
    for call in run["providerCalls"]:
        if call is not None and call["systemPrompt"] in {SUMMARISER, "<SUMMARIZATION_SYSTEM_PROMPT>"}:
            call["systemPrompt"] = "<summariser>"
            call["messages"] = [_conversation(call)]


def _conversation(call: dict[str, Any]) -> str:
    text = call["messages"][0]["content"][0]["text"]
    if not isinstance(text, str) or text == "<LONG_SUMMARIZATION_PROMPT>":
        return "<long>"
    found = re.search(r"(?s)<conversation>.*?</conversation>", text)
    said = found.group() if found else text
    return said.replace("[Assistant]: \n\n", "").replace("\n\n[Assistant]: \n</conv", "\n</conv")


PREFIXES = (
    (COMPACTION_PREFIX, "<COMPACTION_PREFIX>"),
    (BRANCH_PREFIX, "<BRANCH_PREFIX>"),
    (BRANCH_PREAMBLE, "<BRANCH_PREAMBLE>"),
    (SUMMARY_SUFFIX, "<SUMMARY_SUFFIX>"),
    ("Nothing was said on that branch.", "No content to summarize"),
)


def _prefixes(run: dict[str, Any]) -> None:
    for block in walk(run):
        for key in ("text", "summary"):
            if isinstance(block.get(key), str):
                for ours, token in PREFIXES:
                    block[key] = block[key].replace(ours, token)
    for call in run["providerCalls"]:
        if call is not None and call["messages"] and isinstance(call["messages"][0], str):
            call["messages"] = [re.sub(r"\n?</summary>", "<SUMMARY_SUFFIX>", call["messages"][0])]


def _skill_text(run: dict[str, Any]) -> None:
    pattern = r'(<skill name="[^"]*" location="[^"]*">\n)(?:References are relative|Relative paths)[^\n]*\n'
    for block in walk(run):
        if isinstance(block.get("text"), str):
            block["text"] = re.sub(pattern, r"\1<note>\n", block["text"])


def _is_cut_short(message: Any) -> bool:
    return isinstance(message, dict) and message.get("stopReason") == "aborted"


def _aborted_usage(run: dict[str, Any]) -> None:
    for value in walk(run):
        if _is_cut_short(value):
            value.pop("usage", None)


def _beginnings(run: dict[str, Any]) -> None:
    for event in run["events"]:
        if event["type"] == "message_start" and event["message"]["role"] == "assistant":
            kept = ("role", "api", "provider", "model")
            event["message"] = {key: event["message"].get(key) for key in kept}


def _no_request_after_abort(run: dict[str, Any]) -> None:
    events = run["events"]
    run["events"] = [
        event
        for place, event in enumerate(events)
        if not (event["type"] == "after_provider_response" and _ends_empty(events[place + 1 : place + 3]))
    ]
    run["providerCalls"] = [
        call
        for call in run["providerCalls"]
        if call is not None and not (_is_cut_short(call.get("reply")) and not call["reply"]["content"])
    ]


def _ends_empty(following: list[dict[str, Any]]) -> bool:
    last = following[-1] if following else {}
    return last.get("type") == "message_end" and _is_cut_short(last["message"]) and not last["message"]["content"]


def _from_id(run: dict[str, Any]) -> None:
    for entry in walk(run):
        if entry.get("type") == "branch_summary" or entry.get("role") == "branchSummary":
            entry.pop("fromId", None)


def _summary_usage(run: dict[str, Any]) -> None:
    for entry in walk(run):
        if entry.get("type") in {"branch_summary", "compaction"}:
            entry.pop("usage", None)


def _restored(run: dict[str, Any]) -> None:
    updates = {"model_update", "thinking_level_update", "tools_update"}
    run["events"] = [e for e in run["events"] if not (e["type"] in updates and e.get("source") == "restore")]
    for event in run["events"]:
        if event["type"] == "thinking_level_update":
            event.pop("source", None)


def _labels(run: dict[str, Any]) -> None:
    for entry in walk(run):
        for kind, key in (("label", "label"), ("session_info", "name")):
            if entry.get("type") == kind:
                text = " ".join((entry.pop(key, None) or "").split())
                entry.update({key: text} if text else {})
    run["labels"] = {key: " ".join(label.split()) for key, label in run["labels"].items()}
    for result in run["results"]:
        if result["op"] == "getLabel" and isinstance(result.get("value"), str):
            result["value"] = " ".join(result["value"].split())


CONFIGURING = {"setModel", "setThinkingLevel", "setActiveTools", "setTools"}
MOVING = {"navigate", "reopen", "moveTo"}


def _configuration_after_moves(run: dict[str, Any]) -> None:
    """Leave out what depends on the configuration, in a run that sets it and then moves."""
    operations = [result["op"] for result in run["results"]]
    first = next((place for place, op in enumerate(operations) if op in CONFIGURING), len(operations))
    if not any(op in MOVING for op in operations[first:]):
        return
    for value in walk(run):
        if value.get("role") == "assistant" or value.get("type") == "message_start":
            value.pop("model", None)
        for key in ("previousModel", "previousLevel", "previousActiveToolNames"):
            value.pop(key, None)
    for call in run["providerCalls"]:
        if call is not None:
            call.pop("model")
            call.pop("tools")
            call["options"].pop("reasoning", None)
    for result in run["results"]:
        if result["op"] == "state":
            result.pop("value")
    run["context"].pop("model")


def _order_of_results(run: dict[str, Any]) -> None:
    """Put the results of what was started beside the actions after those of the actions."""
    run["results"].sort(key=lambda result: result["where"] != "main")


def _queues_of_an_abort(run: dict[str, Any]) -> None:
    """Put what is told of the queues after the rest, in a run that is aborted from within an event."""
    if any(result["op"] == "abort" and result["where"] != "main" for result in run["results"]):
        run["events"].sort(key=lambda event: event["type"] == "queue_update")


def _ends_at_once(run: dict[str, Any]) -> None:
    """Sort ends of calls that follow each other at once, of tools that do not wait."""
    events = run["events"]
    quick = {"echo", "add", "fail", "read", "write", "edit", "finish", "nodetails", "progress"}
    start = 0
    for place in range(len(events) + 1):
        inside = place < len(events) and events[place]["type"] == "tool_execution_end"
        if not (inside and events[place]["toolName"] in quick):
            events[start:place] = sorted(events[start:place], key=lambda event: str(event["toolCallId"]))
            start = place + 1


def _first_system_prompt(run: dict[str, Any]) -> None:
    """Compare a replaced system prompt in the first request of a run only."""
    replaced = False
    for call in run["providerCalls"]:
        if call is not None:
            follows = bool(call["messages"]) and isinstance(call["messages"][-1], dict)
            follows = follows and call["messages"][-1]["role"] == "toolResult"
            replaced = call["systemPrompt"] != "SYS" if not follows else replaced
            if follows and replaced:
                call["systemPrompt"] = "<any>"


DIFFERENCES = (
    Difference("error texts", "The wording of errors is ours; their codes are the same.", _error_texts),
    Difference("tool texts", "The wording of error results is ours.", _tool_texts),
    Difference(
        "summary prompts", "The wording of prompts is ours; the conversation in them is the same.", _prompt_texts
    ),
    Difference("prefixes", "What stands around a summary is ours.", _prefixes),
    Difference("skill note", "The sentence about relative paths in a skill is ours.", _skill_text),
    Difference(
        "usage of an aborted answer",
        "The recording's provider knows the usage before it answers; a real one tells at the end.",
        _aborted_usage,
    ),
    Difference(
        "first sight of an answer",
        "In the recording, message_start shares the message that is still being written, so it runs ahead.",
        _beginnings,
    ),
    Difference(
        "no request after an abort",
        "pi calls the provider once more with a signal already given; nobody should be asked, or paid, by then.",
        _no_request_after_abort,
    ),
    Difference("fromId", "0.80.10 writes where the leaf went; it should be the leaf that was left.", _from_id),
    Difference(
        "usage of summaries", "Summaries cost tokens; later versions of pi write them down too.", _summary_usage
    ),
    Difference(
        "restoring",
        "After a move the harness is what the branch says, and tells of what changed; 0.80.10 keeps what it had.",
        _restored,
    ),
    Difference("labels", "Labels and names are written as one trimmed line, and not at all if cleared.", _labels),
    Difference(
        "configuration after moves",
        "After a move or on reopening model, level and tools are what the branch says; 0.80.10 keeps its own.",
        _configuration_after_moves,
    ),
    Difference(
        "order of results",
        "When something that was started and not waited for is done, among the actions, is up to the event loop.",
        _order_of_results,
    ),
    Difference(
        "queues of an abort",
        "At what moment an abort that was started and not waited for tells of the queues is up to the event loop.",
        _queues_of_an_abort,
    ),
    Difference(
        "ends at the same moment",
        "In which order calls end that do not wait for anything is an accident of the JavaScript engine.",
        _ends_at_once,
    ),
    Difference(
        "system prompt of a run",
        "A hook replaces the system prompt for the whole run; 0.80.10 forgets it after the first turn.",
        _first_system_prompt,
    ),
)


# ---------------------------------------------------------------- runs that are meant to come out otherwise


@dataclass(frozen=True)
class Unlike:
    """Recorded runs that cannot come out the same, because something early in them is meant to be different."""

    reason: str
    applies: Callable[[dict[str, Any]], bool]


def _summarises_nothing(golden: dict[str, Any]) -> bool:
    return any(
        "<conversation>\n\n</conversation>" in json.dumps(c["messages"]).replace("\\n", "\n")
        for c in golden["providerCalls"]
    )


def _half_a_summary(golden: dict[str, Any]) -> bool:
    replies = [call["reply"] for call in golden["providerCalls"] if call["systemPrompt"].startswith("<SUMMARIZATION")]
    return any(reply.get("stopReason") == "length" or not _text_in(reply) for reply in replies if not _failed(reply))


def _failed(reply: dict[str, Any]) -> bool:
    return reply.get("stopReason") in {"error", "aborted"}


def _text_in(reply: dict[str, Any]) -> bool:
    return any(block.get("type") == "text" and block["text"] for block in reply.get("content", ()))


def _loses_next_turn(golden: dict[str, Any]) -> bool:
    queued = any(action["op"] == "nextTurn" for action in golden["actions"])
    return queued and any(hook["type"] == "before_agent_start" and "throw" in hook for hook in golden["hooks"])


def _labels_a_move(golden: dict[str, Any]) -> bool:
    return any((action.get("options") or {}).get("label") for action in golden["actions"])


def _odd_leaf(golden: dict[str, Any]) -> bool:
    """Return whether a leaf entry goes where the leaf is, or to another leaf entry."""
    leaf: str | None = None
    leaves = set()
    for entry in golden["jsonl"][1:]:
        if entry["type"] == "leaf":
            if entry["targetId"] == leaf or entry["targetId"] in leaves:
                return True
            leaves.add(entry["id"])
        leaf = entry["targetId"] if entry["type"] == "leaf" else entry["id"]
    return False


def _null_text(golden: dict[str, Any]) -> bool:
    calls = (value for value in walk(golden["replies"]) if value.get("type") == "toolCall")
    return any(None in (call.get("arguments") or {}).values() for call in calls)


UNLIKE = (
    Unlike("There is nothing to compact; 0.80.10 asks for a summary of nothing.", _summarises_nothing),
    Unlike("A summary that is cut off or empty is an error; 0.80.10 writes it.", _half_a_summary),
    Unlike("Nothing queued is lost when a hook raises; 0.80.10 drops it.", _loses_next_turn),
    Unlike("The label of a move is written; 0.80.10 takes it and forgets it.", _labels_a_move),
    Unlike("No leaf entry is written where the leaf is already, or to a leaf entry.", _odd_leaf),
    Unlike("A null for a text is an empty text, as later versions of pi have it; 0.80.10 makes it 'null'.", _null_text),
)


# ---------------------------------------------------------------- comparing


def differences(golden: Any, ours: Any, where: str = "") -> Iterator[str]:
    """Yield where two pieces of data differ."""
    if isinstance(golden, dict) and isinstance(ours, dict):
        for key in dict.fromkeys([*golden, *ours]):
            if key not in ours:
                yield f"{where}.{key}: missing, should be {short(golden[key])}"
            elif key not in golden:
                yield f"{where}.{key}: should not be there: {short(ours[key])}"
            else:
                yield from differences(golden[key], ours[key], f"{where}.{key}")
    elif isinstance(golden, list) and isinstance(ours, list):
        for place, (one, other) in enumerate(zip(golden, ours, strict=False)):
            yield from differences(one, other, f"{where}[{place}]")
        if len(golden) != len(ours):
            yield f"{where}: {len(ours)} instead of {len(golden)}"
    elif golden != ours or isinstance(golden, bool) != isinstance(ours, bool):
        yield f"{where}: {short(ours)} instead of {short(golden)}"


def short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else f"{text[:160]}…"


def unlike(golden: dict[str, Any]) -> str | None:
    """Return why a recorded run is meant to come out otherwise; None if it is not."""
    return next((item.reason for item in UNLIKE if item.applies(golden)), None)


NOT_RUN = "Not run: the run was aborted first."


def _leave_out_extra_results(golden: dict[str, Any], ours: dict[str, Any]) -> None:
    """Leave out our results of calls that were not run because of an abort, where the recording has none.

    Every call has a result here; 0.80.10 leaves those after an abort without one.
    """
    answered = {value["toolCallId"] for value in walk(golden["jsonl"]) if value.get("role") == "toolResult"}
    extra = [
        entry["id"] for entry in ours["jsonl"] if entry["type"] == "message" and _is_extra(entry["message"], answered)
    ]
    parents = {entry["id"]: entry["parentId"] for entry in ours["jsonl"] if entry.get("id") in extra}
    ours["jsonl"] = [entry for entry in ours["jsonl"] if entry["id"] not in extra]
    for entry in ours["jsonl"]:
        while entry.get("parentId") in parents:
            entry["parentId"] = parents[entry["parentId"]]
    ours["events"] = [event for event in ours["events"] if not _is_extra(event.get("message"), answered)]
    for holder in walk(ours):
        for key, items in holder.items():
            if isinstance(items, list):
                holder[key] = [item for item in items if not _is_extra(item, answered) and item not in extra]
    ours["context"]["roles"] = [message["role"] for message in ours["context"]["messages"]]


def _is_extra(message: Any, answered: set[str]) -> bool:
    if not isinstance(message, dict) or message.get("role") != "toolResult" or message["toolCallId"] in answered:
        return False
    return bool(message["content"][0]["text"] == NOT_RUN)


async def compare(golden: dict[str, Any], root: Path) -> list[str]:
    """Play one recorded run and return how ours differs."""
    ours = json.loads(json.dumps(await Play(golden, root).play()))
    _leave_out_extra_results(golden, ours)
    names = Names([ours["jsonl"], *ours["forks"]], ours.pop("paths"))
    expected = {key: golden.get(key) for key in COMPARED}
    expected["events"] = [event for event in golden["events"] if not event.get("hook")]
    found = {key: names.apply(_alike_text(ours[key])) for key in COMPARED}
    expected = json.loads(json.dumps(expected))
    for difference in DIFFERENCES:
        difference.make_alike(expected)
        difference.make_alike(found)
    for call in (*expected["providerCalls"], *found["providerCalls"]):
        for extra in ("n", "reply"):
            call.pop(extra, None)
    return [line for key in COMPARED for line in differences(expected[key], found[key], key)]


def _alike_text(value: Any) -> Any:
    """Return our data with the texts around summaries as tokens, before long texts are replaced by their digest."""
    data = json.loads(json.dumps(value))
    for block in walk(data):
        for key in ("text", "summary"):
            if isinstance(block.get(key), str):
                for ours, token in PREFIXES:
                    block[key] = block[key].replace(ours, token)
    return data


def check(folder: Path) -> Iterator[tuple[str, str | None, list[str]]]:
    """Yield the name of each recorded run in a folder, why it is not compared (or None), and how ours differs."""
    for file in sorted(folder.glob("*.json")):
        golden = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(golden, dict) and "scenario" in golden:
            reason = unlike(golden)
            if reason is not None:
                yield golden["scenario"], reason, []
                continue
            with tempfile.TemporaryDirectory() as root:
                yield golden["scenario"], None, asyncio.run(compare(golden, Path(root)))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print(__doc__)
        return 2
    equal = other = total = 0
    for name, reason, found in check(Path(arguments[0])):
        total += 1
        other += reason is not None
        equal += reason is None and not found
        for line in found if reason is None else [f"not compared. {reason}"]:
            print(f"{name}: {line}")
    print(f"{equal} of {total} recorded runs are equal, {other} are meant to come out otherwise.")
    return 0 if total and equal + other == total else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Scenarios made at random, of everything a run can go through and that does not hang on an accident of timing."""

from __future__ import annotations

import random
from typing import Any

EVENTS = (
    *("agent_start", "turn_start", "message_start", "message_update", "message_end", "after_provider_response"),
    *("tool_execution_start", "turn_end", "save_point", "agent_end", "settled"),
)
ABORTABLE = frozenset({"agent_start", "message_end", "tool_execution_start", "turn_end"})
TOOLS = ["echo", "add", "fail", "slow", "seq", "progress", "finish", "nodetails"]
ARGUMENTS: dict[str, list[dict[str, Any]]] = {
    "echo": [{"text": "a"}, {"text": "longer than sixteen units"}, {"text": "😀é"}, {}],
    "add": [{"a": 1, "b": 3}, {"a": "2", "b": 3}, {"a": 2.5, "b": 3}],
    "fail": [{"message": "no"}],
    "slow": [{"ms": 5, "text": "s"}, {"ms": 40, "text": "s"}, {"ms": 90, "text": "s"}],
    "seq": [{"ms": 5, "text": "q"}],
    "progress": [{"steps": 1}, {"steps": 3}],
    "finish": [{"text": "f"}],
    "nosuch": [{}],
    "nodetails": [{}],
}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


class Scenarios:
    """Scenarios from one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.source = random.Random(seed)
        self.calls = 0

    def make(self, count: int) -> list[dict[str, Any]]:
        return [self._scenario(number) for number in range(count)]

    def _scenario(self, number: int) -> dict[str, Any]:
        source = self.source
        setup: dict[str, Any] = {"tools": TOOLS}
        if source.random() < 0.3:
            setup["steeringMode"] = "all"
        if source.random() < 0.3:
            setup["followUpMode"] = "all"
        if source.random() < 0.3:
            setup |= {"model": "faux-2", "thinkingLevel": "low"}
        return {
            "scenario": f"random_{self.seed}_{number}",
            "description": "",
            "setup": setup,
            "replies": [self._reply() for _ in range(source.choice([3, 6, 10]))],
            "triggers": [self._trigger() for _ in range(source.choice([0, 1, 1, 2, 3]))],
            "hooks": [],
            "actions": self._actions(),
        }

    def _reply(self) -> dict[str, Any]:
        kind = self.source.choices(["text", "calls", "error", "length", "thinking"], [35, 40, 7, 6, 12])[0]
        if kind == "calls":
            calls = [self._call() for _ in range(self.source.choice([1, 1, 2, 3]))]
            return {"content": calls, "stopReason": self.source.choice(["toolUse"] * 6 + ["length"])}
        if kind == "error":
            return {"content": [text("par")], "stopReason": "error", "errorMessage": "e"}
        if kind == "length":
            return {"content": [text("cut")], "stopReason": "length"}
        if kind == "thinking":
            return {"content": [{"type": "thinking", "thinking": "let me think about it"}, text("done")]}
        return {"content": [text(self.source.choice(["ok", "an answer in several pieces"]))]}

    def _call(self) -> dict[str, Any]:
        self.calls += 1
        name = self.source.choice(list(ARGUMENTS))
        arguments = self.source.choice(ARGUMENTS[name])
        return {"type": "toolCall", "id": f"c{self.calls}", "name": name, "arguments": arguments}

    def _trigger(self) -> dict[str, Any]:
        event = self.source.choice(EVENTS)
        kind = self.source.choices(["op", "throw", "abort"], [75, 12, 13])[0]
        action = self._operation()
        if kind == "throw":
            action = {"op": "throw", "message": "boom"}
        elif kind == "abort" and event in ABORTABLE:
            action = {"op": "abort"}
        return {"on": {"type": event, "nth": self.source.choice([1, 1, 2, 3])}, "do": [action]}

    def _operation(self) -> dict[str, Any]:
        number = self.source.randrange(100)
        return self.source.choice(
            [
                {"op": "steer", "text": f"S{number}"},
                {"op": "followUp", "text": f"F{number}"},
                {"op": "nextTurn", "text": f"N{number}"},
                {"op": "setModel", "model": self.source.choice(["faux-1", "faux-2"])},
                {"op": "setThinkingLevel", "level": self.source.choice(["off", "low", "high"])},
                {"op": "setActiveTools", "names": self.source.choice([["echo", "add"], TOOLS, []])},
                {"op": "appendMessage", "message": {"role": "user", "content": [text("inj")], "timestamp": 0}},
                {"op": "custom", "customType": "c", "data": 1},
            ]
        )

    def _actions(self) -> list[dict[str, Any]]:
        actions: list[dict[str, Any]] = []
        for number in range(self.source.choice([1, 2, 3])):
            actions.append({"op": "prompt", "text": f"p{number}"})
            actions += self.source.choice(
                [
                    [],
                    [],
                    [{"op": "navigate", "target": self.source.choice(["@e1", "@e2", "@leaf"])}],
                    [{"op": "navigate", "target": "@e1", "options": {"summarize": True}}],
                    [{"op": "setThinkingLevel", "level": "low"}],
                    [{"op": "nextTurn", "text": "nn"}],
                    [{"op": "customMessage", "customType": "n", "content": "note", "display": True}],
                    [{"op": "moveTo", "target": self.source.choice([None, "@e1", "@e2"])}],
                ]
            )
        return [*actions, {"op": "getLeafId"}, {"op": "branchIds"}]

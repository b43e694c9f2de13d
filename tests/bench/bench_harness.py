"""Measure the harness beside pi's: what a delta costs, and how soon a long session's next request goes out.

    python tests/bench/bench_harness.py [--pi NODE_MODULES] [--node NODE] [--reps 5]

Prints one line of JSON a measurement: medians of alternating runs, each in a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from pi_nb import AgentHarness, Model, Registry, Reply, ScriptedProvider, Session, SessionRepo
from pi_nb.messages import AssistantMessage, TextContent, Usage, UserMessage
from pi_nb.providers.anthropic import AnthropicProvider

HERE = Path(__file__).parent
WHAT = (
    *(("deltas", number) for number in (2_000, 20_000, 100_000)),
    *(("first", number) for number in (100, 10_000)),
    ("compacted", 10_000),
)


async def deltas(count: int) -> dict[str, Any]:
    """Stream one answer of so many deltas to one subscriber."""
    with tempfile.TemporaryDirectory() as folder, SessionRepo(folder).create(folder) as session:
        provider = ScriptedProvider([Reply("x" * 16 * count)])
        harness = AgentHarness(session, model="scripted:any", registry=Registry([provider]))
        seen = 0

        def count_updates(event: Any) -> None:
            nonlocal seen
            seen += event.type == "message_update"

        harness.subscribe(count_updates)
        cpu, begin = time.process_time(), time.perf_counter()
        await harness.prompt("hi")
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    return {"seen": seen, "usPerDelta": wall / seen * 1e6, "cpuUsPerDelta": cpu / seen * 1e6}


async def first_request(entries: int, *, compacted: bool = False) -> dict[str, Any]:
    """Open a session of so many entries and prompt it; say how long it takes until the provider is asked.

    ``asked`` are milliseconds from ``prompt`` to the call of the provider: the first after the file was opened, the
    median of the next, the first after the leaf was moved to another branch. ``body`` is the same to the finished
    JSON of an Anthropic request, and so has the provider's own work in it, and every message read from its line;
    ``readAhead`` is the first one again, the messages having been read while the harness was idle.
    """
    with tempfile.TemporaryDirectory() as folder:
        with SessionRepo(folder).create(folder) as session:
            _fill(session, entries, compacted=compacted)
            file, fork = session.file, session.path()[-5].id
        cold = await _prompts(folder, file, fork)
        ahead = await _prompts(folder, file, fork, read_ahead=True)
        return {"entries": entries} | cold | {"readAheadBodyMs": ahead["bodyMs"]}


async def _prompts(folder: str, file: Any, fork: str, *, read_ahead: bool = False) -> dict[str, float]:
    asked: list[float] = []
    bodies: list[float] = []
    anthropic = AnthropicProvider(api_key="none")

    def answer(request: Any) -> Reply:
        asked.append(time.perf_counter())
        model = Model("anthropic", "any", api="anthropic-messages")
        orjson.dumps(anthropic.payload(replace(request, model=model)))
        bodies.append(time.perf_counter())
        return Reply("ok", usage=Usage.of(input=1, output=1))

    begin = time.perf_counter()
    with SessionRepo(folder).open(str(file)) as session:
        model = Model("scripted", "any", context_window=10**9)  # nothing is to be compacted
        registry = Registry([ScriptedProvider([answer] * 6, models=[model])])
        harness = AgentHarness(session, model="scripted:any", registry=registry)
        opened = time.perf_counter() - begin
        if read_ahead:
            await harness.read_ahead()
        times = []
        for number in range(6):
            if number == 5:
                session.move_to(fork)
            begin = time.perf_counter()
            await harness.prompt("and now?")
            times.append(((asked[-1] - begin) * 1000, (bodies[-1] - begin) * 1000))
    first, *rest, moved = times
    return {
        "openMs": opened * 1000,
        "askedMs": first[0],
        "nextAskedMs": statistics.median(found[0] for found in rest),
        "movedAskedMs": moved[0],
        "bodyMs": first[1],
        "nextBodyMs": statistics.median(found[1] for found in rest),
    }


def _fill(session: Session, entries: int, *, compacted: bool) -> None:
    """Write questions and answers of 2 KB; compacted, all but the last tenth is summarised."""
    kept = ""
    for number in range(entries // 2):
        question = session.append_message(UserMessage(content=f"question {number}", timestamp=number))
        if number == entries * 9 // 20:
            kept = question
        content = (TextContent(text=f"answer {number} " + "word " * 400),)
        session.append_message(AssistantMessage(content=content, provider="scripted", model="any", stop_reason="stop"))
    if compacted:
        session.append_compaction("what was said", kept, 10**6)


def one(kind: str, number: int) -> dict[str, Any]:
    """Make one measurement in this process."""
    if kind == "deltas":
        return asyncio.run(deltas(number))
    return asyncio.run(first_request(number, compacted=kind == "compacted"))


def measured(command: list[str]) -> dict[str, Any]:
    """Run a measurement in a process of its own and return what it printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Run all measurements, ours and pi's in turn."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--pi", metavar="NODE_MODULES", help="folder with pi-harness; without it only pi_nb is measured"
    )
    parser.add_argument("--node", default="node")
    parser.add_argument("--reps", type=int, default=5)
    parser.add_argument("--one", nargs=2, metavar=("KIND", "N"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(args.one[0], int(args.one[1]))))
        return
    for kind, number in WHAT:
        commands = {"pi_nb": [sys.executable, __file__, "--one", kind, str(number)]}
        if args.pi and kind == "deltas":
            commands["pi"] = [args.node, str(HERE / "bench_harness.mjs"), args.pi, str(number)]
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in commands}
        for _ in range(args.reps):
            for name, command in commands.items():
                runs[name].append(measured(command))
        for name, found in runs.items():
            medians = {key: round(statistics.median(run[key] for run in found), 2) for key in found[0]}
            print(json.dumps({"what": kind, "n": number, "who": name} | medians), flush=True)


if __name__ == "__main__":
    main()

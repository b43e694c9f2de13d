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
from pathlib import Path
from typing import Any

from pi_nb import AgentHarness, Model, Registry, Reply, ScriptedProvider, Session, SessionRepo
from pi_nb.messages import AssistantMessage, TextContent, UserMessage

HERE = Path(__file__).parent


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


async def first_request(entries: int) -> dict[str, Any]:
    """Prompt a session of so many entries; say how long it takes until the provider is asked."""
    with tempfile.TemporaryDirectory() as folder:
        with SessionRepo(folder).create(folder) as session:
            _fill(session, entries)
            file = session.file
        asked: list[float] = []

        def answer(_request: Any) -> Reply:
            asked.append(time.perf_counter())
            return Reply("ok")

        with SessionRepo(folder).open(str(file)) as session:
            model = Model("scripted", "any", context_window=10**9)  # nothing is to be compacted
            registry = Registry([ScriptedProvider([answer] * 5, models=[model])])
            harness = AgentHarness(session, model="scripted:any", registry=registry)
            found = []
            for _ in range(5):
                begin = time.perf_counter()
                await harness.prompt("and now?")
                found.append((asked[-1] - begin) * 1000)
    return {"entries": entries, "firstMs": found[0], "nextMs": statistics.median(found[1:])}


def _fill(session: Session, entries: int) -> None:
    for number in range(entries // 2):
        session.append_message(UserMessage(content=f"question {number}", timestamp=number))
        content = (TextContent(text=f"answer {number}"),)
        session.append_message(AssistantMessage(content=content, provider="scripted", model="any", stop_reason="stop"))


def one(kind: str, number: int) -> dict[str, Any]:
    """Make one measurement in this process."""
    return asyncio.run(deltas(number) if kind == "deltas" else first_request(number))


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
    for kind, number in (("deltas", 2_000), ("deltas", 20_000), ("deltas", 100_000), ("first", 100), ("first", 10_000)):
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

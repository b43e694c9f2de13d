"""Measure pi_nb's session layer on one file and print one line of JSON.

    python tests/bench/bench_pi_nb.py FILE [--all]

The file is copied first. Entries are decoded when they are looked at, so ``path`` and ``context`` cost what their use
costs later; ``--all`` measures that too: every entry of the path and every message of the context, made.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pi_nb.messages import TextContent, UserMessage
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.tree import Session

MESSAGE = UserMessage(content=(TextContent(text="x" * 1900),), timestamp=1)


def timed(call: Callable[[], Any], times: int = 1) -> tuple[float, Any]:
    """Return milliseconds per call, and what the last call gave."""
    begin = time.perf_counter()
    for _ in range(times):
        result = call()
    return (time.perf_counter() - begin) * 1000 / times, result


def latencies(call: Callable[[int], Any], times: int) -> tuple[float, float, float]:
    """Return milliseconds in all, and the median and the 99th percentile of one call in microseconds."""
    found = []
    for number in range(times):
        begin = time.perf_counter()
        call(number)
        found.append(time.perf_counter() - begin)
    found.sort()
    return sum(found) * 1000, found[times // 2] * 1e6, found[min(times - 1, int(times * 0.99))] * 1e6


def peak_mb() -> float:
    """Return the most memory this process ever had."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(file: Path, everything: bool) -> dict[str, Any]:
    """Measure one file, which will be appended to."""
    seen: dict[str, Any] = {"rssBaseMB": peak_mb()}
    seen["openMs"], session = timed(lambda: Session(JsonlSessionStorage.open(file)))
    seen["entries"] = len(session)
    seen["buildContextMs"], context = timed(session.context)
    seen["openContextMs"] = seen["openMs"] + seen["buildContextMs"]
    seen["messages"] = len(context.items)
    seen["pathMs"], path = timed(session.path)
    seen["pathLength"] = len(path)
    ids = [entry.id for entry in scattered(session)]
    turns = iter(ids)
    seen["pathRandomMs"], _ = timed(lambda: session.path(next(turns)), 10)
    seen["append1000Ms"], seen["appendP50us"], seen["appendP99us"] = latencies(
        lambda _: session.append_message(MESSAGE), 1000
    )
    session.context()
    session.append_message(MESSAGE)
    seen["contextAfterAppendMs"], _ = timed(session.context)
    _, seen["setLeafP50us"], seen["setLeafP99us"] = latencies(lambda number: session.move_to(ids[number % 10]), 200)
    seen["rssPeakMB"] = peak_mb()
    if everything:
        seen["allMessagesMs"], _ = timed(lambda: session.context(path[-1].id).messages)
        session.append_message(MESSAGE, parent=path[-1].id)
        seen["allMessagesAfterAppendMs"], _ = timed(lambda: session.context().messages)
        seen["rssAllMB"] = peak_mb()
        seen["allEntriesMs"], _ = timed(lambda: [entry.type for entry in path])
    session.close()
    return seen


def scattered(session: Session) -> list[Any]:
    """Return ten entries from all over the log."""
    found, place = [], 1
    for _ in range(10):
        place = (place * 1103515245 + 12345) % 2147483648
        found.append(session.entries()[place % len(session)])
    return found


def main(argv: list[str]) -> None:
    """Measure a copy of a file and print what was seen."""
    source = Path(argv[0])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(shutil.copy(source, folder))
        seen = measure(file, "--all" in argv)
    print(json.dumps({"impl": "pi_nb", "file": source.name, **seen}))


if __name__ == "__main__":
    main(sys.argv[1:])

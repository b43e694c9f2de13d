"""Two hundred ``%%pi`` cells in one notebook, in JupyterLab: what the last ones cost beside the first.

    python tests/bench/bench_cells.py [--cells 200] [--tree]

One line of JSON: seconds a cell from the key press to its number, the kernel's own share of that, widgets' channels,
resident memory of the kernel and heap of the page, each over the first and the last twenty; and the notebook's size.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.browser.jupyter import Notebook, browser, serve, write_notebook

SETUP = """%load_ext pi_nb
import time, comm, psutil, pi_nb, pi_nb.notebook as _nb
from pi_nb import Registry, Reply, ScriptedProvider
from pi_nb.messages import Usage
_used = Usage(input=9, output=9, total_tokens=18)
_text = "A **paragraph** with `code`, some words and a list:\\n\\n* one\\n* two\\n\\n" * 3
_nb.current().registry = Registry([ScriptedProvider([lambda request: Reply(_text, usage=_used)] * 999)])
%pi_model scripted:any
_times = []
get_ipython().events.register("pre_run_cell", lambda info: _times.append([time.perf_counter()]))
get_ipython().events.register("post_run_cell", lambda result: _times and _times[-1].append(time.perf_counter()))"""
STATE = """import json, gc
gc.collect()
print(json.dumps({"comms": len(comm.get_comm_manager().comms), "rss_mb": psutil.Process().memory_info().rss >> 20,
    "kernel": [t[1] - t[0] for t in _times if len(t) == 2]}))"""
HEAP = "() => performance.memory.usedJSHeapSize >> 20"


def measure(count: int, *, tree: bool) -> dict[str, Any]:
    """Run so many cells in a JupyterLab of our own, one after the other, and return what was seen."""
    cells = [SETUP, "%pi_tree" if tree else "pass", *(f"%%pi\nQuestion {n}?" for n in range(count)), STATE]
    with tempfile.TemporaryDirectory() as name, serve(Path(name)) as server, browser() as chrome:
        write_notebook(Path(name) / "cells.ipynb", cells)
        page = chrome.new_page()
        nb = Notebook(page, server, "cells.ipynb")
        nb.run(0)
        nb.run(1)
        seconds, heaps, states = [], [], []
        for index in range(2, count + 2):
            began = time.perf_counter()
            nb.run(index)
            seconds.append(time.perf_counter() - began)
            if index - 2 in (20, count - 1):
                heaps.append(page.evaluate(HEAP))
                states.append(json.loads(nb.run(count + 2).splitlines()[-1]))
        nb.save()
        size = (Path(name) / "cells.ipynb").stat().st_size
    kernel = [t for t in states[-1].pop("kernel")[1:] if t > 0.001]
    return {
        "cells": count,
        "seconds": [_middle(seconds[:20]), _middle(seconds[-20:])],
        "kernel": [_middle(kernel[:20]), _middle(kernel[-20:])],
        "comms": [state["comms"] for state in states],
        "rss_mb": [state["rss_mb"] for state in states],
        "heap_mb": heaps,
        "notebook_kb": size >> 10,
        "load": round(os.getloadavg()[0], 1),
    }


def _middle(times: list[float]) -> float:
    return round(statistics.median(times), 4)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=200)
    parser.add_argument("--tree", action="store_true", help="with the live tree displayed")
    given = parser.parse_args()
    print(json.dumps(measure(given.cells, tree=given.tree)))


if __name__ == "__main__":
    main()

"""``%load_ext pi_nb`` beside ``%load_ext jupyter_ai_magics``: seconds in fresh kernels, in turn, as one line of JSON.

    python tests/bench/bench_load_ext.py --kernel PYTHON [--rounds 7] [--entries 200]

``PYTHON`` is an interpreter that has pi_nb, ipykernel, ipywidgets and jupyter_ai_magics. Each figure is the kernel's
own time around the magic, in a process of its own that has imported ipywidgets before. *back* is a notebook that
returns to its session, of as many entries as asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from jupyter_client.manager import KernelManager

TIMED = """
import time as _time
_began = _time.perf_counter()
get_ipython().run_line_magic("load_ext", {extension!r})
print("SECONDS", _time.perf_counter() - _began)
"""
FILL = """
import sys
from pathlib import Path
from pi_nb.messages import AssistantMessage, TextContent, UserMessage
from pi_nb.session.repo import SessionRepo
session = SessionRepo(Path(sys.argv[1])).create(sys.argv[2], metadata={"notebook": sys.argv[3]})
for n in range(int(sys.argv[4]) // 2):
    session.append_message(UserMessage(content=f"Question {n}. " + "words " * 40))
    session.append_message(AssistantMessage(content=(TextContent(text=f"Answer {n}. " + "words " * 120),)))
session.close()
"""


def seconds(python: str, extension: str, folder: Path, notebook: str) -> float:
    """Return how long a fresh kernel takes to load an extension."""
    manager = KernelManager(kernel_name="python3")
    manager.kernel_spec.argv[0] = python
    env = {**os.environ, "JPY_SESSION_NAME": notebook, "PI_CODING_AGENT_SESSION_DIR": str(folder / "sessions")}
    manager.start_kernel(cwd=str(folder), env=env | {"IPYTHONDIR": str(folder / "ipython")})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=120)
        said: list[str] = []
        for code in ("import ipywidgets", TIMED.format(extension=extension)):
            client.execute_interactive(code, timeout=120, output_hook=_into(said))
        lines = "".join(said).splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("SECONDS"))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()


def _into(said: list[str]) -> Callable[[dict[str, object]], None]:
    def hear(message: dict[str, object]) -> None:
        content = message["content"]
        assert isinstance(content, dict)
        if message["msg_type"] == "stream":
            said.append(content["text"])
        elif message["msg_type"] == "error":
            raise SystemExit("\n".join(content["traceback"]))

    return hear


def main() -> None:
    """Measure, and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default=sys.executable, help="interpreter of the kernels")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--entries", type=int, default=200, help="entries of the session that is returned to")
    given = parser.parse_args()
    found: dict[str, list[float]] = {"new": [], "back": [], "jupyter_ai_magics": []}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old = str(folder / "old.ipynb")
        fill = [given.kernel, "-c", FILL, str(folder / "sessions"), name, old, str(given.entries)]
        subprocess.run(fill, check=True)
        for _ in range(given.rounds + 1):  # the first round only warms up
            found["new"].append(seconds(given.kernel, "pi_nb", folder, str(folder / "new.ipynb")))
            found["back"].append(seconds(given.kernel, "pi_nb", folder, old))
            found["jupyter_ai_magics"].append(seconds(given.kernel, "jupyter_ai_magics", folder, old))
    medians = {what: round(statistics.median(times[1:]), 4) for what, times in found.items()}
    print(json.dumps({"seconds": medians, "load": round(os.getloadavg()[0], 1)}))


if __name__ == "__main__":
    main()

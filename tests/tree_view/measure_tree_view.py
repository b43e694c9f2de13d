"""What the live tree costs, in figures, none asserted: ``python tests/tree_view/measure_tree_view.py [entries …]``

Rows come from a real session through the real Python side; the page answers itself from them, so that the figures
are the widget's and not those of the wire between.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import comm  # noqa: E402

from pi_nb.session.memory import InMemorySessionStorage  # noqa: E402
from pi_nb.session.tree import Session  # noqa: E402
from pi_nb.views import tree_answers, tree_rows  # noqa: E402
from pi_nb.views.tree_view import TreeView  # noqa: E402
from tests.browser.jupyter import browser  # noqa: E402
from tests.tree_view.widget_page import MODEL, ORIGIN, RecordingComm  # noqa: E402

WORDS = ["index", "offset", "branch", "leaf", "context", "entry", "model", "token", "cache", "prompt", "answer"]
HERE = Path(__file__).parent


def grow(size: int) -> Session:
    """Return a session with many branches, its texts about as long as in real ones."""
    dice = random.Random(size)
    session = Session(InMemorySessionStorage())
    answers: list[str] = []
    while len(session) < size:
        if answers and dice.random() < 0.06:
            session.move_to(dice.choice(answers[-400:]))
        text = " ".join(dice.choices(WORDS, k=dice.randint(4, 60)))
        session.append_message({"role": "user", "content": f"{len(session)} {text}"})
        usage = {"input": 5, "output": 9, "totalTokens": 14}
        said = [{"type": "text", "text": " ".join(dice.choices(WORDS, k=80))}]
        answers.append(session.append_message({"role": "assistant", "content": said, "usage": usage}))
    return session


def p(values: list[float]) -> str:
    """Return median and 95th percentile."""
    return f"p50 {statistics.median(values):6.1f}  p95 {sorted(values)[int(len(values) * 0.95)]:6.1f} ms"


def python_side(size: int) -> tuple[list[dict[str, Any]], str | None, list[dict[str, Any]]]:
    """Print what the kernel pays; return the rows, the leaf, and forty more rows."""
    made: dict[str, RecordingComm] = {}
    comm.create_comm = lambda **o: made.setdefault("it", RecordingComm(**o))
    session = grow(size)
    start = time.perf_counter()
    rows = tree_rows.rows(session, 0, size)
    spent = time.perf_counter() - start
    print(f"  rows made          {spent * 1000:7.1f} ms   {len(json.dumps(rows)) / size:6.0f} bytes a row")
    view = TreeView(session)
    channel = made.pop("it")
    start = time.perf_counter()
    tree_answers.context_answer(session, session.leaf_id)
    print(f"  context answered   {(time.perf_counter() - start) * 1000:7.1f} ms   first time")
    before, more = channel.bytes, []
    for number in range(40):
        session.append_message({"role": "assistant", "content": f"appended {number} {' '.join(WORDS * 8)}"})
        view._publish()
        have = len(session) - 1
        channel.ask({"op": "sync", "id": number, "epoch": view.epoch, "have": have})
        more += tree_rows.rows(session, have, have + 1)
    print(f"  kernel -> page     {(channel.bytes - before) / 40:7.0f} bytes an appended entry")
    state = {name: len(json.dumps(value)) for name, value in view.get_state().items()}
    code = state["_esm"] + state["_css"]
    print(f"  widget state       {sum(state.values()) / 1000:7.0f} KB   of them script and style {code / 1000:.0f} KB")
    view.close()
    return rows, rows[-1]["id"], more


def measure(chrome: Any, size: int) -> None:
    """Print the figures for one size."""
    print(f"{size:,} entries")
    rows, leaf, more = python_side(size)
    page = chrome.new_page(viewport={"width": 1200, "height": 800})
    static = ROOT / "pi_nb" / "views" / "static"
    html = f"<style>{(static / 'tree.css').read_text()}</style><div id=here></div>"
    files = {"": ("text/html", html), "tree.js": ("text/javascript", (static / "tree.js").read_text())}
    page.route("**/*", lambda route: _serve(route, files))
    page.goto(ORIGIN)
    page.add_script_tag(content=MODEL + (HERE / "measure.js").read_text("utf-8"))
    found = page.evaluate("(given) => measure(given)", {"rows": rows, "leaf": leaf, "more": more})
    page.close()
    print(f"  first rows painted {found['first_rows']:7.1f} ms   all rows there {found['everything']:7.1f} ms")
    print(f"  scroll             {p(found['scroll'])}   ({found['elements']} elements)")
    print(f"  append, script     {p(found['script'])}")
    print(f"  append, on screen  {p(found['append'])}")
    print(f"  focus -> panel     {p(found['focus'])}")
    print(f"  search             {p(found['search'])}")


def _serve(route: Any, files: dict[str, tuple[str, str]]) -> None:
    kind, body = files.get(route.request.url.removeprefix(ORIGIN), ("text/plain", ""))
    route.fulfill(content_type=f"{kind}; charset=utf-8", body=body)


if __name__ == "__main__":
    with browser() as chrome:
        for size in [int(word) for word in sys.argv[1:]] or [200, 10_000, 100_000]:
            measure(chrome, size)

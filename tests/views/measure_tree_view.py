"""What the live tree costs, in figures: ``python tests/views/measure_tree_view.py [entries …]``. Nothing is asserted.

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
from tests.views.widget_page import MODEL, ORIGIN, RecordingComm  # noqa: E402

WORDS = "index offset branch leaf context entry model token cache prompt answer tool result path".split()
KERNEL = """
window.answering = (model, rows, leaf) => {
  const byId = new Map(rows.map((row) => [row.id, row]));
  model.send = (ask) => setTimeout(() => {
    if (ask.op === "sync") {
      const to = Math.min(rows.length, ask.have + 4000);
      model.take({method: "custom", content: {op: "delta", epoch: "e", from: ask.have, to, total: rows.length,
        rows: rows.slice(ask.have, to), leaf: rows.leaf ?? leaf, labels: {}, name: null, session: "bench", file: null}});
    }
    if (ask.op === "context") {
      const path = [];
      for (let row = byId.get(ask.entry); row; row = byId.get(row.parent)) path.push(row);
      const said = path.filter((row) => row.type === "message");
      model.take({method: "custom", content: {op: "ack", id: ask.id, entry: ask.entry, total: said.length, tokens: 1, left_out: [],
        items: said.slice(0, 60).reverse().map((row) => ({id: row.id, role: row.role, text: row.text.repeat(8), tokens: 5}))}});
    }
  });
};
window.painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
"""
RUN = """async ({rows, leaf, more}) => {
  const widget = (await import("/tree.js")).default;
  const model = makeModel({rev: rows.length, status: "idle", key: "k", epoch: "e"});
  answering(model, rows, leaf);
  const out = {script: []};
  const frame = window.requestAnimationFrame.bind(window);
  let spent = 0;
  window.requestAnimationFrame = (call) => frame((now) => { const t = performance.now(); call(now); spent += performance.now() - t; });
  await painted();
  let start = performance.now();
  widget.initialize({model});
  widget.render({model, el: document.getElementById("here")});
  while (!document.querySelector(".pt-t-assistant, .pt-t-user")) await painted();
  out.first_rows = performance.now() - start;
  while (!document.querySelector(".pt-numbers").textContent.startsWith(rows.length.toLocaleString("en")) ||
         document.querySelector(".pt-numbers").textContent.includes("loading")) await painted();
  out.everything = performance.now() - start;
  const scroller = document.querySelector(".pt-rows");
  const frames = [];
  const end = scroller.scrollHeight - scroller.clientHeight;
  for (let i = 0; i < 120; i++) {
    start = performance.now();
    scroller.scrollTop = (end * ((i * 37) % 120)) / 120;
    await painted();
    frames.push(performance.now() - start);
  }
  out.scroll = frames;
  document.querySelector(".pt-btn:nth-child(2)").click();
  await painted();
  out.append = [];
  for (const row of more) {
    rows.push(row); rows.leaf = row.id;
    spent = 0;
    start = performance.now();
    model.take({method: "update", state: {rev: rows.length}});
    while (!document.querySelector(`.pt-leaf .pt-text`)?.textContent.includes(row.text.slice(0, 30))) await painted();
    out.append.push(performance.now() - start);
    out.script.push(spent);
    await new Promise((done) => setTimeout(done, 60));
  }
  out.focus = [];
  scroller.focus();
  for (let i = 0; i < 30; i++) {
    const before = document.querySelector(".pt-pwhere").textContent;
    start = performance.now();
    scroller.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowUp", bubbles: true}));
    while (document.querySelector(".pt-pwhere").textContent === before || document.querySelector(".pt-sketch")) await painted();
    out.focus.push(performance.now() - start);
  }
  out.elements = document.querySelectorAll("*").length;
  return out;
}"""


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
    page.add_script_tag(content=MODEL + KERNEL)
    found = page.evaluate(RUN, {"rows": rows, "leaf": leaf, "more": more})
    page.close()
    print(f"  first rows painted {found['first_rows']:7.1f} ms   all rows there {found['everything']:7.1f} ms")
    print(f"  scroll             {p(found['scroll'])}   ({found['elements']} elements)")
    print(f"  append, script     {p(found['script'])}")
    print(f"  append, on screen  {p(found['append'])}")
    print(f"  focus -> panel     {p(found['focus'])}")


def _serve(route: Any, files: dict[str, tuple[str, str]]) -> None:
    kind, body = files.get(route.request.url.removeprefix(ORIGIN), ("text/plain", ""))
    route.fulfill(content_type=f"{kind}; charset=utf-8", body=body)


if __name__ == "__main__":
    with browser() as chrome:
        for size in [int(word) for word in sys.argv[1:]] or [200, 10_000, 100_000]:
            measure(chrome, size)

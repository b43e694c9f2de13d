"""What going through time costs, in figures, none asserted: ``python tests/tree_view/measure_time.py [entries …]``

One view in Chromium: the slider is dragged to places all over the log, then played, and every picture is timed from
the event until it is painted; beside it, the time that script took of it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from pi_nb.views import tree_rows  # noqa: E402
from tests.browser.jupyter import browser  # noqa: E402
from tests.tree_view.measure_tree_view import HERE, _serve, grow, p  # noqa: E402
from tests.tree_view.widget_page import MODEL, ORIGIN  # noqa: E402

SCRUB = """async ({rows, leaf}) => {
  const widget = (await import("/tree.js")).default;
  const model = makeModel({rev: rows.length, status: "idle", key: "k", epoch: "e"});
  answering(model, rows, leaf);
  let spent = 0;
  const frame = window.requestAnimationFrame.bind(window);
  const timed = (call) => (now) => { const t = performance.now(); call(now); spent += performance.now() - t; };
  window.requestAnimationFrame = (call) => frame(timed(call));
  widget.initialize({model});
  widget.render({model, el: document.getElementById("here")});
  const numbers = () => document.querySelector(".pt-numbers").textContent;
  while (!numbers().startsWith(rows.length.toLocaleString("en")) || numbers().includes("loading")) await painted();
  document.querySelector(".pt-rows").dispatchEvent(new KeyboardEvent("keydown", {key: "t", bubbles: true}));
  await new Promise((done) => setTimeout(done, 300));
  const range = document.querySelector(".pt-range");
  const go = async (at) => {
    spent = 0;
    const start = performance.now();
    range.value = String(at);
    range.dispatchEvent(new Event("input", {bubbles: true}));
    const script = performance.now() - start;
    await painted();
    return [performance.now() - start, spent + script];
  };
  const out = {first: 0, jumps: [], jump_script: [], drag: [], drag_script: [], play: []};
  out.first = (await go(rows.length - 5))[0];
  for (let i = 0; i < 80; i++) {
    const [all, script] = await go(1 + (rows.length - 2) * ((i * 37) % 80) / 80 | 0);
    out.jumps.push(all); out.jump_script.push(script);
  }
  for (let i = 0; i < 200; i++) {
    const [all, script] = await go(rows.length * (0.4 + i / 400) | 0);
    out.drag.push(all); out.drag_script.push(script);
  }
  const play = document.querySelector(".pt-timebar .pt-btn");
  range.value = "1"; range.dispatchEvent(new Event("input", {bubbles: true}));
  const began = performance.now();
  play.click();
  let before = performance.now();
  while (performance.now() - began < 4000) {
    await painted();
    out.play.push(performance.now() - before);
    before = performance.now();
  }
  out.played = Number(range.value);
  play.click();
  const back = performance.now();
  document.querySelector(".pt-now").click();
  await painted();
  out.now = performance.now() - back;
  return out;
}"""


def measure(chrome: Any, size: int) -> None:
    """Print the figures for one size."""
    session = grow(size)
    rows = tree_rows.rows(session, 0, size)
    page = chrome.new_page(viewport={"width": 1200, "height": 800})
    static = ROOT / "pi_nb" / "views" / "static"
    html = f"<style>{(static / 'tree.css').read_text()}</style><div id=here></div>"
    files = {"": ("text/html", html), "tree.js": ("text/javascript", (static / "tree.js").read_text())}
    page.route("**/*", lambda route: _serve(route, files))
    page.goto(ORIGIN)
    page.add_script_tag(content=MODEL + (HERE / "measure.js").read_text("utf-8"))
    found = page.evaluate(SCRUB, {"rows": rows, "leaf": rows[-1]["id"]})
    page.close()
    print(f"{size:,} entries")
    print(f"  first step back          {found['first']:6.1f} ms   back to now {found['now']:6.1f} ms")
    print(f"  jumps, on screen         {p(found['jumps'])}   script {p(found['jump_script'])}")
    print(f"  dragging, on screen      {p(found['drag'])}   script {p(found['drag_script'])}")
    print(f"  playing, picture by picture {p(found['play'])}   {found['played']:,} entries in 4 s")


if __name__ == "__main__":
    with browser() as chrome:
        for size in [int(word) for word in sys.argv[1:]] or [200, 10_000, 100_000]:
            measure(chrome, size)

"""Ten thousand pieces in one cell: the page stays alive and the notebook keeps only how it ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.jupyter import Notebook, Server

pytestmark = pytest.mark.browser

SETUP = """%load_ext pi_nb
import pi_nb, pi_nb.notebook as _nb
from pi_nb import Registry, Reply, ScriptedProvider
text = "\\n\\n".join(f"Paragraph {n} is about **boats**, `code` and sails." + " More words." * 18 for n in range(640))
_nb.current().registry = Registry([ScriptedProvider([Reply(text)], tokens_per_second=20_000)])
%pi_model scripted:any
print(len(text) // 16)"""
WATCH = """() => { window.gaps = []; let last = performance.now();
  const tick = () => { const now = performance.now(); window.gaps.push(now - last); last = now;
    window.timer = setTimeout(tick, 20); }; tick(); }"""


def test_ten_thousand_deltas(lab: Server, open_notebook: Callable[..., Notebook], page: Any) -> None:
    """Another cell can be typed into meanwhile; there is one output, and the file grew by that and no more."""
    nb = open_notebook(lab, [SETUP, "%%pi\ngo", "print(_nb.current().reply.text == text)"])
    assert int(nb.run(0).split()[-1]) > 10_000
    nb.save()
    path = lab.root / nb.path
    before = path.stat().st_size
    page.evaluate(WATCH)
    nb.start(1)
    page.wait_for_function(
        "() => document.querySelectorAll('.jp-Notebook .jp-CodeCell')[1].innerText.includes('Paragraph 9 ')",
        timeout=30_000,
    )
    nb.cell(2).locator(".cm-content").click()
    page.keyboard.type("# typed\n")
    assert nb.running(1)
    assert "# typed" in nb.cell(2).locator(".cm-content").inner_text()
    nb.wait_idle(1, timeout=240)
    gaps = page.evaluate("() => { clearTimeout(window.timer); return window.gaps; }")
    assert max(gaps) < 5_000, "the page hung"
    assert "True" in nb.run(2)
    nb.save()
    (output,) = json.loads(path.read_text())["cells"][1]["outputs"]
    assert set(output["data"]) == {"text/html", "text/markdown", "text/plain"}
    assert path.stat().st_size - before < 1.2 * len(json.dumps(output)) + 5_000

"""Make the README's picture: ``python -m tests.browser.picture [FILE]``. A real JupyterLab, a real click."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.browser.jupyter import Notebook, browser, serve, write_notebook

ROOT = Path(__file__).parents[2]
CELLS = [
    "%load_ext pi_nb",
    "%%pi\nMy name is Ada. I want to name a sailing boat.",
    "%%pi --label serious\nRemember: the boat is painted green. What do you know so far?",
    "%%pi\nRemember: it will sail from Gothenburg. What do you know so far?",
    "%pi_checkout serious",
    "%%pi --label playful\nRemember: the boat is a bathtub. What do you know so far?",
    "%pi_tree",
]


def main(target: Path) -> None:
    """Run the cells in JupyterLab, click a node, and save what the screen shows."""
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder), env={"PI_NB_DEMO_PACE": "0"}) as server:
        write_notebook(Path(folder) / "boats.ipynb", CELLS)
        with browser() as chrome:
            context = chrome.new_context(viewport={"width": 1240, "height": 925}, device_scale_factor=1.6)
            page = context.new_page()
            page.add_init_script("localStorage.clear()")
            notebook = Notebook(page, server, "boats.ipynb")
            page.evaluate("() => window.jupyterapp.shell.collapseLeft()")
            for index in range(len(CELLS)):
                notebook.run(index)
            page.locator(".pi-tree .pt-row", has_text="Gothenburg").last.click()
            page.wait_for_timeout(1500)
            notebook.cell(5).evaluate("cell => cell.scrollIntoView({block: 'start'})")
            page.evaluate("() => document.querySelectorAll('.Toastify').forEach(e => e.remove())")
            page.wait_for_timeout(500)
            page.screenshot(path=str(target))


if __name__ == "__main__":
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        del os.environ[name]
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".github" / "tree.png")

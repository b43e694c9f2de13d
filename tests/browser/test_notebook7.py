"""The same in Notebook 7."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.jupyter import Notebook, Server

pytestmark = pytest.mark.browser


def test_prompt_tree_and_click(classic: Server, open_notebook: Callable[..., Notebook], page: Any) -> None:
    """Answers appear, the tree shows them, and a click moves the leaf."""
    nb = open_notebook(classic, ["%load_ext pi_nb", "%%pi\nMy name is Ada.", "%%pi\nRemember: tea.", "%pi_tree", "%pi"])
    for index in range(4):
        nb.run(index)
    assert "Nice to meet you" in nb.output(1)
    page.locator(".pi-tree .pt-row", has_text="Nice to meet").first.click()
    page.wait_for_function(
        "() => document.querySelector('.pi-tree .pt-row.pt-leaf').innerText.includes('Nice to meet')"
    )
    assert "Nice to meet" in nb.run(4) or "leaf" in nb.output(4)

"""What the built widget looks like where: themes, contrast, and that nothing is cut off or lies on something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pi_nb.session.tree import Session
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import talk

Show = Callable[..., Any]
HAS = "(el, name) => el.classList.contains(name)"


def test_the_ground_it_stands_on_counts_where_no_theme_is_named(memory: Session, show: Show) -> None:
    """On a dark page of a light system it is dark, also as soon as the page turns; a see-through page says nothing."""
    talk(memory)
    page = show(TreeView(memory))
    tree = page.page.locator(".pi-tree")
    page.page.evaluate("() => { document.body.style.background = '#102030'; }")
    page.page.wait_for_function("() => document.querySelector('.pi-tree').classList.contains('pt-night')")
    page.page.evaluate("() => { document.body.style.background = 'transparent'; }")
    page.page.wait_for_function("() => !document.querySelector('.pi-tree').classList.contains('pt-night')")
    page.page.evaluate(
        """() => { const host = document.getElementById('there'); host.style.background = 'rgb(9, 9, 9)';
          host.attachShadow({ mode: 'open' }).append(document.querySelector('.pi-tree'));
          document.body.className = 'x'; }"""
    )
    page.page.wait_for_function(
        "() => document.getElementById('there').shadowRoot.querySelector('.pi-tree').classList.contains('pt-night')"
    )
    assert tree.evaluate(HAS, "pt-night")


@pytest.mark.parametrize("name", ["jpThemeName", "vscodeThemeKind"])
def test_high_contrast_themes_are_known_by_name(name: str, memory: Session, show: Show) -> None:
    """JupyterLab's and VS Code's high-contrast themes take away everything faint."""
    talk(memory)
    page = show(TreeView(memory), theme={"--jp-layout-color1": "#000", "--jp-ui-font-color1": "#fff"})
    tree = page.page.locator(".pi-tree")
    assert not tree.evaluate(HAS, "pt-stark")
    said = "JupyterLab Dark High Contrast" if name == "jpThemeName" else "vscode-high-contrast"
    page.page.evaluate(f"() => {{ document.body.dataset.{name} = '{said}'; }}")
    page.page.wait_for_function("() => document.querySelector('.pi-tree').classList.contains('pt-stark')")
    off = page.row("Then see the Forum.").locator(".pt-text")
    assert off.evaluate("el => getComputedStyle(el).color") == "rgb(255, 255, 255)"


def test_a_system_that_wants_more_contrast_gets_it(memory: Session, show: Show) -> None:
    """``prefers-contrast: more`` does the same."""
    talk(memory)
    page = show(TreeView(memory), contrast="more")
    assert page.page.locator(".pi-tree").evaluate(HAS, "pt-stark")


def test_in_forced_colours_nothing_is_told_by_colour_alone(memory: Session, show: Show) -> None:
    """Leaf, focus, selection and differing words have a border, an outline or a line there."""
    talk(memory)
    page = show(TreeView(memory), forced_colors="active", width=1400)
    page.click("Then see the Forum.", modifiers=["Control"])
    before = "el => { const s = getComputedStyle(el, '::before'); return [s.outlineStyle, s.borderLeftStyle]; }"
    assert page.page.locator(".pt-row.pt-focus").first.evaluate(before)[0] == "solid"
    assert page.page.locator(".pt-row.pt-selected").first.evaluate(before)[1] == "double"
    assert (
        page.page.locator(".pt-row.pt-leaf .pt-tag-leaf").evaluate("el => getComputedStyle(el).borderStyle") == "solid"
    )
    words = page.page.locator(".pt-plus")
    assert words.count() == 0 or "underline" in words.first.evaluate("el => getComputedStyle(el).textDecorationLine")


@pytest.mark.parametrize("width", [400, 640, 1200])
def test_the_list_of_keys_is_whole(width: int, memory: Session, show: Show) -> None:
    """All keys can be read at any width: the card stays inside the view, and scrolls where it has to."""
    talk(memory)
    page = show(TreeView(memory), width=width, height=1000)
    page.press("?")
    card, tree = (page.page.locator(name).bounding_box() for name in (".pt-help", ".pi-tree"))
    assert card["x"] >= tree["x"]
    assert card["y"] >= tree["y"]
    assert card["x"] + card["width"] <= tree["x"] + tree["width"]
    last = page.page.locator(".pt-help div").last
    last.scroll_into_view_if_needed()
    assert last.is_visible()

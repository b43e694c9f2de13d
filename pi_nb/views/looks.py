"""The colours of the static pictures, light and dark, as style sheets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["KINDS", "THEMES", "page_style", "picture_style"]

_LIGHT: Final = {
    "back": "#ffffff",
    "text": "#24292f",
    "dim": "#626b76",
    "line": "#c3cad2",
    "path": "#2f6fde",
    "soft": "#eef4fe",
    "user": "#1b5fc4",
    "assistant": "#1a7340",
    "tool": "#8a5700",
    "custom": "#0b6b78",
    "summary": "#7c46c8",
    "fail": "#c62a35",
}
_DARK: Final = {
    "back": "#15191f",
    "text": "#e3e8ee",
    "dim": "#8f99a5",
    "line": "#47505b",
    "path": "#69a3ff",
    "soft": "#1d2a40",
    "user": "#83b4ff",
    "assistant": "#76d699",
    "tool": "#e0ab55",
    "custom": "#6fcfdd",
    "summary": "#c9a2ff",
    "fail": "#ff8088",
}
THEMES: Final = {"light": _LIGHT, "dark": _DARK}
_VARIABLES: Final = {name: f"var(--{name})" for name in _LIGHT}
_DARK_HOSTS: Final = ("[data-jp-theme-light=false]", ".vscode-dark", ".vscode-high-contrast")
_LIGHT_HOSTS: Final = ("[data-jp-theme-light=true]", ".vscode-light", ".vscode-high-contrast-light")
KINDS: Final = ("user", "assistant", "tool", "custom", "summary")


def picture_style(scope: str) -> str:
    """Return the style sheet of a picture that stands alone: the viewer's system says whether it is dark."""
    return f"{_rules(scope, _LIGHT)}@media(prefers-color-scheme:dark){{{_rules(scope, _DARK)}}}"


def page_style(scope: str, *rules: tuple[str, str]) -> str:
    """Return the style sheet of a piece of a page: as the notebook's theme, else as the system says.

    Args:
        scope: Selector of the piece.
        rules: What to add: a selector within the scope, and its declarations; colours are variables.
    """
    light, dark = _declared(_LIGHT), _declared(_DARK)
    return (
        f"{scope}{{{light}}}@media(prefers-color-scheme:dark){{{scope}{{{dark}}}}}"
        f"{_within(_LIGHT_HOSTS, scope)}{{{light}}}{_within(_DARK_HOSTS, scope)}{{{dark}}}{_rules(scope, _VARIABLES)}"
        + "".join(_scoped(scope, selector, rule) for selector, rule in rules)
    )


def _declared(colours: Mapping[str, str]) -> str:
    return ";".join(f"--{name}:{value}" for name, value in colours.items())


def _within(hosts: tuple[str, ...], scope: str) -> str:
    return ",".join(f"{host} {scope}" for host in hosts)


def _rules(scope: str, colour: Mapping[str, str]) -> str:
    """Return the rules for lines, marks and words; the same in the picture and in the page."""
    rules = {
        "path": "fill:none;stroke-width:1.6",
        "path.line": f"stroke:{colour['line']}",
        "path.active": f"stroke:{colour['path']};stroke-width:2",
        "path.gap": "stroke-dasharray:2 3",
        ".dot": f"fill:{colour['back']};stroke:{colour['dim']};stroke-width:1.6",
        ".dot.on": f"fill:{colour['dim']}",
        ".ring": f"fill:none;stroke:{colour['path']};stroke-width:1.6",
        ".words": f"fill:{colour['text']};color:{colour['text']}",
        ".off,.quiet,.quiet .who": f"fill:{colour['dim']};color:{colour['dim']}",
        ".back": f"fill:{colour['back']};stroke:{colour['line']};stroke-opacity:.6",
        ".here": f"fill:{colour['soft']}",
        ".chip rect": f"fill:{colour['back']};stroke:{colour['dim']}",
        ".chip text": f"fill:{colour['dim']}",
        ".chip.leaf rect": f"fill:{colour['path']};stroke:{colour['path']}",
        ".chip.leaf text": f"fill:{colour['back']}",
        ".chip.label rect": f"stroke:{colour['tool']}",
        ".chip.label text": f"fill:{colour['tool']}",
        ".chip.broken rect": f"stroke:{colour['fail']}",
        ".chip.broken text": f"fill:{colour['fail']}",
        ".dim": f"fill:{colour['dim']};color:{colour['dim']}",
        ".fail": f"fill:{colour['fail']};color:{colour['fail']}",
    }
    for kind in KINDS:
        rules[f".dot.{kind}"] = f"stroke:{colour[kind]}"
        rules[f".dot.{kind}.on"] = f"fill:{colour[kind]}"
        rules[f".who.{kind}"] = f"fill:{colour[kind]};color:{colour[kind]}"
    return "".join(_scoped(scope, selector, rule) for selector, rule in rules.items())


def _scoped(scope: str, selectors: str, rule: str) -> str:
    within = ",".join(f"{scope} {selector}".rstrip() for selector in selectors.split(","))
    return f"{within}{{{rule}}}"

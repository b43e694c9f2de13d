"""A change of a file as coloured HTML: lines that begin with a plus are new, with a minus gone."""

from __future__ import annotations

from html import escape

__all__ = ["diff_html"]

_CLASSES = {"+": "pi-added", "-": "pi-removed", "@": "pi-hunk"}


def diff_html(diff: str) -> str:
    """Return a diff as HTML; colours are a second sign beside plus and minus."""
    lines = "".join(_line(line) for line in diff.removesuffix("\n").split("\n"))
    return f'<pre class="pi-diff"><code>{lines}</code></pre>'


def _line(line: str) -> str:
    kind = _CLASSES.get(line[:1], "")
    return f'<span class="{kind}">{escape(line)}\n</span>' if kind else f"{escape(line)}\n"

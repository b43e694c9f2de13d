"""The still picture of a live tree: what a saved notebook shows when no kernel is there.

Front ends prefer a widget to the HTML beside it in one output, and say "model not found" in its place when it cannot
be had any more. So the picture is an output of its own, before that of the widget. The live view hides it once it has
heard from its kernel; without one, the picture's style hides the widget's empty place in JupyterLab and Notebook 7.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from IPython.display import display, publish_display_data

from pi_nb.views.publisher import Publisher, Submit

if TYPE_CHECKING:
    from pi_nb.session.tree import Session

__all__ = ["NOTE", "Still", "linked", "pictures"]

NOTE: Final = "This tree is live while its kernel runs: run the cell again to bring it to life."
_EVERY: Final = 2.0  # seconds between two redraws at least
_SHARE: Final = 20  # a redraw that takes long is followed by a pause this many times as long
_SHEET: Final = re.compile(r"<style>([^<]*)</style>")
_OUTPUT: Final = ".jp-OutputArea-child"
_LIVE: Final = ".pi-tree[data-heard]"
_STYLE: Final = (
    f"{_OUTPUT}:has(.pi-nb-still):has(+{_OUTPUT} {_LIVE}){{display:none!important}}"
    f"{_OUTPUT}:has(.pi-nb-still)+{_OUTPUT}:not(:has({_LIVE})){{display:none!important}}"
)


class Still:
    """The picture of one view, in every output where that is shown; redrawn as the session grows.

    Args:
        session: What is shown.
        key: The view's own key; the page finds the picture by it.
        submit: Runs a function on the thread that owns the session.
        redraw: Redraws: calls :meth:`redraw`, if there is still something to redraw.
    """

    def __init__(self, session: Session, key: str, submit: Submit, redraw: Callable[[], None]) -> None:
        self._session = session
        self._key = key
        self._shown: dict[str, str] = {}
        self._drawn: dict[str, Any] = {}  # what is shown, without what the bundle says of its time
        self._publisher = Publisher(redraw, submit, interval=_EVERY)

    def show(self) -> None:
        """Display the picture."""
        self._drawn = pictures(self._session)
        self._shown = self._bundle(self._drawn)
        display(dict(self._shown), raw=True, display_id=self._key)

    def poke(self) -> None:
        """Say that the session has changed. Any thread; returns at once."""
        if self._shown:
            self._publisher.poke()

    def redraw(self) -> None:
        """Draw it anew wherever it is displayed; on the owner thread."""
        began = time.monotonic()
        drawn = pictures(self._session)
        if drawn != self._drawn:
            self._drawn, self._shown = drawn, self._bundle(drawn)
            publish_display_data(dict(self._shown), transient={"display_id": self._key}, update=True)
        self._publisher.interval = max(_EVERY, _SHARE * (time.monotonic() - began))

    def close(self) -> None:
        """Draw no more."""
        self._publisher.close()

    def _bundle(self, drawn: dict[str, Any]) -> dict[str, str]:
        start = f'<div class="pi-nb-still pi-nb-still-{self._key}">{linked(f"<style>{_STYLE}</style>")}'
        note = f"Picture of {time.strftime('%Y-%m-%d %H:%M')}; run the cell to make it live."
        return {**drawn, "text/html": f"{start}{drawn['text/html']}<small>{note}</small></div>"}


def pictures(session: Session) -> dict[str, Any]:
    """Return the session as static HTML and as text."""
    from pi_nb.views.html import tree_html
    from pi_nb.views.text import render_tree

    return {"text/html": linked(tree_html(session)), "text/plain": render_tree(session, max_rows=200)}


def linked(html: str) -> str:
    """Return HTML of ours with its style sheets as links that carry them.

    Where no style is kept, as on GitHub, the rules of a ``<style>`` are shown as text; a link is nothing to read.
    """
    return _SHEET.sub(lambda found: f'<link rel="stylesheet" href="data:text/css,{_address(found[1])}">', html)


def _address(css: str) -> str:
    return quote(css, safe="(){}:;,.!*/+=@~' ")

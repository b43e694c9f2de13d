"""A question about a tool call, with buttons: may it run?

::

    page -> kernel   ready{call} · answer{call, allowed, always, reason}     each again and again until it was heard
                     here{call, page}, every ten seconds · gone{call, page}, once, when the page is left or reloaded

Whether a page shows it, and whether its clicks get through while a cell runs, cannot be known beforehand: the page may
know no widgets, the kernel may have no subshells. A page that says ``ready`` in time has shown both.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets
from ipywidgets import Layout

from pi_nb.views.sayable import sayable
from pi_nb.views.wiring import static, unroute

__all__ = ["AskView"]

SILENCE = 150.0  # seconds after which a page that says nothing is gone; browsers wake hidden pages once a minute


class AskView(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
    """A question in a page.

    Args:
        question: ``call``, ``tool``, ``why``, ``always`` and ``blocks``, each ``label``, ``kind`` and ``text``.
        ready: Called once, on whatever thread, when a page shows the question and its messages get through.
        answer: Called with a valid answer, on whatever thread: ``allowed``, ``always``, ``reason``.
        layout: One that several questions share; it is not closed with them.

    Attributes:
        mode: ``ask`` shows buttons; ``line`` says that the answer is to be typed below; ``both`` leaves the choice.
        heard: True once the page's first message has come.
    """

    _esm = traitlets.Unicode(static("ask.js")).tag(sync=True)
    _css = traitlets.Unicode(static("ask.css")).tag(sync=True)
    question = traitlets.Dict().tag(sync=True)
    mode = traitlets.Unicode("ask").tag(sync=True)
    heard = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        question: Mapping[str, Any],
        *,
        ready: Callable[[], None],
        answer: Callable[[bool, bool, str], None],
        layout: Layout | None = None,
    ) -> None:
        self._wire = threading.Lock()
        self._own_layout = layout is None
        self._open = True
        self._pages: dict[str, float] = {}  # when each was heard last
        self._met = False
        super().__init__(question=sayable(dict(question)), layout=layout or Layout())
        unroute(self)
        call = self.question["call"]

        def hear(_widget: Any, content: Any, _buffers: Any) -> None:
            if not isinstance(content, Mapping) or content.get("call") != call:
                return
            if content.get("op") == "ready":
                ready()
            elif content.get("op") in ("here", "gone"):
                self._meet(str(content.get("page")), here=content["op"] == "here")
            elif content.get("op") == "answer" and isinstance(content.get("allowed"), bool):
                reason = sayable(str(content.get("reason") or ""))
                answer(content["allowed"], content.get("always") is True, reason)

        self.on_msg(hear)

    def __repr__(self) -> str:
        return f"<AskView {self.question.get('tool')} {self.mode if self._open else 'closed'}>"

    def _meet(self, page: str, *, here: bool) -> None:
        """Note that a page is there, or has gone."""
        with self._wire:
            if here:
                self._pages[page], self._met = time.monotonic(), True
            else:
                self._pages.pop(page, None)

    @property
    def abandoned(self) -> bool:
        """True if there was a page, and now there is none any more."""
        with self._wire:
            lately = time.monotonic() - SILENCE
            return self._met and not any(heard > lately for heard in self._pages.values())

    def tell(self, **traits: Any) -> None:
        """Change what the page knows; any thread."""
        with self._wire:
            if self._open:
                for name, value in traits.items():
                    setattr(self, name, value)

    def close(self) -> None:
        """Close it here and in the page. A second call does nothing."""
        with self._wire:
            if not self._open:
                return
            self._open = False
        layout = self.layout
        super().close()
        if self._own_layout:
            layout.close()

"""What is left in a cell of its questions: a line for each, in one output that also shows the question that is open."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from IPython.display import DisplayHandle

from pi_nb.notebook.answer_html import STYLE
from pi_nb.notebook.portable import portable
from pi_nb.notebook.questions import Shown
from pi_nb.providers.surrogates import well_formed
from pi_nb.tools.policy import Answer
from pi_nb.views.plain import UNTYPESET

if TYPE_CHECKING:
    from pi_nb.views.ask_view import AskView

__all__ = ["Receipts"]

VIEW = "application/vnd.jupyter.widget-view+json"


class Receipts:
    """The output of one cell after another."""

    def __init__(self, ip: Any) -> None:
        self._ip = ip
        self._cell: object = None
        self._lines: list[tuple[str, str]] = []
        self._handle: DisplayHandle | None = None
        self._again: list[DisplayHandle] = []  # in other cells

    def open(self) -> None:
        """Begin a question; if it belongs to another cell than the one before, its output is a new one."""
        cell = self._request()
        if cell != self._cell:
            self._cell, self._lines, self._handle = cell, [], None

    def _request(self) -> Any:
        message = self._ip.get_parent() if hasattr(self._ip, "get_parent") else None
        return message.get("header", {}).get("msg_id") if isinstance(message, dict) else None

    def show(self, html: str, text: str, *, view: AskView | None = None) -> None:
        """Show the open question: live if a view is given and the page knows widgets."""
        self._publish(_bundle(_page(self._html() + html), f"{self._text()}{text}", view))

    def show_again(self, html: str, text: str, *, view: AskView | None = None) -> None:
        """Show the open question in the cell that runs now as well."""
        handle = DisplayHandle()
        self._again.append(handle)
        handle.display(_bundle(_page(html), text, view), raw=True)

    def add(self, shown: Shown, answer: Answer | None) -> None:
        """Put a line in the place of the question, wherever it was shown."""
        mark, said = _line(shown, answer)
        for handle in self._again:
            handle.update(_bundle(_page(_said_html(mark, said)), f"[{mark} {said}]"), raw=True)
        self._again.clear()
        if self._handle is not None:
            self._lines.append((mark, said))
            self._publish(_bundle(_page(self._html()), self._text().removesuffix("\n")))

    def _html(self) -> str:
        return "".join(_said_html(mark, text) for mark, text in self._lines)

    def _text(self) -> str:
        return "".join(f"[{mark} {text}]\n" for mark, text in self._lines)

    def _publish(self, data: dict[str, Any]) -> None:
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(data, raw=True)
        else:
            self._handle.update(data, raw=True)


def _bundle(html: str, text: str, view: AskView | None = None) -> dict[str, Any]:
    data: dict[str, Any] = {"text/html": well_formed(html), "text/plain": well_formed(text)}
    if view is not None:
        data[VIEW] = {"version_major": 2, "version_minor": 0, "model_id": view.model_id}
    return data


def _said_html(mark: str, text: str) -> str:
    return f'<div class="pi-why">{escape(mark)} {escape(text)}</div>'


def _page(body: str) -> str:
    return portable(f'<div class="pi-nb {UNTYPESET}">{STYLE}{body}</div>')


def _line(shown: Shown, answer: Answer | None) -> tuple[str, str]:
    what = f"{shown.tool} {shown.title}".strip() + (f" for {shown.by}" if shown.by else "")
    if answer is None:
        return "—", f"not answered: {what}"
    if not answer.allowed:
        return "✗", f"you denied {what}{f' ({answer.reason})' if answer.reason else ''}"
    return "✓", f"you allowed {what}" + (f", and always {shown.always}" if answer.always else "")

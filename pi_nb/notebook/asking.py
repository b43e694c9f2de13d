"""Asking somebody whether a tool call may run: with buttons in the cell, else with a line to type.

The two are not offered at once. A click does free the main thread from ``input()``, but JupyterLab then leaves the
line's box in the cell, with the keyboard in it, even after the cell has ended (seen with 4.6). So buttons come first:
a page that shows them says so at once, on the way that a click would take. If none says so in time, because the page
knows no widgets or the kernel cannot hear it while a cell runs (ipykernel 6), the buttons go and the line comes. A
page that is only slow gets its buttons back then; the first answer counts.

A page that is reloaded asks the kernel for its widgets, and waits for that behind the cell that waits for the page. So
when the page that showed the buttons has gone, the cell ends and its run goes on in the background: the new page finds
the question where it was, or with ``%pi_approve``.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pi_nb.harness.threads import in_thread
from pi_nb.notebook.main_thread import ErrandInterrupted, ErrandStopped, draw_for, on_main_thread
from pi_nb.notebook.place import has_kernel, has_stdin
from pi_nb.notebook.questions import Shown, as_html, as_text, show_question
from pi_nb.notebook.receipts import Receipts
from pi_nb.notebook.tree_agent import in_tree
from pi_nb.providers.surrogates import well_formed
from pi_nb.tools.policy import Answer, Question

if TYPE_CHECKING:
    from ipywidgets import Layout

    from pi_nb.notebook.runtime import Runtime
    from pi_nb.views.ask_view import AskView

__all__ = ["Asking", "OpenQuestion", "read_answer"]

FIRST = 8.0  # seconds that a page has for its first sign of life; loading widgets may take some
KNOWN = 15.0  # once one has answered
AGAIN = 1.0  # after none did
ALONE = 60.0  # where there is no line to fall back on
LOOK = 0.25  # seconds between two looks at whether the page is still there


@dataclass(frozen=True)
class OpenQuestion:
    """A question that waits for its answer.

    Attributes:
        shown: The question.
        view: Its buttons; None where it is asked with a line.
        answer: Takes the answer, on any thread; None where it can only be typed.
    """

    shown: Shown
    view: AskView | None = None
    answer: Callable[[Answer], None] | None = None


class Asking:
    """Asks the user of one notebook, one question at a time."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._patience = FIRST
        self._receipts = Receipts(runtime.ip)
        self._layout: Layout | None = None
        self.question: OpenQuestion | None = None

    def close(self) -> None:
        """Close what the page keeps between two questions. A second call does nothing."""
        if self._layout is not None:
            self._layout.close()

    @property
    def _kept(self) -> Layout:
        """The one widget that stays open between two questions.

        JupyterLab ends a subshell when the last widget that talks there is closed. What the page said meanwhile is then
        lost with complaints of asyncio in the cell (seen with ipykernel 7.4), and the next question waits for another.
        """
        from ipywidgets import Layout

        if self._layout is None or self._layout.comm is None:  # the user may close all widgets: Widget.close_all()
            self._layout = Layout()
        return self._layout

    async def ask(self, question: Question, *, by: str = "") -> Answer | None:
        """Return what the user says to a question, or None if nobody can be asked.

        Args:
            question: What is asked.
            by: Which of several answers wants it.
        """
        ip = self._runtime.ip
        if not has_stdin(ip) and not in_tree():
            return None
        draw_for(self._runtime)  # the answer's output comes first, and says that a question is open
        shown = await in_thread(show_question, question=question, cwd=self._runtime.session.cwd, by=by)
        self.question = OpenQuestion(shown)
        try:
            if in_tree():
                return await self._ask_in_tree(shown)
            return await (self._ask_in_cell(shown) if has_kernel(ip) else self._ask_in_terminal(shown))
        finally:
            self.question = None

    def show_again(self) -> None:
        """Show the open question in the cell that runs now as well; its place is taken by the answer there, too."""
        if self.question is not None:
            view = self.question.view
            below = "Answer it with the buttons, or" if view else "It is asked elsewhere; or"
            self._receipts.show_again(*_static(self.question.shown, f"{below} {BY_MAGIC}."), view=view)

    async def _ask_in_tree(self, shown: Shown) -> Answer:
        """Wait for the tree, which shows the open question, or for ``%pi_approve``: there is no cell to ask in."""
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.question = OpenQuestion(shown, answer=lambda answer: _tell(answered, answer))
        return await answered

    async def _ask_in_terminal(self, shown: Shown) -> Answer | None:
        if self._runtime.pump is None:
            return None
        return await self._line(shown, f"\n{as_text(shown)}\n")

    async def _ask_in_cell(self, shown: Shown) -> Answer | None:
        receipts = self._receipts
        receipts.open()
        answer: Answer | None = None
        try:
            if not self._hopeless:
                answer = await self._buttons(shown)
            elif self._runtime.pump is not None:
                receipts.show(*_static(shown))
                answer = await self._line(shown)
        finally:
            receipts.add(shown, answer)
        return answer

    @property
    def _hopeless(self) -> bool:
        """True if this kernel hears no page while a cell waits."""
        return self._runtime.pump is not None and not getattr(
            self._runtime.ip.kernel, "_supports_kernel_subshells", False
        )

    # ------------------------------------------------------------ buttons

    async def _buttons(self, shown: Shown) -> Answer | None:
        """Return the answer of a page, or if none says in time that it is there, of whoever answers first."""
        from pi_nb.views.ask_view import AskView

        loop = asyncio.get_running_loop()
        ready, answered = loop.create_future(), loop.create_future()
        view = AskView(
            shown.to_wire(),
            ready=lambda: _tell(ready, True),
            answer=lambda allowed, always, reason: _tell(answered, Answer(allowed, allowed and always, reason)),
            layout=self._kept,
        )
        self.question = OpenQuestion(shown, view, lambda answer: _tell(answered, answer))
        try:
            self._receipts.show(*_static(shown), view=view)
            if await self._hears(ready, answered):
                view.tell(heard=True)
                return await self._clicked(view, answered)
            if self._runtime.pump is None:
                return None
            view.tell(mode="line")
            return await self._race(shown, view, ready, answered)
        finally:
            view.close()

    async def _hears(self, *signs: asyncio.Future[Any]) -> bool:
        """Wait for a sign of life from the page."""
        alone = self._runtime.pump is None
        await asyncio.wait(signs, timeout=ALONE if alone else self._patience, return_when=asyncio.FIRST_COMPLETED)
        heard = any(sign.done() for sign in signs)
        self._patience = KNOWN if heard else AGAIN
        return heard

    async def _clicked(self, view: AskView, answered: asyncio.Future[Any]) -> Answer:
        """Return the answer of a page; if the page goes away first, let the cell go, so that the next can be heard."""
        while not answered.done():
            await asyncio.wait([answered], timeout=LOOK)
            pump = self._runtime.pump
            if pump is not None and view.abandoned and not answered.done():
                pump.let_go()
        answer: Answer = answered.result()
        return answer

    async def _race(
        self, shown: Shown, view: AskView, ready: asyncio.Future[Any], answered: asyncio.Future[Any]
    ) -> Answer | None:
        """Return the first answer, typed or clicked; a page that comes late gets its buttons all the same."""
        line = asyncio.ensure_future(self._line(shown))
        try:
            await asyncio.wait([line, ready, answered], return_when=asyncio.FIRST_COMPLETED)
            if ready.done():
                self._patience = KNOWN
                view.tell(heard=True, mode="both")
                await asyncio.wait([line, answered], return_when=asyncio.FIRST_COMPLETED)
            answer: Answer | None = answered.result() if answered.done() else line.result()
            return answer
        finally:
            line.cancel()
            await asyncio.wait([line])

    # ------------------------------------------------------------ a line

    async def _line(self, shown: Shown, above: str = "") -> Answer | None:
        """Return what the user types, or None if nobody can; an interrupt is one of the whole run."""
        errand = on_main_thread(self._runtime, partial(read_answer, shown, above, input))
        try:
            await errand.ended().wait()
            return errand.outcome.result()
        except ErrandInterrupted:
            await self._runtime.harness.abort()
            return None
        except (NotImplementedError, ErrandStopped):  # a kernel without input() raises the first
            return None
        finally:
            errand.stop()


def _tell(future: asyncio.Future[Any], value: Any) -> None:
    """Give a future its value, unless it has one; any thread."""

    def give() -> None:
        if not future.done():
            future.set_result(value)

    with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
        future.get_loop().call_soon_threadsafe(give)


BY_MAGIC = "from a cell: %pi_approve yes, %pi_approve always, %pi_approve no WHY"


def _static(
    shown: Shown, below: str = "Answer in the line below: y (once), a (always in this session) or n."
) -> tuple[str, str]:
    return as_html(shown, below=below), f"{as_text(shown)}\n{below}" if BY_MAGIC in below else as_text(shown)


def read_answer(shown: Shown, above: str, read: Callable[[str], str]) -> Answer:
    """Ask until the answer can be understood: yes, always, or no and perhaps why."""
    if above:
        sys.stdout.write(well_formed(above))
    whose = f" for {shown.by}" if shown.by else ""
    prompt = f"Run {shown.tool}{whose}? [y]es once, [a]lways ({shown.always}), [n]o, or n and why: "
    while True:
        try:
            word, _, rest = read(well_formed(prompt)).strip().partition(" ")
        except EOFError:
            return Answer(False)
        word = word.lower().rstrip(",:;.")
        if word in ("y", "yes") and not rest:
            return Answer(True)
        if word in ("a", "always") and not rest:
            return Answer(True, always=True)
        if word in ("n", "no"):
            return Answer(False, reason=rest.strip())
        prompt = "Please answer y, a, n, or n and why: "

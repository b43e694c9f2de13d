"""``%pi_trace``: what a run went through, nested as it happens, with the line of the file that each step wrote.

::

    agent_start
      turn_start
        message_start user
          → line 2 {"type":"message","id":"9b1e77d2",…
        message_end user 9b1e77d2
        message_start assistant
          message_update x 41: text_start 1, text_delta 39, text_end 1
          → line 3 {"type":"message","id":"1f00c2aa",…
        message_end assistant 1f00c2aa
      turn_end 0 tool results
      save_point nothing waited to be written
    agent_end 2 messages
    settled
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextvars import ContextVar
from functools import singledispatchmethod
from html import escape
from typing import TYPE_CHECKING, Any

from pi_nb.harness import events
from pi_nb.notebook.caption import clean
from pi_nb.notebook.redraw import Redraw
from pi_nb.notebook.references import short
from pi_nb.views.plain import visible
from pi_nb.views.tree_rows import line_at

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.entries import Entry

__all__ = ["BranchTracing", "Trace", "Tracing", "watch"]

LONGEST = 220  # characters of a line of the file
INDENT = "  "
_STYLE = 'style="white-space: pre; overflow-x: auto; max-height: 40em"'


class Trace:
    """The lines of one run's trace; fed on the harness's thread, read on any."""

    def __init__(self, line: Callable[[int], str]) -> None:
        self._line = line  # returns the line of the log at a position
        self._lock = threading.Lock()
        self._lines: list[str] = []
        self._depth = 0
        self._pieces: Counter[str] = Counter()

    @property
    def text(self) -> str:
        """All lines so far."""
        with self._lock:
            return "\n".join([*self._lines, *self._counted()])

    def feed(self, event: events.HarnessEvent) -> None:
        """Take one event of the harness."""
        with self._lock:
            if isinstance(event, events.MessageUpdate):
                self._pieces[event.stream.type] += 1
                return
            self._flush()
            self._take(event)

    def written(self, entry: Entry, position: int) -> None:
        """Take one entry that was written."""
        with self._lock:
            self._flush()
            line = clean(visible(self._line(position), limit=LONGEST))
            self._say(f"→ line {position + 2} {line}", self._depth)

    def _say(self, text: str, depth: int) -> None:
        self._lines.append(INDENT * depth + text)

    def _flush(self) -> None:
        self._lines += self._counted()
        self._pieces.clear()

    def _counted(self) -> list[str]:
        if not self._pieces:
            return []
        kinds = ", ".join(f"{kind} {count}" for kind, count in self._pieces.items())
        return [f"{INDENT * self._depth}message_update x {self._pieces.total()}: {kinds}"]

    # ------------------------------------------------------------ one method per event that says more than its name

    @singledispatchmethod
    def _take(self, event: Any) -> None:
        self._say(event.type, self._depth)

    def _open(self, text: str, depth: int) -> None:
        self._say(text, depth)
        self._depth = depth + 1

    def _shut(self, text: str, depth: int) -> None:
        self._say(text, depth)
        self._depth = depth

    @_take.register
    def _(self, event: events.AgentStart) -> None:
        self._open(event.type, 0)

    @_take.register
    def _(self, event: events.AgentEnd) -> None:
        self._shut(f"{event.type} {len(event.messages)} messages", 0)

    @_take.register
    def _(self, event: events.TurnStart) -> None:
        self._open(event.type, 1)

    @_take.register
    def _(self, event: events.TurnEnd) -> None:
        self._shut(f"{event.type} {len(event.tool_results)} tool results", 1)

    @_take.register
    def _(self, event: events.SavePoint) -> None:
        written = "what waited was written" if event.had_pending_mutations else "nothing waited to be written"
        self._say(f"{event.type} {written}", 1)

    @_take.register
    def _(self, event: events.MessageStart) -> None:
        self._open(f"{event.type} {event.message.role}", 2)

    @_take.register
    def _(self, event: events.MessageEnd) -> None:
        reason = getattr(event.message, "stop_reason", None)
        said = f"{event.message.role} {short(event.entry_id)}" + (f" ({reason})" if reason else "")
        self._shut(f"{event.type} {said}", 2)

    @_take.register
    def _(self, event: events.ToolExecutionStart) -> None:
        args = clean(visible(str(event.args), limit=LONGEST // 2))
        self._say(f"{event.type} {clean(visible(event.tool_name))} {args}", 2)

    @_take.register
    def _(self, event: events.ToolExecutionEnd) -> None:
        self._say(f"{event.type} {clean(visible(event.tool_name))} {'failed' if event.is_error else 'done'}", 2)

    @_take.register
    def _(self, event: events.AfterProviderResponse) -> None:
        self._say(f"{event.type} HTTP {event.status}", 2)

    @_take.register
    def _(self, event: events.RetryStart) -> None:
        self._say(f"{event.type} in {event.delay:.1f} s, try {event.attempt} of {event.max_attempts}", 2)

    @_take.register
    def _(self, event: events.QueueUpdate) -> None:
        waiting = f"steer {len(event.steer)}, follow-up {len(event.follow_up)}, next {len(event.next_turn)}"
        self._say(f"{event.type} {waiting}", self._depth)

    @_take.register
    def _(self, event: events.ModelUpdate) -> None:
        self._say(f"{event.type} {event.model} ({event.source})", self._depth)


class Tracing:
    """A trace of the runs of a harness from here on, shown in the cell that began them."""

    def __init__(self, runtime: Runtime) -> None:
        session = runtime.session
        self.trace = Trace(lambda position: line_at(session, position))
        self._show = Redraw(runtime.ip)
        self._ends = (runtime.harness.subscribe(self.trace.feed), session.subscribe(self.trace.written))

    def draw(self) -> None:
        """Show what is new, if it is time."""
        self._show.draw(self._bundle)

    def close(self) -> None:
        """Listen no longer, and show the whole."""
        for end in self._ends:
            end()
        self._show.close(self._bundle())

    def _bundle(self) -> dict[str, str]:
        return _bundle({"trace": self.trace.text})


class BranchTracing:
    """Traces of runs that go on beside each other, each of them in a task of its own."""

    def __init__(self, runtime: Runtime, count: int) -> None:
        session = runtime.session
        self._traces = [Trace(lambda position: line_at(session, position)) for _ in range(count)]
        self._branch: ContextVar[int | None] = ContextVar("branch", default=None)
        self._show = Redraw(runtime.ip)
        self._end = session.subscribe(self._written)

    def enter(self, k: int) -> None:
        """Say that what this task writes from here on belongs to a branch."""
        self._branch.set(k)

    def feed(self, k: int, event: events.HarnessEvent) -> None:
        """Take one event of a branch."""
        self._traces[k].feed(event)

    def _written(self, entry: Entry, position: int) -> None:
        k = self._branch.get()
        if k is not None:
            self._traces[k].written(entry, position)

    def close(self) -> None:
        """Listen no longer, and show them all."""
        self._end()
        self._show.close(_bundle({f"trace of answer {k}": trace.text for k, trace in enumerate(self._traces, 1)}))


def _bundle(texts: dict[str, str]) -> dict[str, str]:
    """Return traces by what they are called, folded away but for one that is alone."""
    state = " open" if len(texts) == 1 else ""
    html = "".join(
        f'<details{state} class="pi-trace"><summary>{name}</summary><pre {_STYLE}>{escape(text)}</pre></details>'
        for name, text in texts.items()
    )
    plain = "\n\n".join(text if len(texts) == 1 else f"{name}\n{text}" for name, text in texts.items())
    return {"text/html": html, "text/plain": plain}


def watch(runtime: Runtime) -> Tracing | None:
    """Return a tracing of what goes on from here, if ``%pi_trace on`` was said."""
    return Tracing(runtime) if runtime.tracing else None

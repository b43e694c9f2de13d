"""The live tree of a session: one widget that grows with the log and moves the leaf when it is clicked.

The page asks, the kernel answers (custom messages, never trait changes)::

    page -> kernel   sync{epoch, have} · checkout{entry} · context{entry} · entry{entry} · label{entry, label}
                     restore{entry, undoes | redoes} · compare{entries} · focus{entry, selected}
    kernel -> page   delta{from, to, rows, leaf, labels} · ack{id, …} · nak{id, error} · live{rows} · focus{entry}

Only ``rev``, the length of the log, changes as the log grows; the page then asks for the rows it lacks, so a lost
message mends itself. Handlers run on whatever thread the kernel chooses (main, or a subshell); all they do is submit
to the owner thread, which is the only one that touches session and widget.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import os
import threading
import uuid
import weakref
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget
import traitlets
from IPython.core.getipython import get_ipython
from IPython.display import display

from pi_nb.errors import PiError, SessionError
from pi_nb.session.refs import resolve_ref
from pi_nb.views import tree_answers
from pi_nb.views.awaiting import when_done
from pi_nb.views.publisher import Publisher, Submit
from pi_nb.views.sayable import sayable
from pi_nb.views.still import NOTE, Still, pictures
from pi_nb.views.tree_agent import OPS as AGENT_OPS
from pi_nb.views.tree_agent import AgentDesk, AgentState, TreeAgent
from pi_nb.views.tree_compare import compare_answer
from pi_nb.views.tree_place import Place
from pi_nb.views.wiring import at_once, static, unroute, weakly

if TYPE_CHECKING:
    from pi_nb.session.tree import Session

__all__ = ["TreeView"]

_log = logging.getLogger(__name__)


class TreeView(anywidget.AnyWidget):
    """A session's tree in a notebook, live.

    Args:
        session: What to show.
        checkout: Called with an entry id, or None for the start of the session, when a node is clicked; returns a
            :class:`~pi_nb.session.tree.Checkout`, or something awaitable that gives one or anything with an
            ``editor_text``. Default: ``session.checkout``.
        restore: Called with an entry id, or None, and fields to write beside the move, when a checkout is taken back or
            done again: the leaf goes to just that entry. Default: ``session.move_to``.
        submit: ``submit(fn, *args)`` runs ``fn`` on the thread that owns the session. Default: the calling thread.
        agent: Prompts, steers, summarises and forks; the view has a prompt box then. Default: nobody does.

    Attributes:
        leaf_id: The entry the next prompt continues from; None before the first. Changes as the leaf moves.
        focus_id: The entry being looked at. Setting it moves the focus in the page.
        selected: Ids of the entries that were Ctrl-clicked, in that order.
        status: ``idle``, ``running`` or ``read-only``; clicks move the leaf only when idle.
        agent: How the agent stands, for the page; None without one.
        rev: Number of entries.
    """

    _esm = traitlets.Unicode(static("tree.js")).tag(sync=True)
    _css = traitlets.Unicode(static("tree.css")).tag(sync=True)
    key = traitlets.Unicode().tag(sync=True)
    epoch = traitlets.Unicode().tag(sync=True)
    rev = traitlets.Int(0).tag(sync=True)
    status = traitlets.Unicode("idle").tag(sync=True)
    agent = traitlets.Dict(None, allow_none=True).tag(sync=True)
    leaf_id = traitlets.Unicode(None, allow_none=True)
    focus_id = traitlets.Unicode(None, allow_none=True)
    selected = traitlets.List(traitlets.Unicode())

    _OPS: ClassVar[frozenset[str]] = frozenset(
        {"sync", "checkout", "restore", "context", "entry", "label", "focus", "compare"}
    )

    def __init__(
        self,
        session: Session,
        *,
        checkout: Callable[[str | None], Any] | None = None,
        restore: Callable[[str | None, Mapping[str, str]], Any] | None = None,
        submit: Submit | None = None,
        agent: TreeAgent | None = None,
    ) -> None:
        self.session = session
        self._move = checkout or session.checkout
        self._restore = restore or (lambda entry, extra: session.move_to(entry, extra=extra))
        self._submit: Submit = submit or at_once
        self._wire = threading.RLock()  # one message at a time; never held while the session is asked
        self._desk = AgentDesk(agent, session) if agent is not None else None
        self._heard = False  # the focus change under way came from the page
        self._open = True
        super().__init__(
            key=uuid.uuid4().hex,
            epoch=f"{session.id}:{os.getpid()}:{uuid.uuid4().hex[:8]}",
            rev=len(session),
            leaf_id=session.leaf_id,
            focus_id=session.leaf_id,
            status="read-only" if session.read_only else "idle",
            agent=agent.state().to_wire() if agent is not None else None,
        )
        unroute(self)
        self._publisher = Publisher(weakly(self, "_publish"), self._submit)
        self._still = Still(session, self.key, self._submit, weakly(self, "_redraw"))
        self._unsubscribe = session.subscribe(_listener(self))
        self.on_msg(_handler(self))
        self.observe(_focus_setter(self), "focus_id")

    def __repr__(self) -> str:
        return f"<TreeView of {self.session!r} {'' if self._open else 'closed '}{self.status}>"

    def __getitem__(self, ref: str) -> Place:
        """Return a place in the tree: ``view["label"].context()``. References are the magics'.

        Raises:
            UserError: Nothing, or more than one entry, goes by that name.
        """
        return Place(self.session, resolve_ref(self.session, ref))

    def to_frame(self) -> Any:
        """Return the log as a ``pandas.DataFrame``: :meth:`Session.to_frame`'s, and ``selected`` from this view.

        Raises:
            UserError: pandas is not installed.
        """
        frame = self.session.to_frame()
        return frame.assign(selected=frame["id"].isin(self.selected))

    # ------------------------------------------------------------ kernel to page

    def _publish(self) -> None:
        """Tell that the log has grown. Runs on the owner thread, at most 20 times a second."""
        if not self._open:
            return
        rev, leaf = len(self.session), self.session.leaf_id
        if self.focus_id == self.leaf_id != leaf:
            self._hear(focus_id=leaf)
        self.leaf_id = leaf
        with self._wire:
            self.rev = rev
        if self.status != "running":
            self._still.poke()

    def _redraw(self) -> None:
        """Bring the still picture up to date; what a run adds is drawn when it has ended."""
        if self._open and self.status != "running":
            self._still.redraw()

    def _hear(self, **values: Any) -> None:
        """Set traits to what the page shows already."""
        self._heard = True
        try:
            for name, value in values.items():
                setattr(self, name, value)
        finally:
            self._heard = False

    def _say(self, content: Mapping[str, Any]) -> None:
        with self._wire:
            if self._open:
                self.send(sayable(content))

    def get_state(self, *args: Any, **options: Any) -> Any:
        """Return what the page is told of the traits."""
        return sayable(super().get_state(*args, **options))

    def set_status(self, status: str) -> None:
        """Show ``idle``, ``running`` or ``read-only``. Call it on the owner thread."""
        with self._wire:
            self.status = status
        if status != "running":
            self._still.poke()

    @property
    def tree_agent(self) -> TreeAgent | None:
        """Who does what the prompt box asks for; None if nobody does."""
        return self._desk.agent if self._desk is not None else None

    def set_agent(self, state: AgentState) -> None:
        """Show how the agent stands. Call it on the owner thread."""
        with self._wire:
            if self._open:
                self.agent = state.to_wire()

    def set_live(self, row: Mapping[str, Any] | None, *, run: str = "") -> None:
        """Show an answer that is being written, or (None) say that it is complete.

        Call it on the owner thread, at most 20 times a second.

        Args:
            row: ``text`` so far; and ``parent`` (default: the leaf), ``model``, ``tokens``, ``tools``, ``calls``,
                ``note`` (shown while there is no text).
            run: Which run writes it, when there are several at once.
        """
        self.set_lives({run: row})

    def set_lives(self, rows: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Show the answers of several runs at once: as :meth:`set_live`, by run, in one message."""
        self._say({"op": "live", "rows": {run: row and tree_answers.live_row(row) for run, row in rows.items()}})

    # ------------------------------------------------------------ page to kernel

    def _answer(self, content: Mapping[str, Any]) -> None:
        """Do what the page asks and answer. Runs on the owner thread."""
        op = content.get("op")
        try:
            result = self._result(str(op), content)
            if inspect.isawaitable(result):
                when_done(result, lambda done: self._reply(content, done))
                return
        except Exception as error:  # whatever went wrong, the page is told
            self._refuse(content, error)
            return
        self._ack(content, result)

    def _result(self, op: str, content: Mapping[str, Any]) -> Any:
        if op in self._OPS:
            return getattr(self, f"_on_{op}")(content)
        if op in AGENT_OPS:
            return self._ask_agent(content)
        raise SessionError(f"The tree view does not know {op!r}.", code="unknown")

    async def _ask_agent(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """Have something done by whoever has a harness; say which line it wrote first, if it says where."""
        if self._desk is None:
            raise SessionError("There is no agent behind this view.", code="unknown", hint="%pi_tree shows one.")
        done = dict(await self._desk.do(content))
        before = done.pop("before", None)
        return done if before is None else {**done, **tree_answers.written(self.session, before)}

    def _reply(self, content: Mapping[str, Any], done: Any) -> None:
        try:
            self._ack(content, done.result())
        except (Exception, CancelledError) as error:
            self._refuse(content, error)

    def _ack(self, content: Mapping[str, Any], result: Mapping[str, Any] | None) -> None:
        if result is not None:
            self._say({"op": "ack", **result, "id": content.get("id")})

    def _refuse(self, content: Mapping[str, Any], error: BaseException) -> None:
        if not isinstance(error, PiError):
            _log.warning("tree view: %s failed", content.get("op"), exc_info=error)
        text = _sentence(error) if isinstance(error, PiError) else f"{type(error).__name__}: {error}"
        self._say({"op": "nak", "id": content.get("id"), "error": text})

    def _on_sync(self, content: Mapping[str, Any]) -> None:
        have = content.get("have")
        known = content.get("epoch") == self.epoch and isinstance(have, int) and 0 <= have <= len(self.session)
        start = have if known and isinstance(have, int) else 0
        rows = tree_answers.delta(self.session, epoch=self.epoch, start=start)
        self._say({**rows, "status": self.status})  # should the word that a run has ended be lost

    def _on_restore(self, content: Mapping[str, Any]) -> Any:
        marks = {name: content[name] for name in ("undoes", "redoes") if isinstance(content.get(name), str)}
        return self._moving(self._restore, _entry(content), marks)

    def _on_checkout(self, content: Mapping[str, Any]) -> Any:
        return self._moving(self._move, _entry(content))

    def _moving(self, move: Callable[..., Any], *args: Any) -> Any:
        if self.status != "idle":
            raise SessionError(f"The session is {self.status}; the leaf cannot be moved now.", code="unknown")
        before, previous = len(self.session), self.session.leaf_id
        result = move(*args)
        if not inspect.isawaitable(result):
            return self._moved(result, before, previous)
        return self._moved_later(result, before, previous)

    async def _moved_later(self, result: Awaitable[Any], before: int, previous: str | None) -> Mapping[str, Any]:
        return self._moved(await result, before, previous)

    def _moved(self, result: Any, before: int, previous: str | None) -> Mapping[str, Any]:
        if getattr(result, "cancelled", False):
            raise SessionError("A hook cancelled it.", code="unknown")
        self._publisher.poke()
        text = getattr(result, "editor_text", None)
        moved = {"leaf": self.session.leaf_id, "previous": previous, "editor_text": text}
        moved["changes"] = getattr(result, "changes", "")
        return {**moved, **tree_answers.written(self.session, before)}

    def _on_context(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        return tree_answers.context_answer(self.session, _entry(content))

    def _on_compare(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        named = content.get("entries")
        entries = named if isinstance(named, list) else []
        return compare_answer(self.session, [_entry({"entry": entry}) for entry in entries])

    def _on_entry(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        return tree_answers.entry_answer(self.session, _entry(content) or "")

    def _on_label(self, content: Mapping[str, Any]) -> Mapping[str, Any]:
        before = len(self.session)
        label = content.get("label")
        self.session.append_label(_entry(content) or "", label if isinstance(label, str) else None)
        return tree_answers.written(self.session, before)

    def _on_focus(self, content: Mapping[str, Any]) -> None:
        chosen = content.get("selected")
        ids = [item for item in chosen if isinstance(item, str)] if isinstance(chosen, list) else []
        self._hear(focus_id=_entry(content), selected=ids)

    # ------------------------------------------------------------ display and end

    def _ipython_display_(self, **options: Any) -> None:
        """Display the still picture of the tree and, in the output after it, the widget that takes its place."""
        self._still.show()
        ip = get_ipython()
        if ip is not None and not hasattr(ip, "kernel"):
            return  # a terminal: the picture is all that can be seen
        data, metadata = super()._repr_mimebundle_(**options) or ({}, {})
        display({**data, "text/plain": NOTE}, metadata=metadata, raw=True)

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the widget with a static picture of the tree, for front ends that show no widgets."""
        bundle = super()._repr_mimebundle_(**options)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, **pictures(self.session)}, metadata

    def leave(self) -> None:
        """End here, because the kernel does; the page is told, and keeps what it has to be looked around in."""
        self._say({"op": "bye"})
        self._end()

    def _end(self) -> None:
        self._open = False
        self._unsubscribe()
        self._publisher.close()
        self._still.close()
        self._desk = None
        self.unobserve_all()

    def close(self) -> None:
        """Close the view here and in the page; nothing of it stays alive. A second call does nothing."""
        if not self._open:
            return
        self._end()
        layout = self.layout
        super().close()
        layout.close()


# ---------------------------------------------------------------- callbacks, which hold the view only weakly


def _listener(view: TreeView) -> Callable[[Any, int], None]:
    poke = view._publisher.poke
    return lambda _entry, _position: poke()


def _handler(view: TreeView) -> Callable[[Any, Any, Any], None]:
    answer, submit = weakly(view, "_answer"), view._submit

    def handle(_widget: Any, content: Any, _buffers: Any) -> None:
        if isinstance(content, Mapping):
            with contextlib.suppress(RuntimeError):  # the owner thread has ended
                submit(answer, {name: sayable(value) for name, value in content.items()})

    return handle


def _focus_setter(view: TreeView) -> Callable[[Any], None]:
    known = weakref.ref(view)

    def tell(change: Any) -> None:
        alive = known()
        if alive is not None and not alive._heard:
            alive._say({"op": "focus", "entry": change["new"]})

    return tell


# ---------------------------------------------------------------- details


def _entry(content: Mapping[str, Any], name: str = "entry") -> str | None:
    value = content.get(name)
    return value if isinstance(value, str) and value else None


def _sentence(error: PiError) -> str:
    return f"{error} {error.hint}" if error.hint else str(error)

"""What lives as long as the extension is loaded: the owner thread, the providers, the session and its harness.

Nothing is made before it is needed. The session of a notebook is found by the path in its header's metadata, so that
after a kernel restart ``%load_ext pi_nb`` is back where it was; it is written to disk with the first prompt.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pi_nb.errors import SessionError, UserError
from pi_nb.notebook.cells import CellClock, notebook_within
from pi_nb.notebook.owner import Owner
from pi_nb.notebook.place import Place, find_place, has_stdin
from pi_nb.notebook.settings import PiMagics
from pi_nb.session.root import default_root, find_bound

if TYPE_CHECKING:
    from pi_nb.harness.agent import AgentHarness
    from pi_nb.harness.tools import Tool
    from pi_nb.notebook.approvals import Approvals
    from pi_nb.notebook.jobs import Background
    from pi_nb.notebook.live import Live
    from pi_nb.notebook.pump import Pump
    from pi_nb.notebook.reply import Reply
    from pi_nb.providers.registry import Registry
    from pi_nb.session.repo import SessionRepo
    from pi_nb.session.tree import Session
    from pi_nb.views.tree_view import TreeView

__all__ = ["Runtime"]

T = TypeVar("T")
SOON = 0.2  # seconds; by then the cell that loads the extension has ended
_VISITED = "_pi_nb_visited"  # attribute of the shell


class Runtime:
    """The state behind the magics; also the way to it from Python, as ``pi_nb.notebook.current()``.

    Attributes:
        ip: The shell.
        settings: What the user configured.
        place: Where this kernel is, and what its session is bound to.
        owner: The thread that runs the harness.
        cells: Names the cell that is running.
        reply: The last reply, or None.
        pump: What the main thread is doing while a cell's run goes on, or None; ``pump.call`` runs something there.
        background: The run that was left to itself last, or None.
        begun: True once a prompt was sent, or shown again, since the session was opened here.
        tracing: True while runs are traced.
        visited: Sessions this kernel has been in and things it was told once; survives a reload of the extension.
    """

    def __init__(self, ip: Any, settings: PiMagics, *, place: Place | None = None) -> None:
        self.ip = ip
        self.settings = settings
        self.place = place or find_place(ip)
        self.owner = Owner()
        self.cells = CellClock()
        self.reply: Reply | None = None
        self.pump: Pump | None = None
        self.background: Background | None = None
        self.begun = False
        self.tracing = False
        self.visited: set[str] = ip.__dict__.setdefault(_VISITED, set())
        self._lock = threading.RLock()
        self._registry: Registry | None = None
        self._session: Session | None = None
        self._live: Live | None = None
        self._stale = False  # what the harness was made with has changed
        settings.observe(self._on_setting)
        self._tools: dict[str, Tool] | None = None
        self._approvals: Approvals | None = None
        self._opened: tuple[str | None, int] = (None, 0)
        self._opening: threading.Timer | None = None
        self._closed = False
        atexit.register(self._leave)

    def __repr__(self) -> str:
        return f"<Runtime {self.place.kind} {self._session or 'no session yet'}>"

    # ------------------------------------------------------------ what it has

    @property
    def registry(self) -> Registry:
        """The providers."""
        with self._lock:
            if self._registry is None:
                from pi_nb.providers.registry import default_registry

                self._registry = default_registry(timeouts=self.settings.timeouts)
            return self._registry

    @registry.setter
    def registry(self, registry: Registry) -> None:
        with self._lock:
            self._registry = registry
            self._stale = True

    @property
    def root(self) -> Path:
        """The folder that session files are kept in."""
        configured = self.settings.session_root
        return Path(configured).expanduser() if configured else default_root()

    @property
    def repo(self) -> SessionRepo:
        """Where session files are kept."""
        from pi_nb.session.repo import SessionRepo

        return SessionRepo(self.root)

    @property
    def session(self) -> Session:
        """The session of this notebook; found, or made (nothing is written before the first prompt)."""
        with self._lock:
            if self._session is None:
                self._open(self.find_session() or self.new_session())
            assert self._session is not None
            return self._session

    @property
    def has_session(self) -> bool:
        """True if the session has been looked up already."""
        return self._session is not None

    @property
    def live(self) -> Live:
        """The harness of the session and what shows it."""
        with self._lock:
            session = self.session
            if self._live is None or (self._stale and not self.busy):
                from pi_nb.notebook.live import Live

                self._stale = False
                self._live = Live(self, session, before=self._live)
            return self._live

    @property
    def tools(self) -> dict[str, Tool]:
        """All tools of this notebook, by name; only those that are active are offered to a model."""
        with self._lock:
            if self._tools is None:
                from pi_nb.notebook.toolbox import standard_tools

                self._tools = standard_tools(self)
            return self._tools

    @property
    def approvals(self) -> Approvals:
        """Which tool calls may run, and who is asked."""
        with self._lock:
            if self._approvals is None:
                from pi_nb.notebook.approvals import Approvals

                self._approvals = Approvals(self)
            return self._approvals

    @property
    def harness(self) -> AgentHarness:
        """The harness of the session."""
        return self.live.harness

    @property
    def tree_view(self) -> TreeView:
        """The live tree of the session; one widget, however often it is displayed."""
        return self.live.tree_view

    def _on_setting(self, change: Any) -> None:
        if not change.name.endswith("_timeout"):
            self._stale = True
        elif self._registry is not None:
            self._registry.wait_for(self.settings.timeouts)

    # ------------------------------------------------------------ sessions

    def find_session(self) -> Session | None:
        """Open the newest session that is bound to this notebook; None if there is none.

        Raises:
            SessionError: It cannot be opened.
        """
        file = self.bound_file()
        if file is None:
            return None
        try:
            session = self.repo.open(file)
        except SessionError as error:
            from pi_nb.notebook.checks import not_opened

            raise not_opened(error, file) from error
        if session.read_only and not has_stdin(self.ip):
            session.close()  # a program inside a notebook inherits the notebook's name, not its session
            return None
        return session

    def bound_file(self) -> Path | None:
        """Return the file of this notebook's session, also of one that it had under another name."""
        if not self.place.name:
            return None
        mine = find_bound(self.root, self.place.kind, self.place.name)
        if mine or self.place.kind != "notebook":
            return mine[0] if mine else None
        from pi_nb.notebook.renamed import find_renamed

        return find_renamed(self.root, self.place.name)

    def open_soon(self) -> None:
        """Open the session on a thread of its own, so that nobody waits for it; whatever fails will fail again."""

        def open_it() -> None:
            with contextlib.suppress(Exception), self._lock:
                if not self._closed:
                    _ = self.session

        self._opening = threading.Timer(SOON, open_it)
        self._opening.daemon = True
        self._opening.start()

    def new_session(self) -> Session:
        """Return a new session, bound to this notebook; it has no file yet."""
        return self.repo.create(self.place.cwd, metadata=self.place.metadata or None)

    def use(self, session: Session) -> None:
        """Go on in another session; the one before is closed.

        Raises:
            UserError: A run is going on.
        """
        with self._lock:
            self.check_idle()
            before, self._session = self._session, None
            self._open(session)
            if before is not None and before is not session:
                before.close()

    def _open(self, session: Session) -> None:
        if session is not self._session:
            self.begun, self._opened = False, (session.leaf_id, len(session))
        live, self._live, self._session = self._live, None, session
        self.visited.add(session.id)
        if live is not None:
            live.close()

    @property
    def guest(self) -> str | None:
        """The name of this notebook where the session belongs to another one; else None."""
        if self.place.kind != "notebook":
            return None
        return notebook_within(self.session, self.place.name)

    def find(self, ref: str) -> str | None:
        """Return the id of the entry that a reference names; None for the root.

        Raises:
            UserError: It names nothing, or several entries.
        """
        from pi_nb.notebook.references import find_entry

        return find_entry(self.session, ref, notebook=self.guest)

    @property
    def is_fresh(self) -> bool:
        """True if nothing was asked, shown again or moved since the session was opened here."""
        return not self.begun and self._opened == (self.session.leaf_id, len(self.session))

    @property
    def system_prompt(self) -> str:
        """The system prompt of runs that bring none."""
        return self.harness.system_prompt

    # ------------------------------------------------------------ work

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the owner thread."""
        return self.owner.submit(work)

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the owner thread and wait for its result; an interrupt cancels it."""
        future = self.owner.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    @property
    def busy(self) -> bool:
        """True while a run goes on, or is not shown to its end yet."""
        left = self.background is not None and not self.background.done
        return left or (self._live is not None and not self._live.harness.is_idle)

    def check_idle(self) -> None:
        """Check that no run is going on.

        Raises:
            UserError: One is.
        """
        if self._approvals is not None and self._approvals.question is not None:
            raise UserError(
                "A run is still going on, and waits for an answer.",
                hint="%pi_approve shows the question; %pi_abort stops the run.",
            )
        if self.busy:
            raise UserError(
                "A run is still going on.",
                hint="%pi_steer TEXT speaks to it, %pi_followup TEXT asks next, %pi_abort stops it.",
            )

    def _leave(self) -> None:
        """The kernel ends: close everything, but leave the tree in the page, to be looked around in."""
        self.close(leaving=True)

    def close(self, *, leaving: bool = False) -> None:
        """Stop what runs, close the session and the connections, end the thread. Closing twice is closing once.

        Args:
            leaving: True if the page keeps its tree, because the kernel itself ends.
        """
        atexit.unregister(self._leave)
        if self._opening is not None:
            self._opening.cancel()
        with self._lock:
            self._closed = True
            live, self._live = self._live, None
            session, self._session = self._session, None
            registry, self._registry = self._registry, None
        if self.owner.running and not self.owner.is_current:
            with contextlib.suppress(Exception):  # what cannot be ended properly must not keep the rest from ending
                self.owner.submit(_finish(live, registry, self.background)).result(timeout=10)
        if live is not None:
            live.close(leaving=leaving)
        if self._approvals is not None and not leaving:
            self._approvals.close()
        self.owner.stop()
        if session is not None:
            session.close()


async def _finish(live: Live | None, registry: Registry | None, left: Background | None) -> None:
    if live is not None and not live.harness.is_idle:
        await live.harness.abort()
    if left is not None:
        await asyncio.to_thread(left.wait, 5)
    if registry is not None:
        await registry.aclose()

"""Whatever is done to a session in a database, by one or by several, it is what a naive model says."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from pi_nb.session.ids import new_session_id
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.sql import SqlSessionStorage
from pi_nb.session.sql_repo import SqlSessionRepo
from pi_nb.session.tree import Session
from tests.session.test_session_properties import Model, SessionMachine

SETTINGS = settings(deadline=None, max_examples=25, stateful_step_count=20, suppress_health_check=list(HealthCheck))


class SqlMachine(SessionMachine):
    """The same steps and the same model as for files, on a database."""

    repo: ClassVar[SqlSessionRepo]
    ids = SessionMachine.ids

    @initialize()
    def begin(self) -> None:
        self.disk = self.repo.create("/demo")
        self.memory = Session(InMemorySessionStorage())
        self.model = Model()
        self.heard = []
        self.disk.subscribe(lambda entry, position: self.heard.append((entry.id, position)))

    def teardown(self) -> None:
        if hasattr(self, "disk"):
            self.disk.close()

    @rule(to=ids)
    def fork(self, to: str) -> None:
        fork = self.repo.fork(self.disk, at=to)
        assert [entry.id for entry in fork.entries()] == [node.id for node in self.model.path(to)]
        self.repo.delete(fork)

    @rule()
    def reopen(self) -> None:
        self.disk.close()
        self.disk = self.repo.open(self.disk.id)
        assert self.disk.warnings == ()
        self.disk.subscribe(lambda entry, position: self.heard.append((entry.id, position)))


def test_session_of_one_writer(database_url: str) -> None:
    """Appends, moves, labels, compactions, edits, forks and reopening: log, tree and context are the model's."""

    class Bound(SqlMachine):
        repo = SqlSessionRepo(database_url)

    with Bound.repo:
        run_state_machine_as_test(Bound, settings=SETTINGS)


@dataclass
class Writer:
    """A writer, in the model: what it has seen of the log, and where it is."""

    session: Session
    seen: int = 0
    leaf: str | None = None
    heard: list[tuple[str, int]] = field(default_factory=list)

    def listen(self) -> None:
        """Hear what is appended from now on."""
        self.heard = []
        self.session.subscribe(lambda entry, position: self.heard.append((entry.id, position)))


class Writers(RuleBasedStateMachine):
    """Several writers of one session. The log is a list of (id, parent, leaf after it)."""

    repo: ClassVar[SqlSessionRepo]
    numbers = st.integers(0, 2)

    @initialize()
    def begin(self) -> None:
        self.id = new_session_id()
        self.log: list[tuple[str, str | None, str | None]] = []
        self.repo.create("/", id=self.id)
        self.writers = [Writer(self._open()) for _ in range(3)]
        for writer in self.writers:
            writer.listen()

    def _open(self) -> Session:
        return self.repo.open(self.id)

    def teardown(self) -> None:
        for writer in getattr(self, "writers", ()):
            writer.session.close()

    def _wrote(self, writer: Writer, entry_id: str, leaf: str | None) -> None:
        self.log.append((entry_id, writer.leaf, leaf))
        writer.seen, writer.leaf = len(self.log), leaf

    @rule(number=numbers)
    def say(self, number: int) -> None:
        writer = self.writers[number]
        entry_id = writer.session.append_message({"role": "user", "content": "x"})
        self._wrote(writer, entry_id, entry_id)

    @rule(number=numbers, data=st.data())
    def move(self, number: int, data: st.DataObject) -> None:
        writer = self.writers[number]
        to = data.draw(st.sampled_from([None, *(entry_id for entry_id, _, _ in self.log[: writer.seen])]))
        entry_id = writer.session.move_to(to)
        assert (entry_id is None) == (to == writer.leaf)
        if entry_id is not None:
            self._wrote(writer, entry_id, to)

    @rule(number=numbers)
    def refresh(self, number: int) -> None:
        writer = self.writers[number]
        assert writer.session.refresh() == len(self.log) - writer.seen
        writer.seen = len(self.log)

    @rule(number=numbers)
    def follow(self, number: int) -> None:
        writer = self.writers[number]
        storage = writer.session.storage
        assert isinstance(storage, SqlSessionStorage)
        storage.follow()
        writer.session.refresh()
        writer.seen, writer.leaf = len(self.log), self.log[-1][2] if self.log else None

    @rule(number=numbers)
    def reopen(self, number: int) -> None:
        self.writers[number].session.close()
        self.writers[number] = writer = Writer(self._open())
        writer.seen, writer.leaf = len(self.log), self.log[-1][2] if self.log else None
        writer.listen()

    @invariant()
    def agrees(self) -> None:
        for writer in getattr(self, "writers", ()):
            session = writer.session
            assert session.leaf_id == writer.leaf
            known = self.log[: writer.seen]
            assert [(entry.id, entry.parent_id) for entry in session.entries()] == [entry[:2] for entry in known]
            parents = {entry_id: parent for entry_id, parent, _ in known}
            path, at = [], writer.leaf
            while at is not None:
                path.insert(0, at)
                at = parents[at]
            assert [entry.id for entry in session.path()] == path
            assert len(session.context().items) == len([entry for entry in session.path() if entry.type == "message"])
            first = len(known) - len(writer.heard)
            assert writer.heard == [(entry[0], place) for place, entry in enumerate(known) if place >= first]


def test_session_of_several_writers(database_url: str) -> None:
    """Each writer sees a beginning of the one log, and is where its own steps put it."""

    class Bound(Writers):
        repo = SqlSessionRepo(database_url)

    with Bound.repo:
        run_state_machine_as_test(Bound, settings=SETTINGS)

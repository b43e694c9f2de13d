"""Whatever is done to a session, it is what a naive model says, before and after it is opened again."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)

from pi_nb.errors import SessionError
from pi_nb.messages import AssistantMessage, TextContent, UserMessage, text_of
from pi_nb.session.context import project, provenance, reduce_state
from pi_nb.session.entries import MessageEntry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session

TEXT = st.text(st.characters(codec=None), max_size=12)


@dataclass
class Node:
    """An entry, in the model: everything is found by looking through the list."""

    id: str
    parent: str | None
    kind: str
    text: str = ""
    target: str | None = None
    kept: str | None = None


@dataclass
class Model:
    """A session as simple as can be: a list, and functions that look through all of it."""

    log: list[Node] = field(default_factory=list)

    def node(self, id: str) -> Node:
        return next(node for node in reversed(self.log) if node.id == id)

    def leaf(self) -> str | None:
        if not self.log:
            return None
        return self.log[-1].target if self.log[-1].kind == "leaf" else self.log[-1].id

    def path(self, id: str | None) -> list[Node]:
        found: list[Node] = []
        while id is not None:
            found.insert(0, self.node(id))
            id = found[0].parent
        return found

    def context(self, id: str | None) -> list[str]:
        path = self.path(id)
        places = [place for place, node in enumerate(path) if node.kind == "compaction"]
        if places:
            last = path[places[-1]]
            before, after = path[: places[-1]], path[places[-1] + 1 :]
            kept_at = [place for place, node in enumerate(before) if node.id == last.kept]
            kept = before[kept_at[0] :] if kept_at else []
            path = [last, *(node for node in kept if node.kind != "compaction"), *after]
        edits = {node.target: node for node in self.path(id) if node.kind == "edit"}
        said = [node for node in path if node.kind in ("user", "assistant", "compaction")]
        seen = [(node, edits.get(node.id)) for node in said]
        return [
            edit.text if edit and node.kind != "compaction" else node.text
            for node, edit in seen
            if not (edit and edit.text == "")
        ]

    def level(self, id: str | None) -> str:
        levels = [node.text for node in self.path(id) if node.kind == "level"]
        return levels[-1] if levels else "off"

    def labels(self) -> dict[str | None, str]:
        found: dict[str | None, str] = {}
        for node in self.log:
            if node.kind == "label":
                found.pop(node.target, None)
                if node.text:
                    found[node.target] = node.text
        return found

    def children(self, id: str | None) -> list[str]:
        return [
            node.id
            for node in self.log
            if node.parent == id and (node.kind != "leaf" or any(other.parent == node.id for other in self.log))
        ]

    def tips(self) -> list[str]:
        parents = {node.parent for node in self.log if node.kind != "leaf"}
        return [node.id for node in self.log if node.kind != "leaf" and node.id not in parents]


class SessionMachine(RuleBasedStateMachine):
    """The same steps on a session in memory, one in a file, and the model."""

    ids = Bundle("ids")

    @initialize()
    def begin(self) -> None:
        self.place = tempfile.TemporaryDirectory()
        self.repo = SessionRepo(Path(self.place.name))
        self.disk = self.repo.create("/demo", id="disk")
        self.memory = Session(InMemorySessionStorage())
        self.model = Model()
        self.heard: list[tuple[str, int]] = []
        self.disk.subscribe(lambda entry, position: self.heard.append((entry.id, position)))

    def teardown(self) -> None:
        if hasattr(self, "disk"):
            self.disk.close()
            self.place.cleanup()

    def _copy(self, node: Node) -> str:
        """Take the disk's new entry into memory, and the model's view of it into the model."""
        self.memory.storage.append(self.disk.entry(node.id))
        self.model.log.append(node)
        return node.id

    @rule(target=ids, text=TEXT, answer=st.booleans())
    def say(self, text: str, answer: bool) -> str:
        content = (TextContent(text=text),)
        message = (
            AssistantMessage(content=content, provider="p", model=text[:3]) if answer else UserMessage(content=content)
        )
        parent = self.model.leaf()
        return self._copy(Node(self.disk.append_message(message), parent, "assistant" if answer else "user", text))

    @rule(target=ids, level=st.sampled_from(["low", "high"]))
    def think(self, level: str) -> str:
        parent = self.model.leaf()
        return self._copy(Node(self.disk.append_thinking_level_change(level), parent, "level", level))

    @rule(target=ids, kept=ids, parent=ids)
    def compact(self, kept: str, parent: str) -> str:
        id = self.disk.append_compaction("S", kept, 1, parent=parent)
        return self._copy(Node(id, parent, "compaction", "S", kept=kept))

    @rule(target=ids, labelled=ids, text=st.sampled_from(["a", "b", " ", ""]))
    def label(self, labelled: str, text: str) -> str:
        parent = self.model.leaf()
        return self._copy(Node(self.disk.append_label(labelled, text), parent, "label", text.strip(), target=labelled))

    @rule(target=ids, edited=ids, text=st.sampled_from(["", "other"]))
    def edit(self, edited: str, text: str) -> object:
        leaf = self.model.leaf()
        if edited not in [node.id for node in self.model.path(leaf)]:
            return multiple()
        id = self.disk.append_context_edit(edited, text or None)
        return self._copy(Node(id, leaf, "edit", text, target=edited))

    @rule(target=ids, to=ids)
    def move(self, to: str) -> object:
        before = self.model.leaf()
        id = self.disk.move_to(to)
        if before == to:
            assert id is None
            return multiple()
        return self._copy(Node(str(id), before, "leaf", target=to))

    @precondition(lambda self: self.model.leaf() is not None)
    @rule(target=ids)
    def move_to_root(self) -> str:
        before = self.model.leaf()
        return self._copy(Node(str(self.disk.move_to(None)), before, "leaf", target=None))

    @rule(to=consumes(ids))
    def look(self, to: str) -> None:
        """Ask for the context of some entry, which must not change what is asked next."""
        self._same_context(self.disk, to)

    @rule(to=ids)
    def fork(self, to: str) -> None:
        with self.repo.fork(self.disk, at=to) as fork:
            assert [e.id for e in fork.entries()] == [node.id for node in self.model.path(to)]
            if fork.file is not None and fork.file.exists():
                self.repo.delete(fork)

    @rule()
    def reopen(self) -> None:
        if self.disk.file is None or not self.disk.file.exists():
            return
        self.disk.close()
        self.disk = self.repo.open("disk")
        assert self.disk.warnings == ()
        self.disk.subscribe(lambda entry, position: self.heard.append((entry.id, position)))

    def _same_context(self, session: Session, id: str | None) -> None:
        context = session.context(id)
        shown = [getattr(m, "summary", "") or text_of(getattr(m, "content", "")) for m in context.messages]
        assert shown == self.model.context(id)
        path = session.path(id)
        assert list(context.items) == list(project(path))
        assert context.thinking_level == self.model.level(id) == reduce_state(path).thinking_level
        assert context.model == reduce_state(path).model
        assert provenance(path).keys() == {node.id for node in self.model.path(id)}

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "disk"):
            return
        leaf = self.model.leaf()
        for session in (self.disk, self.memory):
            assert session.leaf_id == leaf
            assert [e.id for e in session.entries()] == [node.id for node in self.model.log]
            assert [e.id for e in session.path()] == [node.id for node in self.model.path(leaf)]
            assert dict(session.labels) == self.model.labels()
            assert session.branches() == self.model.tips()
            assert session.roots() == self.model.children(None)
            if leaf is not None:
                assert session.children(leaf) == self.model.children(leaf)
            self._same_context(session, leaf)
        assert list(self.disk.entries()) == list(self.memory.entries())
        assert [id for id, _ in self.heard] == [node.id for node in self.model.log]
        assert [place for _, place in self.heard] == list(range(len(self.model.log)))


TestSessionMachine = SessionMachine.TestCase
TestSessionMachine.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)


class WildTree(RuleBasedStateMachine):
    """Entries with any parents: missing, later, their own, in circles. Nothing hangs, and what is sound works."""

    @initialize()
    def begin(self) -> None:
        self.session = Session(InMemorySessionStorage())
        self.parents: dict[str, str | None] = {}

    @rule(id=st.sampled_from("abcdef"), parent=st.sampled_from([None, *"abcdefgh"]))
    def add(self, id: str, parent: str | None) -> None:
        said = UserMessage(content=id)
        self.session.storage.append(MessageEntry(id=id, parent_id=parent, timestamp="t", message=said))
        self.parents[id] = parent

    @invariant()
    def walks_or_refuses(self) -> None:
        if not hasattr(self, "session"):
            return
        for id in self.parents:
            wanted = self._walk(id)
            for walk in (self.session.path, self.session.context):
                if wanted is None:
                    with pytest.raises(SessionError) as caught:
                        walk(id)
                    assert caught.value.code == "invalid_session"
                else:
                    found = walk(id)
                    assert len(found if walk == self.session.path else found.items) == len(wanted)
        self.session.branches()
        known = [id for parent in {None, *self.parents.values()} for id in self.session.children(parent)]
        assert sorted(known) == sorted(self.parents)

    def _walk(self, id: str | None) -> list[str] | None:
        found: list[str] = []
        while id is not None:
            if id in found or id not in self.parents:
                return None
            found.append(id)
            id = self.parents[id]
        return found


TestWildTree = WildTree.TestCase
TestWildTree.settings = settings(max_examples=100, stateful_step_count=20, deadline=None)

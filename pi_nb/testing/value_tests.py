"""What entries hold: every kind, every text, and what is from a newer version."""

from __future__ import annotations

from typing import Any

import pytest

from pi_nb.session import lines
from pi_nb.session.entries import Entry, Header
from pi_nb.session.storage import IndexedStorage
from pi_nb.session.tree import Session
from pi_nb.testing.subject import STAMP, StorageSubject, entry, say, written

__all__ = ["ValueTests"]

USAGE = {"input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 7, "cost": {"total": 0.25}}
ANSWER = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"},
        {"type": "text", "text": "hello"},
        {"type": "toolCall", "id": "t", "name": "ls", "arguments": {"deep": [{"a": None}]}},
        {"type": "hologram", "data": [1, 2, None]},
    ],
    "api": "x",
    "provider": "lab",
    "model": "mouse",
    "usage": USAGE,
    "stopReason": "toolUse",
    "timestamp": 2,
}
KINDS: dict[str, dict[str, Any]] = {
    "user": {"type": "message", "message": {"role": "user", "content": "hello", "timestamp": 1}},
    "assistant": {"type": "message", "message": ANSWER},
    "tool result": {"type": "message", "message": {"role": "toolResult", "toolCallId": "t", "content": "a\nb"}},
    "unknown role": {"type": "message", "message": {"role": "oracle", "content": {"says": None}}},
    "no message": {"type": "message"},
    "model": {"type": "model_change", "provider": "lab", "modelId": "mouse"},
    "thinking": {"type": "thinking_level_change", "thinkingLevel": "high"},
    "tools": {"type": "active_tools_change", "activeToolNames": []},
    "compaction": {
        "type": "compaction",
        "summary": "",
        "firstKeptEntryId": "0",
        "tokensBefore": 12.5,
        "details": {"readFiles": []},
        "fromHook": True,
        "usage": USAGE,
    },
    "branch summary": {"type": "branch_summary", "fromId": "0", "summary": "tried a bathtub", "details": None},
    "custom": {"type": "custom", "customType": "x", "data": {"null": None, "list": [[], {}]}},
    "custom message": {"type": "custom_message", "customType": "x", "content": "look", "display": False},
    "label": {"type": "label", "targetId": "0", "label": "start"},
    "label taken away": {"type": "label", "targetId": "0", "label": None},
    "name": {"type": "session_info", "name": "boat"},
    "leaf": {"type": "leaf", "targetId": "0"},
    "leaf at the root": {"type": "leaf", "targetId": None},
    "edit": {"type": "context_edit", "targetId": "0", "replacement": {"content": "other"}},
    "omission": {"type": "context_edit", "targetId": "0", "replacement": None},
    "usage": {"type": "usage", "kind": "title", "provider": "lab", "model": "mouse", "usage": USAGE},
    "unknown kind": {"type": "from_the_future", "sub": {"deep": [None, 1.5, "x"]}, "targetId": 7},
    "wrong shape": {"type": "label", "targetId": 7, "label": [1]},
    "empty kind": {"type": ""},
}
TEXTS = {
    "empty": "",
    "nul": "a\0b",
    "control": "\x01\x1b[31m\x7f\x9b",
    "line ends": "one\ntwo\r\nthree\rfour\x85five\u2028six\u2029seven\x0b\x0c",
    "lone surrogates": "\ud800 and \udfff",
    "astral": "😀 \U0010ffff",
    "combining": "e\u0301 \u00e9",
    "byte order mark": "\ufefftext\ufeff",
    "quotes": "\"'\\\\n\\u0000 %s {0} $1 :name ?",
    "not a character": "\ufffe\uffff\ufffd",
    "right to left": "\u202egnp.exe\u202c",
    "blanks": "  \t ",
}


class ValueTests(StorageSubject):
    """What of the contract concerns that which entries hold."""

    def check_kept(self, storage: IndexedStorage, item: Entry) -> IndexedStorage:
        """Assert that an entry comes back as it was appended, at once and later; return the storage of later."""
        storage.append(say("0"))
        storage.append(item)
        for found in (storage, self.again(storage)):
            assert written(found.entries(1)) == written([item])
            assert found.get(item.id) == found.entries()[1]
        return found

    @pytest.mark.parametrize("kind", KINDS)
    def test_kind(self, storage: IndexedStorage, kind: str) -> None:
        """Every kind of entry is kept with all its fields, unknown kinds and shapes too."""
        self.check_kept(storage, entry("1", "0", **KINDS[kind]))

    @pytest.mark.parametrize("kind", KINDS)
    def test_unknown_fields(self, storage: IndexedStorage, kind: str) -> None:
        """Fields this version does not know are kept, nulls and empty values too."""
        unknown: dict[str, Any] = {
            "x": None,
            "anotherField": {"deep": [{}, None]},
            "snake_case": "",
            "": 0,
            "line": "{}",
            "position": 9,
        }
        self.check_kept(storage, entry("1", "0", **KINDS[kind], **unknown))

    @pytest.mark.parametrize("name", TEXTS)
    def test_text(self, storage: IndexedStorage, name: str) -> None:
        """Any text is kept to the character, as content, as key, as custom type, as timestamp."""
        text = TEXTS[name]
        self.check_kept(
            storage, entry("1", "0", "custom", customType=text, data={text: [text]}, **{f"x{text}": {text: text}})
        )

    @pytest.mark.parametrize("name", [name for name in TEXTS if name != "empty"])
    def test_text_as_id(self, storage: IndexedStorage, name: str) -> None:
        """An id is any text that is not empty, and so is a kind."""
        id, other = TEXTS[name], f"{TEXTS[name]}2"
        items = [say(id), entry(other, id, f"kind {id}"), entry("l", other, "leaf", targetId=id)]
        for item in items:
            storage.append(item)
        for found in (storage, self.again(storage)):
            assert written(found.path(other)) == written(items[:2])
            assert (found.children(None), found.children(id), found.leaf_id) == ([id], [other], id)

    @pytest.mark.parametrize("name", TEXTS)
    def test_text_of_the_whole_session(self, storage: IndexedStorage, name: str) -> None:
        """Any text can be a message, and be in labels and names."""
        text = TEXTS[name]
        session = Session(storage)
        said = session.append_message({"role": "user", "content": text, "timestamp": 1})
        session.append_label(said, f"a{text}b")
        session.append_session_info(f"a{text}b")
        found = self.again(storage)
        self.check_same(storage, found)
        assert Session(found).context() == session.context()

    @pytest.mark.parametrize("name", TEXTS)
    def test_header(self, name: str, tmp_path: Any) -> None:
        """The header is kept with all its fields, unknown ones too."""
        text = TEXTS[name]
        fields = {"type": "session", "version": 3, "id": "a-1", "timestamp": STAMP, "cwd": text, "more": {"x": None}}
        header = Header.model_validate({**fields, "parentSession": text, "metadata": {text: [text, None]}})
        self._open = []
        storage = self._care_for(self.create(header, tmp_path))
        try:
            storage.append(say("1"))
            assert lines.encode(self.again(storage).header) == lines.encode(header)
        finally:
            self._close_all()

    @pytest.mark.parametrize("number", [0, -1, 2**53 + 1, -(2**63), 0.1, -0.0, 1e300, 5e-324, True], ids=repr)
    def test_number(self, storage: IndexedStorage, number: float) -> None:
        """Numbers come back as they were, and of the type they were."""
        self.check_kept(storage, entry("1", "0", "custom", customType="x", data=number))

    def test_big_entry(self, storage: IndexedStorage) -> None:
        """An entry of ten megabytes is an entry like any other, and so is the one after it."""
        found = self.check_kept(storage, say("1", "0", "Ab é\n" * 2_000_000))
        found.append(say("2", "1"))
        assert [item.id for item in found.path("2")] == ["0", "1", "2"]

    def test_deep_entry(self, storage: IndexedStorage) -> None:
        """Data nested by the thousand is kept; nothing recurses."""
        data: Any = None
        for _ in range(3000):
            data = {"a": [data]}
        storage.append(say("0"))
        storage.append(entry("1", "0", "custom", customType="x", data=data))
        storage.append(say("2", "1"))
        for found in (storage, self.again(storage)):
            assert lines.encode(found.entries()[1]) == lines.encode(
                entry("1", "0", "custom", customType="x", data=data)
            )
            assert len(found.path("2")) == 3

    def test_nothing_is_rewritten(self, storage: IndexedStorage) -> None:
        """What is kept is the entries' JSON and nothing else, seen by another way than the storage itself."""
        items = [say("0"), *(entry(f"e{place}", "0", **fields) for place, fields in enumerate(KINDS.values()))]
        for item in items:
            storage.append(item)
        kept = self.kept(storage)
        if kept is None:
            pytest.skip("there is no other way to see what is kept")
        assert [lines.encode(dict(fields)) for fields in kept] == written(items)

"""Opening files: what is sound is read, what is not is refused by name, and no byte is changed."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import SessionError
from pi_nb.messages import text_of
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.loading import load
from pi_nb.session.tree import Session

from .conftest import HEADER, entry, line, said

Maker = Callable[..., Path]
Opener = Callable[..., Session]
ONE, TWO = said("aaaa0001", None, "one"), said("aaaa0002", "aaaa0001", "two", "assistant")


def texts(session: Session) -> list[str]:
    return [text_of(message.content) for message in session.context().messages]


def refused(file: Path) -> SessionError:
    """Return the error with which a file is refused, having seen that it and its folder stay as they were."""
    before = {path: path.read_bytes() for path in file.parent.iterdir()}
    with pytest.raises(SessionError) as caught:
        JsonlSessionStorage.open(file)
    assert {path: path.read_bytes() for path in file.parent.iterdir()} == before
    assert caught.value.path == str(file)
    return caught.value


# ---------------------------------------------------------------- what is no session


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n\r\n\t",
        b"\0\0\0\0",
        b"\xef\xbb\xbf",
        b"hello\n",
        b"[]\n",
        b"null\n",
        b'{"type":"title"}\n' + line(HEADER),
        line(ONE),
        line(HEADER)[:40],
        b"\x89PNG\r\n\x1a\n\0\0",
    ],
    ids=["empty", "blank", "nul", "bom", "text", "list", "null", "header-second", "no-header", "torn-header", "binary"],
)
def test_what_is_no_session_is_refused(make_file: Maker, content: bytes) -> None:
    """Empty, blank and unrelated files are ``invalid_session`` and stay untouched."""
    assert refused(make_file(content, header=None)).code == "invalid_session"


@pytest.mark.parametrize(
    "change",
    [
        {"id": ""},
        {"id": None},
        {"id": 7},
        {"version": 4},
        {"version": "3"},
        {"version": 0},
        {"version": True},
        {"version": None},
        {"timestamp": 5},
        {"cwd": ["/"]},
        {"parentSession": {}},
        {"metadata": []},
        {"metadata": "x"},
    ],
)
def test_headers_with_wrong_fields_are_refused(make_file: Maker, change: dict[str, Any]) -> None:
    """A header of a newer version, or with a field of a wrong type, is ``invalid_session``."""
    error = refused(make_file(ONE, header={**HEADER, **change}))
    assert (error.code, error.line) == ("invalid_session", 1)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"cwd": None}, "cwd"),
        ({"cwd": ""}, "cwd"),
        ({"timestamp": None}, "timestamp"),
        ({"parentSession": None}, "parentSession"),
        ({"metadata": None}, "metadata"),
    ],
)
def test_headers_that_lack_something_open_with_a_warning(opened: Opener, change: dict[str, Any], word: str) -> None:
    """What other programs leave out or write as null is worth a warning, not an error."""
    session = opened(ONE, header={**HEADER, **change})
    assert [warning for warning in session.warnings if word in warning]
    assert texts(session) == ["one"]


def test_a_missing_file_is_not_found(tmp_path: Path) -> None:
    """Opening a file that is not there says so, and makes none."""
    with pytest.raises(SessionError) as caught:
        JsonlSessionStorage.open(tmp_path / "none.jsonl")
    assert caught.value.code == "not_found"
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_session(tmp_path: Path) -> None:
    """What cannot be read as a file is a storage error."""
    with pytest.raises(SessionError) as caught:
        load(tmp_path)
    assert caught.value.code == "storage"


# ---------------------------------------------------------------- bad lines

BAD = {
    "cut": (b'{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timesta\n', "not JSON"),
    "glued": (line(TWO)[:60] + line(TWO), "not JSON"),
    "newline-in-string": (b'{"type":"custom","id":"x","parentId":null,"timestamp":"t","customType":"a\n', "not JSON"),
    "number": (b"42\n", "not a JSON object"),
    "list": (b"[1]\n", "not a JSON object"),
    "null": (b"null\n", "not a JSON object"),
    "nan": (b'{"type":"custom","id":"x","parentId":null,"timestamp":"t","data":NaN}\n', "not JSON"),
    "infinity": (b'{"type":"custom","id":"x","parentId":null,"timestamp":"t","data":-Infinity}\n', "not JSON"),
    "nul": (b"\0\0\0\0\n", "NUL"),
    "no-type": (line({"id": "x", "parentId": None, "timestamp": "t"}), "type"),
    "type-number": (line(entry("message", "x", None) | {"type": 5}), "type"),
    "no-id": (line({"type": "custom", "parentId": None, "timestamp": "t"}), "id"),
    "empty-id": (line(entry("custom", "", None)), "id"),
    "id-number": (line(entry("custom", "x", None) | {"id": 5}), "id"),
    "no-parent": (line({"type": "custom", "id": "x", "timestamp": "t"}), "parentId"),
    "parent-number": (line(entry("custom", "x", None) | {"parentId": 5}), "parentId"),
    "no-timestamp": (line({"type": "custom", "id": "x", "parentId": None}), "timestamp"),
    "empty-timestamp": (line(entry("custom", "x", None) | {"timestamp": ""}), "timestamp"),
    "leaf-no-target": (line(entry("leaf", "x", None)), "targetId"),
    "leaf-target-number": (line(entry("leaf", "x", None, targetId=5)), "targetId"),
    "second-header": (line(HEADER), "parentId"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_refused_by_number(make_file: Maker, name: str) -> None:
    """A strict opening names file and line, whatever is bad about it, and says what can be done."""
    bad, word = BAD[name]
    error = refused(make_file(ONE, b"\n", bad, TWO))
    assert (error.code, error.line) == ("invalid_entry", 4)
    assert word in str(error)
    assert "repair" in error.hint


@pytest.mark.parametrize("name", BAD)
def test_repair_leaves_a_bad_line_out(make_file: Maker, name: str) -> None:
    """Repair reports the line, keeps the file as it was beside it, and from then on it opens strictly."""
    bad, _ = BAD[name]
    file = make_file(ONE, b"\n", bad, TWO)
    original = file.read_bytes()
    with Session(JsonlSessionStorage.open(file, repair=True)) as session:
        assert texts(session) == ["one", "two"]
        assert any("Line 4" in warning for warning in session.warnings)
        assert any("s.jsonl.bak" in warning for warning in session.warnings)
        session.append_message({"role": "user", "content": "three"})
    assert file.with_name("s.jsonl.bak").read_bytes() == original
    with Session(JsonlSessionStorage.open(file)) as session:
        assert texts(session) == ["one", "two", "three"]
        assert session.warnings == ()
    assert file.read_bytes().startswith(line(HEADER) + line(ONE) + line(TWO))


def test_repair_never_overwrites_a_backup(make_file: Maker) -> None:
    """A second repair keeps the first one's backup."""
    for _ in range(2):
        file = make_file(ONE, b"junk\n")
        JsonlSessionStorage.open(file, repair=True).close()
    names = sorted(path.name for path in file.parent.iterdir())
    assert names == ["s.jsonl", "s.jsonl.bak", "s.jsonl.bak.1"]


@pytest.mark.skipif(os.name == "nt", reason="there are no such permissions here")
def test_a_private_session_stays_private(make_file: Maker) -> None:
    """Repaired, and its former bytes and torn end kept beside it, it can be read by nobody else than before."""
    file = make_file(ONE, b"junk\n", TWO, b'{"torn')
    file.chmod(0o600)
    with Session(JsonlSessionStorage.open(file, repair=True)):
        pass
    with file.open("ab") as stream:
        stream.write(b'{"torn')
    with Session(JsonlSessionStorage.open(file)) as session:
        session.append_message({"role": "user", "content": "x"})
    assert {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir()} == {
        "s.jsonl": 0o600,
        "s.jsonl.bak": 0o600,
        "s.jsonl.torn": 0o600,
    }


def test_repair_of_a_sound_file_changes_nothing(make_file: Maker) -> None:
    """Where nothing is bad there is no backup and no new file."""
    file = make_file(ONE, TWO)
    before = (file.read_bytes(), file.stat().st_ino)
    JsonlSessionStorage.open(file, repair=True).close()
    assert (file.read_bytes(), file.stat().st_ino) == before
    assert list(file.parent.iterdir()) == [file]


# ---------------------------------------------------------------- orphans, cycles, ids used twice

LOST = said("aaaa0004", "gone", "four")
CHILD = said("aaaa0005", "aaaa0004", "five")


def test_an_orphan_breaks_only_its_own_path(opened: Opener) -> None:
    """The file opens; walking that path is an error with a hint, other branches work, everything can be shown."""
    session = opened(ONE, TWO, LOST, CHILD)
    for call in (session.path, session.context):
        with pytest.raises(SessionError) as caught:
            call()
        assert caught.value.code == "invalid_session"
        assert "gone" in str(caught.value)
        assert caught.value.hint
    assert [e.id for e in session.path("aaaa0002")] == ["aaaa0001", "aaaa0002"]
    assert any("gone" in warning for warning in session.warnings)
    assert session.roots() == ["aaaa0001", "aaaa0004"]
    assert session.children("aaaa0004") == ["aaaa0005"]
    assert session.branches() == ["aaaa0002", "aaaa0005"]
    assert len(session.entries()) == 4
    assert repr(session) == "<Session s-1 entries=4 leaf=aaaa0005 branches=2>"


def test_in_repair_an_orphan_is_a_root(opened: Opener) -> None:
    """Repair cuts the path where its parent is missing, and says so."""
    session = opened(ONE, TWO, LOST, CHILD, repair=True)
    assert texts(session) == ["four", "five"]
    assert any("gone" in warning for warning in session.warnings)
    session.append_message({"role": "user", "content": "six"})
    assert texts(session) == ["four", "five", "six"]


@pytest.mark.parametrize("repair", [False, True])
@pytest.mark.parametrize(
    "entries",
    [
        [said("a", "b"), said("b", "a")],
        [said("a", "a")],
        [said("a", None), said("b", "a"), said("a", "b")],
        [said("a", "c"), said("b", "a"), said("c", "b"), said("d", "b")],
    ],
    ids=["two", "self", "through-a-second-id", "tail"],
)
def test_a_cycle_is_an_error_at_once(opened: Opener, entries: list[Any], repair: bool) -> None:
    """No walk goes round for ever; the rest of the session still answers."""
    session = opened(*entries, repair=repair)
    for call in (session.path, session.context):
        with pytest.raises(SessionError, match="circles") as caught:
            call()
        assert caught.value.code == "invalid_session"
    assert session.leaf_id == entries[-1]["id"]
    assert len(session.entries()) == len(entries)
    session.branches()
    session.roots()


def test_of_two_entries_with_one_id_the_last_counts(opened: Opener) -> None:
    """Both stay in the log; look-ups and paths use the last, and the file says so in a warning."""
    session = opened(ONE, TWO, said("aaaa0001", None, "one again"), said("aaaa0003", "aaaa0002", "three"))
    assert len(session.entries()) == 4
    assert texts(session) == ["one again", "two", "three"]
    assert session.children("aaaa0001") == ["aaaa0002"]
    assert any("more than once" in warning or "used before" in warning for warning in session.warnings)


def test_a_child_may_come_before_its_parent(opened: Opener) -> None:
    """The order of lines does not matter to the tree, and the last line is the leaf."""
    session = opened(TWO, ONE)
    assert session.leaf_id == "aaaa0001"
    assert [e.id for e in session.path("aaaa0002")] == ["aaaa0001", "aaaa0002"]
    assert session.roots() == ["aaaa0001"]


def test_an_empty_parent_is_a_root(opened: Opener) -> None:
    """An empty string is no id, so it names no parent."""
    session = opened(said("a", ""))
    assert texts(session) == ["a"]
    assert session.roots() == ["a"]


def test_a_leaf_that_is_not_there(opened: Opener) -> None:
    """An unknown leaf matters while it is the leaf: nothing can be appended there, but one can go elsewhere."""
    session = opened(ONE, entry("leaf", "l1", "aaaa0001", targetId="gone"))
    assert session.leaf_id == "gone"
    for call in (session.path, session.context, lambda: session.append_message({"role": "user", "content": "x"})):
        with pytest.raises(SessionError) as caught:
            call()
        assert caught.value.code == "invalid_session"
    assert session.move_to("aaaa0001")
    session.append_message({"role": "user", "content": "x"})
    assert texts(session) == ["one", "x"]


def test_a_leaf_that_is_not_there_any_more_does_not_matter(opened: Opener) -> None:
    """An entry after a dangling move makes it history."""
    assert texts(opened(ONE, entry("leaf", "l1", "aaaa0001", targetId="gone"), TWO)) == ["one", "two"]


def test_a_message_entry_without_a_message(opened: Opener) -> None:
    """It opens and can be shown; a context that needs it is an ``invalid_entry``."""
    session = opened(entry("message", "a", None), said("b", "a"))
    assert session.entry("a").type == "message"
    with pytest.raises(SessionError) as caught:
        session.context()
    assert caught.value.code == "invalid_entry"


# ---------------------------------------------------------------- odd bytes


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + line(HEADER) + line(ONE) + line(TWO),
        (line(HEADER) + line(ONE) + line(TWO)).replace(b"\n", b"\r\n"),
        b"\n\r\n" + line(HEADER) + b"\n  \t\n" + line(ONE) + b"\xc2\xa0\n" + line(TWO) + b"\n\n",
        line(HEADER) + line(ONE) + line(TWO)[:-1],
        line(HEADER) + line(ONE) + b"\xef\xbb\xbf" + line(TWO),
    ],
    ids=["bom", "crlf", "blank", "no-last-lf", "bom-inside"],
)
def test_odd_but_sound_files_open(make_file: Maker, content: bytes) -> None:
    """Marks, line ends and blank lines of other programs do no harm, and appending keeps the file sound."""
    file = make_file(content, header=None)
    with Session(JsonlSessionStorage.open(file)) as session:
        assert texts(session) == ["one", "two"]
        assert file.read_bytes() == content
        session.append_message({"role": "user", "content": "three"})
    assert file.read_bytes().startswith(content)
    with Session(JsonlSessionStorage.open(file)) as session:
        assert texts(session) == ["one", "two", "three"]


def test_a_header_alone_without_line_feed(make_file: Maker) -> None:
    """A header is a session; the first entry begins a line of its own."""
    file = make_file(line(HEADER)[:-1], header=None)
    with Session(JsonlSessionStorage.open(file)) as session:
        session.append_message({"role": "user", "content": "one"})
    assert file.read_bytes().count(b"\n") == 2
    with Session(JsonlSessionStorage.open(file)) as session:
        assert texts(session) == ["one"]


@pytest.mark.parametrize("text", ["a\u2028b", "a\u2029b", "a\x85b", "a\x0b\x0c\x1cb", "\ufeff"])
def test_separators_in_strings_are_text(opened: Opener, text: str) -> None:
    """Only a line feed ends a line; what Python calls line breaks are characters."""
    session = opened(said("a", None, text), header={**HEADER, "cwd": f"/x{text}"})
    assert texts(session) == [text]
    assert session.cwd == f"/x{text}"


def test_bytes_that_are_not_utf8_become_replacement_characters(opened: Opener) -> None:
    """A bad byte in a string costs that character, and nothing else."""
    bad = line(said("a", None, "caf@")).replace(b"@", b"\xe9")
    assert texts(opened(bad, said("b", "a"))) == ["caf�", "b"]


def test_lone_surrogates_are_kept(opened: Opener) -> None:
    """Half an emoji is read, shown, forked and written back as pi does."""
    session = opened(line(said("a", None, "x@")).replace(b"@", rb"\ud83d"))
    assert texts(session) == ["x\ud83d"]
    session.append_message({"role": "user", "content": "y\udc00"})
    session.close()
    again = Session(JsonlSessionStorage.open(session.file, read_only=True))
    assert texts(again) == ["x\ud83d", "y\udc00"]


def test_deep_nesting_opens_and_is_written_back(opened: Opener) -> None:
    """Three thousand levels of data are read and can be appended again."""
    deep = (
        b'{"type":"custom","id":"b","parentId":"a","timestamp":"t","customType":"x","data":'
        + b"[" * 3000
        + b"]" * 3000
        + b"}\n"
    )
    session = opened(said("a", None), deep)
    data = session.entry("b").data
    session.append_custom("y", data)
    session.close()
    again = Session(JsonlSessionStorage.open(session.file, read_only=True))
    assert len(again) == 3
    assert again.storage.index.lines[2].count(b"[") == 3000


def test_long_lines_open(opened: Opener) -> None:
    """A line of ten megabytes is a line."""
    session = opened(said("a", None, "x" * 10_000_000), said("b", "a"))
    assert [len(text) for text in texts(session)] == [10_000_000, 1]


def test_unknown_kinds_and_fields_are_carried_along(opened: Opener) -> None:
    """What a newer program wrote stays in the file as it is, and in the tree."""
    strange = entry("hologram", "b", "a", payload={"x": None})
    session = opened(said("a", None, future=1), strange, said("c", "b"))
    assert session.entry("b").to_wire() == strange
    assert session.entry("a").to_wire()["future"] == 1
    assert texts(session) == ["a", "c"]


# ---------------------------------------------------------------- older versions


def test_version_1_is_migrated_in_memory(make_file: Maker) -> None:
    """Entries get ids that stay the same, hang one from the other, and indexes become ids; the file does not change."""
    old = {name: value for name, value in HEADER.items() if name != "version"}
    message = {"role": "user", "content": "x"}
    file = make_file(
        {"type": "message", "timestamp": "t", "message": {**message, "content": "old"}},
        {"type": "message", "timestamp": "t", "message": {**message, "content": "kept"}},
        {"type": "compaction", "timestamp": "t", "summary": "S", "firstKeptEntryIndex": 2, "tokensBefore": 5},
        {"type": "message", "timestamp": "t", "message": {"role": "hookMessage", "customType": "h", "content": "new"}},
        header=old,
    )
    before = file.read_bytes()
    with Session(JsonlSessionStorage.open(file)) as session, Session(JsonlSessionStorage.open(file)) as again:
        assert [message.role for message in session.context().messages] == ["compactionSummary", "user", "custom"]
        assert [e.id for e in session.entries()] == [e.id for e in again.entries()]
        assert session.header.version == 3
        assert session.read_only
        with pytest.raises(SessionError, match="migrate"):
            session.append_message(message)
    assert file.read_bytes() == before


def test_migrate_writes_the_new_version(make_file: Maker) -> None:
    """Only when asked the file is written anew; the old one is kept, and then it grows."""
    file = make_file(said("a", None), header={**HEADER, "version": 2})
    before = file.read_bytes()
    with Session(JsonlSessionStorage.open(file)) as session:
        session.migrate()
        session.append_message({"role": "user", "content": "more"})
        session.migrate()
    assert file.with_name("s.jsonl.bak").read_bytes() == before
    with Session(JsonlSessionStorage.open(file)) as session:
        assert texts(session) == ["a", "more"]
        assert session.warnings == ()
    assert json.loads(file.read_bytes().split(b"\n")[0])["version"] == 3


def test_what_cannot_be_migrated_stays_read_only(make_file: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a full disk an old file stays as it was and takes no line of the new version, and nothing else is left."""

    def full(*_args: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    file = make_file(said("a", None), header={**HEADER, "version": 2})
    before = file.read_bytes()
    with Session(JsonlSessionStorage.open(file)) as session:
        monkeypatch.setattr("os.write", full)
        for _ in range(2):
            with pytest.raises(SessionError, match="No space"):
                session.migrate()
        monkeypatch.undo()
        assert session.read_only
        with pytest.raises(SessionError, match="older version"):
            session.append_message({"role": "user", "content": "more"})
        assert ([path.name for path in file.parent.iterdir()], file.read_bytes()) == ([file.name], before)
        session.migrate()
        session.append_message({"role": "user", "content": "more"})
    assert texts(Session(JsonlSessionStorage.open(file, read_only=True))) == ["a", "more"]


def test_bad_lines_of_old_versions(make_file: Maker) -> None:
    """Strictness is the same for older versions: bad lines are named, torn ends are not."""
    old = {**HEADER, "version": 1}
    assert refused(make_file(b"junk\n", header=old)).line == 2
    assert refused(make_file(b"5\n", header=old)).line == 2
    assert refused(make_file({"type": 5}, header=old)).line == 2
    file = make_file(
        {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "x"}}, b'{"ty', header=old
    )
    assert len(load(file).scan.index) == 1


# ---------------------------------------------------------------- fields that are not what they should be


@pytest.mark.parametrize("wrong", [{"summary": None}, {"tokensBefore": "x"}, {"fromHook": "x"}, {"details": 5}])
def test_a_compaction_with_a_wrong_field_is_one(opened: Opener, wrong: dict[str, Any]) -> None:
    """A field of a wrong type counts as missing, and is carried along; the rest of the entry has its meaning."""
    sound = {"summary": "S", "firstKeptEntryId": "b", "tokensBefore": 5}
    odd = entry("compaction", "c", "b", **{**sound, **wrong})
    session = opened(said("a", None), said("b", "a"), odd, said("d", "c"))
    assert [message.role for message in session.context().messages] == ["compactionSummary", "user", "user"]
    assert session.entry("c").to_wire() == odd


def test_a_compaction_with_a_wrong_first_kept_entry_keeps_none(opened: Opener) -> None:
    """A first kept entry that is no id is one that is unknown."""
    odd = entry("compaction", "b", "a", summary="S", firstKeptEntryId=5, tokensBefore=5)
    assert roles(opened(said("a", None), odd, said("c", "b"))) == ["compactionSummary", "user"]


def roles(session: Session) -> list[str]:
    return [message.role for message in session.context().messages]


@pytest.mark.parametrize("wrong", [{"usage": "x"}, {"errorMessage": 5}, {"stopReason": {}}])
def test_an_answer_with_a_wrong_field_still_names_its_model(opened: Opener, wrong: dict[str, Any]) -> None:
    """The branch speaks to the model of its last answer, whatever is wrong with the answer's other fields."""
    answer = entry("message", "a", None, message={"role": "assistant", "content": [], "provider": "p", "model": "m"})
    answer["message"].update(wrong)
    session = opened(answer)
    model = session.context().model
    assert model is not None
    assert (model.provider, model.model_id) == ("p", "m")
    assert session.entry("a").to_wire() == answer


ODD_BLOCKS = [
    {"type": "text", "text": "said", "textSignature": {"v": 1}},
    {"type": "thinking", "thinking": "thought", "thinkingSignature": [1], "redacted": ""},
    {"type": "toolCall", "id": "t1", "name": "ls", "arguments": {}, "thoughtSignature": 5},
]


def test_a_block_with_a_wrong_field_is_what_it_is(opened: Opener) -> None:
    """A signature of a wrong type is carried along; the message, its other blocks and its model keep their meaning."""
    answer = {"role": "assistant", "content": ODD_BLOCKS, "provider": "p", "model": "m", "stopReason": "toolUse"}
    odd = entry("message", "b", "a", message=answer)
    session = opened(said("a", None), odd)
    message: Any = session.context().messages[1]
    assert [block.type for block in message.content] == ["text", "thinking", "toolCall"]
    assert (message.text, message.content[0].text_signature, message.tool_calls[0].id) == ("said", None, "t1")
    assert session.context().model is not None
    assert session.entry("b").to_wire() == odd


def test_a_custom_message_without_a_type_is_seen(opened: Opener) -> None:
    """What an application says reaches the model whether or not it says which application it is."""
    entries = [
        entry("custom_message", "a", None, content=[ODD_BLOCKS[0]], display=True),
        entry("custom_message", "b", "a", customType=5, content="more", display=True),
        entry("message", "c", "b", message={"role": "custom", "content": "last"}),
    ]
    session = opened(*entries)
    assert roles(session) == ["custom", "custom", "custom"]
    assert [each.to_wire() for each in session.entries()] == entries


def test_half_characters_in_field_names_are_kept(opened: Opener) -> None:
    """A field whose name cannot be encoded is carried along, and its entry and message are what they are."""
    session = opened(
        line(said("a", None, "x")).replace(b'"content"', rb'"k\ud800":1,"content"'),
        line(said("b", "a", "y")).replace(b'"message":', rb'"k\ud800":1,"message":'),
    )
    assert texts(session) == ["x", "y"]
    assert session.entry("b").to_wire()["k\ud800"] == 1


@pytest.mark.parametrize(("index", "kept"), [(1.0, ["old", "kept"]), (2, ["kept"]), (True, []), ("1", []), (9, [])])
def test_indexes_of_version_1(make_file: Maker, index: Any, kept: list[str]) -> None:
    """An index is a number, whole or written as 1.0; anything else keeps nothing."""
    file = make_file(
        {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "old"}},
        {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "kept"}},
        {"type": "compaction", "timestamp": "t", "summary": "S", "firstKeptEntryIndex": index, "tokensBefore": 5},
        header={**HEADER, "version": 1},
    )
    with Session(JsonlSessionStorage.open(file)) as session:
        assert [text_of(message.content) for message in session.context().messages[1:]] == kept


def test_version_1_with_a_number_that_is_none(make_file: Maker) -> None:
    """1e999 is JSON but cannot be written anew: the line is refused by number, not with a traceback."""
    old = b'{"type":"custom","timestamp":"t","customType":"x","data":1e999}\n'
    assert refused(make_file(old, header={**HEADER, "version": 1})).line == 2


@pytest.mark.parametrize(("label", "trimmed"), [("\ufeffx\u3000", "x"), ("\x85x", "\x85x"), ("\x1c", "\x1c")])
def test_labels_are_trimmed_as_pi_does(opened: Opener, label: str, trimmed: str) -> None:
    """What counts as space around a label or a name is what JavaScript takes for it."""
    label_entry = entry("label", "b", "a", targetId="a", label=label)
    session = opened(said("a", None), label_entry, entry("session_info", "c", "b", name=label))
    assert session.labels == {"a": trimmed}
    assert session.name == trimmed

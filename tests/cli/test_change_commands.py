"""``pi-nb repair``, ``migrate``, ``handoff`` and ``search``: what they do to a file, and what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pi_nb.cli import main
from pi_nb.messages import UserMessage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """Return a session of three messages whose leaf was moved to the first."""
    made = SessionRepo(tmp_path).create(tmp_path)
    first = made.append_message(UserMessage(content="Name a boat."))
    for text in ("Dora, said the harbour master.", "And a raft?"):
        made.append_message(UserMessage(content=text))
    made.move_to(first)
    made.close()
    return made


def said(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, Any]:
    """Run a command with ``--json`` and return its status and what it wrote."""
    status = main([*args, "--json"])
    return status, json.loads(capsys.readouterr().out)


def test_handoff_ends_the_file_at_the_leaf_once(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """An entry without meaning is appended below the leaf; a second time there is nothing to do."""
    file = session.file
    assert file is not None
    first = said(capsys, "handoff", str(file))
    last = json.loads(file.read_text().splitlines()[-1])
    assert first[0] == 0
    assert first[1]["changed"]
    assert (last["type"], last["parentId"]) == ("custom", session.roots()[0])
    assert said(capsys, "handoff", str(file))[1]["changed"] == ""


def test_repair_leaves_bad_lines_out_and_keeps_the_file_as_it_was(
    session: Session, capsys: pytest.CaptureFixture[str]
) -> None:
    """A line that is no JSON goes; all other lines and a copy of the old file stay."""
    file = session.file
    assert file is not None
    lines = file.read_bytes().splitlines(keepends=True)
    broken = b"".join([*lines[:2], b"{oops\n", *lines[2:]])
    file.write_bytes(broken)
    status, report = said(capsys, "repair", str(file))
    assert status == 0
    assert file.read_bytes() == b"".join(lines)
    assert (file.parent / report["backup"]).read_bytes() == broken


def test_migrate_writes_version_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file of version 1 gets ids and parents; a second time there is nothing to do."""
    file = tmp_path / "old.jsonl"
    header = {"type": "session", "id": "s", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/x"}
    entry = {"type": "message", "timestamp": "2025-01-01T00:00:01.000Z", "message": {"role": "user", "content": "hi"}}
    file.write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n")
    status, report = said(capsys, "migrate", str(file))
    assert (status, report["backup"]) == (0, "old.jsonl.bak")
    assert [json.loads(line).get("version") for line in file.read_text().splitlines()] == [3, None]
    assert said(capsys, "migrate", str(file))[1]["changed"] == ""


def test_search_shows_what_stands_around(session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A text is found whatever its case, in one file and in all below a root; finding nothing is status 1."""
    status, report = said(capsys, "search", "HARBOUR", "--root", str(tmp_path))
    assert status == 0
    assert [hit["snippet"] for hit in report["found"]] == ["Dora, said the harbour master."]
    assert said(capsys, "search", "harbour", str(session.file))[1] == report
    assert main(["search", "harbour", "--root", str(tmp_path)]) == 0
    heading, hit = capsys.readouterr().out.splitlines()
    assert session.file is not None
    assert heading == f"{session.id[-8:]}  {session.file.relative_to(tmp_path)}"
    assert hit.endswith("  Dora, said the harbour master.")
    assert main(["search", "submarine", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr() == ("", "pi-nb: nothing found\n")


def test_a_file_that_is_being_written_is_not_changed(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """Who holds the file is said in one line, and the file stays as it is."""
    file = session.file
    assert file is not None
    before = file.read_bytes()
    with SessionRepo(file.parents[1]).open(file):
        assert main(["handoff", str(file)]) == 1
    assert "written by" in capsys.readouterr().err
    assert file.read_bytes() == before


def test_tree_as_json_marks_the_active_path(session: Session, capsys: pytest.CaptureFixture[str]) -> None:
    """Each entry says how it hangs and whether the model would see its branch."""
    _, tree = said(capsys, "tree", str(session.file))
    assert tree["leaf"] == session.roots()[0]
    assert [entry["active"] for entry in tree["entries"]] == [True, False, False, False]

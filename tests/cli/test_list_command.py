"""``pi-nb list``, and naming a session by something other than its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pi_nb.cli import main
from pi_nb.messages import UserMessage
from pi_nb.session.repo import SessionRepo


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a folder with a session of one prompt, one with a name, and a file that is no session."""
    repo = SessionRepo(tmp_path / "sessions")
    for id, name in (("11111111-aaaaaaaa", None), ("11111111-bbbbbbbb", "Boats")):
        with repo.create(tmp_path / "work", id=id) as session:
            session.append_message(UserMessage(content="Name **a** boat.\nA small one."))
            if name:
                session.append_session_info(name)
    (repo.folder(tmp_path / "work") / "torn.jsonl").write_text("{")
    return repo.root


def test_the_list(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Newest first: id, time, size, name or first prompt, folder; what is no session last, with the reason."""
    assert main(["list", "--root", str(root)]) == 0
    named, plain, torn = capsys.readouterr().out.splitlines()
    assert named.startswith("bbbbbbbb  20")
    assert "2 entries  Boats" in named
    assert plain.startswith("aaaaaaaa  20")
    assert "1 entry  Name a boat. A small one." in plain
    assert plain.endswith("work")
    assert torn.startswith("broken    ")
    assert "torn.jsonl: " in torn


def test_the_list_as_json(root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every session is a record with the same keys; a folder chooses among them."""
    assert main(["list", "--root", str(root), "--json"]) == 0
    named, plain, torn = json.loads(capsys.readouterr().out)["sessions"]
    assert named.keys() == plain.keys() == torn.keys()
    assert (named["id"], named["name"], named["entries"], named["broken"]) == ("11111111-bbbbbbbb", "Boats", 2, None)
    assert plain["prompt"] == "Name **a** boat. A small one."
    assert torn["broken"]
    assert main(["list", "--root", str(root), "--cwd", str(tmp_path / "elsewhere"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sessions"] == []


@pytest.mark.parametrize("ref", ["11111111-bbbbbbbb", "bbbbbbbb", "11111111-b", "Boats"])
def test_a_session_is_named_by_id_or_name(ref: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that takes a file takes an id, its beginning or end, or a name."""
    for command in (["tree"], ["inspect"], ["search", "boat"], ["repair"], ["migrate"], ["handoff"]):
        assert main([*command, ref, "--root", str(root)]) == 0, command
        assert capsys.readouterr().err == ""


def test_a_name_that_fits_none_or_several_is_one_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The error says where it was looked for, or which files fit; a path is never taken for a name."""
    for ref, told in (("rafts", "pi-nb list"), ("11111111", "fits 2 sessions"), ("./Boats", "Boats")):
        assert main(["tree", ref, "--root", str(root)]) == 1
        err = capsys.readouterr().err
        assert told in err
        assert len(err.splitlines()) == 1
    assert main(["inspect", "rafts", "--root", str(root), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "not_found"

"""Handed cases and real session files: what real pi sees in them, we see."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pi_nb.models import ModelRef
from pi_nb.session.context import Context
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.tree import Session
from tests.check_cases import check, main


def test_handed_cases(shared: Path) -> None:
    """No case of a session or of a folder of sessions differs from what was seen, or judged right."""
    results = dict(check(shared / "cases"))
    assert results
    assert {name: found for name, found in results.items() if found} == {}


def test_the_check_says_what_differs(tmp_path: Path, shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A case that is not met is printed with both sides, and the exit status says so."""
    case = tmp_path / "047-leaf-target-missing-midfile"
    shutil.copytree(shared / "cases" / case.name, case)
    text = (case / "expected.json").read_text().replace('"entryCount": 3', '"entryCount": 4')
    (case / "expected.json").write_text(text)
    assert main([str(tmp_path)]) == 1
    assert "expected 4, got 3" in capsys.readouterr().out


# ---------------------------------------------------------------- real files


@pytest.fixture(scope="module")
def canon(shared: Path) -> ModuleType:
    """The canonical form under which the recorded hashes were made."""
    spec = importlib.util.spec_from_file_location("canon", shared / "sessions" / "canon.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def shown(context: Context, canon: ModuleType) -> dict[str, Any]:
    """Return a context as the recording shows it."""
    roles = [message.role for message in context.messages]
    return {
        "messages": len(roles),
        "roles": roles,
        "model": context.model,
        "thinkingLevel": context.thinking_level,
        "messagesHash": canon.hash([message.to_wire() for message in context.messages]),
    }


def wanted(recorded: dict[str, Any]) -> dict[str, Any]:
    model = recorded["model"]
    return {
        "messages": recorded["messages"],
        "roles": recorded["roles"],
        "model": ModelRef(model["provider"], model["modelId"]) if model else None,
        "thinkingLevel": recorded["thinkingLevel"],
        "messagesHash": recorded["messagesHash"],
    }


NAMES = ["compacted-v3", "custom-messages-v3", "real-v1-coding", "real-v3-coding", "small-v3"]


@pytest.mark.parametrize("name", NAMES)
def test_real_files(name: str, shared: Path, canon: ModuleType, tmp_path: Path) -> None:
    """Entries, leaf, name, labels and contexts at the leaf and along the way are those that real pi reads.

    Two of the files hang their first entry from the session's id: 0.80.10 refuses to walk them, as we do; 1.6.0
    begins the path there, as we do in repair.
    """
    recorded = json.loads((shared / "sessions" / "golden.json").read_text())[f"{name}.jsonl"]
    strict, lenient = recorded["harness_0_80_10"], recorded["sessionManager_1_6_0"]
    file = tmp_path / "a.jsonl"
    shutil.copy(shared / "sessions" / f"{name}.jsonl", file)
    before = file.read_bytes()
    broken = "contextError" in strict
    with Session(JsonlSessionStorage.open(file, repair=broken)) as session:
        assert file.read_bytes() == before
        assert len(session) == lenient["entries"]
        entries = session.entries()
        assert entries[lenient["leafIndex"]].id == session.leaf_id
        assert session.leaf_id == lenient.get("leafId", session.leaf_id)
        assert (session.name, dict(session.labels)) == (lenient["sessionName"], lenient["labels"])
        source = lenient if broken or not strict["opens"] else strict
        assert shown(session.context(), canon) == wanted(source["context"])
        for point in source["atLeaf"]:
            assert shown(session.context(entries[point["index"]].id), canon) == wanted(point)
    if broken:
        with Session(JsonlSessionStorage.open(file)) as session, pytest.raises(Exception, match="not in the session"):
            session.context()

"""``pi-nb inspect``: the contract of its JSON, and that it only reads."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_nb.cli import main

Inspect = Callable[..., tuple[int, dict[str, Any]]]
Write = Callable[..., Path]

KEYS = {
    "ok": bool,
    "error": dict | None,
    "version": int | None,
    "id": str | None,
    "name": str | None,
    "entries": int,
    "leaf": str | None,
    "state": dict,
    "context": list,
    "labels": dict,
    "warnings": list,
    "roots": int,
    "branches": int,
}


def check_shape(report: dict[str, Any]) -> None:
    """Check that a report has every key of the contract, and no other, with the right types."""
    assert list(report) == list(KEYS)
    for key, kind in KEYS.items():
        assert isinstance(report[key], kind), key
    assert report["error"] is None or set(report["error"]) == {"code", "message", "line"}
    assert report["ok"] == (report["error"] is None)
    assert set(report["state"]) == {"model", "thinkingLevel", "activeToolNames"}
    assert report["state"]["model"] is None or set(report["state"]["model"]) == {"provider", "modelId"}
    assert all(set(message) == {"role", "text", "entry"} for message in report["context"])


def answer(text: str, **fields: Any) -> dict[str, Any]:
    """Return the fields of an answer."""
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    call = {"type": "toolCall", "id": "t", "name": "bash", "arguments": {}}
    return {"message": {"role": "assistant", "content": [*blocks, call], "provider": "lab", "model": "mouse", **fields}}


def test_the_report(inspect: Inspect, write: Write) -> None:
    """A sound file: state and context of the leaf's branch, labels and name of the whole file, and its shape."""
    file = write(
        ("m", None, {"type": "model_change", "provider": "x", "modelId": "y"}),
        ("t", "m", {"type": "thinking_level_change", "thinkingLevel": "high"}),
        ("u", "t"),
        ("a", "u", answer("two")),
        ("r", "a", {"message": {"role": "toolResult", "toolCallId": "t", "toolName": "bash", "content": "out"}}),
        ("l", "r", {"type": "label", "targetId": "a", "label": " best "}),
        ("v", "leaf", {"type": "leaf", "targetId": "u"}),
        ("c", "u", {"type": "custom_message", "customType": "k", "content": [{"type": "text", "text": "note"}]}),
        ("k", "c", {"type": "active_tools_change", "activeToolNames": ["bash"]}),
        ("b", "k", {"type": "branch_summary", "fromId": "r", "summary": "left"}),
        ("n", "b", {"type": "session_info", "name": "my\nname"}),
    )
    status, report = inspect(file)
    assert status == 0
    check_shape(report)
    assert report == {
        "ok": True,
        "error": None,
        "version": 3,
        "id": "s1",
        "name": "my name",
        "entries": 11,
        "leaf": "n",
        "state": {
            "model": {"provider": "x", "modelId": "y"},
            "thinkingLevel": "high",
            "activeToolNames": ["bash"],
        },
        "context": [
            {"role": "user", "text": "says u", "entry": "u"},
            {"role": "custom", "text": "note", "entry": "c"},
            {"role": "branchSummary", "text": "left", "entry": "b"},
        ],
        "labels": {"a": "best"},
        "warnings": report["warnings"],
        "roots": 1,
        "branches": 2,
    }


@pytest.mark.parametrize("ref", ["r", "@", "best~0", "root"])
def test_another_leaf_can_be_asked_for(inspect: Inspect, write: Write, ref: str) -> None:
    """``--leaf`` takes ids, beginnings of ids, labels and the other references."""
    label = {"type": "label", "targetId": "abcdef", "label": "best"}
    file = write(("u", None), ("abcdef", "u", answer("two")), ("l", "abcdef", label), ("r", "u", answer("three")))
    leaf = {"r": "r", "@": "r", "best~0": "abcdef", "root": None}[ref]
    status, report = inspect(file, "--leaf", ref)
    assert (status, report["leaf"]) == (0, leaf)
    assert [message["entry"] for message in report["context"]] == (["u", leaf] if leaf else [])
    assert inspect(file, "--leaf", "abc")[1]["leaf"] == "abcdef"


def test_an_unknown_leaf_is_an_error_beside_what_is_known(inspect: Inspect, write: Write) -> None:
    """A reference to nothing costs the context, not the rest."""
    status, report = inspect(write(("u", None)), "--leaf", "nope")
    check_shape(report)
    assert (status, report["error"]["code"], report["entries"], report["context"]) == (1, "not_found", 1, [])


def test_a_compaction_comes_first_and_hides_what_it_sums_up(inspect: Inspect, write: Write) -> None:
    """The context is the summary, what is kept, and what came after."""
    file = write(
        ("a", None), ("b", "a"), ("c", "b", {"type": "compaction", "summary": "S", "firstKeptEntryId": "b"}), ("d", "c")
    )  # fmt: skip
    _, report = inspect(file)
    assert [(m["role"], m["text"]) for m in report["context"]] == [
        ("compactionSummary", "S"), ("user", "says b"), ("user", "says d"),
    ]  # fmt: skip


def test_an_orphan_on_the_path(inspect: Inspect, write: Write) -> None:
    """A missing parent is an error, and everything below it is still told."""
    status, report = inspect(write(("a", None), ("b", "gone"), ("c", "b", answer("yes"))))
    check_shape(report)
    assert (status, report["error"]["code"]) == (1, "invalid_session")
    assert [message["entry"] for message in report["context"]] == ["b", "c"]
    assert report["state"]["model"] == {"provider": "lab", "modelId": "mouse"}
    assert (report["roots"], report["branches"], report["leaf"]) == (2, 2, "c")
    assert any("broken" in warning for warning in report["warnings"])


def test_an_orphan_elsewhere_is_no_error(inspect: Inspect, write: Write) -> None:
    """A broken branch does not spoil the others."""
    status, report = inspect(write(("b", "gone"), ("a", None)))
    assert (status, report["ok"], report["roots"]) == (0, True, 2)
    assert report["warnings"]


def test_cycles_end(inspect: Inspect, write: Write) -> None:
    """A path in circles, and an entry that is its own parent, are errors, not hangs."""
    status, report = inspect(write(("a", "b"), ("b", "a")))
    assert (status, report["error"]["code"], [m["entry"] for m in report["context"]]) == (
        1,
        "invalid_session",
        ["a", "b"],
    )
    status, report = inspect(write(("a", None), ("s", "s")))
    assert (status, report["error"]["code"], [m["entry"] for m in report["context"]]) == (1, "invalid_session", ["s"])


def test_a_leaf_that_is_not_there(inspect: Inspect, write: Write) -> None:
    """A move to nowhere is an error as long as it is the current leaf."""
    status, report = inspect(write(("a", None), ("l", "a", {"type": "leaf", "targetId": "gone"})))
    assert (status, report["error"]["code"], report["leaf"], report["context"]) == (1, "invalid_session", "gone", [])
    assert (report["roots"], report["branches"]) == (1, 1)


def test_a_bare_move_is_neither_root_nor_branch(inspect: Inspect, write: Write) -> None:
    """Leaf entries count only where something hangs from them."""
    moves = [(f"l{n}", "b", {"type": "leaf", "targetId": "a"}) for n in range(3)]
    _, report = inspect(write(("a", None), ("b", "a"), *moves))
    assert (report["roots"], report["branches"], report["entries"]) == (1, 1, 5)
    _, report = inspect(write(("a", None), ("l", None, {"type": "leaf", "targetId": "a"}), ("c", "l")))
    assert (report["roots"], report["branches"]) == (2, 2)


def test_a_bad_line_is_named_and_can_be_left_out(inspect: Inspect, write: Write) -> None:
    """Strictly an error with its line; with ``--repair`` a warning."""
    file = write(("a", None), ("b", "a"))
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join((*lines[:2], b"{broken\n", *lines[2:])))
    status, report = inspect(file)
    check_shape(report)
    assert (status, report["error"]["code"], report["error"]["line"], report["entries"]) == (1, "invalid_entry", 3, 0)
    status, report = inspect(file, "--repair")
    assert (status, report["entries"], report["leaf"]) == (0, 2, "b")
    assert any("Line 3" in warning for warning in report["warnings"])


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"", "invalid_session"), (b"\n\n", "invalid_session"), (b"hello\n", "invalid_session"), (None, "not_found")],
)
def test_what_is_no_session(inspect: Inspect, tmp_path: Path, content: bytes | None, code: str) -> None:
    """Nothing, blanks, other text and no file give pi's codes, with nulls elsewhere."""
    file = tmp_path / "x.jsonl"
    if content is not None:
        file.write_bytes(content)
    status, report = inspect(file)
    check_shape(report)
    assert (status, report["error"]["code"], report["id"], report["version"]) == (1, code, None, None)


def test_a_folder_is_no_session(inspect: Inspect, tmp_path: Path) -> None:
    """A folder is an error like any other."""
    assert inspect(tmp_path)[1]["error"]["code"] == "storage"


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return contents and time of change of every file in a folder."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def case_names() -> list[str]:
    """Return the names of the handed session cases, if they are there."""
    folder = Path(os.environ.get("PI_NB_SHARED", Path(__file__).parents[2] / ".." / "shared")) / "cases"
    return sorted(case.name for case in folder.glob("[01]*") if (case / "session.jsonl").is_file()) or ["none"]


@pytest.mark.parametrize("name", case_names())
def test_no_case_crashes_it_or_is_touched(
    inspect: Inspect, capsys: pytest.CaptureFixture[str], shared: Path, tmp_path: Path, name: str
) -> None:
    """Every handed file is reported on, drawn and logged, and lies there afterwards as before."""
    file = tmp_path / "case" / "session.jsonl"
    file.parent.mkdir()
    shutil.copyfile(shared / "cases" / name / "session.jsonl", file)
    before = snapshot(file.parent)
    for options in ([], ["--repair"], ["--leaf", "aaaa0001"], ["--leaf", "-"], ["--leaf", "@~1"]):
        status, report = inspect(file, *options)
        check_shape(report)
        assert status == (0 if report["ok"] else 1)
    for command in (["inspect"], ["inspect", "--repair"], ["tree"], ["tree", "--log"], ["tree", "--ascii"]):
        assert main([command[0], str(file), *command[1:]]) in {0, 1}
        assert "Traceback" not in "".join(capsys.readouterr())
    assert snapshot(file.parent) == before


LENIENT_DIFFERS = {
    # pi 1.6.0 knows no moves of the leaf, opens what is no session, or hangs
    "007-corrupt-middle-line", "011-utf8-bom", "019-pretty-printed-newlines", "027-header-version-4",
    "031-duplicate-header", "033-entry-parent-absent", "037-cycle-two-nodes", "039-duplicate-id-cycle",
    "045-leaf-last-target", "049-leaf-to-leaf", "051-message-field-missing", "055-thinking-after-navigate",
}  # fmt: skip


@pytest.mark.parametrize("name", case_names())
def test_cases_read_as_pi_reads_them(inspect: Inspect, shared: Path, name: str) -> None:
    """Messages, model, thinking level, roots and entries are those of pi 1.6.0, where pi reads the file rightly."""
    if name in LENIENT_DIFFERS:
        return
    expected = json.loads((shared / "cases" / name / "expected.json").read_text())["observed"]
    seen = expected.get("session_manager_1_6_0", {})
    _, report = inspect(shared / "cases" / name / "session.jsonl")
    if not seen.get("open", {}).get("ok"):
        assert not report["ok"]
        return
    context = seen["context"]["value"]
    messages = context["messages"]
    if isinstance(messages, dict):
        assert len(report["context"]) == messages["length"]
    else:
        assert [message["role"] for message in report["context"]] == [message["role"] for message in messages]
        plain = [(mine["text"], its["text"]) for mine, its in zip(report["context"], messages, strict=True)]
        assert [pair for pair in plain if "|" not in pair[1] and not pair[1].startswith("<") and "…" not in pair[1]
                and pair[1] != "undefined" and pair[0] != pair[1]] == []  # fmt: skip
    assert report["state"]["model"] == context["model"]
    assert report["state"]["thinkingLevel"] == context["thinkingLevel"]
    assert (report["roots"], report["entries"]) == (seen["treeRoots"]["value"], seen["entryCount"])


GOLDEN = ["compacted-v3", "custom-messages-v3", "real-v1-coding", "real-v3-coding", "small-v3"]


@pytest.mark.parametrize("name", GOLDEN)
def test_real_files_read_as_pi_reads_them(inspect: Inspect, shared: Path, name: str) -> None:
    """At the leaf and at earlier entries, context, state, name, labels and roots are what pi 1.6.0 gives."""
    golden = json.loads((shared / "sessions" / "golden.json").read_text())[f"{name}.jsonl"]["sessionManager_1_6_0"]
    file = shared / "sessions" / f"{name}.jsonl"
    before = file.read_bytes()
    _, report = inspect(file)
    check_shape(report)
    assert (report["id"], report["entries"], report["name"]) == (
        golden["sessionId"], golden["entries"], golden["sessionName"],
    )  # fmt: skip
    assert report["labels"] == golden["labels"]
    assert report["roots"] == golden["tree"]["roots"]
    same_context(report, golden["context"])
    if "leafId" in golden:
        assert report["leaf"] == golden["leafId"]
        ids = [json.loads(line)["id"] for line in before.decode().splitlines()[1:]]
        for point in golden["atLeaf"]:
            same_context(inspect(file, "--leaf", ids[point["index"]])[1], point)
    assert file.read_bytes() == before


def same_context(report: dict[str, Any], golden: dict[str, Any]) -> None:
    """Compare a report with what pi gave."""
    assert [message["role"] for message in report["context"]] == golden["roles"]
    assert len(report["context"]) == golden["messages"]
    assert report["state"]["model"] == (golden["model"] or None)
    assert report["state"]["thinkingLevel"] == golden["thinkingLevel"]


def test_for_people(pi_nb_command: Callable[..., subprocess.CompletedProcess[bytes]], write: Write) -> None:
    """Without ``--json`` it is text: a summary, the warnings, the context; the error goes to stderr."""
    file = write(("a", None), ("b", "gone", {"message": {"role": "user", "content": "\x1b[31mred"}}))
    done = pi_nb_command("inspect", file)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    assert done.stderr.startswith(b"pi-nb: Entry b hangs from gone")
    text = done.stdout.decode()
    assert "session s1, version 3, entries 2, roots 2, branches 2" in text
    assert r"\x1b[31mred" in text
    assert "\x1b" not in text

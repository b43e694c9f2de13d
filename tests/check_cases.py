"""Compare our session layer with handed cases of kinds ``session`` and ``session-repo``, and print every difference.

    python -m tests.check_cases DIR

The exit status is 1 if anything differs. The contract is what real pi 0.80.10 was seen to do, except where
:data:`JUDGED` says, with a reason, that it was wrong. Steps that need a harness or a provider (:data:`ELSEWHERE`) are
compared by the checks of those rooms.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pi_nb.errors import PiError, SessionError
from pi_nb.messages import Message, UserMessage
from pi_nb.session.memory import InMemorySessionRepo
from pi_nb.session.repo import SessionInfo, SessionRepo
from pi_nb.session.tree import Session

ELSEWHERE = {
    "transform": "providers",
    "estimate": "harness",
    "serialize": "harness",
    "compactPrep": "harness",
    "compact": "harness",
    "branchEntries": "harness",
}
"""Steps of other rooms. ``compact`` and a summarising ``navigate`` change the session: what follows is theirs too."""

Change = dict[str, Any]
OPENS: Change = {"open": {"ok": True}}
JUDGED: dict[str, tuple[str, Change]] = {
    "utf8-bom": ("a byte order mark is no reason to refuse a file", {**OPENS, "entryCount": 1, "leafId": "aaaa0001"}),
    "nul-padding-tail": ("NUL bytes at the end are a torn tail", {**OPENS, "entryCount": 1, "leafId": "aaaa0001"}),
    "u2028-in-header": ("lines end at LF only, in lists too", {"listed": True}),
    "header-version-1-linear": (
        "versions 1 and 2 are migrated in memory",
        {**OPENS, "entryCount": 4, "roles": ["compactionSummary", "user", "user"], "listed": True},
    ),
    "header-parent-null": (
        "a null that should have been left out is worth a warning",
        {**OPENS, "entryCount": 1, "leafId": "aaaa0001", "listed": True},
    ),
    "cycle-two-nodes": ("a cycle is an error, not an endless loop", {**OPENS, "walk": "invalid_session"}),
    "duplicate-id-cycle": ("a cycle is an error, not an endless loop", {**OPENS, "walk": "invalid_session"}),
    "message-field-missing": ("a TypeError is no error code", {"context": "invalid_entry"}),
    "no-trailing-newline-append": (
        "the missing line feed is written before the next line",
        {"op1": {"entryCount": 3}},
    ),
    "deleted-midrun": (
        "a complete file is written anew",
        {"op2": {"entryCount": 2}, "op3": ["01900000-0000-7000-8000-000000000001"]},
    ),
    "nav-missing": ("the session's own code; the harness translates it", {"op0": "not_found"}),
}


def check(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each case of our kinds and how it differs; an empty list is agreement."""
    for case in sorted(folder.iterdir()):
        if not (case / "expected.json").exists():
            continue
        expected = json.loads((case / "expected.json").read_text(encoding="utf-8"))
        if expected["kind"] == "session":
            with tempfile.TemporaryDirectory() as place:
                yield case.name, list(SessionCase(case, expected, Path(place)).differences())
        elif expected["kind"] == "session-repo":
            yield case.name, list(_repo_case(case, expected))


class SessionCase:
    """One case of kind ``session``: a file is opened, steps are taken, and all that can be seen is compared."""

    def __init__(self, case: Path, expected: dict[str, Any], place: Path) -> None:
        self.observed: dict[str, Any] = expected["observed"]["harness_0_80_10"]
        self.change = JUDGED.get(expected["case"], ("", {}))[1]
        self.repo = SessionRepo(place / "sessions")
        self.file = self.repo.folder("/demo") / "session.jsonl"
        self.file.parent.mkdir(parents=True)
        self.content = (case / "session.jsonl").read_bytes()
        self.file.write_bytes(self.content)
        ops = case / "ops.json"
        self.ops: list[dict[str, Any]] = json.loads(ops.read_text(encoding="utf-8")) if ops.exists() else []
        self.names: dict[str, str] = {}
        self.session: Session | None = None

    def differences(self) -> Iterator[str]:
        yield from self._listing()
        try:
            self.session = self.repo.open(self.file)
        except SessionError as error:
            yield from self._compare("open", self._wanted_open(), {"ok": False, "code": error.code})
            if self.file.read_bytes() != self.content:
                yield "a refused file was changed"
            return
        with self.session:
            yield from self._compare("open", self._wanted_open(), {"ok": True})
            if self.file.read_bytes() != self.content:
                yield "opening changed the file"
            yield from self._loaded()
            yield from self._steps()
            self.session.close()
        if [path.name for path in self.file.parent.iterdir() if path.name.endswith(".lock")]:
            yield "a lock was left behind"

    def _listing(self) -> Iterator[str]:
        seen = self.observed.get("listMetadata")
        wanted = self.change.get("listed", bool(seen["ok"]) if seen else None)
        if "open" in self.change and "listed" not in self.change:
            wanted = True
        if wanted is not None:
            yield from self._compare("listed", wanted, bool(self.repo.list()))

    def _wanted_open(self) -> dict[str, Any]:
        seen = self.change.get("open") or self.observed["open"]
        return {"ok": True} if seen["ok"] else {"ok": False, "code": seen["error"]["code"]}

    def _loaded(self) -> Iterator[str]:
        session, change = self.session, self.change
        assert session is not None
        for name in ("entryCount", "leafId"):
            if name in change:
                yield from self._compare(
                    name, change[name], {"entryCount": len(session), "leafId": session.leaf_id}[name]
                )
        if "roles" in change:
            yield from self._compare("roles", change["roles"], [m.role for m in session.context().messages])
        if "walk" in change:
            yield from self._compare("path", change["walk"], outcome(session.path)["code"])
            yield from self._compare("context", change["walk"], outcome(session.context)["code"])
        if "loaded" in self.observed:
            yield from self._described("loaded", self.observed["loaded"])

    def _described(self, where: str, seen: dict[str, Any]) -> Iterator[str]:
        """Compare everything that can be seen of the session with what was seen of pi's."""
        session = self.session
        assert session is not None
        ours = describe(session)
        for name, wanted in seen.items():
            if name == "llm":  # the providers' business
                continue
            if name == "context" and isinstance(self.change.get("context"), str):
                wanted = {"ok": False, "error": {"code": self.change["context"]}}
            if name == "labels":
                wanted = {target: label for target, label in wanted.items() if label is not None}
            yield from self._compare(f"{where}.{name}", wanted, ours[name])

    def _steps(self) -> Iterator[str]:
        for number, op in enumerate(self.ops):
            if op["op"] in ELSEWHERE or op.get("options", {}).get("summarize"):
                if op["op"] in ("compact", "navigate"):
                    return
                continue
            step = getattr(self, f"_op_{op['op']}", None)
            if step is None:
                yield f"step {number}: no comparison for {op['op']!r}"
                return
            seen = self.observed["ops"][number]
            judged = self.change.get(f"op{number}")
            yield from step(f"step {number} {op['op']}", op, seen, judged)

    def _compare(self, what: str, wanted: Any, ours: Any) -> Iterator[str]:
        if not self._same(wanted, ours):
            yield f"{what}: expected {_short(wanted)}, got {_short(ours)}"

    def _same(self, wanted: Any, ours: Any) -> bool:
        """Compare, with ``$1`` standing for one id throughout, and a length for what was too long to write down."""
        if isinstance(wanted, str) and wanted.startswith("$"):
            if wanted in ("$now", "$ts"):
                return ours is not None
            return self.names.setdefault(wanted, str(ours)) == str(ours)
        if isinstance(wanted, str) and isinstance(ours, str) and wanted != ours:
            return wanted.endswith(f"…({len(ours)})") and ours.startswith(wanted[: wanted.rindex("…")])
        if isinstance(wanted, dict) and isinstance(ours, list):
            return bool(wanted.get("length") == len(ours) and wanted.get("first", ours[:1]) in (ours[0], ours[:1]))
        if isinstance(wanted, dict) and isinstance(ours, dict):
            if wanted.get("ok") is False and ours.get("ok") is False:
                return bool(wanted["error"]["code"] == ours["code"]) if "error" in wanted else wanted == ours
            return wanted.keys() == ours.keys() and all(self._same(wanted[name], ours[name]) for name in wanted)
        if isinstance(wanted, list) and isinstance(ours, list):
            return len(wanted) == len(ours) and all(map(self._same, wanted, ours))
        return bool(wanted == ours)

    # ------------------------------------------------------------ steps

    def _op_append(self, what: str, op: dict[str, Any], seen: dict[str, Any], _: Any) -> Iterator[str]:
        assert self.session is not None
        yield from self._compare(what, _told(seen), outcome(lambda: self.session.append_message(op["message"])))

    def _op_appendLabel(self, what: str, op: dict[str, Any], seen: dict[str, Any], _: Any) -> Iterator[str]:
        assert self.session is not None
        ours = outcome(lambda: self.session.append_label(op["targetId"], op.get("label")))
        yield from self._compare(what, _told(seen), ours)

    def _op_describe(self, what: str, op: dict[str, Any], seen: dict[str, Any], _: Any) -> Iterator[str]:
        yield from self._described(what, seen["value"])

    def _op_navigate(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        assert self.session is not None
        ours = outcome(lambda: self.session.checkout(op["id"]))
        if judged is not None:
            yield from self._compare(what, judged, ours.get("code"))
        elif ours["ok"] and seen["ok"]:
            wanted = {"editorText": seen["value"]["editorText"], "leaf": seen["value"]["leaf"]}
            moved = ours["value"]
            yield from self._compare(what, wanted, {"editorText": moved.editor_text, "leaf": moved.leaf_id})
        else:
            yield from self._compare(what, _told(seen), ours)

    def _op_fork(self, what: str, op: dict[str, Any], seen: dict[str, Any], _: Any) -> Iterator[str]:
        assert self.session is not None
        ours = outcome(lambda: self._fork(op["options"]))
        wanted = _told(seen)
        if wanted["ok"] and "reopened" in wanted["value"]:
            wanted["value"]["reopened"] = wanted["value"]["reopened"]["value"]
            for name in ("leaf", "context"):
                wanted["value"][name] = wanted["value"][name]["value"]
        yield from self._compare(what, wanted, ours)

    def _fork(self, options: dict[str, Any]) -> dict[str, Any]:
        assert self.session is not None
        entry = options.get("entryId")
        where = {} if entry is None else {"at" if options.get("position") == "at" else "before": entry}
        with self.repo.fork(self.session, cwd="/demo", **where) as fork:
            seen = {
                "entryIds": [entry.id for entry in fork.entries()],
                "leaf": fork.leaf_id,
                "context": [view(message) for message in fork.context().messages],
                "parentSessionIsSource": fork.header.parent_session == str(self.file),
                "labels": dict(fork.labels),
            }
            file = fork.file
        with self.repo.open(file) as again:
            context = [view(message) for message in again.context().messages]
            return {**seen, "reopened": {"leaf": again.leaf_id, "context": context}}

    def _op_deleteFile(self, what: str, op: dict[str, Any], seen: dict[str, Any], _: Any) -> Iterator[str]:
        self.file.unlink()
        yield from ()

    def _op_reopen(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        assert self.session is not None
        self.session.close()
        self.session = self.repo.open(self.file)
        if judged is not None:
            yield from self._compare(f"{what} entryCount", judged["entryCount"], len(self.session))
            yield from self._compare(f"{what} path", {"ok": True}, {"ok": outcome(self.session.path)["ok"]})
        else:
            yield from self._described(what, seen["value"])

    def _op_list(self, what: str, op: dict[str, Any], seen: dict[str, Any], judged: Any) -> Iterator[str]:
        wanted = judged if judged is not None else [info["id"] for info in seen["value"]]
        yield from self._compare(what, wanted, [info.id for info in self.repo.list()])


def outcome(call: Callable[[], Any]) -> dict[str, Any]:
    """Return what a call gives, as a case writes it: a value or an error code."""
    try:
        return {"ok": True, "value": call()}
    except PiError as error:
        return {"ok": False, "code": error.code}


def _told(seen: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in seen.items() if name != "op"}


def describe(session: Session) -> dict[str, Any]:
    """Return all that a case says of a session."""
    return {
        "entryCount": len(session),
        "leafId": outcome(lambda: (session.path(), session.leaf_id)[1])
        if session.leaf_id not in session.storage.index.positions and session.leaf_id is not None
        else {"ok": True, "value": session.leaf_id},
        "branch": outcome(lambda: [entry.id for entry in session.path()]),
        "context": outcome(lambda: _context(session)),
        "labels": dict(session.labels),
        "sessionName": {"ok": True, "value": session.name},
    }


def _context(session: Session) -> dict[str, Any]:
    context = session.context()
    model = context.model and {"provider": context.model.provider, "modelId": context.model.model_id}
    tools = context.active_tool_names
    return {
        "messages": [view(message) for message in context.messages],
        "model": model,
        "thinkingLevel": context.thinking_level,
        "activeToolNames": None if tools is None else list(tools),
    }


def view(message: Message) -> dict[str, Any]:
    """Return a message as a case shows it."""
    data = message.to_wire()
    shown: dict[str, Any] = {"role": message.role}
    if message.role in ("branchSummary", "compactionSummary"):
        shown["text"] = data["summary"]
    elif "content" not in data:
        shown["content"] = "undefined"
    elif isinstance(data["content"], str):
        shown["text"] = data["content"]
    else:
        shown["blocks"] = [_block(block) for block in data["content"]]
    if message.role in ("branchSummary", "compactionSummary", "custom"):
        stamp = data.get("timestamp")
        shown["timestamp"] = "NaN" if stamp is None or math.isnan(stamp) else stamp
    for name in ("stopReason", "toolCallId"):
        if name in data:
            shown[name] = data[name]
    return {**shown, "isError": True} if data.get("isError") else shown


def _block(block: dict[str, Any]) -> dict[str, Any]:
    if block.get("type") == "text":
        return {"text": block["text"]}
    if block.get("type") == "toolCall":
        return {"toolCall": block["id"], "name": block["name"]}
    return {"type": block.get("type")}


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) < 300 else text[:300] + "…"


# ---------------------------------------------------------------- repos


def _repo_case(case: Path, expected: dict[str, Any]) -> Iterator[str]:
    scenario = SCENARIOS.get(expected["case"])
    if scenario is None:
        yield "not compared: no scenario in Python for it"
        return
    with tempfile.TemporaryDirectory() as place:
        for kind, *rest in json.loads((case / "setup.json").read_text(encoding="utf-8")):
            _set_up(Path(place), kind, *rest)
        wanted, ours = scenario(SessionRepo(Path(place) / "sessions"), expected["observed"]["harness_0_80_10"])
    if wanted != ours:
        yield f"expected {_short(wanted)}, got {_short(ours)}"


def _set_up(place: Path, kind: str, name: str, text: str = "") -> None:
    target = place / name
    target.parent.mkdir(parents=True, exist_ok=True)
    if kind == "dir":
        target.mkdir(exist_ok=True)
    elif kind == "link":
        target.symlink_to(text)
    else:
        target.write_text(text, encoding="utf-8")


def _rows(infos: list[SessionInfo]) -> list[dict[str, str]]:
    return [{"id": info.id, "cwd": info.cwd} for info in infos]


Scenario = Callable[[SessionRepo, dict[str, Any]], tuple[Any, Any]]


def _symlinked(repo: SessionRepo, seen: dict[str, Any]) -> tuple[Any, Any]:
    """Judged: a list of everything follows a linked folder too."""
    row = [{"id": "a", "cwd": "/demo"}]
    return (row, seen["cwd"]["value"]), (_rows(repo.list()), _rows(repo.list("/demo")))


def _collision(repo: SessionRepo, seen: dict[str, Any]) -> tuple[Any, Any]:
    """Judged: what a session belongs to is in its header; both folders have the same encoded name."""
    return [{"id": "one", "cwd": "/a/b"}], _rows(repo.list("/a/b"))


def _same_id(repo: SessionRepo, seen: dict[str, Any]) -> tuple[Any, Any]:
    """Judged: a second session with an id is refused, before it is written or when it is."""
    first, second = repo.create("/demo", id="dup"), repo.create("/demo", id="dup")
    with first, second:
        first.append_message(UserMessage(content="a"))
        late = outcome(lambda: second.append_message(UserMessage(content="b")))
        early = outcome(lambda: repo.create("/demo", id="dup"))
        return (False, False, ["dup"]), (late["ok"], early["ok"], [info.id for info in repo.list()])


def _bad_date(repo: SessionRepo, seen: dict[str, Any]) -> tuple[Any, Any]:
    listed = [info.id for info in repo.list()]
    return (seen["list"]["value"], "a"), (sorted(listed), listed[-1])


def _memory_fork(_: SessionRepo, seen: dict[str, Any]) -> tuple[Any, Any]:
    repo = InMemorySessionRepo()
    source = repo.create()
    source.append_message(UserMessage(content="a"))
    fork = repo.fork(source)
    fork.append_message(UserMessage(content="b"))
    counts = {"source": len(source), "fork": len(fork), "sessions": len(repo.list())}
    repo.delete(source.id)
    gone = outcome(lambda: repo.open(source.id))
    ours = {**counts, "afterDelete": len(repo.list()), "openDeleted": {**gone, "type": "SessionError"}}
    return seen, ours


SCENARIOS: dict[str, Scenario] = {
    "bad-created-at": _bad_date,
    "cwd-encoding-collision": _collision,
    "memory-fork": _memory_fork,
    "same-id-twice": _same_id,
    "symlinked-session-dir": _symlinked,
}


def main(argv: list[str]) -> int:
    """Print all differences; return 1 if there are any."""
    failed = 0
    for name, found in check(Path(argv[0])):
        for difference in found:
            print(f"{name}: {difference}")
        failed += bool(found)
    print(f"{failed} cases differ" if failed else "no differences")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""``pi-nb repair``, ``migrate`` and ``handoff``: the commands that write to a session file, and say what they did.

As JSON: ``{"ok", "error": null | {"code", "message", "line"}, "file", "changed", "backup", "entries", "warnings"}``.
Whatever was in the file before is kept beside it, as ``.bak``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pi_nb.cli.output import say
from pi_nb.cli.sessions import add_file, session_file
from pi_nb.errors import PiError, SessionError
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.plain import visible

__all__ = ["add"]

Change = Callable[[Session], str]


def add(commands: Any) -> None:
    """Declare the three commands."""
    for name, what, change in (
        ("repair", "leave bad lines out of a session file; the file as it was is kept as .bak", _repaired),
        ("migrate", "bring a session file of an older version up to date; the old one is kept as .bak", _migrated),
        ("handoff", "let the file end at the leaf, so that pi's terminal goes on there", _handed_off),
    ):
        command = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.")
        add_file(command)
        command.add_argument("--json", action="store_true", help="write JSON")
        command.set_defaults(run=run, change=change, repair=name == "repair")


def run(args: argparse.Namespace) -> int:
    """Change the file and write what was done to standard output."""
    file = Path(args.file)
    try:
        file = session_file(args.file, args.root)
        before = _backups(file)
        with Session(JsonlSessionStorage.open(file, repair=args.repair)) as session:
            said = args.change(session)
            report = _report(session, file, sorted(_backups(file) - before), said)
    except PiError as error:
        if not args.json:
            raise
        report = _refusal(file, error)
    _tell(report, as_json=args.json)
    return 0 if report["ok"] else 1


def _repaired(session: Session) -> str:
    _check_writable(session)
    return "written without its bad lines"


def _check_writable(session: Session) -> None:
    if session.read_only:
        raise SessionError(session.warnings[-1], code="locked", hint="Close it there, or migrate it, and try again.")


def _migrated(session: Session) -> str:
    old = session.read_only
    session.migrate()
    return "brought up to version 3" if old and not session.read_only else ""


def _handed_off(session: Session) -> str:
    _check_writable(session)
    return "the file ends at the leaf now" if session.handoff() else ""


def _backups(file: Path) -> set[str]:
    return {path.name for path in file.parent.glob(f"{file.name}*.bak*")} if file.parent.is_dir() else set()


def _report(session: Session, file: Path, backups: list[str], said: str) -> dict[str, Any]:
    return {
        "ok": True,
        "error": None,
        "file": str(file),
        "changed": said if said and (backups or "leaf" in said) else "",
        "backup": backups[-1] if backups else None,
        "entries": len(session),
        "warnings": list(session.warnings),
    }


def _refusal(file: Path, error: PiError) -> dict[str, Any]:
    line = error.line if isinstance(error, SessionError) else None
    told = {"code": error.code, "message": str(error), "line": line}
    return {"ok": False, "error": told, "file": str(file), "changed": "", "backup": None, "entries": 0, "warnings": []}


def _tell(report: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        say(json.dumps(report, indent=2))
        return
    say(f"{visible(report['file'])}: {report['changed'] or 'nothing to do'}; {report['entries']} entries")
    for warning in report["warnings"]:
        say(f"  {visible(warning)}")

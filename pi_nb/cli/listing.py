"""``pi-nb list``: the sessions below a root, the newest first; files that are none say why."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from pi_nb.cli.output import say
from pi_nb.cli.sessions import add_root, near
from pi_nb.session import lines
from pi_nb.session.listing import SessionInfo
from pi_nb.session.preview import prompt_in
from pi_nb.session.repo import SessionRepo
from pi_nb.views.plain import clip, pad, reading, short_session, visible

__all__ = ["add"]

_CHEAP: Final = 16 * 1024 * 1024  # bytes of a file whose lines are counted
_SOUGHT: Final = 50  # entries among which the first prompt is looked for
_TITLE: Final = 48  # cells


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("list", help="list sessions, the newest first")
    add_root(command)
    command.add_argument("--cwd", metavar="DIR", help="only sessions that belong to this folder")
    command.add_argument("--json", action="store_true", help="write JSON")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the list to standard output."""
    repo = SessionRepo(args.root)
    infos = repo.list(args.cwd, broken=True)
    if args.json:
        say(json.dumps({"ok": True, "root": str(repo.root), "sessions": [_record(info) for info in infos]}, indent=2))
        return 0
    for info in infos:
        say(_line(info, repo.root))
    if not infos:
        sys.stderr.write(f"pi-nb: no sessions in {visible(near(repo.root))}\n")
    return 0


def _line(info: SessionInfo, root: Path) -> str:
    if info.broken:
        return f"{'broken':8}  {visible(near(info.file, root))}: {visible(info.broken)}"
    count = _entries(info.file)
    size = "" if count is None else f"{count:,} {'entry' if count == 1 else 'entries'}"
    title = clip(visible(info.name or reading(_first_prompt(info.file)) or "(no prompt yet)", limit=200), _TITLE)
    columns = (short_session(info.id), _when(info.modified), f"{size:>14}", pad(title, _TITLE), visible(near(info.cwd)))
    return "  ".join(columns).rstrip()


def _when(time: datetime | None) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M}" if time else ""


def _record(info: SessionInfo) -> dict[str, Any]:
    return {
        "file": str(info.file),
        "id": info.id or None,
        "name": info.name,
        "prompt": None if info.broken else " ".join(_first_prompt(info.file).split())[:200] or None,
        "entries": None if info.broken else _entries(info.file),
        "cwd": info.cwd or None,
        "created": info.created.isoformat() if info.created else None,
        "modified": info.modified.isoformat() if info.modified else None,
        "broken": info.broken,
    }


def _entries(file: Path) -> int | None:
    """Return how many entries a file has, one a line below its header; None if counting them would take long."""
    try:
        if file.stat().st_size > _CHEAP:
            return None
        return max(0, sum(not lines.is_blank(line) for line in file.read_bytes().split(b"\n")) - 1)
    except OSError:
        return None


def _first_prompt(file: Path) -> str:
    """Return the text of the first user message if it is near the beginning, else an empty text."""
    try:
        with file.open("rb") as stream:
            return next((text for line in islice(stream, _SOUGHT) if (text := prompt_in(line))), "")
    except OSError:
        return ""

"""``pi-nb search``: a text in all sessions below a root, or in one file, with what stands around it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from pi_nb.cli.output import say
from pi_nb.cli.sessions import add_root, near, session_file
from pi_nb.errors import SessionError
from pi_nb.session.listing import describe
from pi_nb.session.repo import SessionRepo
from pi_nb.session.search import Found, search_file
from pi_nb.views.plain import short_session, visible

__all__ = ["add"]


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("search", help="find a text in session files")
    command.add_argument("text", metavar="TEXT", help="what to look for, whatever its case")
    command.add_argument(
        "file", nargs="?", metavar="FILE", help="only in this session: its file, id, an end of that, or its name"
    )
    add_root(command)
    command.add_argument("--cwd", metavar="DIR", help="only sessions that belong to this folder")
    command.add_argument("--limit", type=int, default=100, metavar="N", help="the most entries to show (100)")
    command.add_argument("--json", action="store_true", help="write JSON")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write what was found to standard output, session by session; exit status 1 if nothing was, as grep's."""
    found = _search(args)
    if args.json:
        say(json.dumps({"ok": True, "found": [_record(hit) for hit in found]}, indent=2))
    elif found:
        _tell(found, SessionRepo(args.root).root)
    else:
        sys.stderr.write("pi-nb: nothing found\n")
    return 0 if found else 1


def _tell(found: Sequence[Found], root: Path) -> None:
    for info, hits in groupby(found, key=lambda hit: hit.session):
        name = f"  {visible(info.name)}" if info.name else ""
        say(f"{short_session(info.id)}{name}  {visible(near(info.file, root))}")
        for hit in hits:
            say(f"  {visible(hit.entry_id)}  {visible(hit.snippet())}")


def _search(args: argparse.Namespace) -> Sequence[Found]:
    if args.file is None:
        return SessionRepo(args.root).search(args.text, cwd=args.cwd, limit=args.limit)
    file = session_file(args.file, args.root)
    info = describe(file)
    if info.broken:
        raise SessionError(f"{file}: {info.broken}", path=str(file))
    return list(search_file(info, args.text))[: args.limit]


def _record(hit: Found) -> dict[str, Any]:
    session = hit.session
    return {
        "file": str(session.file),
        "session": session.id,
        "name": session.name,
        "entry": hit.entry_id,
        "snippet": hit.snippet(),
    }

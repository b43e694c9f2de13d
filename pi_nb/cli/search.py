"""``pi-nb search``: a text in all sessions below a root, or in one file, with what stands around it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pi_nb.cli.output import say
from pi_nb.errors import SessionError
from pi_nb.session.listing import describe
from pi_nb.session.repo import SessionRepo
from pi_nb.session.search import Found, search_file
from pi_nb.views.plain import visible

__all__ = ["add"]


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("search", help="find a text in session files")
    command.add_argument("text", metavar="TEXT", help="what to look for, whatever its case")
    command.add_argument("file", nargs="?", type=Path, metavar="FILE", help="only in this session file")
    command.add_argument("--root", type=Path, metavar="DIR", help="folder of the sessions (default: pi's own)")
    command.add_argument("--cwd", metavar="DIR", help="only sessions that belong to this folder")
    command.add_argument("--limit", type=int, default=100, metavar="N", help="the most entries to show (100)")
    command.add_argument("--json", action="store_true", help="write JSON")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write what was found to standard output; exit status 1 if nothing was, as grep's."""
    found = _search(args)
    if args.json:
        say(json.dumps({"ok": True, "found": [_record(hit) for hit in found]}, indent=2))
    else:
        for hit in found:
            name = hit.session.name or hit.session.id[-8:]
            say(f"{visible(name)}  {visible(hit.entry_id)}  {visible(hit.snippet())}")
    return 0 if found else 1


def _search(args: argparse.Namespace) -> Sequence[Found]:
    if args.file is None:
        return SessionRepo(args.root).search(args.text, cwd=args.cwd, limit=args.limit)
    info = describe(args.file)
    if info.broken:
        raise SessionError(f"{args.file}: {info.broken}", path=str(args.file))
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

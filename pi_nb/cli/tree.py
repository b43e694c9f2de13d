"""``pi-nb tree``: a session file as a text tree, or as its log."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator
from typing import Any

from pi_nb.cli.output import say
from pi_nb.cli.sessions import add_file, open_untouched, session_file
from pi_nb.errors import SessionError
from pi_nb.session.tree import Session

__all__ = ["add"]

_WIDTH = 100  # cells, where the output is no terminal
_NARROWEST = 20


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("tree", help="show a session file as a text tree")
    add_file(command)
    command.add_argument("--width", type=_width, metavar="N", help="cells of a row (default: the terminal's)")
    command.add_argument("--ascii", action="store_true", help="use nothing but ASCII")
    command.add_argument("--all", action="store_true", help="show labels, names and moves of the leaf as rows too")
    command.add_argument("--log", action="store_true", help="show the log in the order of writing instead")
    command.add_argument("--json", action="store_true", help="write JSON: one record an entry, in the order of writing")
    command.set_defaults(run=run)


def _width(text: str) -> int:
    number = int(text)
    if number < _NARROWEST:
        raise argparse.ArgumentTypeError(f"must be {_NARROWEST} or more")
    return number


def run(args: argparse.Namespace) -> int:
    """Write the tree to standard output."""
    from pi_nb.views.text import render_log, render_tree

    width = args.width or shutil.get_terminal_size((_WIDTH, 24)).columns
    with open_untouched(session_file(args.file, args.root)) as session:
        if args.json:
            say(json.dumps({"leaf": session.leaf_id, "entries": list(_records(session))}, indent=2))
            return 0
        if args.log:
            say(render_log(session, width=width, ascii=args.ascii))
        else:
            say(render_tree(session, width=width, ascii=args.ascii, everything=args.all))
    return 0


def _records(session: Session) -> Iterator[dict[str, Any]]:
    """Yield each entry in short: how it hangs, what it is, whether it is on the active path."""
    from pi_nb.views.entry_line import entry_line

    active = _active(session)
    for entry in session.entries():
        line = entry_line(entry)
        yield {
            "id": entry.id,
            "parent": entry.parent_id,
            "type": entry.type,
            "role": getattr(getattr(entry, "message", None), "role", None),
            "text": line.text,
            "label": session.labels.get(entry.id),
            "active": entry.id in active,
        }


def _active(session: Session) -> frozenset[str]:
    """Return the ids of the active path; none where it is broken."""
    try:
        return frozenset(entry.id for entry in session.path())
    except SessionError:
        return frozenset()

"""``pi-nb export``: a session as one page with the live tree in it, as Markdown, or as lines of JSON."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pi_nb.cli.output import say
from pi_nb.cli.sessions import add_file, near, open_untouched, session_file
from pi_nb.errors import UserError
from pi_nb.notebook.whole_file import write_whole
from pi_nb.session.tree import Session
from pi_nb.views.plain import short_session, visible

__all__ = ["add"]


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("export", help="write a session as one page to look at, as Markdown or as JSON lines")
    add_file(command)
    command.add_argument("-o", "--output", type=Path, metavar="OUT", help="file to write (default: session-ID.html)")
    command.add_argument(
        "--format",
        choices=sorted(_FORMATS),
        help="html: the tree, to look around in, without a kernel; md: the active branch; jsonl: every entry "
        "(default: what OUT ends in, or html)",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the file, anew if it is there, and say where it is."""
    source = session_file(args.file, args.root)
    kind = args.format or _kind(args.output)
    with open_untouched(source) as session:
        target = args.output or Path(f"session-{short_session(session.id)}.{kind}")
        if target.exists() and target.samefile(source):
            raise UserError("That is the session's own file.", hint="Name another one with -o.")
        write_whole(target, _FORMATS[kind](session))
    say(visible(near(target)))
    return 0


def _kind(output: Path | None) -> str:
    ending = output.suffix.lstrip(".").lower() if output else "html"
    kind = {"htm": "html", "markdown": "md"}.get(ending, ending)
    if kind not in _FORMATS:
        raise UserError(f"{output} does not say what to write.", hint=f"Use --format {', '.join(sorted(_FORMATS))}.")
    return kind


def _page(session: Session) -> str:
    from pi_nb.views.page import tree_page

    return tree_page(session)


def _markdown(session: Session) -> str:
    from pi_nb.notebook.exporting import as_markdown

    return as_markdown(session)


def _lines(session: Session) -> str:
    from pi_nb.notebook.exporting import as_lines

    return as_lines(session)


_FORMATS: Final[dict[str, Callable[[Session], str]]] = {"html": _page, "md": _markdown, "jsonl": _lines}

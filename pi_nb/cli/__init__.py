"""``pi-nb``: look at session files, try the notebook, fetch the local model.

Each command is a module with ``add(commands)``, which declares its options and what runs it. A command returns its
exit status: 0, or 1 when it could not do what was asked; 2 is a usage error. Errors are one line on stderr.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from pi_nb import __version__
from pi_nb.cli import changes, demo, export, inspect, lab, listing, local, search, tree
from pi_nb.errors import PiError

__all__ = ["main"]

_INTERRUPTED = 130  # as shells report a process that SIGINT ended
_PIPE_CLOSED = 141  # SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: Arguments without the program's name; None takes those of the process.
    """
    _speak_utf8()
    try:
        return _run(argv)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        return _pipe_closed()
    except PiError as error:
        return _fail(str(error), error.hint)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _fail(f"{where}{error.strerror or error}")


def _run(argv: Sequence[str] | None) -> int:
    try:
        args = parser().parse_args(argv)
    except SystemExit as stop:  # argparse has said what is wrong, or shown its help
        return int(stop.code or 0)
    status: int = args.run(args)
    sys.stdout.flush()
    return status


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = argparse.ArgumentParser(prog="pi-nb", description="Branching agent sessions in a notebook.")
    top.add_argument("--version", action="version", version=f"pi-nb {__version__}")
    commands = top.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Command)
    for command in (listing, inspect, tree, search, export, changes, demo, lab, local):
        command.add(commands)
    return top


class _Command(argparse.ArgumentParser):
    """The parser of one command: what is wrong with its arguments is said with its own usage."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return what was parsed; arguments that nothing knows are an error here, not one of the whole program."""
        known, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = self.get_default("unknown_hint") or ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint and f' ({hint})'}")
        return known, unknown


def _fail(message: str, hint: str = "") -> int:
    text = " ".join(part for part in (message, hint) if part)
    sys.stderr.write(f"pi-nb: {' '.join(text.split())}\n")
    return 1


def _speak_utf8() -> None:
    """Write UTF-8 whatever the locale says; what even that cannot hold is escaped."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def _pipe_closed() -> int:
    """The reader went away: keep the interpreter from complaining when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return _PIPE_CLOSED

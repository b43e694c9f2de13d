"""``pi-nb local``: the model that runs on this machine."""

from __future__ import annotations

import argparse
import sys
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("local", help="fetch the model that runs on this machine, or say what there is")
    command.add_argument("what", choices=("fetch", "status"))
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fetch the model, or say whether it is there."""
    from pi_nb.providers import local

    if args.what == "fetch":
        sys.stdout.write(f"{local.fetch()}\n")
        return 0
    found = local.installed()
    sys.stdout.write(f"{found}\n")
    return 0 if found else 1

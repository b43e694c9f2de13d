"""``pi-nb local``: the small model that runs on this machine, without key or network."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from typing import Any

from pi_nb.cli.output import say

__all__ = ["add"]

_MODEL = "local:smollm2"


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("local", help="fetch the small model that runs on this machine, or look for it")
    command.add_argument("what", choices=("fetch", "status"), help="fetch: download it (93 MB); status: is it there?")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Fetch the model, or say what there is; status 1 if it cannot be used."""
    from pi_nb.providers import local, weights

    if args.what == "fetch":
        local.fetch(progress=say)
    runtime = find_spec("xllamacpp") is not None
    say(f"weights  {weights.weights_path() if weights.fetched() else 'missing: run pi-nb local fetch'}")
    say(f"runtime  {'xllamacpp' if runtime else 'missing: pip install ' + repr('pi-nb[local]')}")
    say(f"model    {_MODEL if local.installed() else 'not yet to be used'}")
    return 0 if local.installed() else 1

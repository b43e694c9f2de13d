"""``pi-nb lab``: the quickstart notebook in JupyterLab."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pi_nb.cli.notebooks import quickstart
from pi_nb.cli.output import say
from pi_nb.errors import UserError

__all__ = ["add", "place"]


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("lab", help="open the quickstart notebook in JupyterLab")
    command.add_argument(
        "--dir", type=Path, default=Path("pi-nb-lab"), metavar="DIR", help="where to put it (default: ./pi-nb-lab)"
    )
    command.add_argument("options", nargs="*", metavar="-- OPTION", help="options for JupyterLab, after --")
    command.set_defaults(run=run, unknown_hint="JupyterLab's own options go after --: pi-nb lab -- --no-browser")


def run(args: argparse.Namespace) -> int:
    """Put the notebook in place and become JupyterLab."""
    if find_spec("jupyterlab") is None:
        raise UserError("JupyterLab is not installed.", hint="Install it: pip install 'pi-nb[lab]'")
    notebook = place(quickstart(), args.dir)
    command = [sys.executable, "-m", "jupyterlab", notebook.name, *args.options]
    if os.name != "nt":  # there, exec returns to the shell while the program goes on
        os.chdir(notebook.parent)
        os.execv(command[0], command)  # noqa: S606
    return subprocess.run(command, cwd=notebook.parent, check=False).returncode


def place(source: Path, folder: Path) -> Path:
    """Copy a notebook into a folder, unless one of that name is there: it may hold somebody's work.

    Returns:
        The notebook in that folder.
    """
    target = folder / source.name
    folder.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copyfile(source, target)
        say(f"New: {target}")
    elif target.read_bytes() != source.read_bytes():
        say(f"Your {target} is left as it is; delete it to begin anew.")
    return target.resolve()

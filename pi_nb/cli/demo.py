"""``pi-nb demo``: the quickstart notebook, run here and now in a real kernel, without key or network.

Everything it writes goes into one folder; the kernel gets its own places for sessions, settings and history there,
so nothing of the user's is read or changed. The kernel is gone when the command ends, however it ends.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from pi_nb.cli.notebooks import quickstart
from pi_nb.cli.output import say
from pi_nb.cli.sessions import open_untouched
from pi_nb.errors import PiError, UserError

__all__ = ["add"]

_MODEL = "scripted:demo"
_SECONDS = 600  # for one cell; a model that runs on this machine may be slow
_ERRORS_ONLY = "--IPKernelApp.log_level=40"  # what a kernel says of its sockets is nothing to tell
_RUNTIME = "runtime"  # folder of what the kernel needs while it runs


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser("demo", help="run the quickstart notebook here and show the tree it grows")
    command.add_argument("--dir", type=Path, metavar="DIR", help="write into DIR (default: a new temporary folder)")
    command.add_argument(
        "--model", default=_MODEL, metavar="MODEL", help=f"provider:model that answers (default: {_MODEL})"
    )
    command.add_argument("--keep", action="store_true", help="keep the kernel's own folders too")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the notebook, then show the tree and where everything is."""
    if find_spec("nbclient") is None or find_spec("nbformat") is None:
        raise UserError("The demo needs nbclient, which is not installed.", hint="Install it: pip install 'pi-nb[lab]'")
    source = quickstart()
    folder = _folder(args.dir)
    executed = _free(folder / "quickstart-executed.ipynb")
    say(f"Running {source.name} with {args.model} in {folder} …")
    before = set(folder.glob("sessions/**/*.jsonl"))
    try:
        with _environment(_places(folder, args.model)):
            failure = _execute(source, executed, folder)
    finally:
        if not args.keep:
            shutil.rmtree(folder / _RUNTIME, ignore_errors=True)
    grown = sorted(set(folder.glob("sessions/**/*.jsonl")) - before)
    _show(grown)
    say(f"notebook  {executed}")
    for file in grown:
        say(f"session   {file}")
    if failure:
        raise UserError(failure, hint=f"The notebook as far as it ran: {executed}")
    return 0


def _folder(wanted: Path | None) -> Path:
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="pi-nb-demo-"))
    wanted.mkdir(parents=True, exist_ok=True)
    return wanted.resolve()


def _free(wanted: Path) -> Path:
    """Return a name that no file has: the one wanted, or one with a number."""
    name, number = wanted, 1
    while name.exists():
        number += 1
        name = wanted.with_stem(f"{wanted.stem}-{number}")
    return name


def _places(folder: Path, model: str) -> dict[str, str]:
    """Return the environment that makes the kernel keep to a folder."""
    runtime = folder / _RUNTIME
    places = {
        "PI_CODING_AGENT_SESSION_DIR": folder / "sessions",
        "PI_CODING_AGENT_DIR": runtime / "agent",
        "IPYTHONDIR": runtime / "ipython",
        "JUPYTER_CONFIG_DIR": runtime / "config",
        "JUPYTER_DATA_DIR": runtime / "data",
        "JUPYTER_RUNTIME_DIR": runtime / "jupyter",
        "MPLCONFIGDIR": runtime / "matplotlib",
    }
    for place in places.values():
        place.mkdir(parents=True, exist_ok=True)
    return {**{name: str(place) for name, place in places.items()}, "PI_NB_MODEL": model}


@contextlib.contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(values)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _execute(source: Path, executed: Path, folder: Path) -> str:
    """Run a notebook and save it as far as it came; return what went wrong, or an empty string."""
    import nbformat
    from nbclient.exceptions import CellExecutionError, DeadKernelError

    notebook = nbformat.read(source, as_version=4)
    try:
        with (folder / _RUNTIME / "kernel.log").open("wb") as log:
            _run_to_end(_client(notebook, folder), log)
    except (CellExecutionError, DeadKernelError) as error:
        return _reason(notebook, error)
    finally:
        nbformat.write(notebook, executed)
    return ""


def _client(notebook: Any, folder: Path) -> Any:
    """Return a client whose kernel is this very Python, whatever kernels are installed."""
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    class ThisPython(KernelSpecManager):
        def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
            argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", _ERRORS_ONLY]
            return KernelSpec(argv=argv, display_name="Python 3", language="python")

    client = NotebookClient(notebook, timeout=_SECONDS, resources={"metadata": {"path": str(folder)}})
    connection = folder / _RUNTIME / "kernel.json"
    client.km = AsyncKernelManager(kernel_spec_manager=ThisPython(), connection_file=str(connection))
    return client


def _run_to_end(client: Any, log: BinaryIO) -> None:
    """Run a client's notebook; if something ends it early, Ctrl-C or SIGTERM, its kernel is ended first.

    It runs on a thread of its own, because on the main one nbclient takes the signals and stumbles over them.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(client.async_execute(stdout=log, stderr=log))
    with _sigterm_as_exit(), ThreadPoolExecutor(1) as thread, contextlib.closing(loop):
        running = thread.submit(loop.run_until_complete, task)
        try:
            while not wait([running], timeout=0.2).done:  # Windows notices Ctrl-C only between two waits
                pass
        except BaseException:
            client.shutdown_kernel = "immediate"
            loop.call_soon_threadsafe(task.cancel)
            wait([running])
            raise
        running.result()


@contextlib.contextmanager
def _sigterm_as_exit() -> Iterator[None]:
    """Let SIGTERM end the command like an exception, so that it can tidy up. Does nothing off the main thread."""

    def leave(number: int, _frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _reason(notebook: Any, error: Exception) -> str:
    """Return in one line which cell failed and why."""
    for number, cell in enumerate(notebook.cells, 1):
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                return f"Cell {number} failed: {output.ename}: {output.evalue}"
    return f"The notebook did not run to its end: {str(error).strip() or type(error).__name__}"


def _show(files: list[Path]) -> None:
    from pi_nb.views.text import render_tree

    for file in files:
        with contextlib.suppress(PiError), open_untouched(file) as session:
            say(f"\n{render_tree(session)}\n")

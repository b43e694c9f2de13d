"""One shell command that runs: its output as it comes, its end, and the end of everything it started.

Output is read by a thread of its own from one pipe for both streams, which keeps their order. The end of the command
is the end of the shell, not of the pipe: a process that went to the background may hold that for hours. For such ones
the thread goes on reading, since they would die of a closed pipe otherwise.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from pi_nb.errors import ToolError
from pi_nb.harness.signals import AbortSignal
from pi_nb.harness.threads import in_thread
from pi_nb.tools.process_tree import Process, ProcessTree
from pi_nb.tools.truncate import Tail
from pi_nb.tools.waiting import Ending, first_of

__all__ = ["Shell"]

TERM_GRACE = 0.25
"""Seconds between SIGTERM and SIGKILL. The harness waits half a second for a tool after an abort."""
DRAIN = 0.2
"""Seconds to wait for the rest of the output after the shell has ended, if somebody still holds the pipe."""
_CHUNK = 64 * 1024


class Shell:
    """A command in a shell of its own session, without input.

    Attributes:
        output: What it printed, both streams.
        tree: Its processes.
        exit_code: Its status; negative is the number of the signal that ended it; None while it runs.
        left: Processes that run on after its end.
    """

    def __init__(self, command: str, *, cwd: Path, environment: Mapping[str, str]) -> None:
        self.output = Tail()
        self.tree = ProcessTree()
        self.exit_code: int | None = None
        self.left: list[Process] = []
        self._drained = threading.Event()
        self._ended = threading.Event()
        self._process = self._start(command, cwd, self.tree.environment(dict(environment)))

    def __repr__(self) -> str:
        return f"<Shell pid={self._process.pid} exit_code={self.exit_code} output={self.output}>"

    async def run(self, signal: AbortSignal, limit: float | None) -> Ending:
        """Wait until the command has ended; end it and all its processes on an abort or after ``limit`` seconds."""
        waiting = asyncio.ensure_future(in_thread(self._wait))
        try:
            ending = await first_of(waiting, signal, limit)
            await in_thread(self._settle if ending == "done" else self.end)
        except BaseException:
            await asyncio.shield(asyncio.ensure_future(in_thread(self.end)))
            raise
        finally:
            waiting.cancel()  # the thread goes on until the process is gone, so that none is left as a zombie
        return ending

    def end(self) -> None:
        """End all its processes and take in what they printed last. Blocks for about a second at most."""
        self.left = self.tree.end(TERM_GRACE)
        self._drained.wait(DRAIN)
        if self._ended.wait(DRAIN):
            self.tree.root_ended()

    def _start(self, command: str, cwd: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        program = shutil.which("bash") or shutil.which("sh")
        if os.name != "posix" or program is None:
            raise ToolError("There is no bash or sh here to run commands.")
        reading, writing = os.pipe()
        try:
            process = subprocess.Popen(
                [program, "-c", command],
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            os.close(reading)
            raise ToolError(_why_not(error, command)) from error
        finally:
            os.close(writing)
        self.tree.grow(process.pid)
        threading.Thread(target=self._read, args=(reading,), name="pi_nb shell output", daemon=True).start()
        return process

    def _read(self, pipe: int) -> None:
        try:
            while chunk := os.read(pipe, _CHUNK):
                self.output.feed(chunk)
        finally:
            os.close(pipe)
            self.output.close()
            self._drained.set()

    def _wait(self) -> None:
        self.exit_code = self._process.wait()
        self._ended.set()

    def _settle(self) -> None:
        """After the shell has ended by itself: take in the rest of the output, see who is left."""
        quiet = self._drained.wait(DRAIN)
        self.left = self.tree.members()
        self.tree.root_ended()
        if not self.left:
            self.tree.release()
        elif not quiet:
            self.output.save()


def _why_not(error: Exception, command: str) -> str:
    if isinstance(error, UnicodeEncodeError):
        return "The command is not valid text."
    if isinstance(error, OSError) and error.errno == 7:  # E2BIG
        return f"The command is too long ({len(command)} characters): write it to a file, then run that."
    return f"The command could not be started: {error}"

"""The tool ``python``: code in the user's kernel, where plots appear and variables stay."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from pi_nb.errors import ToolError
from pi_nb.harness.tools import FunctionTool, ToolContext, ToolResult, tool
from pi_nb.messages import ImageContent
from pi_nb.notebook.capture import Capture
from pi_nb.notebook.execution import execute
from pi_nb.notebook.main_thread import Errand, ErrandInterrupted, ErrandStopped, draw_for, on_main_thread
from pi_nb.tools.bash import plain
from pi_nb.tools.images import MAX_IMAGE_BYTES, image_kind
from pi_nb.tools.paths import printable
from pi_nb.tools.truncate import MAX_BYTES, Shortened, noted, shorten, size_of

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime

__all__ = ["PYTHON", "python_tool"]

PYTHON = "python"
LIMIT = 120.0  # seconds that code may run, and wait for the main thread, if the model says nothing
TICK = 0.1  # seconds between two looks at what was printed
INSIST = 1.0  # seconds until code that caught an interrupt is interrupted again
GIVE_UP = 5.0  # seconds after which code that catches every interrupt is left alone
MOST_PICTURES = 8


def python_tool(runtime: Runtime) -> FunctionTool:
    """Return the tool that runs code in the kernel of a runtime."""

    @tool(name=PYTHON, sequential=True, keep="tail")
    async def python(
        code: str, ctx: ToolContext, limit: Annotated[float, Field(alias="timeout")] = LIMIT
    ) -> ToolResult:
        """Run Python code in the user's notebook and return what it prints and displays, and its last expression.

        Variables, imports and open figures are the notebook's, and stay. What matplotlib draws comes back as a
        picture, without plt.show(). Magics (%timeit) and shell lines (!ls) work; top-level await does not. Long
        output is cut to its end.

        Args:
            code: The code, any number of statements.
            ctx: What is known of the call.
            limit: Seconds after which it is interrupted.
        """
        if not math.isfinite(limit) or limit <= 0:
            raise ToolError(f"timeout must be a number of seconds, not {limit}.")
        return await _Call(runtime, code, ctx, limit).run()

    return python


class _Call:
    """One run of the tool, seen from the owner thread."""

    def __init__(self, runtime: Runtime, code: str, ctx: ToolContext, limit: float) -> None:
        self._runtime = runtime
        self._ctx = ctx
        self._limit = limit
        self._capture: Capture | None = None
        self._told = 0
        self._began = self._due = time.monotonic()
        self._overdue = False
        self._errand: Errand[bool] = on_main_thread(runtime, partial(self._work, code))

    def _work(self, code: str) -> bool:
        self._capture = Capture(self._runtime.ip)  # made on the thread that runs the code
        return execute(self._runtime.ip, code, self._capture)

    async def run(self) -> ToolResult:
        remove = self._ctx.signal.on_abort(self._errand.stop)
        try:
            await self._wait()
            return self._result(failed=not self._errand.outcome.result())
        except ErrandInterrupted:
            await self._runtime.harness.abort()  # the stop button is for the whole run
            return self._result("Interrupted by the user.", failed=True)
        except ErrandStopped:
            return self._result(self._why_stopped(), failed=True)
        finally:
            remove()
            self._errand.stop()

    async def _wait(self) -> None:
        """Wait for the errand; tell what it prints; interrupt it when its time is over.

        Raises:
            ToolError: It goes on although it was interrupted.
        """
        ended = self._errand.ended()
        self._due = self._began + self._limit
        give_up = math.inf
        while not ended.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), TICK)
            self._tell()
            draw_for(self._runtime)
            now = time.monotonic()
            if ended.is_set() or now < self._due:
                continue
            if now > give_up:
                raise ToolError("It was interrupted and goes on all the same; the notebook is busy until it ends.")
            self._overdue, self._due, give_up = True, now + INSIST, min(give_up, now + GIVE_UP)
            self._errand.stop()

    def _tell(self) -> None:
        """Tell what is new, and begin to count the time when the code has begun."""
        if self._capture is None:
            if time.monotonic() - self._began > 1 and not self._told:
                self._told = 1
                self._ctx.update("Waiting: the notebook is busy with another cell.")
            return
        if not self._overdue and self._told < 2:
            self._told, self._began = 2, time.monotonic()
            self._due = self._began + self._limit
        total = self._capture.output.total_bytes
        if total and total + 2 != self._told:
            self._told = total + 2
            self._ctx.update(ToolResult(noted(_shortened(self._capture).text, ())))

    def _why_stopped(self) -> str:
        if not self._overdue:
            return "Stopped: the run was aborted."
        if self._capture is not None:
            return f"Stopped: it took longer than {self._limit:g} s."
        return f"Not run: the notebook was busy with another cell for all of {self._limit:g} s."

    def _result(self, note: str = "", *, failed: bool) -> ToolResult:
        took = time.monotonic() - self._began
        details = {"seconds": round(took, 3)}
        if self._capture is None:
            return ToolResult(note, details, is_error=failed)
        self._capture.output.close()
        images, remarks = _pictures(self._capture.pictures)
        notes = [*_cut_note(self._capture), *remarks, *([note] if note else [])]
        text = _shortened(self._capture).text
        if not text and not notes and not images:
            text = "(no output)"
        blocks = noted(text, notes) if text or notes else ()
        return ToolResult((*blocks, *images), details, is_error=failed)


def _shortened(capture: Capture) -> Shortened:
    data, _ = capture.output.end()
    return shorten(plain(data.decode("utf-8", "replace")).removesuffix("\n"), keep="tail")


def _cut_note(capture: Capture) -> Iterator[str]:
    short, output = _shortened(capture), capture.output
    if short.cut or output.total_bytes > 2 * MAX_BYTES:
        file = output.file
        where = f" {'All' if output.complete else 'More'} of it is in {printable(file)}." if file else ""
        yield f"The last {size_of(len(short.text.encode()))} of {size_of(output.total_bytes)}.{where}"


def _pictures(displays: Sequence[Mapping[str, Any]]) -> tuple[list[ImageContent], list[str]]:
    """Return the pictures a model can see, and remarks on those that it cannot."""
    images: list[ImageContent] = []
    left_out = 0
    for data in displays:
        image = _picture(data) if len(images) < MOST_PICTURES else None
        if image is None:
            left_out += 1
        else:
            images.append(image)
    return images, [f"{left_out} picture{'s' if left_out > 1 else ''} left out: too many, or too large."] * bool(
        left_out
    )


def _picture(data: Mapping[str, Any]) -> ImageContent | None:
    value = data.get("image/png") or data.get("image/jpeg")
    raw = value if isinstance(value, bytes) else base64.b64decode("".join(str(value).split()))
    kind = image_kind(raw[:12])
    if kind is None or len(raw) > MAX_IMAGE_BYTES:
        return None
    return ImageContent(data=base64.b64encode(raw).decode(), mime_type=kind)

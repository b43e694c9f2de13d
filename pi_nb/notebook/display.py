"""The output of a cell while and after a run: redrawn in place in a notebook, written as it comes in a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from IPython.display import DisplayHandle, display

from pi_nb.notebook.answer_html import answer_html
from pi_nb.notebook.answer_markdown import answer_markdown, answer_text
from pi_nb.notebook.caption import Caption, clean
from pi_nb.notebook.cards import tool_line
from pi_nb.notebook.place import has_kernel
from pi_nb.notebook.portable import portable
from pi_nb.notebook.transcript import Notice, Part, Said, Snapshot, Text, Thinking, Tool, Transcript
from pi_nb.providers.surrogates import well_formed, well_formed_value
from pi_nb.views.plain import UNTYPESET

__all__ = ["CellOutput", "NotebookOutput", "TerminalOutput", "bundle", "output_for", "show"]

REDRAW = 0.05  # seconds between two redraws at least: 20 a second, whatever the token rate
WAITING = 1.0  # seconds between two redraws when nothing arrives, so that the clock is seen to run
SHARE = 4  # a redraw that takes long is followed by a pause this many times as long


class CellOutput(Protocol):
    """Shows a run in the cell that started it."""

    caption: Caption

    def draw(self) -> None:
        """Show what is new, if it is time."""
        ...

    def close(self, metadata: dict[str, Any]) -> None:
        """Show the run as it ended, and leave it there."""
        ...


def output_for(ip: Any, transcript: Transcript, caption: Caption, *, quiet: bool = False) -> CellOutput:
    """Return the output that fits the shell; a quiet one writes into no line that somebody may be typing."""
    if has_kernel(ip):
        return NotebookOutput(transcript, caption)
    return QuietOutput(transcript, caption) if quiet else TerminalOutput(transcript, caption)


def bundle(run: Snapshot, caption: Caption) -> dict[str, str]:
    """Return a run in each format that some front end reads; in none of them is anything of it markup."""
    return {
        "text/html": answer_html(run, caption),
        "text/markdown": answer_markdown(run, caption),
        "text/plain": answer_text(run, caption),
    }


def show(html: str, text: str) -> None:
    """Display something of our own making, in a notebook as HTML and in a terminal as text."""
    html = portable(f'<div class="{UNTYPESET}">{html}</div>')
    display(well_formed_value({"text/html": html, "text/plain": text}), raw=True)


class NotebookOutput:
    """One output that is updated in place, by its display id, from whichever thread draws."""

    def __init__(
        self, transcript: Transcript, caption: Caption, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.caption = caption
        self._transcript = transcript
        self._clock = clock
        self._due = 0.0
        self._shown = -1
        self._handle: DisplayHandle | None = None

    def draw(self) -> None:
        """Redraw if something is new and the last redraw is long enough ago."""
        now = self._clock()
        if now < self._due:
            return
        version = self._transcript.version
        if version == self._shown and now < self._due + WAITING:
            return
        self._shown = version
        self._publish(bundle(self._transcript.snapshot(), self.caption), {})
        self._due = self._clock() + max(REDRAW, SHARE * (self._clock() - now))

    def close(self, metadata: dict[str, Any]) -> None:
        """Draw once more, with what identifies the run in the output's metadata."""
        run = self._transcript.snapshot()
        if self._handle is not None or run.entries:
            shown = bundle(run, self.caption)
            self._publish({**shown, "text/html": portable(shown["text/html"])}, {"pi_nb": metadata})

    def _publish(self, data: dict[str, str], metadata: dict[str, Any]) -> None:
        data, metadata = well_formed_value(data), well_formed_value(metadata)
        if self._handle is None:
            self._handle = DisplayHandle()
            self._handle.display(data, raw=True, metadata=metadata)
        else:
            self._handle.update(data, raw=True, metadata=metadata)


class TerminalOutput:
    """Writes the answer to standard output as it arrives; what is written cannot be taken back."""

    def __init__(self, transcript: Transcript, caption: Caption, *, stream: TextIO | None = None) -> None:
        self.caption = caption
        self._transcript = transcript
        self._stream = stream or sys.stdout
        self._done = 0  # parts written whole
        self._begun = ""  # text of the next part that is written already

    def draw(self) -> None:
        """Write what is new."""
        self._write(self._transcript.snapshot())

    def close(self, metadata: dict[str, Any]) -> None:
        """Write the rest and the line of facts."""
        run = self._transcript.snapshot()
        if not run.entries:
            return
        self._write(run)
        if self._begun:
            self._say("\n")
        line = " · ".join(self.caption.facts(run))
        for text in (self.caption.note, line, self.caption.why):
            if text:
                self._say(f"[{clean(text)}]\n")

    def _write(self, run: Snapshot) -> None:
        while self._done < len(run.parts):
            part = run.parts[self._done]
            ended = run.settled or self._done + 1 < len(run.parts)
            if isinstance(part, Text):
                self._stream_text(clean(part.text))
            if not ended and not (isinstance(part, Tool) and part.state in ("done", "failed")):
                return
            if not isinstance(part, Text):
                self._say(_line(part))
            elif self._begun:
                self._say("\n\n")
            self._done, self._begun = self._done + 1, ""

    def _stream_text(self, text: str) -> None:
        if not text.startswith(self._begun):  # a retry began the answer anew
            self._say("\n\n")
            self._begun = ""
        self._say(text[len(self._begun) :])
        self._begun = text

    def _say(self, text: str) -> None:
        self._stream.write(well_formed(text))
        self._stream.flush()


class QuietOutput(TerminalOutput):
    """Writes an answer to a terminal in one piece, when it is complete."""

    def draw(self) -> None:
        """Write nothing yet."""


def _line(part: Part) -> str:
    """Return a part that is not text as a line of its own."""
    if isinstance(part, Tool):
        return tool_line(part) + "\n"
    if isinstance(part, Thinking):
        return f"[thinking, {len(part.text.split())} words]\n" if part.text.strip() else ""
    return f"> {clean(part.text)}\n" if isinstance(part, Said | Notice) else ""

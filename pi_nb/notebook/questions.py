"""What a person is shown before they allow a tool call: all of it, as it is, with nothing hidden in it.

A command is shown as the shell gets it, code as Python gets it, a change of a file as what it would do to that file.
Characters that would hide something (controls, marks that turn the reading direction, invisible ones) are written out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from pi_nb.errors import ToolError
from pi_nb.notebook.blocks import Block, argument_blocks, block_html, title_of
from pi_nb.notebook.caption import clean
from pi_nb.tools.diff import compare
from pi_nb.tools.paths import shown
from pi_nb.tools.policy import Question
from pi_nb.tools.replacing import Replacement, apply

__all__ = ["Shown", "as_html", "as_text", "show_question", "visible"]

MOST = 200_000  # characters of one argument; the rest is counted, and the question says so
MOST_COMPARED = 1_000_000  # bytes of a file that is compared with what it would become


@dataclass(frozen=True, slots=True)
class Shown:
    """A question as it is shown.

    Attributes:
        call_id: The model's id of the call.
        tool: Name of the tool.
        title: The call in a few words.
        why: Why it is asked about, a sentence.
        always: What "always" would allow.
        blocks: The arguments.
        by: Which of several answers wants it, or an empty string.
    """

    call_id: str
    tool: str
    title: str
    why: str
    always: str
    blocks: tuple[Block, ...]
    by: str = ""

    @property
    def asked(self) -> str:
        """The question itself, a sentence."""
        return f"May {self.tool} run{f' for {self.by}' if self.by else ''}?"

    def to_wire(self) -> dict[str, Any]:
        """Return it as JSON for a page."""
        blocks = [{"label": block.label, "kind": block.kind, "text": block.text} for block in self.blocks]
        said = {"call": self.call_id, "tool": self.tool, "why": self.why, "always": self.always, "by": self.by}
        return {**said, "blocks": blocks}


def show_question(question: Question, cwd: str | Path, by: str = "") -> Shown:
    """Return a question as it is shown; reads the file that a call would change.

    Args:
        question: What is asked.
        cwd: Where paths are relative to.
        by: Which of several answers wants it.
    """
    blocks = tuple(Block(b.label, b.kind, _cut(visible(b.text))) for b in _blocks(question, cwd))
    return Shown(
        question.call_id,
        tool=visible(question.tool),
        title=visible(title_of(question.tool, question.arguments)),
        why=visible(question.why),
        always=visible(question.always),
        blocks=blocks,
        by=visible(by),
    )


def _blocks(question: Question, cwd: str | Path) -> Iterator[Block]:
    change = _change(question, cwd) if question.tool in ("write", "edit") else None
    if change is not None:
        yield change
    shown_by_change = ("path", "content", "edits", "oldText", "newText") if change is not None else ()
    rest = {name: value for name, value in question.arguments.items() if name not in shown_by_change}
    yield from argument_blocks(question.tool, rest)


def _change(question: Question, cwd: str | Path) -> Block | None:
    """Return what the call would do to its file, or None if that cannot be told."""
    place, arguments = question.path, question.arguments
    if place is None:
        return None
    name = shown(place, cwd)
    try:
        old = _content(place)
        new = str(arguments["content"]) if question.tool == "write" else apply(old or "", _edits(arguments), name=name)
    except (KeyError, OSError, ToolError, TypeError, ValueError):
        return None
    if old is None:
        return Block(f"{name} (new file)", "diff", "".join(f"+{line}\n" for line in new.splitlines()))
    if len(old) + len(new) > MOST_COMPARED:
        return None
    patch = compare(old, new, name).patch
    return Block(name, "diff", "".join(patch.splitlines(keepends=True)[2:]) or "(nothing changes)")


def _content(place: Path) -> str | None:
    """Return the text of a file; None if there is no file.

    Raises:
        ValueError: It is too long to compare, or no text.
    """
    if not place.exists():
        return None
    if not place.is_file() or place.stat().st_size > MOST_COMPARED:
        raise ValueError
    return place.read_bytes().decode()


def _edits(arguments: Mapping[str, Any]) -> list[Replacement]:
    edits = [Replacement(str(edit["oldText"]), str(edit["newText"])) for edit in arguments.get("edits", ())]
    if arguments.get("oldText") is not None:
        edits.append(Replacement(str(arguments["oldText"]), str(arguments["newText"])))
    return edits


def _cut(text: str) -> str:
    return text if len(text) <= MOST else f"{text[:MOST]}\n… {len(text) - MOST:,} more characters are not shown"


_ODD = re.compile(r"[^\t\n\x20-\x7e\xa1-\xac\xae-\u02ff]")
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
_BLANK = "\u115f\u1160\u3164\uffa0\u2800"  # letters and signs that show nothing
_WIDE_SPACE = "\u3000"


def visible(text: str) -> str:
    r"""Return text with nothing hidden in it: odd characters are written out, such as ``\u202e``. Keys are hidden."""
    return clean(_ODD.sub(lambda match: _written_out(match[0]), text.replace("\r\n", "\n")))


def _written_out(character: str) -> str:
    hidden = unicodedata.category(character) in _HIDDEN or character in _BLANK
    if not hidden or character == _WIDE_SPACE:
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


# ---------------------------------------------------------------- formats


def as_html(question: Shown, *, below: str = "") -> str:
    """Return a question as HTML that does nothing; ``below`` says how to answer it."""
    rows = [f'<div class="pi-part">{escape(block.label)}</div>{block_html(block)}' for block in question.blocks]
    how = f'<p class="pi-notice">{escape(below)}</p>' if below else ""
    return (
        f'<div class="pi-ask"><div><b>{escape(question.asked)}</b> '
        f'<span class="pi-why">{escape(question.why)}</span></div>{"".join(rows)}{how}</div>'
    )


def as_text(question: Shown) -> str:
    """Return a question as plain text."""
    lines = [f"{question.asked} {question.why}"]
    for block in question.blocks:
        lines += [f"  {block.label}:", *(f"    {line}" for line in block.text.splitlines())]
    return "\n".join(lines)

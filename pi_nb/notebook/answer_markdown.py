"""A run as Markdown and as plain text, for GitHub, nbconvert and terminals."""

from __future__ import annotations

from functools import singledispatch
from html import escape

from pi_nb.notebook.caption import Caption, clean
from pi_nb.notebook.cards import card_markdown, card_text, card_title, state
from pi_nb.notebook.markdown import to_safe_markdown
from pi_nb.notebook.transcript import Notice, Part, Said, Snapshot, Text, Thinking, Tool

__all__ = ["answer_markdown", "answer_text"]


def answer_markdown(run: Snapshot, caption: Caption) -> str:
    """Return a run as Markdown whose only HTML is our own ``details``, ``code`` and ``sub``."""
    pieces = [_markdown(part) for part in run.parts]
    if caption.note:
        pieces.insert(0, f"*{_literal(caption.note)}*")
    if run.settled:
        pieces.append(f"<sub>{_literal(_line(run, caption))}</sub>")
    return "\n\n".join(piece for piece in pieces if piece)


def answer_text(run: Snapshot, caption: Caption) -> str:
    """Return a run as plain text: what the model wrote, as it wrote it, and a line per tool call."""
    pieces = [_text(part) for part in run.parts]
    if caption.note:
        pieces.insert(0, f"[{clean(caption.note)}]")
    if caption.doing and not run.settled:
        pieces.append(f"[{clean(caption.doing)} … {run.seconds:.0f} s]")
    if run.settled:
        pieces.append(f"[{clean(_line(run, caption))}]")
    return "\n\n".join(piece for piece in pieces if piece)


def _line(run: Snapshot, caption: Caption) -> str:
    line = " · ".join(caption.facts(run))
    return f"{line}. {caption.why}" if caption.why else line


def _literal(text: str) -> str:
    """Return text in which no character means anything to Markdown or HTML."""
    flat = " ".join(clean(text).split())
    return "".join(f"&#{ord(c)};" if c in "\\`*_{}[]<>#|~$&!" else c for c in flat)


@singledispatch
def _markdown(part: Part) -> str:
    raise TypeError(part)


@_markdown.register
def _(part: Text) -> str:
    return to_safe_markdown(clean(part.text))


@_markdown.register
def _(part: Thinking) -> str:
    if not part.text.strip():
        return ""
    return f"<details><summary>Thinking</summary>\n\n{to_safe_markdown(clean(part.text))}\n\n</details>"


@_markdown.register
def _(part: Tool) -> str:
    title = f"<b>{_literal(part.name)}</b> <code>{_literal(card_title(part))}</code> {escape(state(part))}"
    return card_markdown(part, title)


@_markdown.register
def _(part: Said) -> str:
    return "\n".join(f"> {_literal(line)}" for line in part.text.split("\n"))


@_markdown.register
def _(part: Notice) -> str:
    return f"*{_literal(part.text)}*"


@singledispatch
def _text(part: Part) -> str:
    raise TypeError(part)


@_text.register
def _(part: Text) -> str:
    return clean(part.text)


@_text.register
def _(part: Thinking) -> str:
    words = len(part.text.split())
    return f"[thinking, {words} words]" if words else ""


@_text.register
def _(part: Tool) -> str:
    return card_text(part)


@_text.register
def _(part: Said) -> str:
    return f"> {clean(part.text)}"


@_text.register
def _(part: Notice) -> str:
    return f"[{clean(part.text)}]"

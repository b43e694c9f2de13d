"""Tab completion of the magics' options and of what they take: models, labels, entries, tools, sessions.

IPython's matcher API is used, not its ``complete_command`` hooks: what a hook returns is mixed with jedi's guesses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from IPython.core.completer import SimpleCompletion, context_matcher

from pi_nb.models import THINKING_LEVELS
from pi_nb.notebook.arguments import Command
from pi_nb.notebook.commands import COMMANDS
from pi_nb.providers.surrogates import well_formed

__all__ = ["Candidate", "Position", "Sources", "candidates", "install", "position", "remove"]

Sources: TypeAlias = Mapping[str, Callable[[], Iterable["Candidate"]]]
NOTE = 32  # characters of a note
IDENTIFIER = "pi_nb.magic_arguments"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that can be typed, and a few words on what it is; the front ends show both."""

    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Position:
    """What the cursor is at: the word begun, and what kind of thing may stand there."""

    command: Command
    fragment: str
    kind: str


def position(line: str) -> Position | None:
    """Return what the end of ``line`` asks for, or None if it is not at an argument of one of our magics."""
    words = line.lstrip().split()
    command = COMMANDS.get(words[0]) if words else None
    if command is None or not re.search(r"\s", line.lstrip()):
        return None
    fragment = re.search(r"\S*$", line)
    last = fragment[0] if fragment else ""
    before = words[1 : -1 if last else None]
    option = command.flags.get(before[-1]) if before else None
    if option is not None and option.metavar:
        return Position(command, last, option.completes)
    if last.startswith("-") and last != "-":
        return Position(command, last, "flag")
    return Position(command, last, _argument(command, before))


def _argument(command: Command, before: list[str]) -> str:
    """Return the kind of the positional argument that comes after these words."""
    count = sum(1 for word in before if not word.startswith("--"))
    if not command.arguments:
        return "flag"
    return command.arguments[min(count, len(command.arguments) - 1)].completes


def candidates(at: Position, sources: Sources) -> list[Candidate]:
    """Return what may stand at a position and begins as the word there does."""
    if at.kind == "flag":
        flags = [Candidate(option.flags[0], option.help) for option in at.command.options]
        known: Iterable[Candidate] = [*flags, Candidate("--help", "show the help")]
    elif at.kind == "thinking":
        known = [Candidate(level) for level in THINKING_LEVELS]
    elif at.kind == "action":
        known = [Candidate(name) for name in at.command.arguments[0].choices]
    else:
        known = sources.get(at.kind, list)()
    before = at.fragment[: at.fragment.rfind(",") + 1] if at.kind in ("tools", "active") else ""
    offered = (Candidate(before + candidate.text, candidate.note) for candidate in known)
    return [candidate for candidate in offered if candidate.text.startswith(at.fragment)]


def _note(text: str) -> str:
    """Return a note as fits beside a completion: one short piece that no front end breaks into lines."""
    line = " ".join(text.split())
    return (line if len(line) <= NOTE else line[: NOTE - 1] + "…").replace(" ", "\u00a0") or "pi"


def install(ip: Any, sources: Sources) -> None:
    """Add completion to a shell.

    Args:
        ip: The shell.
        sources: What there is of each kind an option or argument may take: ``model``, ``ref``, ``label``, ``tools``,
            ``session``. Called at each completion; one that raises completes nothing.
    """
    remove(ip)

    @context_matcher(identifier=IDENTIFIER)  # type: ignore[untyped-decorator, unused-ignore]
    def matcher(context: Any) -> dict[str, Any]:
        at = position(context.text_until_cursor)
        try:
            found = candidates(at, sources) if at else []
        except Exception:  # completion must never print a traceback into what is being typed
            found = []
        return {
            "completions": [SimpleCompletion(text=well_formed(c.text), type=_note(well_formed(c.note))) for c in found],
            "suppress": bool(found),
            "matched_fragment": at.fragment if at else "",
            "ordered": True,
        }

    ip.Completer.custom_matchers.append(matcher)


def remove(ip: Any) -> None:
    """Take completion away again."""
    matchers = ip.Completer.custom_matchers
    matchers[:] = [m for m in matchers if getattr(m, "matcher_identifier", None) != IDENTIFIER]

"""Skills and prompt templates: texts that a user calls by name. :mod:`resource_files` loads them from folders."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from pi_nb.errors import HarnessError

__all__ = ["PromptTemplate", "Resources", "Skill"]

_PLACEHOLDER = re.compile(r"\$(?:(\d+)|(@|ARGUMENTS\b)|\{@:(\d+)(?::(\d+))?\})")


@dataclass(frozen=True, slots=True)
class Skill:
    """Instructions for one kind of work.

    Attributes:
        name: What the user calls it.
        description: When it is useful, for the system prompt.
        content: The instructions.
        file_path: Where they come from; relative paths in them start at its directory.
        disable_model_invocation: True if only the user may call it: :meth:`Resources.for_system_prompt` leaves it out.
    """

    name: str
    description: str
    content: str
    file_path: str = ""
    disable_model_invocation: bool = False

    def invocation(self, extra: str | None = None) -> str:
        """Return the prompt that puts the skill to use, followed by what the user adds."""
        place = f' location="{self.file_path}"' if self.file_path else ""
        base = self.file_path.rpartition("/")[0]
        note = f"Relative paths in this skill start at {base}.\n\n" if base else ""
        block = f'<skill name="{self.name}"{place}>\n{note}{self.content}\n</skill>'
        return f"{block}\n\n{extra}" if extra else block


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """A prompt with places: ``$1``, ``$2`` … for arguments, ``$@`` for all, ``${@:2}`` from the second on.

    Attributes:
        name: What the user calls it.
        content: The text.
        description: What it is for.
        arguments: What arguments it takes, for people.
    """

    name: str
    content: str
    description: str = ""
    arguments: str = ""

    def invocation(self, args: Sequence[str] | str = ()) -> str:
        """Return the prompt with the arguments in their places; a place without an argument is empty.

        Args:
            args: The arguments; a string is split into words as a shell does, so that quotes keep words together.
        """
        args = _words(args) if isinstance(args, str) else args

        def fill(place: re.Match[str]) -> str:
            number, everything, start, length = place.groups()
            if everything:
                return " ".join(args)
            if number is not None:
                index = _number(number) - 1
                return args[index] if 0 <= index < len(args) else ""
            first = max(_number(start) - 1, 0)
            return " ".join(args[first:] if length is None else args[first : first + _number(length)])

        return _PLACEHOLDER.sub(fill, self.content)


@dataclass(frozen=True, slots=True)
class Resources:
    """What can be called by name."""

    skills: tuple[Skill, ...] = ()
    prompt_templates: tuple[PromptTemplate, ...] = ()

    def skill(self, name: str) -> Skill:
        """Return a skill.

        Raises:
            HarnessError: ``invalid_argument``: there is none of that name.
        """
        return _find(self.skills, name, "skill")

    def prompt_template(self, name: str) -> PromptTemplate:
        """Return a prompt template.

        Raises:
            HarnessError: ``invalid_argument``: there is none of that name.
        """
        return _find(self.prompt_templates, name, "prompt template")

    def for_system_prompt(self) -> str:
        """Return the skills a model may put to use by itself, for a system prompt; empty if there are none."""
        skills = [skill for skill in self.skills if skill.file_path and not skill.disable_model_invocation]
        if not skills:
            return ""
        listed = "\n".join(f"- {skill.name} ({skill.file_path}): {skill.description}" for skill in skills)
        return f"{_ABOUT_SKILLS}\n{listed}"


_ABOUT_SKILLS = (
    "There are instructions for some kinds of work. When a task fits one of them, read its file first and follow it;"
    " relative paths in it start at its folder."
)
_Named = TypeVar("_Named", Skill, PromptTemplate)


def _number(digits: str) -> int:
    """Return a number; of any length, where ``int`` refuses more than some thousand digits."""
    digits = digits.lstrip("0")
    return int(digits or "0") if len(digits) < 10 else sys.maxsize


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote that is not closed is an apostrophe
        return text.split()


def _find(items: Sequence[_Named], name: str, kind: str) -> _Named:
    for item in items:
        if item.name == name:
            return item
    known = ", ".join(item.name for item in items) or "none"
    raise HarnessError(f"There is no {kind} {name!r}.", code="invalid_argument", hint=f"Known: {known}.")

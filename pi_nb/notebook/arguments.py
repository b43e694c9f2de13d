"""How a magic's arguments are described, parsed and helped with: one table per magic serves all three.

Prompts are not arguments. Only the options in front of one are cut off (:func:`split_options`); what follows them is
handed over untouched, whatever quotes or dashes it holds.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

from pi_nb.errors import UserError

__all__ = ["Argument", "Command", "Option", "near", "split_options"]


def near(word: str, known: Iterable[str], *, label: str = "Did you mean") -> str:
    """Return a sentence that names the known words most like ``word``, or nothing if none is."""
    bare: dict[str, str] = {name.lstrip("-"): name for name in known}  # what all have in common is no likeness
    found = [bare[name] for name in difflib.get_close_matches(word.lstrip("-"), list(bare), n=3, cutoff=0.6)]
    return f"{label} {' or '.join(found)}?" if found else ""


@dataclass(frozen=True)
class Option:
    """An option of a magic.

    Attributes:
        flags: All spellings, the long one first.
        help: One sentence.
        metavar: What stands for the value in the help; None for a switch without a value.
        completes: What its value is completed with: ``model``, ``thinking``, ``ref``, ``tools`` or nothing.
        type: Converts the value.
        many: True if it may be given several times; its values are a list then.
    """

    flags: tuple[str, ...]
    help: str
    metavar: str | None = None
    completes: str = ""
    type: Callable[[str], Any] = str
    many: bool = False


@dataclass(frozen=True)
class Argument:
    """A positional argument of a magic; ``nargs`` as in argparse, ``completes`` as in :class:`Option`."""

    name: str
    help: str
    nargs: str | None = "?"
    completes: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Command:
    """A magic as its user sees it.

    Attributes:
        name: With the percent sign or signs it is called by, such as ``%pi_log``.
        help: What it does; the first line is the summary.
        options: Its options.
        arguments: Its positional arguments.
        prompt: True if free text follows the options.
    """

    name: str
    help: str
    options: tuple[Option, ...] = ()
    arguments: tuple[Argument, ...] = ()
    prompt: bool = False

    @property
    def bare_name(self) -> str:
        """The name without percent signs."""
        return self.name.lstrip("%")

    @cached_property
    def flags(self) -> dict[str, Option]:
        """Every spelling of every option."""
        return {flag: option for option in self.options for flag in option.flags}

    @cached_property
    def parser(self) -> argparse.ArgumentParser:
        """The argparse parser of this magic."""
        parser = _Parser(
            prog=self.name,
            description=self.help,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            add_help=False,
        )
        for option in self.options:
            parser.add_argument(*option.flags, help=option.help, **_kind(option))
        parser.add_argument("--help", action="store_true", help="show this help")
        for argument in self.arguments:
            parser.add_argument(argument.name, nargs=argument.nargs, help=argument.help)
        return parser

    def parse(self, line: str) -> argparse.Namespace:
        """Return the arguments of a line; ``text`` holds what follows the options of a prompt.

        Raises:
            UserError: The line is not what this magic takes.
        """
        words, text = split_options(line, self.flags) if self.prompt else (_words(line), "")
        if "--help" in words:
            return argparse.Namespace(help=True)
        namespace, unknown = self.parser.parse_known_args(_options_first(words, self.flags))
        if unknown:
            raise self._refusal(unknown[0])
        if self.prompt:
            namespace.text = text
        return namespace

    def _refusal(self, word: str) -> UserError:
        if word.startswith("-"):
            return UserError(f"{self.name} has no option {word}.", hint=near(word, self.flags) or self._usage())
        return UserError(f"{self.name}: {word!r} is one argument too many.", hint=self._usage())

    def _usage(self) -> str:
        return " ".join(self.parser.format_usage().split())


def _kind(option: Option) -> dict[str, Any]:
    """Return what argparse is told of an option's value."""
    if not option.metavar:
        return {"action": "store_true"}
    several: dict[str, Any] = {"action": "append", "default": []} if option.many else {}
    return {"metavar": option.metavar, "type": option.type, **several}


class _Parser(argparse.ArgumentParser):
    """A parser whose mistakes are the user's: one line, no exit."""

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}.", hint=" ".join(self.format_usage().split()))


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UserError(f"Cannot read the arguments: {error}.", hint="Is a quote missing?") from error


def _options_first(words: list[str], flags: dict[str, Option]) -> list[str]:
    """Return the words with options in front: argparse wants those that are no options in one piece."""
    front: list[str] = []
    rest: list[str] = []
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if not word.startswith("-") or word in ("-", "--"):
            rest.append(word)
            continue
        front.append(word)
        option = flags.get(word)
        if option is not None and option.metavar and waiting:
            front.append(waiting.pop(0))
    return front + rest


_VALUE = re.compile(r"""\s*("[^"]*"|'[^']*'|\S+)""")


def split_options(line: str, flags: dict[str, Option]) -> tuple[list[str], str]:
    """Return the options at the beginning of a line as words, and the text after them exactly as it stands.

    ``--`` ends the options, for texts that begin with a dash.
    """
    words: list[str] = []
    rest = line.lstrip()
    while match := re.match(r"--(?=\s|$)|--?[A-Za-z][\w-]*", rest):
        flag, rest = match[0], rest[match.end() :]
        if flag == "--":
            return words, rest.lstrip()
        words.append(flag)
        option = flags.get(flag)
        if rest.startswith("=") or (option is not None and option.metavar):
            value = _VALUE.match(rest.removeprefix("="))
            if value is not None:
                words[-1:] = [f"{flag}={_unquoted(value[1])}"] if flag.startswith("--") else [flag, _unquoted(value[1])]
                rest = rest.removeprefix("=")[value.end() :]
        rest = rest.lstrip()
    return words, rest


def _unquoted(word: str) -> str:
    return word[1:-1] if word[0] in "\"'" and word[-1] == word[0] and len(word) > 1 else word

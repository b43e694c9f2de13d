"""Skills and prompt templates kept in files.

A *skill* is a folder with a file ``SKILL.md``: front matter with ``name`` and ``description``, then the instructions. A
*prompt template* is a Markdown file, called by its name, with places for arguments
(:class:`~pi_nb.harness.resources.PromptTemplate`); front matter may describe it.

    >>> loaded = load_resources(["~/.pi/agent", ".pi"])
    >>> print(loaded)
    >>> await harness.set_resources(loaded.resources)

Nothing in these folders is fatal: what cannot be used is left out, and :attr:`Loaded.faults` says why.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from pi_nb.harness.front_matter import read_front_matter
from pi_nb.harness.ignored import Ignored, marks_in
from pi_nb.harness.resources import PromptTemplate, Resources, Skill
from pi_nb.providers.surrogates import well_formed

__all__ = ["Fault", "Loaded", "load_prompt_templates", "load_resources", "load_skills"]

AnyPath: TypeAlias = str | os.PathLike[str]
_Named = TypeVar("_Named", Skill, PromptTemplate)

_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 1_024
_LARGEST = 1_000_000  # bytes of a file
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SKIPPED = frozenset({"node_modules"})
_NOTHING_IGNORED = Ignored()
_REFUSALS = (OSError, RuntimeError, ValueError)  # by the system; no such user; no such name could be


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a file or folder; it was left out, or used all the same."""

    path: str
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was found in some folders. As text it is a list of it.

    Attributes:
        resources: What can be used.
        faults: What cannot, or is odd, in the order it was met.
    """

    resources: Resources
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        skills = [f"skill {item.name}: {_short(item.description)}" for item in self.resources.skills]
        prompts = [f"prompt {item.name}: {_short(item.description)}" for item in self.resources.prompt_templates]
        faults = [f"! {fault}" for fault in self.faults]
        return "\n".join([*skills, *prompts, *faults]) or "no skills and no prompt templates"


def load_resources(folders: Iterable[AnyPath]) -> Loaded:
    """Load what is in the subfolders ``skills`` and ``prompts`` of some folders.

    Args:
        folders: Such as ``~/.pi/agent`` and a project's ``.pi``; those that are missing are passed over. If a name
            comes twice, the first counts.
    """
    reader = _Reader()
    roots = list(reader.places(folders))
    skills = load_skills(root / "skills" for root in roots)
    prompts = load_prompt_templates(root / "prompts" for root in roots)
    both = Resources(skills.resources.skills, prompts.resources.prompt_templates)
    return Loaded(both, (*reader.faults, *skills.faults, *prompts.faults))


def load_skills(folders: Iterable[AnyPath]) -> Loaded:
    """Load the skills under some folders: every ``SKILL.md``, however deep, and Markdown files right in a folder.

    Below a folder with a ``SKILL.md`` nothing is looked for, nor in hidden folders and ``node_modules``. What
    ``.gitignore`` and ``.ignore`` in these folders and below leave out is no skill (:mod:`pi_nb.harness.ignored`).
    """
    reader = _Reader()
    for folder in reader.places(folders):
        for path, called in reader.skill_files(folder):
            reader.read_skill(path, called)
    return Loaded(Resources(skills=tuple(reader.skills.values())), tuple(reader.faults))


def load_prompt_templates(paths: Iterable[AnyPath]) -> Loaded:
    """Load prompt templates: files that are named, and all Markdown files right in the folders that are."""
    reader = _Reader()
    for path in reader.places(paths):
        inside = reader.kinds_in(path) if _kind(path) == "folder" else {path: _kind(path)}
        for file, kind in inside.items():
            if file.suffix == ".md" and kind == "file":
                reader.read_template(file)
    return Loaded(Resources(prompt_templates=tuple(reader.templates.values())), tuple(reader.faults))


class _Reader:
    """Collects what is found, by name, and what is wrong with it."""

    def __init__(self) -> None:
        self.skills: dict[str, Skill] = {}
        self.templates: dict[str, PromptTemplate] = {}
        self.faults: list[Fault] = []
        self._places: dict[str, Path] = {}
        self._seen: set[Path] = set()

    def places(self, paths: Iterable[AnyPath]) -> Iterator[Path]:
        """Yield the paths that are there; what keeps the system from telling is a fault."""
        for path in paths:
            try:
                place = Path(path).expanduser()
                place.stat()
            except (FileNotFoundError, NotADirectoryError):
                continue
            except _REFUSALS as error:
                self._fault(path, f"cannot be read ({_why(error)})")
            else:
                yield place

    def skill_files(self, root: Path) -> Iterator[tuple[Path, str]]:
        """Yield the files that are skills, and what each should be called."""
        waiting = [(root, frozenset[Path](), _NOTHING_IGNORED)]
        while waiting:
            folder, above, around = waiting.pop()
            real = self._new_folder(folder, above)
            if real is None:
                continue
            ignored = around.inside(str(folder), marks_in(str(folder)))
            inside, skill = self.kinds_in(folder, ignored), folder / "SKILL.md"
            if inside.get(skill, _kind(skill)) == "file" and not ignored.hides(skill.name, is_folder=False):
                yield skill, _printable(real.name)
                continue
            inner = [path for path, kind in inside.items() if kind == "folder" and path.name not in _SKIPPED]
            waiting += [(path, above | {real}, ignored) for path in reversed(inner)]
            if folder == root:
                files = [path for path, kind in inside.items() if kind == "file" and path.suffix == ".md"]
                yield from ((path, _printable(path.stem)) for path in files)

    def _new_folder(self, folder: Path, above: frozenset[Path]) -> Path | None:
        """Return where a folder really is, or None if it was looked through before; a link in circles is a fault."""
        try:
            real = folder.resolve(strict=True)
        except _REFUSALS as error:
            self._fault(folder, f"cannot be read ({_why(error)})")
            return None
        if real in above:
            self._fault(folder, "this link leads round in circles")
        if real in self._seen or _kind(real) != "folder":
            return None
        self._seen.add(real)
        return real

    def kinds_in(self, folder: Path, ignored: Ignored = _NOTHING_IGNORED) -> dict[Path, str]:
        """Return what is in a folder, sorted, without hidden and ignored things, and of what kind each is."""
        try:
            found = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        except _REFUSALS as error:
            self._fault(folder, f"cannot be read ({_why(error)})")
            return {}
        if ignored.levels:
            found = [path for path in found if not ignored.hides(path.name, is_folder=_kind(path) == "folder")]
        return {path: self._kind_or_fault(path) for path in found}

    def _kind_or_fault(self, path: Path) -> str:
        try:
            path.stat()
        except _REFUSALS as error:
            nowhere = isinstance(error, FileNotFoundError) or getattr(error, "errno", None) == errno.ELOOP
            self._fault(path, "this link leads nowhere" if nowhere else f"cannot be read ({_why(error)})")
        return _kind(path)

    def read_skill(self, path: Path, called: str) -> None:
        """Take in one skill."""
        read = self._read(path)
        if read is None:
            return
        fields, body = read
        name = self._text(path, fields, "name") or called
        description = self._text(path, fields, "description")
        if not description:
            self._fault(path, "it has no description, so nobody knows when it is useful; left out")
            return
        for fault in _odd_name(name, called):
            self._fault(path, fault)
        if len(description) > _LONGEST_DESCRIPTION:
            self._fault(path, f"its description has {len(description)} characters, more than {_LONGEST_DESCRIPTION}")
        alone = fields.get("disable-model-invocation") is True
        self._keep(
            self.skills,
            Skill(name, description, body, _printable(path.absolute().as_posix()), disable_model_invocation=alone),
            path,
        )

    def read_template(self, path: Path) -> None:
        """Take in one prompt template."""
        read = self._read(path)
        if read is None:
            return
        fields, body = read
        first = next((line.strip() for line in body.split("\n") if line.strip()), "")
        if not first:
            self._fault(path, "it is empty; left out")
            return
        said = self._text(path, fields, "description") or _short(first, 60)
        hint = self._text(path, fields, "argument-hint")
        self._keep(self.templates, PromptTemplate(_printable(path.stem), body, said, hint), path)

    def _keep(self, kept: dict[str, _Named], item: _Named, path: Path) -> None:
        if item.name in kept:
            self._fault(path, f"{item.name} is in {self._places[item.name]} already; left out")
            return
        kept[item.name] = item
        self._places[item.name] = path

    def _read(self, path: Path) -> tuple[dict[str, Any], str] | None:
        """Return front matter and text of a file, or None if it cannot be used."""
        try:
            if path.stat().st_size > _LARGEST:
                raise ValueError(f"it is larger than {_LARGEST // 1_000_000} MB")
            text = path.read_bytes().decode("utf-8-sig")
            return read_front_matter(text.replace("\r\n", "\n").replace("\r", "\n"))
        except UnicodeDecodeError as error:
            why = f"it is not UTF-8 (byte {error.start})"
        except OSError as error:
            why = f"cannot be read ({_why(error)})"
        except ValueError as error:
            why = str(error)
        self._fault(path, f"{why}; left out")
        return None

    def _text(self, path: Path, fields: dict[str, Any], name: str) -> str:
        value = fields.get(name)
        if value is not None and not isinstance(value, str):
            self._fault(path, f"its {name} is no text")
        return well_formed(" ".join(value.split())) if isinstance(value, str) else ""

    def _fault(self, path: AnyPath, text: str) -> None:
        self.faults.append(Fault(_printable(path), text))


def _odd_name(name: str, called: str) -> Iterator[str]:
    if name != called:
        yield f"its name {_short(name)} is not {called}, what its folder is called"
    if len(name) > _LONGEST_NAME:
        yield f"its name has {len(name)} characters, more than {_LONGEST_NAME}"
    if not _NAME.fullmatch(name):
        yield f"its name {_short(name)} should be small letters and digits, with single hyphens in between"


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _printable(path: AnyPath) -> str:
    """Return a path as text that can be shown and stored, whatever bytes it is made of."""
    return well_formed(os.fspath(path))


def _kind(path: Path) -> str:
    """Return whether a path is a folder, a file or something else, such as nothing, or what nobody can tell."""
    try:
        mode = path.stat().st_mode
    except _REFUSALS:
        return "unknown"
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "other"


def _why(error: Exception) -> str:
    """Return the system's words."""
    return (getattr(error, "strerror", None) or str(error)).rstrip(".")

"""Rules about tools that were saved for a notebook, in one file of the user's configuration, by the notebook's path.

Not in the notebook, which travels: whoever sends one must not bring permissions along. Not beside it, where they would
be committed. The file is ``approvals.json`` in the folder ``pi_nb`` of the user's configuration folder
(``XDG_CONFIG_HOME``, else ``~/.config``; ``APPDATA`` on Windows), or in ``PI_NB_CONFIG_DIR``.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pi_nb.errors import UserError
from pi_nb.tools.rules import Rule, Verdict, Verdicts

__all__ = ["config_folder", "forget_rules", "load_rules", "save_rules"]


def config_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of the user's own settings of pi_nb."""
    if environment.get("PI_NB_CONFIG_DIR"):
        return Path(environment["PI_NB_CONFIG_DIR"]).expanduser()
    base = environment.get("APPDATA") if os.name == "nt" else environment.get("XDG_CONFIG_HOME")
    return Path(base or "~/.config").expanduser() / "pi_nb"


def load_rules(notebook: str) -> list[Rule]:
    """Return the rules that were saved for a notebook; none if there are none, or the file cannot be read."""
    return [_rule(saved) for saved in _read().get(notebook, [])]


def _rule(saved: Mapping[str, str]) -> Rule:
    verdict: Verdict = next(known for known in Verdicts if known == saved["verdict"])
    return Rule(verdict, saved["tool"], Path(saved["path"]) if saved.get("path") else None)


def save_rules(notebook: str, rules: Sequence[Rule]) -> Path:
    """Save rules for a notebook in place of those it had; return the file.

    Raises:
        UserError: The file cannot be written.
    """
    known = _read()
    known[notebook] = [
        {"verdict": rule.verdict, "tool": rule.tool, **({"path": str(rule.path)} if rule.path else {})}
        for rule in rules
    ]
    return _write({name: entry for name, entry in known.items() if entry})


def forget_rules(notebook: str) -> bool:
    """Forget what was saved for a notebook; return whether there was anything.

    Raises:
        UserError: The file cannot be written.
    """
    known = _read()
    if notebook not in known:
        return False
    del known[notebook]
    _write(known)
    return True


def _file() -> Path:
    return config_folder() / "approvals.json"


def _read() -> dict[str, list[dict[str, str]]]:
    """Return what the file has, as far as it is what we write; a file somebody broke allows nothing."""
    try:
        found = json.loads(_file().read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: rules for name, rules in found.items() if isinstance(rules, list) and all(map(_is_rule, rules))}


def _is_rule(rule: object) -> bool:
    return (
        isinstance(rule, dict)
        and rule.get("verdict") in Verdicts
        and isinstance(rule.get("tool"), str)
        and isinstance(rule.get("path", ""), str)
    )


def _write(content: Mapping[str, Sequence[Mapping[str, str]]]) -> Path:
    """Write the file in one step, so that nobody ever reads half of it."""
    file = _file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix="approvals-", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                json.dump(content, out, indent=2, ensure_ascii=False)
            Path(name).replace(file)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror or error}.") from error
    return file

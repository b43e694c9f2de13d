"""What a user may have mistyped, found before anything is written, with what was probably meant."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pi_nb.errors import SessionError, UserError
from pi_nb.models import THINKING_LEVELS
from pi_nb.notebook.arguments import near

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.tree import Session

__all__ = ["ask_to_write", "check_level", "check_tool", "check_writable", "leaf_fault", "not_opened"]


def check_level(level: str) -> None:
    """Check a thinking level.

    Raises:
        UserError: There is no such level.
    """
    if level not in THINKING_LEVELS:
        hint = near(level, THINKING_LEVELS) or f"Levels: {', '.join(THINKING_LEVELS)}."
        raise UserError(f"{level!r} is not a thinking level.", hint=hint)


def check_tool(known: Iterable[str], name: str) -> None:
    """Check the name of a tool.

    Raises:
        UserError: This notebook has no such tool.
    """
    names = list(known)
    if name not in names:
        added = f"Tools here: {', '.join(names)}." if names else "No tool is active."
        raise UserError(
            f"There is no tool {name!r}.",
            hint=near(name, names) or f"{added} A function of yours becomes one with @pi_nb.tool.",
        )


def ask_to_write(runtime: Runtime) -> None:
    """Open a session that could only be read again: whoever wrote it may have ended since."""
    session = runtime.session
    if session.read_only and session.file is not None and session.file.exists() and not runtime.busy:
        again = runtime.repo.open(session.file)
        if again.read_only:
            again.close()
        else:
            runtime.use(again)


def check_writable(session: Session) -> None:
    """Check that a session can be written.

    Raises:
        UserError: Another process is writing it.
    """
    if session.read_only:
        reason = next((text for text in session.warnings if "read-only" in text), "The session is read-only.")
        raise UserError(
            reason,
            hint="%pi_session fork goes on in a copy; %pi_session new begins another.",
        )


def not_opened(error: SessionError, file: Path) -> SessionError:
    """Return what to raise where this notebook's session cannot be opened: what is wrong, where, and what to do."""
    told = f"The session of this notebook cannot be opened: {error}"
    bad_line = error.line is not None and error.line > 1
    mend = f", or pi-nb repair {shlex.quote(str(file))} leaves out what cannot be read" if bad_line else ""
    hint = f"%pi_session new begins another{mend}."
    return SessionError(told, code=error.code, hint=hint, path=str(file), line=error.line)  # type: ignore[arg-type]


def leaf_fault(session: Session) -> SessionError | None:
    """Return what is wrong with the way to the leaf: it hangs from nothing, goes in circles, or is not there."""
    try:
        session.path()
    except SessionError as error:
        where = f" ({session.file})" if session.file is not None else ""
        hint = "%pi_checkout root goes to the beginning, or name another entry of %pi_log; %pi_session new begins anew."
        told = f"The session cannot go on at its leaf: {str(error).removesuffix('.')}{where}."
        return SessionError(told, code=error.code, hint=hint)  # type: ignore[arg-type]
    return None

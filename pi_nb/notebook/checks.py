"""What a user may have mistyped, found before anything is written, with what was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pi_nb.errors import UserError
from pi_nb.models import THINKING_LEVELS
from pi_nb.notebook.arguments import near

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.tree import Session

__all__ = ["ask_to_write", "check_level", "check_tool", "check_writable"]


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

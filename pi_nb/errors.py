"""Every error pi_nb raises, as one tree.

    PiError                     anything this package raises on purpose
     ├── SessionError           the log, its file or its tree is not as it should be
     │    └── SessionLockedError   somebody else is writing this session
     ├── HarnessError           the harness was asked for something it cannot do now
     │    ├── CompactionError      a compaction could not be made
     │    └── BranchSummaryError   a branch summary could not be made
     ├── ProviderError          a model did not answer, or not properly
     ├── ToolError              a tool failed; its text goes to the model as an error result
     └── UserError              a mistake in what the user typed; shown as one line

Each has a stable ``code`` (pi's own where pi has one) to branch on; the message is for people and says
what was wrong, where, and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

__all__ = [
    "BranchSummaryError",
    "CompactionError",
    "HarnessError",
    "PiError",
    "ProviderError",
    "SessionError",
    "SessionLockedError",
    "ToolError",
    "UserError",
]

SessionCode = Literal[
    "not_found", "invalid_session", "invalid_entry", "invalid_fork_target", "storage", "locked", "unknown"
]
HarnessCode = Literal[
    "busy", "invalid_state", "invalid_argument", "session", "hook", "auth", "compaction", "branch_summary", "unknown"
]
ProviderCode = Literal[
    "auth",
    "rate_limit",
    "overloaded",
    "server",
    "context_overflow",
    "content_filter",
    "not_found",
    "invalid_request",
    "connection",
    "timeout",
    "truncated",
    "bad_response",
    "unknown",
]


class PiError(Exception):
    """Base of every error this package raises on purpose.

    Attributes:
        code: Stable, machine-readable kind of the failure.
        hint: What the user can do about it; empty if there is nothing to say.
    """

    default_code: ClassVar[str] = "unknown"

    def __init__(self, message: str, *, code: str | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.code: str = code or self.default_code
        self.hint = hint
        self._heading = f"{type(self).__name__} ({self.code}): "

    def show_words_only(self) -> None:
        """Leave class and code out where this is shown: who typed a magic has no use for them."""
        self._heading = ""

    def _render_traceback_(self) -> list[str]:
        """Return one line instead of a traceback; IPython calls this (``%xmode Verbose`` users read ``.__cause__``)."""
        line = f"{self._heading}{self}"
        return [line, self.hint] if self.hint else [line]


class SessionError(PiError):
    """The session log, its file or its tree is not as it should be.

    Attributes:
        path: File concerned, or None for sessions that are not files.
        line: 1-based line number in that file, or None.
    """

    default_code = "invalid_session"

    def __init__(
        self,
        message: str,
        *,
        code: SessionCode | None = None,
        hint: str = "",
        path: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.path = path
        self.line = line


class SessionLockedError(SessionError):
    """Another process is writing this session.

    Attributes:
        holder: What is known of the writer: ``pid``, ``host``, ``since``.
    """

    default_code = "locked"

    def __init__(self, message: str, *, holder: Mapping[str, Any], hint: str = "", path: str | None = None) -> None:
        super().__init__(message, code="locked", hint=hint, path=path)
        self.holder = dict(holder)


class HarnessError(PiError):
    """The harness was asked for something it cannot do now, or a hook broke the run."""

    def __init__(self, message: str, *, code: HarnessCode = "unknown", hint: str = "") -> None:
        super().__init__(message, code=code, hint=hint)


class CompactionError(HarnessError):
    """A compaction could not be made; nothing was written."""

    default_code = "compaction"

    def __init__(self, message: str, *, code: HarnessCode = "compaction", hint: str = "") -> None:
        super().__init__(message, code=code, hint=hint)


class BranchSummaryError(HarnessError):
    """A branch summary could not be made; the leaf did not move."""

    default_code = "branch_summary"

    def __init__(self, message: str, *, code: HarnessCode = "branch_summary", hint: str = "") -> None:
        super().__init__(message, code=code, hint=hint)


class ProviderError(PiError):
    """A model did not answer, or not properly.

    Attributes:
        status: HTTP status, or None when there was no response.
        request_id: The provider's id of the request, for its support.
        retry_after: Seconds the provider asked to wait, or None.
        retryable: True if the same request may succeed later.
    """

    def __init__(
        self,
        message: str,
        *,
        code: ProviderCode = "unknown",
        hint: str = "",
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message, code=code, hint=hint)
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        self.retryable = retryable


class ToolError(PiError):
    """A tool failed. Its text becomes an error result for the model; it never ends a run."""

    default_code = "tool"


class UserError(PiError):
    """A mistake in what the user typed: an unknown reference, a wrong option. Shown as one line."""

    default_code = "invalid_argument"

    def _render_traceback_(self) -> list[str]:
        return [str(self), self.hint] if self.hint else [str(self)]

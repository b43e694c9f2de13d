"""How long to wait for a provider."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields

from pi_nb.errors import UserError

__all__ = ["Timeouts"]


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds: for a connection, for the first piece of an answer, and between pieces."""

    connect: float = 15.0
    first_token: float = 600.0
    idle: float = 180.0

    def __post_init__(self) -> None:
        for field in fields(self):
            seconds = getattr(self, field.name)
            if not (isinstance(seconds, int | float) and 0 < seconds < math.inf):
                raise UserError(f"{field.name} = {seconds!r} is no time to wait.", hint="Give seconds, more than 0.")

    @classmethod
    def of_environment(cls) -> Timeouts:
        """Return what the environment says, for what it does not say the usual times.

        ``PI_NB_CONNECT_TIMEOUT``, ``PI_NB_FIRST_TOKEN_TIMEOUT``, ``PI_NB_IDLE_TIMEOUT``, in seconds.

        Raises:
            UserError: One of them is not a number of seconds.
        """
        return cls(**dict(_given()))


def _given() -> Iterator[tuple[str, float]]:
    for field in fields(Timeouts):
        name = f"PI_NB_{field.name.upper()}_TIMEOUT"
        text = os.environ.get(name, "").strip()
        if text:
            try:
                yield field.name, float(text)
            except ValueError:
                raise UserError(f"{name}={text} is no number of seconds.") from None

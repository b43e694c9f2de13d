"""Trying again: how often, and how long to wait in between.

Whether a failure may pass is the provider's to say (:attr:`pi_nb.errors.ProviderError.retryable`, decided from status
and kind of error). An answer that broke off is asked for anew as a whole: what had come of it is void, and kept only if
the last try breaks too.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from pi_nb.errors import ProviderError

__all__ = ["RetryPolicy"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How a failed request is repeated.

    Attributes:
        max_attempts: Tries in all, the first included; 1 never repeats.
        base_delay: Seconds before the second try; doubled each time.
        max_delay: Most seconds between tries, also when the provider asks for more.
        jitter: Part of the delay that is random, 0 … 1, so that many clients do not return at once.
        random: Source of that randomness, 0 … 1.
    """

    max_attempts: int = 3
    base_delay: float = 1.0
    max_delay: float = 60.0
    jitter: float = 0.25
    random: Callable[[], float] = field(default=random.random, repr=False)

    def allows(self, error: ProviderError, attempt: int) -> bool:
        """Return whether try ``attempt`` (1, 2, …), which failed with ``error``, may be followed by another."""
        return error.retryable and attempt < self.max_attempts

    def delay(self, error: ProviderError, attempt: int) -> float:
        """Return the seconds to wait after try ``attempt``: what the provider asked for, or an exponential."""
        if error.retry_after is not None and error.retry_after >= 0:
            return min(error.retry_after, self.max_delay)
        delay: float = min(self.base_delay * 2.0 ** (attempt - 1), self.max_delay)
        return delay * (1 - self.jitter * self.random())

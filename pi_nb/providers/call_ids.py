"""Names of tool calls: each provider has its own rules, and a session may hold those of several."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pi_nb.models import Model

__all__ = ["CallIds"]

_BAD = re.compile(r"[^A-Za-z0-9_-]")
_STRICT_APIS = {"anthropic-messages"}  # checks every id, also its own
_LENGTHS = {"openai-completions": 40}  # its documented limit; Anthropic's is 64


class CallIds:
    """Gives each call of a conversation an id that the model's provider takes and no other call has.

    Ids are given in the order of the calls, so that a longer conversation leaves the earlier ids as they are and
    prompt caches stay good.
    """

    def __init__(self, model: Model) -> None:
        self._strict = model.api in _STRICT_APIS
        self._length = _LENGTHS.get(model.api, 64)
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}  # where counting stopped, per stem

    def rename(self, ids: Sequence[str], *, native: bool) -> list[str]:
        """Return new ids for the calls of one answer; ``native`` ones, the model's own, are kept if they can be."""
        return [self._unique(id if native and id and not self._strict else self._clean(id)) for id in ids]

    def _clean(self, id: str) -> str:
        return _BAD.sub("_", id)[: self._length] or "call"

    def _unique(self, id: str) -> str:
        name, stem = id, self._clean(id)[: self._length - 8]
        while name in self._used:
            self._numbers[stem] = self._numbers.get(stem, 1) + 1
            name = f"{stem}_{self._numbers[stem]}"
        self._used.add(name)
        return name

"""The lines of a log: those read from a file stay in the bytes that were read, those added come after them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any, overload

from pi_nb.messages import AssistantMessage, Cost, ImageContent, TextContent, ThinkingContent, Usage, UserMessage
from pi_nb.session import lines
from pi_nb.session.pieces import Pieces

__all__ = ["RawLines", "is_still"]


class RawLines(Sequence[bytes]):
    """Lines of JSON, one per entry, without their line breaks.

    Args:
        pieces: Contents of a file, of which :meth:`mark` names lines.
    """

    def __init__(self, pieces: Pieces | None = None) -> None:
        self.pieces = pieces or Pieces()
        self.starts = array("Q")
        self._added: list[bytes | dict[str, Any]] = []

    def mark(self, start: int) -> None:
        """Take the line that starts at a byte of the file as the next one; only before the first :meth:`append`."""
        self.starts.append(start)

    def append(self, line: bytes) -> None:
        """Take a line as the next one."""
        self._added.append(line)

    def keep(self, fields: dict[str, Any]) -> None:
        """Take what these fields are written as for the next line: kept as they are, they need no bytes too.

        They must be :func:`still <is_still>`.
        """
        self._added.append(fields)

    def kept(self, place: int) -> dict[str, Any] | None:
        """Return the fields that were kept for a line, or None if it is there as bytes."""
        number = place - len(self.starts)
        added = self._added[number] if 0 <= number < len(self._added) else None
        return added if isinstance(added, dict) else None

    def __len__(self) -> int:
        return len(self.starts) + len(self._added)

    @overload
    def __getitem__(self, place: int) -> bytes: ...

    @overload
    def __getitem__(self, place: slice) -> list[bytes]: ...

    def __getitem__(self, place: int | slice) -> bytes | list[bytes]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = place + len(self) if place < 0 else place
        marked = len(self.starts)
        if number >= marked:
            return _encoded(self._added[number - marked])
        if number < 0:
            raise IndexError(f"there are {len(self)} lines, not one at {place}")
        return self._marked(self.starts[number])

    def __iter__(self) -> Iterator[bytes]:
        yield from map(self._marked, self.starts)
        yield from map(_encoded, self._added)

    def _marked(self, start: int) -> bytes:
        return self.pieces.line(start).rstrip(b"\r\0")


def _encoded(line: bytes | dict[str, Any]) -> bytes:
    return line.rstrip(b"\r\n") if isinstance(line, bytes) else lines.encode(line)


def is_still(fields: dict[str, Any]) -> bool:
    """Return True if nobody can change what is in an entry's fields: a message of text, and nothing else."""
    message = fields.get("message")
    kind = type(message)
    if len(fields) != 5 or kind not in _MESSAGES or message.__pydantic_extra__:  # type: ignore[union-attr]
        return False
    if kind is AssistantMessage and (usage := message.usage) and not (_is_frozen(usage) and _is_frozen(usage.cost)):  # type: ignore[union-attr]
        return False
    content = message.content  # type: ignore[union-attr]
    if type(content) is not str:
        for block in content:
            if type(block) not in _FROZEN or block.__pydantic_extra__:
                return False
    return True


def _is_frozen(value: Any) -> bool:
    return type(value) in _FROZEN and not value.__pydantic_extra__


_MESSAGES = frozenset({UserMessage, AssistantMessage})
_FROZEN = frozenset({TextContent, ThinkingContent, ImageContent, Usage, Cost})

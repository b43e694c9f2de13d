"""From the bytes of a file to an index: sound lines are taken, others refused, left out or kept aside.

The file is split at line feeds only. A last line without one is complete if it is JSON, and otherwise the torn end
of an append that a crash cut short; so are NUL bytes at the end. Anything else that is not an entry is refused with
its line number, or left out if the caller asked for repair.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NoReturn

import msgspec

from pi_nb.errors import SessionError
from pi_nb.session import lines
from pi_nb.session.header import CURRENT_VERSION, parse_header
from pi_nb.session.index import Index, envelope_fault
from pi_nb.session.migration import upgrade
from pi_nb.session.pieces import PIECE, Pieces
from pi_nb.session.rawlines import RawLines

__all__ = ["Scan"]

_GLOBAL = frozenset({"label", "session_info", "leaf"})


class _Message(msgspec.Struct, gc=False):
    """What the index wants to know of a message."""

    role: str


class _Envelope(msgspec.Struct, gc=False):
    """What the index wants to know of an entry. The rest of the line is checked to be JSON, and not made."""

    type: str
    id: str
    parentId: str | None  # noqa: N815 - the name on disk
    timestamp: str
    message: _Message | None = None


_read_envelope = msgspec.json.Decoder(_Envelope).decode


class Scan:
    """One reading of a file.

    Args:
        name: The file, for messages.
        pieces: What it holds, each but the last :data:`~pi_nb.session.pieces.PIECE` bytes long.
        repair: True to leave bad lines out.

    Attributes:
        header: The first line.
        head: What stands before the first entry: the header's line.
        size: Bytes of the file.
        index: The entries.
        warnings: What was odd, one sentence each.
        tail: Torn bytes at the end.
        ends_open: True if the last sound line lacks its line feed.
        skipped: How many bad lines were left out.
        migrated: True if the entries are of an older version and were brought up to date in memory.
    """

    def __init__(self, name: str, pieces: Iterator[bytes], *, repair: bool = False) -> None:
        self.name = name
        self.repair = repair
        self.index = Index()
        self.warnings: list[str] = []
        self.tail = b""
        self.ends_open = False
        self.skipped = 0
        self._padding: list[tuple[int, int, bytes]] = []
        self._carry = b""  # the beginning of a line that goes on in the next piece
        self._last = True  # no piece comes after this one
        first = next(pieces)
        stream = io.BytesIO(first)  # shares the bytes, and splits at line feeds only
        number = self._read_header(stream)
        version = int(self.header.version)
        self.migrated = version < CURRENT_VERSION
        kept = Pieces()
        if self.migrated:
            kept.append(first + b"".join(pieces))
            stream = io.BytesIO(kept.rest(stream.tell()))
            self._read_old(stream, number, version)
        else:
            self.index.lines = RawLines(kept)
            self._read(stream, number, kept, chain((first,), pieces))
        self.size = kept.size
        if self.tail:
            self.warnings.append(
                f"The last {len(self.tail)} bytes are a torn line; they are kept aside before the next append."
            )

    def _read_header(self, stream: io.BytesIO) -> int:
        """Read up to the header; return the number of its line."""
        self.head = b""
        for number, line in enumerate(stream, 1):
            body = line if line.endswith(b"\n") else line.rstrip(b"\0")
            self.head += body
            if not lines.is_blank(line):
                self.header, warnings = parse_header(body, self.name)
                self.warnings += warnings
                self.ends_open = not line.endswith(b"\n")
                self.tail = line[len(body) :]
                return number
        raise SessionError(f"{self.name} has no session header.", path=self.name)

    def _read(self, stream: io.BytesIO, number: int, kept: Pieces, pieces: Iterator[bytes]) -> None:
        """Read the entries, from where the header ends in the first piece."""
        start, leaf = stream.tell(), None
        for piece in pieces:
            self._last = len(piece) < PIECE
            if kept.size:
                stream = io.BytesIO(piece)
            kept.append(piece)
            carry, self._carry = self._carry, b""
            found = chain((carry + stream.readline(),), stream) if carry else stream
            number, start, leaf = self._read_lines(found, number - bool(carry), start - len(carry), leaf)
        self.index.leaf_id = leaf
        self._look_at_the_end(kept)

    def _read_lines(
        self, found: Iterable[bytes], number: int, start: int, leaf: str | None
    ) -> tuple[int, int, str | None]:
        """Read some lines. This loop is the price of opening a long session: it is written out, and calls little.

        Args:
            found: The lines.
            number: Number of the line before the first one.
            start: Where the first one starts in the file.
            leaf: The leaf so far.

        Returns:
            The same for the lines that follow.
        """
        index, read, intern, odd = self.index, _read_envelope, sys.intern, self._take_odd
        mark, add_id, add_parent = index.lines.starts.append, index.ids.append, index.parents.append
        add_type, add_role = index.types.append, index.roles.append
        line, before = b"", leaf
        for line in found:
            number += 1
            try:
                entry = read(line)
                entry_id, kind = entry.id, intern(entry.type)
                role = intern(entry.message.role) if kind == "message" else None  # type: ignore[union-attr]
                plain = kind not in _GLOBAL and entry_id and entry.timestamp
            except (msgspec.MsgspecError, AttributeError, RecursionError):
                plain = ""
            if plain:
                mark(start)
                add_id(entry_id)
                add_parent(entry.parentId or None)
                add_type(kind)
                add_role(role)
                before, leaf = leaf, entry_id
            else:
                leaf = odd(number, line, start, leaf)
            start += len(line)
        if line and not (self._last or self._carry or line.endswith(b"\n")):  # sound as it is, yet it may go on
            self._carry, leaf = line, before
            for column in (index.lines.starts, index.ids, index.parents, index.types, index.roles):
                column.pop()
        return number, start, leaf

    def _take_odd(self, number: int, line: bytes, start: int, leaf: str | None) -> str | None:
        """Take a line that the quick way does not: labels and moves, old encodings, blank, torn and bad lines.

        Returns:
            The leaf after it.
        """
        torn = not line.endswith(b"\n")
        body = line.rstrip(b"\0") if torn else line
        if torn and not self._last:  # it goes on in the next piece
            self._carry = line
            return leaf
        try:
            fields = lines.decode(body)
        except ValueError:
            self._take_broken(number, line, start, torn)
            return leaf
        fault = envelope_fault(fields)
        if fault:
            self._leave_out(number, line, fault)
            return leaf
        self.index.lines.mark(start)
        self.index.add(fields)
        self.tail = line[len(body) :]
        return self.index.leaf_id

    def _take_broken(self, number: int, line: bytes, start: int, torn: bool) -> None:
        """Take a line that is not JSON: blank, NUL bytes, the torn last one, or simply bad."""
        if lines.is_blank(line):
            return
        if not line.strip(b"\0\r\n \t"):
            self._padding.append((number, start, line))
        elif torn:
            self.tail = line
        else:
            self._leave_out(number, line, "is not JSON")

    def _look_at_the_end(self, kept: Pieces) -> None:
        """NUL bytes that an entry follows are a bad line, and at the end they are torn."""
        starts = self.index.lines.starts
        last = starts[-1] if starts else len(self.head) - 1
        for number, start, line in self._padding:
            if start < last:
                self._leave_out(number, line, "is not JSON but NUL bytes")
            elif kept.size - start > len(self.tail):
                self.tail = kept.rest(start)
        self.ends_open = not kept.rest(kept.size - len(self.tail) - 1).startswith(b"\n")

    def _leave_out(self, number: int, line: bytes, fault: str) -> None:
        if not self.repair:
            self._refuse(number, fault)
        self.skipped += 1
        self.warnings.append(f"Line {number} {fault}; it was left out ({len(line)} bytes).")

    def _refuse(self, number: int, fault: str) -> NoReturn:
        raise SessionError(
            f"{self.name}, line {number}: it {fault}.",
            code="invalid_entry",
            hint="Open it with repair=True to leave such lines out; the file as it is will be kept beside it.",
            path=self.name,
            line=number,
        )

    def _read_old(self, stream: io.BytesIO, number: int, version: int) -> None:
        """Read entries of version 1 or 2 and bring them up to date in memory."""
        entries: list[dict[str, Any]] = []
        numbers: list[int] = []
        for number, line in enumerate(stream, number + 1):  # noqa: B020 - the count goes on
            try:
                fields = lines.decode(line.rstrip(b"\0"))
            except ValueError:
                self._take_broken(number, line, 0, not line.endswith(b"\n"))
                continue
            if isinstance(fields, dict):
                entries.append(fields)
                numbers.append(number)
            else:
                self._leave_out(number, line, "is not a JSON object")
        upgrade(version, self.header.id, entries)
        for number, fields in zip(numbers, entries, strict=True):
            fault, line = envelope_fault(fields), b""
            try:
                line = lines.encode(fields)
            except ValueError as error:  # 1e999 is JSON, and no number
                fault = f"cannot be written anew ({error})"
            if fault:
                self._leave_out(number, line, fault)
            else:
                self.index.append(fields, line)
        self.header = self.header.model_copy(update={"version": CURRENT_VERSION})
        self.warnings.append(f"The file is of version {version}; it is read as version {CURRENT_VERSION}, unchanged.")

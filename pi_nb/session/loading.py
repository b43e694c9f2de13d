"""Reading a session file: what is sound becomes an index, what is not is refused, skipped or kept aside.

The file is split at line feeds only. A last line without one is complete if it is JSON and otherwise the torn end
of an append that a crash cut short; so are NUL bytes at the end. Anything else that is not an entry is refused,
with its line number, or skipped if the caller asked for repair.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import orjson
from pydantic import ValidationError

from pi_nb.errors import SessionError
from pi_nb.session import lines
from pi_nb.session.entries import Header
from pi_nb.session.index import Index, envelope_fault
from pi_nb.session.logfile import identity_of
from pi_nb.session.migration import CURRENT_VERSION, upgrade

__all__ = ["Loaded", "load", "parse_header"]


class Loaded:
    """What was found in a file.

    Attributes:
        header: The first line.
        index: The entries.
        warnings: What was odd, one sentence each.
        head: The header's line as it stands in the file.
        size: Bytes from the start that are sound; what follows is torn.
        tail: The torn bytes after them.
        ends_open: True if the last sound line lacks its line feed.
        skipped: Bad lines that repair left out: number, and what was wrong.
        migrated: True if the entries are of an older version and were brought up to date in memory.
    """

    def __init__(self, file: Path, *, repair: bool = False) -> None:
        self.file = file
        self.repair = repair
        self.header: Header
        self.index = Index()
        self.warnings: list[str] = []
        self.head = b""
        self.size = 0
        self.tail = b""
        self.ends_open = False
        self.skipped: list[tuple[int, str]] = []
        self.migrated = False
        self.identity: tuple[int, int] = (0, 0)
        self._number = 0
        self._padding: list[tuple[int, bytes]] = []


def load(file: Path, *, repair: bool = False) -> Loaded:
    """Read a session file; it is not changed.

    Args:
        file: The file.
        repair: True to skip bad lines, and to take an entry without parent as a root.

    Raises:
        SessionError: ``not_found``; ``storage`` if it cannot be read; ``invalid_session`` if it is no session;
            ``invalid_entry`` if a line is bad and ``repair`` is off.
    """
    found = Loaded(file, repair=repair)
    try:
        with file.open("rb", buffering=1 << 18) as stream, _no_garbage_collection():
            found.identity = identity_of(stream.fileno())
            _read(found, stream)
    except FileNotFoundError:
        raise SessionError(f"There is no session file {file}.", code="not_found", path=str(file)) from None
    except OSError as error:
        raise SessionError(f"Cannot read {file}: {error.strerror}.", code="storage", path=str(file)) from error
    found.index.repaired = repair
    found.index.link_all()
    _look_for_oddities(found)
    return found


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Millions of new objects, none of them garbage: looking for cycles would double the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(found: Loaded, stream: IO[bytes]) -> None:
    _read_header(found, stream)
    version = found.header.version
    if version is not None and version >= CURRENT_VERSION:
        _scan(found, stream)
    else:
        _read_old(found, stream, 1 if version is None else int(version))


def _read_header(found: Loaded, stream: IO[bytes]) -> None:
    for line in stream:
        found._number += 1
        found.size += len(line)
        found.head += line
        if lines.is_blank(line):
            continue
        found.header, warnings = parse_header(line, found.file)
        found.warnings += warnings
        found.ends_open = not line.endswith(b"\n")
        return
    raise SessionError(f"{found.file} has no session header.", path=str(found.file))


def parse_header(line: bytes, file: Path) -> tuple[Header, list[str]]:
    """Return the header that the first line of a file holds, and what is odd about it.

    Raises:
        SessionError: ``invalid_session`` if it is no header, or of a version this program does not know.
    """
    try:
        data = lines.decode(line.rstrip(b"\0"))
    except ValueError:
        data = None
    if not isinstance(data, dict) or data.get("type") != "session":
        raise SessionError(f"{file} is no session: its first line is not a session header.", path=str(file), line=1)
    fault = _header_fault(data)
    if fault:
        raise SessionError(f"{file} is no proper session: {fault}.", path=str(file), line=1)
    try:
        return Header.model_validate(data), _header_warnings(data)
    except ValidationError as error:
        raise SessionError(f"{file} is no proper session: {error}.", path=str(file), line=1) from error


def _header_fault(data: dict[str, Any]) -> str | None:
    version = data.get("version", 1)
    if isinstance(version, bool) or not isinstance(version, int | float) or version not in (1, 2, 3):
        return f"its version is {version!r}, and this program knows 1 to {CURRENT_VERSION}; a newer one may open it"
    if not isinstance(data.get("id"), str) or not data["id"]:
        return "its header has no id"
    for name in ("timestamp", "cwd", "parentSession"):
        if data.get(name) is not None and not isinstance(data[name], str):
            return f"{name} in its header is not a string"
    if data.get("metadata") is not None and not isinstance(data["metadata"], dict):
        return "metadata in its header is not an object"
    return None


def _header_warnings(data: dict[str, Any]) -> list[str]:
    missing = [f"The header has no {name}." for name in ("timestamp", "cwd") if not data.get(name)]
    return missing + [
        f"The header's {name} is null; it should be left out."
        for name in ("parentSession", "metadata")
        if name in data and data[name] is None
    ]


def _scan(found: Loaded, stream: IO[bytes]) -> None:
    """Fill the index. The loop is the price of opening a long session, so it is written out and calls little."""
    index = found.index
    loads, intern = orjson.loads, sys.intern
    add_line, add_id, add_parent = index.lines.append, index.ids.append, index.parents.append
    add_type, add_role, positions = index.types.append, index.roles.append, index.positions
    ids, number, size = index.ids, found._number, found.size
    kind, entry_id, leaf = "", None, None
    for line in stream:
        number += 1
        try:
            fields = loads(line)
            entry_id, parent, kind = fields["id"], fields["parentId"], fields["type"]
            plain = (
                type(entry_id) is str and type(kind) is str and (parent is None or type(parent) is str)
                and kind not in _SPECIAL and entry_id and type(fields["timestamp"]) is str and fields["timestamp"]
            )
        except (ValueError, KeyError, TypeError):
            plain = False
        if not plain or found._padding or line[-1] != 10:
            found._number, found.size = number, size
            _take_odd(found, line)
            size, leaf = found.size, None
            continue
        role = None
        if kind == "message":
            role = fields.get("message")
            role = role.get("role") if type(role) is dict else None
            role = intern(role) if type(role) is str else None
        positions[entry_id] = len(ids)
        add_line(line)
        add_id(entry_id)
        add_parent(parent or None)
        add_type(intern(kind))
        add_role(role)
        size += len(line)
        leaf = entry_id
    found._number, found.size = number, size
    if leaf is not None:
        index.leaf_id = leaf
    if found._padding:
        found.tail = b"".join(line for _, line in found._padding)


_SPECIAL = frozenset({"label", "session_info", "leaf"})


def _take_odd(found: Loaded, line: bytes) -> None:
    """Take a line that the quick way does not: labels and moves, old encodings, blank, torn and bad lines."""
    if lines.is_blank(line):
        if found._padding:
            found._padding.append((found._number, line))
        else:
            found.size += len(line)
        return
    if not line.strip(b"\0\r\n \t"):
        found._padding.append((found._number, line))
        return
    _refuse_padding(found)
    torn = not line.endswith(b"\n")
    body = line.rstrip(b"\0") if torn else line
    try:
        fields = lines.decode(body)
    except ValueError:
        if torn:
            found.tail = line
        else:
            _bad_line(found, line, "is not JSON")
        return
    fault = envelope_fault(fields)
    if fault:
        _bad_line(found, line, fault)
        return
    found.index.add(fields, body)
    found.size += len(body)
    found.ends_open = torn
    found.tail = line[len(body) :]


def _refuse_padding(found: Loaded) -> None:
    """NUL bytes that something follows are no torn end but a bad line."""
    for number, line in found._padding:
        if lines.is_blank(line):
            found.size += len(line)
        else:
            _bad_line(found, line, "is not JSON but NUL bytes", number)
    found._padding.clear()


def _bad_line(found: Loaded, line: bytes, fault: str, number: int = 0) -> None:
    number = number or found._number
    if not found.repair:
        _refuse(found, number, fault)
    found.skipped.append((number, fault))
    found.warnings.append(f"Line {number} {fault}; it was left out ({len(line)} bytes).")
    found.size += len(line)


def _refuse(found: Loaded, number: int, fault: str) -> NoReturn:
    raise SessionError(
        f"{found.file}, line {number}: it {fault}.",
        code="invalid_entry",
        hint="Open it with repair=True to leave such lines out; the file as it is will be kept beside it.",
        path=str(found.file),
        line=number,
    )


def _read_old(found: Loaded, stream: IO[bytes], version: int) -> None:
    """Read a file of version 1 or 2 and bring it up to date in memory."""
    entries: list[dict[str, Any]] = []
    for line in stream:
        found._number += 1
        try:
            fields = lines.decode(line)
        except ValueError:
            fields = None
        if isinstance(fields, dict):
            entries.append(fields)
        elif lines.is_blank(line) or not line.endswith(b"\n") or not line.strip(b"\0\r\n"):
            continue
        else:
            _bad_line(found, line, "is not a JSON object")
    upgrade(version, found.header.id, entries)
    for place, fields in enumerate(entries):
        fault = envelope_fault(fields)
        if fault:
            _bad_line(found, b"", fault, place + 2)
        else:
            found.index.add(fields, lines.encode(fields))
    found.header = found.header.model_copy(update={"version": CURRENT_VERSION})
    found.migrated = True
    found.warnings.append(f"The file is of version {version}; it is read as version 3 and was not changed.")


def _look_for_oddities(found: Loaded) -> None:
    """Say what is odd about a log that could be read."""
    index = found.index
    if found.tail:
        found.warnings.append(
            f"The last {len(found.tail)} bytes are a torn line; they are kept aside before the next append."
        )
    if len(index.positions) != len(index.ids):
        found.warnings.append(f"{len(index.ids) - len(index.positions)} ids come more than once; the last one counts.")
    for position in index.orphans()[:10]:
        found.warnings.append(
            f"Entry {index.ids[position]} hangs from {index.parents[position]}, which is not in the session."
        )
    if index.leaf_id is not None and index.leaf_id not in index.positions:
        found.warnings.append(f"The leaf is {index.leaf_id}, which is not in the session; check out an entry.")

"""Opening a session file for reading: what is in it, and what is odd about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pi_nb.errors import SessionError
from pi_nb.session.garbage import no_collection
from pi_nb.session.index import Index
from pi_nb.session.logfile import identity_of, open_to_read
from pi_nb.session.pieces import read_pieces
from pi_nb.session.scan import Scan

__all__ = ["Loaded", "load"]

_MOST = 10  # how many oddities of a kind are told one by one


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file that was read.

    Attributes:
        scan: What was found in it.
        size: Bytes from the start that are sound; what follows is ``scan.tail``.
        identity: Device and inode of the file.
        warnings: What is odd, one sentence each.
    """

    scan: Scan
    size: int
    identity: tuple[int, int]
    warnings: tuple[str, ...]


def load(file: Path, *, repair: bool = False) -> Loaded:
    """Read a session file; it is not changed.

    Args:
        file: The file.
        repair: True to leave bad lines out, and to take an entry without parent as a root.

    Raises:
        SessionError: ``not_found``; ``storage`` if it cannot be read; ``invalid_session`` if it is no session;
            ``invalid_entry`` if a line is bad and ``repair`` is off.
    """
    try:
        with _opened(file) as stream, closing(read_pieces(stream)) as pieces, no_collection():
            identity = identity_of(stream.fileno())
            scan = Scan(str(file), pieces, repair=repair)
            scan.index.repaired = repair
            scan.index.link_all()
    except OSError as error:
        raise SessionError(f"Cannot read {file}: {error.strerror}.", code="storage", path=str(file)) from error
    warnings = (*scan.warnings, *_oddities(scan.index))
    return Loaded(scan, scan.size - len(scan.tail), identity, warnings)


def _opened(file: Path) -> BinaryIO:
    try:
        return open_to_read(file)
    except (FileNotFoundError, ValueError):  # a name that no file can have
        raise SessionError(f"There is no session file {file}.", code="not_found", path=str(file)) from None


def _oddities(index: Index) -> Iterator[str]:
    """Yield what is odd about entries that could be read."""
    again = len(index.ids) - len(index.positions)
    if again:
        yield f"Ids that were used before come {again} times; in look-ups the last entry counts."
    orphans = index.orphans()
    for position in orphans[:_MOST]:
        yield f"Entry {index.ids[position]} hangs from {index.parents[position]}, which is not in the session."
    if len(orphans) > _MOST:
        yield f"{len(orphans) - _MOST} more entries hang from entries that are not in the session."
    if index.leaf_id is not None and index.leaf_id not in index.positions:
        yield f"The leaf is {index.leaf_id}, which is not in the session; check out an entry."

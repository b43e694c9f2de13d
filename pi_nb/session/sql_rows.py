"""Entries as rows of a table, and rows as the columns of an index.

A line is JSON, in which anything can be written. The other columns hold plain text so that people can ask for it in
SQL; what PostgreSQL cannot hold there (NUL, lone surrogates) is written as JSON too.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pi_nb.session import lines
from pi_nb.session.index import Index, one_line, role_of
from pi_nb.session.sql_lines import FetchedLines

__all__ = ["fill", "from_column", "name_column", "row_of", "to_column"]

_ODD: Final = re.compile('[\0\ud800-\udfff]|^"')


def to_column(text: str) -> str:
    """Return a text as a column keeps it: as it is, or as JSON if it holds what PostgreSQL cannot."""
    return json.dumps(text) if _ODD.search(text) else text


def from_column(text: str) -> str:
    """Return the text that a column keeps."""
    return str(json.loads(text)) if text.startswith('"') else text


def row_of(number: int, position: int, fields: Mapping[str, Any], line: bytes) -> dict[str, Any]:
    """Return the row of an entry.

    Args:
        number: The session's number in the database.
        position: The entry's place in the log.
        fields: What its line says.
        line: The line.
    """
    parent, role = fields["parentId"] or None, role_of(fields) if fields["type"] == "message" else None
    return {
        "session": number,
        "position": position,
        "entry_id": to_column(fields["id"]),
        "parent_id": None if parent is None else to_column(parent),
        "type": to_column(fields["type"]),
        "role": None if role is None else to_column(role),
        "size": len(line),
        "line": line.decode("utf-8", "replace").removeprefix("\ufeff"),
    }


def name_column(fields: Mapping[str, Any]) -> str | None:
    """Return the name that a ``session_info`` entry gives, as a column keeps it; None if it takes it away."""
    name = fields.get("name")
    text = one_line(name) if isinstance(name, str) else ""
    return to_column(text) if text else None


def fill(index: Index, known: FetchedLines, columns: Sequence[Sequence[Any]]) -> None:
    """Fill an empty index with columns of a table: id, parent, kind, role, size, and the lines of some kinds."""
    ids, parents, kinds, roles, sizes, some_lines = columns
    index.ids = _texts(ids)
    index.parents = _texts(parents)
    index.types = list(map(_words(kinds).__getitem__, kinds))
    index.roles = list(map(_words(roles).__getitem__, roles))
    known.expect(sizes)
    index.link_all()
    for kind, line in zip(index.types, some_lines, strict=True):
        if line is not None:
            index.note(kind, lines.decode(line.encode()))
    if index.types[-1] != "leaf":
        index.leaf_id = index.ids[-1]


def _texts(column: Sequence[Any]) -> list[Any]:
    """Return the texts that a column holds; most stand there as they are."""
    return [from_column(text) if text and text[0] == '"' else text for text in column]


def _words(column: Sequence[Any]) -> dict[Any, Any]:
    """Return the few words that a column holds many times, each once."""
    words = set(column)
    return {word: word if word is None else sys.intern(from_column(word)) for word in words}

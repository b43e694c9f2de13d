"""Finding what was said, in files, without opening them as sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from pi_nb.messages import text_of
from pi_nb.session import lines
from pi_nb.session.entries import Entry, parse_entry
from pi_nb.session.listing import SessionInfo
from pi_nb.session.logfile import open_to_read

__all__ = ["Found", "said", "search_file"]

_PLAIN = re.compile(r"[A-Za-z0-9 ]+")  # nobody escapes these in JSON, so lines without them need not be read


@dataclass(frozen=True, slots=True)
class Found:
    """An entry that a search found: its session, its id, all it says, and where in that the search's text begins."""

    session: SessionInfo
    entry_id: str
    text: str
    at: int = 0

    def snippet(self, width: int = 80) -> str:
        """Return about ``width`` characters around what was found, on one line."""
        start = max(0, min(self.at - width // 3, len(self.text) - width))
        cut = " ".join(self.text[start : start + width].split())
        return ("…" if start else "") + cut + ("…" if start + width < len(self.text) else "")


def search_file(info: SessionInfo, text: str) -> Iterator[Found]:
    """Yield the entries of a session that say a text, whatever its case, in the order of the log.

    Bad lines are passed over, and so is a file that cannot be read.
    """
    needle = text.casefold()
    plain = text.lower().encode() if _PLAIN.fullmatch(text) else b""
    try:
        with open_to_read(info.file) as stream:
            for line in stream:
                entry = _entry(line) if plain in line.lower() else None
                words = "" if entry is None else said(entry)
                at = words.casefold().find(needle)
                if entry is not None and at >= 0:
                    yield Found(info, entry.id, words, at)
    except OSError:
        return


def _entry(line: bytes) -> Entry | None:
    try:
        fields = lines.decode(line)
        return parse_entry(fields) if isinstance(fields, dict) and "parentId" in fields else None
    except (ValueError, ValidationError):
        return None


def said(entry: Entry) -> str:
    """Return all that an entry says to people or models: text, summary, label, name."""
    message = getattr(entry, "message", None)
    contents = [getattr(item, "content", None) for item in (entry, message)]
    texts = [text_of(content) for content in contents if isinstance(content, str | tuple)]
    own = [getattr(entry, name, None) for name in ("summary", "label", "name")]
    return "\n".join(texts + [text for text in own if isinstance(text, str)])

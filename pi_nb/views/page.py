"""One page with the live view of a session, read-only: script, style and session in it, nothing to load, no kernel.

The session is JSON in a script element that no browser runs, with every ``<`` escaped, so that nothing in it can end
that element. A content security policy lets one script run, the one that comes with the package, and nothing load.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Final

from pi_nb.errors import SessionError
from pi_nb.harness.estimate import estimate_messages
from pi_nb.session.tree import Session
from pi_nb.views import tree_answers
from pi_nb.views.html import tree_html
from pi_nb.views.plain import short_session, visible
from pi_nb.views.tree_rows import rows

__all__ = ["tree_page"]

_DETAILED: Final = 2000  # entries, the newest, whose contexts and lines are in the page
_RAW: Final = 20_000  # characters of one entry's line
_STYLE: Final = (
    "html{background:#fff}body{margin:16px;font-family:system-ui,sans-serif}"
    ".pi-tree:is([data-size=wide],[data-size=medium]) .pt-body{height:max(320px,calc(100vh - 125px))}"
    "@media(prefers-color-scheme:dark){html{background:#0d1017}}"
)


def tree_page(session: Session) -> str:
    """Return the page. ``#leaf=ID&focus=ID`` at the end of its address opens it at other places.

    Args:
        session: What to show. Contexts and lines of its newest 2,000 entries can be looked at, rows of all.
    """
    script = _static("page.js")
    title = escape(visible(session.name or f"session {short_session(session.id)}", limit=200))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">'
        f'<meta name="viewport" content="width=device-width"><title>{title}</title>'
        f"<style>{_static('tree.css')}{_STYLE}</style></head>"
        f'<body><main id="tree" aria-label="{title}"></main><noscript>{tree_html(session)}</noscript>'
        f'<script type="application/json" id="session">{_inert(_content(session))}</script>'
        f'<script type="module">{script}</script></body></html>\n'
    )


@cache
def _static(name: str) -> str:
    return (Path(__file__).parent / "static" / name).read_text("utf-8").replace("</", "<\\/")


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; base-uri 'none'"


def _inert(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _content(session: Session) -> dict[str, Any]:
    total = len(session)
    entries = session.entries(max(0, total - _DETAILED))
    seen: dict[str, int] = {}
    sizes = _Sizes(session)
    contexts = {id: _context(session, id, seen, sizes) for id in ("", *(entry.id for entry in entries))}
    return {
        "delta": {
            **tree_answers.delta(session, epoch=session.id, start=0),
            "rows": rows(session, 0, total),
            "to": total,
            "file": None,
        },
        "items": [json.loads(item) for item in seen],
        "contexts": contexts,
        "entries": {entry.id: _line(session, entry.id) for entry in entries},
    }


class _Sizes:
    """Tokens of contexts, most of which are one message longer than another: each is counted on from there."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, int] = {}

    def at(self, entry_id: str | None) -> int | None:
        """Return the tokens of the context at an entry; None if its path is one to be looked at as a whole."""
        if not tree_answers.plain(self._session, entry_id):
            return None
        items = self._session.context(entry_id).items
        total, added = 0, []
        for place in range(len(items) - 1, -1, -1):
            item = items[place]
            size = estimate_messages((item.message,))
            total = self._known.get(item.entry_id, size.tokens)
            if item.entry_id in self._known or size.last_usage_index is not None:
                self._known[item.entry_id] = total
                break
            added.append((item.entry_id, size.tokens))
            total = 0
        for id, size_of_it in reversed(added):
            total += size_of_it
            self._known[id] = total
        return total


def _context(session: Session, entry_id: str, seen: dict[str, int], sizes: _Sizes) -> dict[str, Any]:
    """Return the context at an entry; its messages, most of which others share, by their place in ``seen``."""
    try:
        answer = tree_answers.context_answer(session, entry_id or None, tokens=sizes.at(entry_id or None))
    except SessionError as error:
        return {"failed": str(error)}
    return {**answer, "items": list(_numbers(answer["items"], seen))}


def _numbers(items: Iterable[Any], seen: dict[str, int]) -> Iterable[int]:
    for item in items:
        yield seen.setdefault(json.dumps(item), len(seen))


def _line(session: Session, entry_id: str) -> dict[str, Any]:
    answer = tree_answers.entry_answer(session, entry_id)
    cut = answer["cut"] or len(answer["raw"]) > _RAW
    return {**answer, "raw": answer["raw"][:_RAW], "cut": cut}

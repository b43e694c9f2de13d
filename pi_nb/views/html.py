"""A session's tree, and the context of a branch, as pieces of a page: no script, nothing to load, all text escaped.

Made for saved notebooks. Where a front end takes pictures and styles out of a notebook it does not trust, the rows
still read as text: each picture carries its lines as characters, which are then what is left of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Final

from pi_nb.session.context import Context
from pi_nb.session.tree import Session
from pi_nb.views.entry_line import Line, message_line, message_text
from pi_nb.views.gutter import LANE, ROW, dot, strokes
from pi_nb.views.layout import Row
from pi_nb.views.looks import page_style
from pi_nb.views.outline import Drawn, Mark, Outline, outline
from pi_nb.views.plain import UNTYPESET, short_id, visible
from pi_nb.views.text import context_heading, gutter_text, not_in_context, not_sent

__all__ = ["context_html", "tree_html"]

_LONGEST: Final = 20_000  # characters of one message that are shown
_FONT: Final = "font:13px/1.5 system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,sans-serif"
_MONO: Final = "font:11px/1.5 ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_CODE: Final = f"{_MONO};background:none!important;padding:0!important;color:var(--dim)"  # JupyterLab's is stubborn
_DIM_VARIABLE: Final = "--dim:var(--jp-content-font-color2,var(--vscode-descriptionForeground,#737373))"
_MIDDLE: Final = {  # seen on light and on dark
    "user": "#3b7dd8",
    "assistant": "#2f9e5b",
    "tool": "#b7791f",
    "custom": "#2a9aa8",
    "summary": "#9a6be0",
}
_TREE_STYLE: Final = page_style(
    ".pi-nb-tree",
    ("", f"{_FONT};color:var(--text);overflow-x:auto"),
    (".head", "color:var(--dim);padding:2px 8px 6px"),
    (".row", f"display:flex;align-items:center;height:{ROW}px;padding:0 8px;border-radius:5px;white-space:nowrap"),
    (".row.here", "background:var(--soft)"),
    (".row.first", "margin-top:8px"),
    ("code.mono", _CODE),
    (".row>code.mono", "min-width:8ch"),
    ("svg", "flex:none;display:block;margin:0 8px"),
    (".words", "overflow:hidden;text-overflow:ellipsis;min-width:8em"),
    (".who", "font-weight:600"),
    (".off .who,.quiet .who", "font-weight:400"),
    (".mark", f"{_MONO};flex:none;margin-right:6px;padding:0 5px;border:1px solid;border-radius:4px;color:var(--dim)"),
    (".mark .bracket", "display:none"),
    (".mark.leaf", "color:var(--back);background:var(--path);border-color:var(--path)"),
    (".mark.label", "color:var(--tool)"),
    (".mark.broken", "color:var(--fail)"),
)
_CONTEXT_STYLE: Final = "".join(  # nothing that depends on the theme, so that it can be written into the elements
    f".pi-nb-context{selector}{{{rule}}}"
    for selector, rule in (
        ("", f"{_FONT};{_DIM_VARIABLE}"),
        (" .head", "color:var(--dim);padding:2px 8px 6px"),
        (" .message", "margin:0 0 6px;padding:4px 10px;border-left:3px solid var(--dim)"),
        *((f" .{kind}.message", f"border-color:{colour}") for kind, colour in _MIDDLE.items()),
        (" code.mono", _CODE.replace("!important", "")),
        (" .who", "font-weight:600"),
        (" pre.said", f"{_FONT};margin:2px 0 0;padding:0;background:none;color:inherit;white-space:pre-wrap"),
        (" .said", "overflow-wrap:anywhere;max-height:24em;overflow:auto"),
    )
)


def tree_html(session: Session, *, max_rows: int | None = 200, everything: bool = False) -> str:
    """Return the tree as a piece of HTML, light or dark as the notebook is.

    Args:
        session: The session.
        max_rows: Most rows; those nearest to the leaf are shown and the rest counted. None shows all.
        everything: True to draw bookkeeping too: labels, names, moves of the leaf.
    """
    shown = outline(session, max_rows=max_rows, everything=everything)
    return "".join(_tree_parts(shown))


def _tree_parts(shown: Outline) -> Iterator[str]:
    yield f'<div class="pi-nb-tree {UNTYPESET}"><style>{_TREE_STYLE}</style>'
    yield f'<div class="head">{escape(shown.heading)}</div>'
    for number, drawn in enumerate(shown.drawn()):
        yield _tree_row(drawn, first=number > 0 and drawn.row.origin != "entry")
    if shown.footing:
        yield f'<div class="head">{escape(shown.footing)}</div>'
    yield "</div>"


def _tree_row(drawn: Drawn, *, first: bool) -> str:
    row = drawn.row
    css = "row" + " here" * row.leaf + " first" * first
    marks = "".join(map(_mark, drawn.marks))
    css_words = "words" + " off" * (not row.active) + " quiet" * (not drawn.line.is_message)
    words = f'<span class="{css_words}" title="{escape(str(drawn.line))}">{_words(drawn.line)}</span>'
    return f'<div class="{css}">{_mono(drawn.id)} {_gutter(row, drawn.line.kind)} {marks}{words}</div>'


def _mono(text: str) -> str:
    return f'<code class="mono">{escape(text)}</code>'


def _mark(mark: Mark) -> str:
    """Return a tag; its brackets are seen only where its style is not."""
    left, right = ('<span class="bracket">[</span>', '<span class="bracket">]</span>')
    return f'<span class="mark {mark.kind}">{left}{escape(mark.text)}{right}</span> '


def _gutter(row: Row, kind: str) -> str:
    """Return the lines left of a row, as a picture that carries them as characters too."""
    paths = "".join(f'<path class="{stroke.css}" d="{stroke.d}"/>' for stroke in strokes(row))
    wide = (len(row.bars) + 1) * LANE
    characters = escape(gutter_text(row).replace(" ", "\u00a0"))
    return (
        f'<svg width="{wide}" height="{ROW}" viewBox="0 0 {wide} {ROW}" aria-hidden="true"><desc>{characters}</desc>'
        f"{paths}{dot(row, kind)}</svg>"
    )


def _words(line: Line) -> str:
    calls = "".join(f" {_mono(f'[{call}]')}" for call in line.calls)
    failure = f' <span class="fail">({escape(line.failure)})</span>' if line.failure else ""
    return f'<b class="who {line.kind}">{escape(line.head)}</b> {escape(line.text)}{calls}{failure}'


def context_html(
    context: Context, *, provenance: Mapping[str, str] | None = None, unsent: Mapping[str, str] | None = None
) -> str:
    """Return the messages a model would be sent as a piece of HTML, light or dark as the notebook is.

    Args:
        context: The projection of a path.
        provenance: For entries of the path, why they are in the context or not; what is simply kept is not told.
        unsent: For messages of the context that no request carries, why.
    """
    whys = {**(provenance or {}), **not_sent(unsent)}
    return "".join(_context_parts(context, whys, len(unsent or ())))


def _context_parts(context: Context, provenance: Mapping[str, str], unsent: int) -> Iterator[str]:
    heading = " · ".join(context_heading(context, unsent))
    yield f'<div class="pi-nb-context {UNTYPESET}"><style>{_CONTEXT_STYLE}</style>'
    yield f'<div class="head">{escape(heading)}</div>'
    for number, item in enumerate(context.items, 1):
        line, why = message_line(item.message), provenance.get(item.entry_id, "kept")
        note = "" if why == "kept" else f" <i>{escape(visible(why))}</i>"
        yield (
            f'<div class="message {line.kind}">{_mono(f"{number} · {short_id(item.entry_id)}")} '
            f'<b class="who {line.kind}">{escape(line.head)}</b>{note}'
            f'<pre class="said">{_body(item.message)}</pre></div>'
        )
    for why, ids in not_in_context(context, provenance).items():
        yield f'<div class="head">not in the context, {escape(visible(why))}: {_mono(" ".join(ids))}</div>'
    yield "</div>"


def _body(message: object) -> str:
    text = message_text(message)
    more = f"\n… {len(text) - _LONGEST:,} more characters" if len(text) > _LONGEST else ""
    return "\n".join(escape(visible(part)) for part in text[:_LONGEST].split("\n")) + more

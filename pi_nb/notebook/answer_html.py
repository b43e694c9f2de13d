"""A run as HTML: the answer, thinking folded, a card per tool call, a line of facts. Everything in it is escaped."""

from __future__ import annotations

from functools import singledispatch
from html import escape

from pi_nb.notebook.caption import Caption, clean
from pi_nb.notebook.cards import CARD_STYLE, card_html
from pi_nb.notebook.markdown import to_html
from pi_nb.notebook.transcript import Notice, Part, Said, Snapshot, Text, Thinking, Tool
from pi_nb.views.plain import UNTYPESET

__all__ = ["STYLE", "answer_html"]

CARET = "▍"

# Colours come from the front end: JupyterLab's variables, then VS Code's, then greys that read on light and dark.
STYLE = (
    """<style>
.pi-nb { --pi-soft: var(--jp-content-font-color2, var(--vscode-descriptionForeground, #737373));
  --pi-line: var(--jp-border-color2, var(--vscode-panel-border, #80808055));
  --pi-fill: var(--jp-cell-editor-background, var(--vscode-textCodeBlock-background, #8080801a));
  --pi-bad: var(--jp-error-color1, var(--vscode-errorForeground, #d32f2f));
  --pi-good: var(--jp-success-color1, var(--vscode-charts-green, #388e3c));
  --pi-k: var(--jp-mirror-editor-keyword-color, #9a6700); --pi-s: var(--jp-mirror-editor-string-color, #b34a3f);
  --pi-m: var(--jp-mirror-editor-number-color, #2e8b57); --pi-c: var(--jp-mirror-editor-comment-color, #408080);
  --pi-b: var(--jp-mirror-editor-builtin-color, #2e8b57); --pi-d: var(--jp-mirror-editor-def-color, #2979d0);
  --pi-o: var(--jp-mirror-editor-operator-color, #a2f); max-width: 60em; overflow-wrap: break-word; }
.pi-nb > style + * { margin-top: 0; }
.pi-nb.pi-nb h1 { font-size: 1.5em; } .pi-nb.pi-nb h2 { font-size: 1.3em; } .pi-nb.pi-nb h3 { font-size: 1.15em; }
.pi-nb.pi-nb :is(h1, h2, h3, h4) { margin: 1em 0 .5em; font-weight: 600; }
.pi-nb.pi-nb pre { background: var(--pi-fill); border-radius: 4px; padding: .6em .8em; margin: .6em 0 1em;
  overflow: auto; max-height: 32em; }
.pi-nb.pi-nb pre code { background: none; padding: 0; }
.pi-nb details { border: 1px solid var(--pi-line); border-radius: 6px; margin: .6em 0; padding: .35em .7em; }
.pi-nb details.pi-thinking { border-width: 0 0 0 3px; border-radius: 0; color: var(--pi-soft); }
.pi-nb summary { cursor: pointer; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.pi-nb.pi-nb summary code { color: var(--pi-soft); background: none; }
.pi-nb .pi-part { color: var(--pi-soft); font-size: .85em; margin-top: .6em; }
.pi-nb.pi-nb .pi-part + pre { margin: .2em 0 .4em; }
.pi-nb .pi-state { color: var(--pi-soft); font-size: .9em; } .pi-nb .pi-done { color: var(--pi-good); }
.pi-nb .pi-failed { color: var(--pi-bad); } .pi-nb .pi-wait, .pi-nb .pi-notice { color: var(--pi-soft); }
.pi-nb .pi-said { border-left: 3px solid var(--jp-brand-color1, #1976d2); padding-left: .7em; white-space: pre-wrap; }
.pi-nb .pi-facts { display: flex; flex-wrap: wrap; gap: 0 1.2em; margin-top: .8em; padding-top: .35em;
  border-top: 1px solid var(--pi-line); color: var(--pi-soft); font-size: .85em; font-variant-numeric: tabular-nums; }
.pi-nb .pi-why { color: var(--pi-soft); font-size: .85em; }
.pi-nb .k { color: var(--pi-k); font-weight: 600; }
.pi-nb .s { color: var(--pi-s); }
.pi-nb .m { color: var(--pi-m); }
.pi-nb .c { color: var(--pi-c); font-style: italic; }
.pi-nb .b { color: var(--pi-b); }
.pi-nb .d { color: var(--pi-d); }
.pi-nb .o { color: var(--pi-o); }
"""
    + CARD_STYLE
    + "</style>"
)


def answer_html(run: Snapshot, caption: Caption) -> str:
    """Return a run, finished or not, as one HTML element."""
    parts = [p for p in run.parts if not (isinstance(p, Text | Thinking) and not p.text.strip())]
    pieces = [_part(part, not run.settled and part is parts[-1]) for part in parts]
    if not run.settled and (caption.doing or not (parts and isinstance(parts[-1], Text))):
        pieces.append(_waiting(run, caption))
    if caption.note:
        pieces.insert(0, f'<p class="pi-notice {UNTYPESET}">{escape(clean(caption.note))}</p>')
    return f'<div class="pi-nb">{STYLE}{"".join(pieces)}{_facts(run, caption)}</div>'


def _waiting(run: Snapshot, caption: Caption) -> str:
    who = " · ".join(words for words in (caption.model or "The model", caption.doing) if words)
    return f'<p class="pi-wait">{escape(who)} … {run.seconds:.0f} s</p>'


def _facts(run: Snapshot, caption: Caption) -> str:
    if not run.settled:
        return ""
    facts = "".join(f"<span>{escape(clean(fact))}</span>" for fact in caption.facts(run))
    why = f'<div class="pi-why {UNTYPESET}">{escape(clean(caption.why))}</div>' if caption.why else ""
    return f'<div class="pi-facts {UNTYPESET}">{facts}</div>{why}'


@singledispatch
def _part(part: Part, last: bool) -> str:
    """Return one part; ``last`` while more of it may be coming."""
    raise TypeError(part)


@_part.register
def _(part: Text, last: bool) -> str:
    return to_html(clean(part.text) + (CARET if last else ""))


@_part.register
def _(part: Thinking, last: bool) -> str:
    state = " open" if last and part.open else ""
    return (
        f'<details class="pi-thinking"{state}><summary>Thinking · {len(part.text.split())} words</summary>'
        f"{to_html(clean(part.text) + (CARET if state else ''))}</details>"
    )


@_part.register
def _(part: Tool, last: bool) -> str:
    return card_html(part)


@_part.register
def _(part: Said, last: bool) -> str:
    return f'<p class="pi-said {UNTYPESET}">{escape(clean(part.text))}</p>'


@_part.register
def _(part: Notice, last: bool) -> str:
    return f'<p class="pi-notice {UNTYPESET}">{escape(clean(part.text))}</p>'

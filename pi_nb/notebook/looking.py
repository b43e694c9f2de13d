"""Pictures of a session that need no kernel afterwards: the tree, a context, a request that was not sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from IPython.display import display

from pi_nb.harness.estimate import estimate_context
from pi_nb.notebook.asks import Ask, check
from pi_nb.notebook.caption import clean
from pi_nb.notebook.commands import LOG_LINES
from pi_nb.notebook.display import show
from pi_nb.notebook.placing import parent_of
from pi_nb.notebook.sent import sent_of
from pi_nb.session.context import Context, provenance

if TYPE_CHECKING:
    from pi_nb.models import Model
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.session.entries import Entry
    from pi_nb.session.tree import Session

__all__ = [
    "click_note",
    "log_text",
    "show_context",
    "show_dot",
    "show_picture",
    "show_request",
    "show_svg",
    "show_text",
]


ROWS = 500  # most rows of a tree as text


def show_text(session: Session) -> None:
    """Show the tree as text."""
    from pi_nb.views.text import render_tree

    display({"text/plain": render_tree(session, max_rows=ROWS)}, raw=True)


def log_text(session: Session, *, whole: bool = False) -> str:
    """Return the log as text: the last entries, or all of them."""
    from pi_nb.views.text import render_log

    heading, _, *lines = render_log(session).split("\n")
    left = 0 if whole else max(0, len(lines) - LOG_LINES)
    earlier = [f"… {left:,} earlier entries; %pi_log --all shows them"] if left else []
    return "\n".join([heading, "", *earlier, *lines[left:]])


def click_note(ip: Any) -> str:
    """Return what to know about clicks in this kernel; nothing where they work at any time."""
    if getattr(ip.kernel, "_supports_kernel_subshells", False):
        return ""
    return (
        "While a cell runs, clicks in the tree wait for its end: this kernel has no subshells (ipykernel 7 has). "
        "%%pi --bg leaves the kernel free."
    )


def show_svg(session: Session) -> None:
    """Show the tree as a picture."""
    from pi_nb.views.svg import tree_svg
    from pi_nb.views.text import render_tree

    display({"image/svg+xml": tree_svg(session), "text/plain": render_tree(session)}, raw=True)


def show_dot(session: Session) -> None:
    """Show the tree as Graphviz source."""
    from pi_nb.views.dot import to_dot

    source = str(to_dot(session))
    display({"text/vnd.graphviz": source, "text/plain": source}, raw=True)


def show_picture(session: Session) -> None:
    """Show the tree as HTML that does nothing."""
    from pi_nb.views.still import pictures

    drawn = pictures(session)
    show(drawn["text/html"], drawn["text/plain"])


def show_context(runtime: Runtime, entry_id: str | None) -> None:
    """Show the messages the model would get at an entry, what else it would get, and why."""
    _show(runtime, entry_id, {})


def show_request(runtime: Runtime, ask: Ask) -> None:
    """Show what a prompt would send; nothing is sent, nothing written.

    Raises:
        UserError: As when it were sent.
    """
    check(runtime, ask)
    changes = {"model": ask.model, "thinking": ask.thinking, "system prompt": ask.system}
    if ask.tools is not None:
        changes["tools"] = ", ".join(ask.tools) or "none"
    given = {name: value for name, value in changes.items() if value is not None}
    from pi_nb.notebook.request_view import request_text

    request = request_text(runtime, ask)
    _show(runtime, parent_of(runtime.session, ask), given, prompt=ask.text, request=request)


def _show(
    runtime: Runtime,
    entry_id: str | None,
    changes: Mapping[str, str],
    *,
    prompt: str | None = None,
    request: str = "",
) -> None:
    from pi_nb.views.html import context_html
    from pi_nb.views.text import render_context

    context, path = runtime.session.context(entry_id), runtime.session.path(entry_id)
    said = "" if prompt is None else clean(prompt)
    model = runtime.harness.configuration_at(entry_id).model
    sent = sent_of(context, model, prompt=prompt)
    how = {"provenance": provenance(path), "unsent": sent.unsent}
    rows = {**_around(runtime, context, model), "tokens": f"about {_tokens(sent.context, path, said):,}", **changes}
    lines = [] if prompt is None else ["Nothing was sent. This would be:"]
    lines += [f"{name}: {clean(value)}" for name, value in rows.items() if value] + sent.notes
    html = "".join(f"<div>{escape(line)}</div>" for line in lines) + context_html(context, **how)
    text = "\n".join([*lines, "", render_context(context, **how)])
    if prompt is not None:
        html += f"<div><b>the prompt</b><pre>{escape(said)}</pre></div>"
        text += f"\n\nthe prompt\n{said}"
    if request:
        html += f"<details><summary>the request, keys left out</summary><pre>{escape(request)}</pre></details>"
        text += f"\n\nthe request, keys left out\n{request}"
    show(html, text)


def _around(runtime: Runtime, context: Context, model: Model | None) -> dict[str, str]:
    """Return what the view of a context does not say of a request."""
    return {"model": "" if context.model else str(model), "system prompt": runtime.harness.system_prompt}


def _tokens(sent: Context, path: Sequence[Entry], prompt: str) -> int:
    return estimate_context(sent, path).tokens + len(prompt) // 4

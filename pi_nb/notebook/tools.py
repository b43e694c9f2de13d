"""``%pi_tools``: which tools a model may call on this branch, and which of their calls are asked about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pi_nb.errors import UserError
from pi_nb.notebook.caption import clean
from pi_nb.notebook.checks import check_tool
from pi_nb.notebook.toolbox import NotebookTool, known_or_added, names_of
from pi_nb.tools.paths import shown
from pi_nb.tools.rules import Rule

if TYPE_CHECKING:
    import argparse

    from pi_nb.notebook.runtime import Runtime

__all__ = ["change", "overview_html", "overview_text"]

FIRST_STEPS = """No tool is active: the model answers, and touches nothing. You choose what it may call:
  %pi_tools read,grep,find,ls   look at files in this folder, without asking
  %pi_tools --add python        run code in this kernel; each call is asked about
  %pi_tools --add my_function   a function of yours, made a tool: import pi_nb, and @pi_nb.tool above it"""


def change(runtime: Runtime, given: argparse.Namespace) -> list[str]:
    """Do what ``%pi_tools`` was asked for; return what to say about it, a line for each change.

    Raises:
        UserError: There is no such tool or rule, or a rule cannot be saved.
    """
    said = [*_choose(runtime, given), *_decide(runtime, given), *_unasked(runtime, given)]
    if given.reset:
        forgotten = runtime.approvals.reset()
        said.append("The default rules count again." + (" What was saved is forgotten." if forgotten else ""))
    if given.save:
        said.append(f"Saved for this notebook, in {runtime.approvals.save()}. %pi_tools --reset forgets it.")
    return said


# ---------------------------------------------------------------- what is active


def _choose(runtime: Runtime, given: argparse.Namespace) -> Iterator[str]:
    """Change which tools are active; yield what to say."""
    wanted = _wanted(runtime, given)
    if wanted is not None:
        runtime.wait(runtime.harness.set_tools(tuple(runtime.tools.values()), wanted))
        yield f"Active on this branch: {', '.join(wanted) or 'none'}."


def _unasked(runtime: Runtime, given: argparse.Namespace) -> Iterator[str]:
    """Yield what to know of the user's own functions among tools that were chosen: nobody is asked about them."""
    chosen = names_of([*(given.words or ()), given.add or ""])
    own = [tool.name for name in chosen if (tool := _own(runtime, name)) is not None]
    decided, cwd = runtime.approvals.decided(), runtime.approvals.current.cwd
    free = [name for name in own if _calls(name, True, decided, cwd) == _VERDICTS["allow"]]
    if free:
        run = "runs" if len(free) == 1 else "run"
        yield f"{', '.join(free)} {run} without asking; %pi_tools --ask {','.join(free)} changes that."


def _own(runtime: Runtime, name: str) -> NotebookTool | None:
    """Return a function of the user's by the name it was chosen by: the model's, or that of its variable."""
    found = runtime.tools.get(name) or runtime.tools.get(getattr(runtime.ip.user_ns.get(name), "name", ""))
    return found if isinstance(found, NotebookTool) else None


def _wanted(runtime: Runtime, given: argparse.Namespace) -> tuple[str, ...] | None:
    """Return the tools that are to be active, or None if nothing was said of that."""
    if given.none and (given.words or given.add):
        raise UserError("--none and names of tools contradict each other.", hint="Name those you want, without --none.")
    if not (given.words or given.none or given.add or given.remove):
        return None
    active = runtime.harness.active_tool_names
    if given.none:
        active = ()
    elif given.words:
        active = known_or_added(runtime, names_of(given.words))
    gone = names_of([given.remove or ""])
    for name in gone:
        check_tool(active, name)
    added = known_or_added(runtime, names_of([given.add or ""]))
    return tuple(name for name in dict.fromkeys((*active, *added)) if name not in gone)


# ---------------------------------------------------------------- what is asked about


def _decide(runtime: Runtime, given: argparse.Namespace) -> Iterator[str]:
    """Add rules; yield what to say."""
    options = vars(given)
    for verdict in ("ask", "allow", "deny"):
        words = options[verdict]
        if words:
            _check_names(runtime, words)
            runtime.approvals.change(verdict, words)
            yield f"{_SAID[verdict]} {', '.join(names_of([words]))}."


_SAID = {"allow": "Runs without asking:", "ask": "Asked about:", "deny": "Never runs:"}


def _check_names(runtime: Runtime, words: str) -> None:
    for word in names_of([words]):
        name = word.partition(":")[0]
        if not any(sign in name for sign in "*?["):
            check_tool(runtime.tools, name)


# ---------------------------------------------------------------- what there is


class Row(NamedTuple):
    """A tool in the overview."""

    name: str
    active: bool
    calls: str
    does: str


def _rows(runtime: Runtime) -> list[Row]:
    active, approvals = runtime.harness.active_tool_names, runtime.approvals
    decided, cwd = approvals.decided(), approvals.current.cwd
    rows = []
    for name, tool in runtime.tools.items():
        does = _FIRST_SENTENCE.match(" ".join(clean(tool.description).split()))
        own = isinstance(tool, NotebookTool)
        rows.append(Row(name, name in active, _calls(name, own, decided, cwd), does[0] if does else ""))
    return sorted(rows, key=lambda row: not row.active)


_FIRST_SENTENCE = re.compile(r".*?(\.(?=\s|$)|$)")


def _calls(name: str, own: bool, decided: list[Rule], cwd: Path) -> str:
    """Return in words what happens to the calls of a tool."""
    from fnmatch import fnmatchcase

    from pi_nb.tools.policy import READING

    rules = [rule for rule in decided if fnmatchcase(name, rule.tool)]
    whole = next((rule.verdict for rule in reversed(rules) if rule.path is None), None)
    word = _VERDICTS[whole or ("allow" if own else "read" if name in READING else "ask")]
    places = [f"{_VERDICTS[rule.verdict]} in {shown(rule.path, cwd)}" for rule in rules if rule.path is not None]
    return "; ".join([word, *dict.fromkeys(places)])


_VERDICTS = {"allow": "runs", "ask": "asks", "deny": "never", "read": "runs in this folder, else asks"}


def overview_text(runtime: Runtime) -> str:
    """Return all tools with what may happen to their calls, as lines."""
    rows = _rows(runtime)
    names, calls = max(len(row.name) for row in rows), max(len(row.calls) for row in rows)
    lines = [f"{'●' if r.active else ' '} {r.name:{names}}  {r.calls:{calls}}  {r.does}" for r in rows]
    first = [] if any(row.active for row in rows) else [FIRST_STEPS, ""]
    return "\n".join([*first, *lines])


def overview_html(runtime: Runtime) -> str:
    """Return all tools with what may happen to their calls, as a table."""
    rows = _rows(runtime)
    left = 'style="text-align:left;vertical-align:top"'
    mark = 'style="text-align:left;vertical-align:top;white-space:nowrap"'
    body = "".join(
        f"<tr><td {mark}>{'● active' if row.active else ''}</td><th {left}>{escape(row.name)}</th>"
        f"<td {left}>{escape(row.calls)}</td><td {left}>{escape(row.does)}</td></tr>"
        for row in rows
    )
    first = "" if any(row.active for row in rows) else f"<pre>{escape(FIRST_STEPS)}</pre>"
    return f"{first}<table><tr>{''.join(f'<th {left}>{h}</th>' for h in ('', 'tool', 'calls', ''))}</tr>{body}</table>"

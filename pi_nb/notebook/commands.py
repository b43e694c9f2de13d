"""The magics as their users see them: names, options, arguments, help."""

from __future__ import annotations

from collections.abc import Callable

from pi_nb.errors import UserError
from pi_nb.models import THINKING_LEVELS
from pi_nb.notebook.arguments import Argument, Command, Option

__all__ = ["COMMANDS", "LOG_LINES", "SESSION_ACTIONS"]

REF = """REF is an entry id or its beginning, a label, @ (the leaf), @~2 (two turns up), @^ (its parent),
- (the previous leaf), root, cell:7 (what cell [7] wrote), or cell:7.2 (the second of its answers side by side)."""


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if int(text) < least:
            raise UserError(f"{text} is too small; the least is {least}.")
        return int(text)

    number.__name__ = "whole number"
    return number


_PROMPT_OPTIONS = (
    Option(("--model", "-m"), "ask this model, on this branch from here on", "PROVIDER:MODEL", "model"),
    Option(
        ("--thinking", "-t"),
        f"thinking level from here on: {', '.join(THINKING_LEVELS)}; A,B: both, side by side",
        "LEVEL",
        "thinking",
    ),
    Option(("--from",), "move the leaf there first", "REF", "ref"),
    Option(("--bg",), "give the prompt back at once; the answer goes on coming into this cell"),
    Option(("--attach",), "add a file or a value of the notebook; may be repeated", "EXPR", many=True),
    Option(("--image",), "add a picture: figure, image, array, bytes or file; may be repeated", "EXPR", many=True),
    Option(("--replay",), "show the stored answer if prompt, options and path are unchanged; else ask"),
    Option(("--n",), "ask N times, on branches of their own, side by side", "N", type=_at_least(1)),
    Option(("--models",), "ask each of these models, side by side", "A,B", "model"),
    Option(
        ("--pick",),
        "go on with the K-th of several answers; without it the leaf waits before the prompt",
        "K",
        type=_at_least(1),
    ),
    Option(("--score",), "a function of the reply to compare several answers by", "EXPR"),
    Option(("--append",), "append at the leaf, even if this cell was run before"),
    Option(("--label", "-l"), "label the answer, to return to it", "NAME"),
    Option(
        ("--out", "-o"), "store the reply in this variable (.text, .tool_calls, .usage, .entry_id, .json())", "NAME"
    ),
    Option(("--system", "-s"), "system prompt for this run only", "TEXT"),
    Option(("--tools",), "tools the model may call from here on, separated by commas", "A,B", "tools"),
    Option(("--no-tools",), "no tools from here on"),
    Option(("--max-turns",), "end the run after so many answers", "N", type=_at_least(1)),
    Option(("--raw",), "send the prompt as typed: do not evaluate $`expr`"),
    Option(("--dry-run", "-n"), "show what would be sent; send and write nothing"),
)

_PROMPT_HELP = """Ask the model; the answer streams into this cell.

The prompt hangs below the leaf. If the cell was run before and its prompt lies on the active branch, the new answer
becomes a sibling: what was below stays, on a branch of its own. Only $`expr` is evaluated in a prompt, in the
notebook's namespace; braces, dollars and percent signs stay as typed."""

_SPEAKING = {
    "steer": "Say something to the run that goes on, before its next answer.",
    "followup": "Say something to the run that goes on, when it would stop.",
    "next": "Say something in front of the next prompt.",
}
_WHILE = "For runs begun with %%pi --bg, from any cell; only $`expr` is evaluated in the text."

_TOOLS_HELP = """Choose the tools a model may call on this branch, or see what there is.

Tools are read, write, edit, bash, grep, find and ls; python, which runs code in this kernel; and functions of yours,
made tools with @pi_nb.tool (import pi_nb first). To begin with none is active. Of those that are, reading inside the
working directory and your own functions run at once (--ask NAME changes that); everything else is asked about, with
all its arguments.

TOOL may hold * and ?; with PATH a rule is for that file or folder only: --allow write:build. Of the rules that fit a
call the last one decides. Rules and answers with "always" count for this session; --save keeps them for this notebook
in your own configuration folder (approvals.json), never in the notebook."""

LOG_LINES = 200  # entries that %pi_log shows

SESSION_ACTIONS = {
    "new": "begin a new session, with an optional name",
    "open": "open a session by name, id or path",
    "list": "list the sessions of this folder",
    "name": "name this session",
    "fork": "copy the active branch, or the branch up to REF, into a new session and go on there",
    "clone": "copy the whole session, all branches, into a new one and go on there",
    "export": "write FILE.html (one page with the live tree), FILE.md (the active branch) or FILE.jsonl (the lines)",
    "import": "copy a session file into this folder, bind it to this notebook and go on there",
    "search": "find what was said, in all sessions of this folder",
    "handoff": "say how to go on in pi's terminal, at this leaf",
    "delete": "delete a session by name, id or path",
}

_ALL = (
    Command(
        "%pi",
        _PROMPT_HELP + "\nAlone, %pi says where you are: session, leaf, model and why it was chosen, tokens, cost.",
        _PROMPT_OPTIONS,
        prompt=True,
    ),
    Command("%%pi", _PROMPT_HELP, _PROMPT_OPTIONS, prompt=True),
    Command(
        "%pi_checkout",
        "Move the leaf: the next prompt continues from there. Nothing is deleted.\n\n" + REF + "\n\n"
        "On a prompt the leaf moves to what came before it, and its text comes back as the next cell, to be edited.",
        (
            Option(("--summarize", "-s"), "take a summary of the branch that is left along"),
            Option(("-m", "--message"), "what the summary should look at especially", "TEXT"),
        ),
        (Argument("ref", "where to", None, "ref"),),
    ),
    Command(
        "%pi_tree",
        "Show the session's tree. In a notebook it is alive: a click moves the leaf, alt-click only looks.",
        (
            Option(("--svg",), "a picture that needs no kernel"),
            Option(("--dot",), "Graphviz source"),
            Option(("--text",), "plain text"),
        ),
    ),
    Command(
        "%pi_context",
        "Show exactly what the model would be sent at REF, message by message, with tokens and why.\n\n" + REF,
        arguments=(Argument("ref", "where; the leaf if left out", "?", "ref"),),
    ),
    Command(
        "%pi_log",
        "Show the log: what happened, in the order of the file, moves of the leaf included.",
        (Option(("--all", "-a"), f"all of it, not only the last {LOG_LINES} entries"),),
    ),
    Command(
        "%pi_label",
        "Label an entry, to return to it by name. Without a name: list the labels.\n\n" + REF,
        (Option(("--clear",), "take the label NAME away"),),
        (
            Argument("name", "the label", "?", "label"),
            Argument("ref", "the entry; the leaf if left out", "?", "ref"),
        ),
    ),
    Command(
        "%pi_model",
        "Set the model of this branch, or say which it is and why. Keys come from the environment or the keyring.",
        arguments=(Argument("model", "PROVIDER:MODEL, or PROVIDER: to list its models", "?", "model"),),
    ),
    Command(
        "%pi_thinking",
        "Set the thinking level of this branch, or say which it is.",
        arguments=(Argument("level", ", ".join(THINKING_LEVELS), "?", "thinking"),),
    ),
    Command(
        "%pi_tools",
        _TOOLS_HELP,
        (
            Option(("--add",), "let it call these as well", "A,B", "tools"),
            Option(("--remove",), "let it call these no more", "A,B", "active"),
            Option(("--none",), "let it call none"),
            Option(("--allow",), "run these without asking", "TOOL[:PATH]", "tools"),
            Option(("--ask",), "ask before each call of these", "TOOL[:PATH]", "tools"),
            Option(("--deny",), "never run these", "TOOL[:PATH]", "tools"),
            Option(("--save",), "keep what was decided, for later sessions of this notebook"),
            Option(("--reset",), "go back to the default rules, and forget what was saved"),
        ),
        (Argument("words", "the tools it may call, separated by commas", "*", "tools"),),
    ),
    Command(
        "%pi_session",
        "Say where the session is kept, or:\n\n"
        + "\n".join(f"  {name:8}{does}" for name, does in SESSION_ACTIONS.items()),
        (Option(("--yes", "-y"), "delete without asking"),),
        (
            Argument("action", "what to do", "?", "action", tuple(SESSION_ACTIONS)),
            Argument("words", "which session, which name, or REF", "*", "session"),
        ),
    ),
    *(
        Command(f"{sign}pi_{name}", f"{does} {_WHILE}", prompt=True)
        for sign in ("%", "%%")
        for name, does in _SPEAKING.items()
    ),
    Command(
        "%pi_approve",
        "Show the question about a tool call that is open, or answer it. For runs in the background, and for a page"
        " that was reloaded while it was asked; while a cell waits for the answer, it is asked there.",
        arguments=(
            Argument("answer", "yes (once), always (in this session) or no", "?", "action", ("yes", "always", "no")),
            Argument("why", "why not; the model is told", "*", ""),
        ),
        prompt=True,
    ),
    Command("%pi_abort", "Stop the run that is going on. What has arrived is kept. The stop button does the same."),
)

_RUNNING = (
    Command(
        "%pi_compact",
        "Summarise the older part of the branch, so that the model is sent less. What was said stays in the session.",
        (Option(("-m", "--message"), "what the summary should look at especially", "TEXT"),),
    ),
    Command(
        "%pi_diff",
        "Compare two branches: what they have in common, then side by side, with tokens and cost.\n\n" + REF,
        (
            Option(("--messages",), "message by message (the default)"),
            Option(("--text",), "the last answers as one text, word by word"),
        ),
        (
            Argument("left", "where the one ends", None, "ref"),
            Argument("right", "the other; the leaf if left out", "?", "ref"),
        ),
    ),
    Command(
        "%pi_trace",
        "Show under each answer what its run went through, with save points and the line of the file each step wrote.",
        arguments=(Argument("state", "on or off; which it is if left out", "?", "action", ("on", "off")),),
    ),
    Command(
        "%pi_config", "Show all settings, their values and where they came from: config file, %config, environment."
    ),
)

COMMANDS = {command.name: command for command in (*_ALL, *_RUNNING)}

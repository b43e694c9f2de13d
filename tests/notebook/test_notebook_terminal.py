"""IPython as people have it in a terminal, with its line editor: Tab, Ctrl-C, and a question that is typed."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pexpect = pytest.importorskip("pexpect")

SCRIPT = """
import pi_nb, pi_nb.notebook
from pi_nb import Reply
from pi_nb.messages import ToolCall
_calls = [ToolCall(id=f"c{n}", name="bash", arguments={"command": f"touch ran{n}"}) for n in range(2)]
_said = [*(Reply([call]) for call in _calls), Reply("All done."), Reply("word " * 400), Reply("more " * 400)]
pi_nb.notebook.current().registry = pi_nb.Registry([pi_nb.ScriptedProvider(_said, tokens_per_second=30)])
"""
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Any]:
    """Give an IPython in a pseudo-terminal of its own."""
    (tmp_path / "script.py").write_text(SCRIPT)
    env = {
        **os.environ,
        "PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "s"),
        "PI_NB_MODEL": "scripted:any",
        "IPYTHONDIR": str(tmp_path / ".ipython"),
        "PROMPT_TOOLKIT_NO_CPR": "1",
        "TERM": "xterm",
    }
    args = ["-m", "IPython", "--no-banner", "--no-confirm-exit", "--HistoryManager.enabled=False"]
    child = pexpect.spawn(
        sys.executable, args, cwd=str(tmp_path), env=env, encoding="utf-8", timeout=60, dimensions=(50, 140)
    )
    try:
        yield child
    finally:
        child.close(force=True)


def seen(terminal: Any, text: str) -> None:
    """Wait until the terminal shows a text, whatever its colours."""
    terminal.expect("".join(f"(?:\x1b\\[[0-9;?]*[A-Za-z])*{re.escape(character)}" for character in text))


def prompt(terminal: Any) -> None:
    """Wait for the next prompt."""
    terminal.expect(r"In (?:\x1b\[[0-9;?]*[A-Za-z])*\[(?:\x1b\[[0-9;?]*[A-Za-z])*\d+")


def say(terminal: Any, line: str) -> None:
    """Type a line and run it."""
    terminal.send(line + "\r")


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal")
def test_a_terminal_with_a_line_editor(terminal: Any, tmp_path: Path) -> None:
    """Tab completes models, a question is typed, Ctrl-C stops a run and keeps what had arrived; the file has it all."""
    prompt(terminal)
    say(terminal, "%load_ext pi_nb")
    prompt(terminal)
    terminal.send("%pi_model scripted:d\t")
    seen(terminal, "emo")
    terminal.send("\r")
    seen(terminal, "scripted:demo, on this branch.")
    prompt(terminal)
    for line in ("%run -i script.py", "%pi_model scripted:any", "%pi_tools bash"):
        say(terminal, line)
        prompt(terminal)
    say(terminal, "%pi go")
    seen(terminal, "May bash run? bash may do anything.")
    seen(terminal, "Run bash?")
    say(terminal, "y")
    seen(terminal, "Run bash?")
    say(terminal, "n not twice")
    seen(terminal, "All done.")
    prompt(terminal)
    assert (tmp_path / "ran0").exists()
    assert not (tmp_path / "ran1").exists()
    for word in ("word", "more"):
        say(terminal, "%pi tell me")
        seen(terminal, f"{word} {word}")
        terminal.send("\x03")
        seen(terminal, "Stopped. What had arrived is kept in the tree")
        prompt(terminal)
    say(terminal, "exit")
    terminal.expect(pexpect.EOF)
    assert "Traceback" not in COLOURS.sub("", terminal.before)
    (file,) = (tmp_path / "s").rglob("*.jsonl")
    messages = [json.loads(line).get("message", {}) for line in file.read_text("utf-8").splitlines()]
    assert [m["stopReason"] for m in messages if m.get("role") == "assistant"][-3:] == ["stop", "aborted", "aborted"]
    assert "the user said no: not twice" in file.read_text("utf-8")
    assert "\\u001b" not in file.read_text("utf-8")

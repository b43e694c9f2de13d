"""Loading is quick, repeatable, and unloading leaves nothing."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import pi_nb
from pi_nb.errors import UserError
from pi_nb.notebook.extension import load, runtime_of, unload
from pi_nb.notebook.glance import glance
from pi_nb.notebook.owner import THREAD_NAME
from pi_nb.notebook.status import leaf_line, session_line
from pi_nb.session.repo import SessionRepo

NO_HISTORY = Config({"HistoryManager": {"enabled": False}})  # no database, no thread of its own


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """Return a shell of its own, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PI_CODING_AGENT_SESSION_DIR", str(tmp_path / "s"))
    monkeypatch.setenv("PI_NB_MODEL", "scripted:demo")
    ip = InteractiveShell(config=NO_HISTORY)
    yield ip
    unload(ip)


def traces(ip: InteractiveShell) -> dict[str, Any]:
    """Return all that loading changes in a shell, and the threads there are."""
    magics = ip.magics_manager.magics
    return {
        "line": sorted(name for name in magics["line"] if re.match("pi(_|$)", name)),
        "cell": sorted(name for name in magics["cell"] if re.match("pi(_|$)", name)),
        "matchers": len(ip.Completer.custom_matchers),
        "cleanup": len(ip.input_transformers_cleanup),
        "tokens": len(ip.input_transformer_manager.token_transformers),
        "configurables": len(ip.configurables),
        "registry": "CellMagics" in ip.magics_manager.registry,
        "threads": [t.name for t in threading.enumerate() if t.name == THREAD_NAME],
    }


def test_ten_reloads_leave_what_one_load_left(shell: InteractiveShell) -> None:
    """Loading again, or unloading and loading, adds nothing; unloading removes everything, the thread too."""
    before = traces(shell)
    load(shell)
    shell.run_cell("%pi_thinking low")
    once = traces(shell)
    assert once["threads"] == [THREAD_NAME]
    assert load(shell) is runtime_of(shell)
    for _ in range(10):
        unload(shell)
        load(shell)
        shell.run_cell("%pi_thinking low")
    assert traces(shell) == once
    unload(shell)
    unload(shell)
    assert traces(shell) == before


def test_a_runtime_that_was_unloaded_is_forgotten(shell: InteractiveShell) -> None:
    """No runtime outlives its extension."""
    load(shell)
    shell.run_cell("%pi hello")
    unload(shell)
    gc.collect()
    from pi_nb.notebook.runtime import Runtime

    assert [o for o in gc.get_objects() if type(o) is Runtime] == []


def test_the_way_in_from_python(shell: InteractiveShell) -> None:
    """The runtime gives session, harness and reply; before loading it says what to do."""
    with pytest.raises(UserError, match="not loaded"):
        runtime_of(shell)
    runtime = load(shell)
    shell.run_cell("%pi hello")
    assert runtime.reply is not None
    assert runtime.reply.entry_id == runtime.session.leaf_id
    assert str(runtime.harness.model) == "scripted:demo"
    assert repr(runtime).startswith("<Runtime terminal <Session ")


LOADING = """
import json, os, sys
from IPython.core.interactiveshell import InteractiveShell
ip = InteractiveShell.instance()
before = set(sys.modules)
ip.run_line_magic("load_ext", "pi_nb")
print(json.dumps(sorted({name.split(".")[0] for name in set(sys.modules) - before})))
if sys.argv[1:]:
    ip.run_cell(sys.argv[1])
os._exit(0)
"""
HEAVY = {"httpx", "anywidget", "ipywidgets", "graphviz", "pydantic", "msgspec", "markdown_it", "pygments"}


def test_loading_is_cheap(tmp_path: Path) -> None:
    """It imports no HTTP client, no widgets, no Markdown, no validation, also where it returns to a session."""

    def run(*cells: str) -> str:
        names = {"PI_CODING_AGENT_SESSION_DIR": str(tmp_path / "s"), "PI_NB_MODEL": "scripted:demo"}
        command = [sys.executable, "-c", LOADING, *cells]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **names}, capture_output=True, text=True, check=True
        )
        return done.stdout

    fresh = run("%pi hello")
    assert not set(json.loads(fresh.splitlines()[0])) & (HEAVY | {"orjson"})
    *told, loaded = run().splitlines()
    assert re.fullmatch(r"Back in session [0-9a-f]{8}, \d+ entries\.", told[0])
    assert not set(json.loads(loaded)) & HEAVY


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ({"type": "label", "targetId": "b", "label": "here"}, "b [here] assistant: fine"),
        ({"type": "session_info", "name": "Boats"}, "b assistant: fine"),
        ({"type": "leaf", "targetId": "a"}, "a user: how are you?"),
        ({"type": "leaf", "targetId": None}, "root, before the first prompt"),
        ({"type": "message", "message": {"role": "user", "content": "x\u202e" + "y" * 99}}, "c user: x\\u202e"),
        ({"type": "message", "message": {"role": "toolResult", "content": []}}, None),
        ({"type": "leaf"}, None),
        ({}, None),
    ],
)
def test_a_glance_says_what_the_session_would(tmp_path: Path, line: dict[str, Any], seen: str | None) -> None:
    """Leaf, label and name come off the file as the session has them; what is odd is left to the session."""
    stamp = "2026-01-01T00:00:00.000Z"
    said = [("user", "how are you?"), ("assistant", "fine")]
    rows: list[dict[str, Any]] = [{"type": "session", "version": 3, "id": "s" * 36, "timestamp": stamp, "cwd": "/"}]
    for number, (role, text) in enumerate(said):
        message = {"role": role, "content": [{"type": "text", "text": text}]}
        rows.append(
            {"type": "message", "id": "ab"[number], "parentId": " a"[number].strip() or None, "message": message}
        )
    rows.append({"id": "c", "parentId": "b", **line})
    file = tmp_path / "s.jsonl"
    file.write_text("".join(json.dumps({"timestamp": stamp, **row}) + "\n" for row in rows))
    found = glance(file)
    if seen is None:
        assert found is None
        return
    session = SessionRepo(tmp_path).open(file)
    assert found is not None
    assert found.leaf_line.startswith(seen)
    assert found.leaf_line == leaf_line(session)
    assert session_line(session).startswith(found.session_line)
    assert found.who_writes().startswith("this process")
    session.close()
    assert found.who_writes() == ""
    file.write_text(file.read_text() + "{")
    assert glance(file) is None


def test_every_magic_has_help(shell: InteractiveShell) -> None:
    """What ? shows is the parser's help."""
    load(shell)
    for name in traces(shell)["line"]:
        magic = shell.find_line_magic(name)
        assert magic is not None
        assert magic.__doc__ is not None
        assert magic.__doc__.startswith(f"usage: %{name}"), name


def test_settings(shell: InteractiveShell) -> None:
    """%config sets what the next session begins with."""
    load(shell)
    shell.run_cell("%config PiMagics.system_prompt = 'Be brief'\n%config PiMagics.max_turns = 3")
    harness = runtime_of(shell).harness
    assert (harness.system_prompt, harness.max_turns) == ("Be brief", 3)


def test_verbose_mode_shows_a_traceback(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistake is one line, and the whole story where %xmode Verbose asks for it."""
    load(shell)
    shell.run_cell("%pi_checkout nonsense")
    assert "Traceback" not in capsys.readouterr().out
    shell.run_line_magic("xmode", "Verbose")
    shell.run_cell("%pi_checkout nonsense")
    assert "Traceback" in capsys.readouterr().out


def test_the_package_loads_and_unloads_itself(shell: InteractiveShell) -> None:
    """%load_ext calls the package's own hooks."""
    pi_nb.load_ipython_extension(shell)
    assert shell.find_cell_magic("pi")
    pi_nb.unload_ipython_extension(shell)
    assert not shell.find_cell_magic("pi")

"""``pi-nb``: what it prints, in every terminal; its errors and exit statuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import pi_nb
from pi_nb.cli import main

Command = Callable[..., subprocess.CompletedProcess[bytes]]
Write = Callable[..., Path]

WIDE = {"message": {"role": "user", "content": "漢字 — “quoted” \ud83d"}}


def test_the_tree(pi_nb_command: Command, write: Write) -> None:
    """A file as a tree, with lines, ids and the leaf."""
    done = pi_nb_command("tree", write(("a", None), ("b", "a"), ("c", "a")))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().splitlines()[2:] == [
        "a  ● user: says a",
        "c  ├─● user: says c ◀ leaf",
        "b  └─○ user: says b",
    ]


def test_the_log(pi_nb_command: Command, write: Write) -> None:
    """``--log`` shows the order of writing."""
    done = pi_nb_command("tree", write(("a", None), ("l", "a", {"type": "leaf", "targetId": None})), "--log")
    assert done.stdout.decode().splitlines()[-1].split() == [
        "2",
        "00:00:00",
        "l",
        "↩",
        "leaf",
        "a",
        "→",
        "the",
        "beginning",
    ]


def test_bookkeeping_only_when_asked_for(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """Labels and names are rows with ``--all`` alone; the leaf's mark is on what people see."""
    label = {"type": "label", "targetId": "a", "label": "start"}
    file = write(("a", None), ("l", "a", label), ("n", "l", {"type": "session_info", "name": "Boats"}))
    assert main(["tree", str(file)]) == 0
    assert capsys.readouterr().out.splitlines()[2:] == ["a  ● [start] user: says a ◀ leaf"]
    assert main(["tree", str(file), "--all"]) == 0
    assert [line[0] for line in capsys.readouterr().out.splitlines()[2:]] == ["a", "l", "n"]


def test_a_wrong_option_is_told_with_the_commands_own_usage(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    """What a command does not know is an error of that command, not of the program."""
    assert main(["tree", str(write(("a", None))), "--bogus"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("usage: pi-nb tree ")
    assert err.endswith("pi-nb tree: error: unrecognized arguments: --bogus\n")


def test_width_and_ascii(pi_nb_command: Command, write: Write) -> None:
    """Rows keep to ``--width``; ``--ascii`` is nothing but ASCII."""
    file = write(("a", None, {"message": {"role": "user", "content": "x" * 500}}), ("b", "a", WIDE))
    text = pi_nb_command("tree", file, "--ascii", "--width", 40).stdout.decode("ascii")
    assert max(map(len, text.splitlines())) == 40
    assert r"\u6f22\u5b57" in text


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX"}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONUTF8": "0"}]
)
def test_output_is_utf_8_whatever_the_locale(pi_nb_command: Command, write: Write, locale: dict[str, str]) -> None:
    """Under ``LANG=C`` too, output is UTF-8 and nothing breaks."""
    env = {"LANG": "C", "PYTHONCOERCECLOCALE": "0", **locale}
    for command in ("tree", "inspect"):
        done = pi_nb_command(command, write(("a", None, WIDE)), env=env)
        assert (done.returncode, done.stderr) == (0, b"")
        assert "漢字 — “quoted”" in done.stdout.decode()


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 2, "usage: pi-nb"),
        (["nonsense"], 2, "invalid choice"),
        (["tree"], 2, "FILE"),
        (["tree", "x", "--width", "3"], 2, "20 or more"),
        (["tree", "x", "--width", "many"], 2, "invalid"),
        (["tree", "missing.jsonl"], 1, "pi-nb: There is no session file"),
        (["inspect", "missing.jsonl"], 1, "pi-nb: There is no session file"),
        (["local", "nonsense"], 2, "invalid choice"),
    ],
)
def test_errors_are_said_on_stderr_and_in_the_exit_status(
    pi_nb_command: Command, tmp_path: Path, arguments: list[str], status: int, said: str
) -> None:
    """Usage errors are 2, everything else is one line and 1; there is no traceback."""
    done = pi_nb_command(*arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (status, b"")
    assert said in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert status == 2 or done.stderr.count(b"\n") == 1


def test_the_installed_command() -> None:
    """``pi-nb`` is on the path of this Python and says its version."""
    program = Path(sys.executable).with_name("pi-nb")
    done = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"pi-nb {pi_nb.__version__}\n"


def test_main_returns_the_status(capsys: pytest.CaptureFixture[str]) -> None:
    """Called from Python it returns and does not exit, for help and usage errors too."""
    assert main(["--help"]) == 0
    assert main(["tree"]) == 2
    out, err = capsys.readouterr()
    assert all(command in out for command in ("inspect", "tree", "demo", "lab", "local"))
    assert "FILE" in err


def test_looking_at_files_is_light() -> None:
    """``inspect`` and ``tree`` import neither IPython nor an HTTP client nor widgets."""
    heavy = ("IPython", "httpx", "ipywidgets", "anywidget", "graphviz", "nbclient", "traitlets")
    code = f"import sys, pi_nb.cli, pi_nb.views.text; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes and signals")
def test_a_reader_that_goes_away_is_no_trouble(write: Write) -> None:
    """``pi-nb tree FILE | head -1`` ends quietly."""
    file = write(*((str(n), str(n - 1) if n else None) for n in range(10_000)))
    process = subprocess.Popen(
        [sys.executable, "-m", "pi_nb.cli", "tree", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 141


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes and signals")
def test_ctrl_c_is_quiet(write: Write) -> None:
    """An interrupt ends the command with 130 and nothing on stderr."""
    file = write(*((str(n), str(n - 1) if n else None) for n in range(10_000)))
    process = subprocess.Popen(
        [sys.executable, "-m", "pi_nb.cli", "tree", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()  # it is in its work, and waits for us to read the rest
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"")

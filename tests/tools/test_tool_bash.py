"""The tool ``bash``: what commands print, how they end, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pi_nb.harness.tools import ToolContext, ToolResult
from pi_nb.tools.bash import bash_tool, plain
from pi_nb.tools.environment import child_environment
from pi_nb.tools.process_tree import ProcessTree, end_all

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")

linux = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="only Linux shows the environment of processes"
)

# Leaves its parent, its group and its session, and keeps the pipe that its output goes to.
DAEMON = """
import os, sys, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
{extra}
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(60)
"""


def alive(pid: int) -> bool:
    """Tell whether a process runs; one that ended and was not waited for does not."""
    try:
        return b") Z" not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


def until(condition: Callable[[], Any], seconds: float = 10) -> Any:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.02)
    return value


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Callable[..., tuple[str, Callable[[], int]]]]:
    """Return a function that gives a command which leaves a daemon, and how to learn its number; none may be left."""
    noted: list[Path] = []

    def make(*, extra: str = "") -> tuple[str, Callable[[], int]]:
        note = tmp_path / f"pid{len(noted)}"
        script = tmp_path / f"daemon{len(noted)}.py"
        script.write_text(DAEMON.format(extra=extra))
        noted.append(note)

        def pid() -> int:
            return int(until(lambda: note.exists() and note.read_text()))

        return f"{sys.executable} {script} {note}", pid

    yield make
    for note in noted:
        assert not alive(int(note.read_text()))


def test_output_and_success(bench: Any) -> None:
    """Both streams come in the order they were written, and success is no error."""
    result = bench("bash", command="echo one; echo two >&2; echo three")
    assert [block.text for block in result.blocks] == ["one\ntwo\nthree"]
    assert not result.is_error
    assert result.details["exitCode"] == 0


def test_nothing_printed(bench: Any) -> None:
    """A command that prints nothing says so."""
    assert bench.text("bash", command="true") == "(no output)"


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("echo oh; exit 3", "oh\n\n[Exit code 3.]"),
        ("exit 1", "[Exit code 1.]"),
        ("kill -SEGV $$", "[Ended by SIGSEGV.]"),
        ("nonsense-command 2>/dev/null", "[Exit code 127.]"),
    ],
)
def test_failure(bench: Any, says: Any, command: str, text: str) -> None:
    """A failure is an error result with the output and the status."""
    result = bench("bash", command=command)
    assert result.is_error
    assert says(result) == text


def test_where_it_runs(bench: Any) -> None:
    """Commands run in the working directory, without input and without a terminal."""
    assert bench.text("bash", command="pwd") == str(bench.folder)
    assert bench.text("bash", command="cat; test -t 0 || echo none") == "none"


def test_missing_folder(bench: Any) -> None:
    """A working directory that is gone is said to be."""
    bench.folder.rmdir()
    assert "does not exist" in bench.error("bash", command="true")


@pytest.mark.parametrize(
    ("command", "says"),
    [("a\0b", "could not be started"), ("\ud800", "not valid text"), (": " + "x" * 200_000, "too long")],
)
def test_impossible_commands(bench: Any, command: str, says: str) -> None:
    """What the system cannot start is an error with the reason."""
    assert says in bench.error("bash", command=command)


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_impossible_limits(bench: Any, seconds: float) -> None:
    """A limit of time that is none is refused."""
    assert bench.error("bash", command="true", timeout=seconds)


def test_invalid_text(bench: Any) -> None:
    """Bytes that are no text, and control characters, do no harm."""
    assert bench.text("bash", command=r"printf 'a\xff\xfeb\0\ac\xc3'") == "a\ufffd\ufffdbc\ufffd"


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link", "textlink"),
        ("10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        ("a\x1b(Bb\x1b=c\x1b", "abc"),
        ("tab\tand ü", "tab\tand ü"),
    ],
)
def test_plain(raw: str, shown: str) -> None:
    """Colours, titles and lines drawn over are shown as they would remain."""
    assert plain(raw) == shown


def test_long_output(bench: Any) -> None:
    """Of long output the end comes, and the whole is in the file that the result names."""
    result = bench("bash", command="seq 1 30000; echo -n end")
    text, note = result.blocks
    lines = text.text.split("\n")
    assert lines == [*map(str, range(28002, 30001)), "end"]
    file = Path(result.details["fullOutputPath"])
    assert file.read_text() == "".join(f"{n}\n" for n in range(1, 30001)) + "end"
    assert f"2000 of 30001 lines. All of it is in {file}.]" in note.text
    assert result.details["truncation"]["totalLines"] == 30001


def test_one_endless_line(bench: Any) -> None:
    """Of a line without end the last characters come, whole ones."""
    result = bench("bash", command="head -c 999999 /dev/zero | tr '\\0' 'x' | sed 's/x/ä/g'")
    text = result.blocks[0].text
    assert set(text) == {"ä"}
    assert 50_000 < len(text.encode()) <= 50 * 1024
    assert Path(result.details["fullOutputPath"]).stat().st_size == 2 * 999_999


def test_updates(bench: Any) -> None:
    """While a command runs its output can be seen, and not more often than people can look."""

    async def watch() -> ToolResult:
        work = asyncio.create_task(
            bench.run(
                "bash", command="echo first; for i in $(seq 500); do echo $i; done; read -t 0; sleep 0.5; echo last"
            )
        )
        await bench.printed()
        assert not work.done()
        return await work

    asyncio.run(watch())
    assert bench.updates[0].blocks[0].text.startswith("first\n")
    assert "last" not in bench.updates[0].blocks[0].text
    assert len(bench.updates) < 20


def test_time_limit(bench: Any, says: Any) -> None:
    """When its time is over a command ends, and what it printed is kept."""
    result = bench("bash", command="echo begun; sleep 60", timeout=0.3)
    assert result.is_error
    assert says(result).startswith("begun\n\n[Stopped after 0.")
    assert "its time was over. Its processes were ended.]" in says(result)


def test_abort(bench: Any, says: Any) -> None:
    """An abort ends a command by itself, without being cancelled, and what it printed is kept."""

    async def aborted() -> ToolResult:
        work = asyncio.create_task(bench.run("bash", command="echo begun; sleep 60"))
        await bench.printed()
        bench.signal.abort()
        return await asyncio.wait_for(work, 5)

    result = asyncio.run(aborted())
    assert result.is_error
    assert says(result).startswith("begun\n\n[Stopped after")
    assert "the run was aborted" in says(result)


def test_stubborn_commands(bench: Any) -> None:
    """A command that ignores being asked to end is killed."""
    result = bench("bash", command="trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done", timeout=0.5)
    assert result.is_error
    assert not alive(int((bench.folder / "pid").read_text()))


def test_stopped_commands(bench: Any) -> None:
    """A command that has been halted is killed as well."""
    bench("bash", command="echo $$ > pid; kill -STOP $$", timeout=0.5)
    assert not alive(int((bench.folder / "pid").read_text()))


@linux
@pytest.mark.parametrize("how", ["limit", "abort", "cancel"])
def test_daemons_are_ended(bench: Any, daemon: Any, how: str) -> None:
    """A daemon that holds the pipe, in a session of its own and without a parent, is ended with its command."""
    command, pid = daemon(extra="import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)")

    async def stopped() -> None:
        work = asyncio.create_task(
            bench.run("bash", command=f"{command}; sleep 60", timeout=1 if how == "limit" else 0)
        )
        await asyncio.to_thread(pid)
        if how == "abort":
            bench.signal.abort()
        if how == "cancel":
            work.cancel()
        done, _ = await asyncio.wait({work}, timeout=10)
        assert done
        assert work.cancelled() == (how == "cancel")

    asyncio.run(stopped())
    assert not alive(pid())


@linux
@pytest.mark.parametrize("closed", [False, True])
def test_what_goes_to_the_background(bench: Any, says: Any, daemon: Any, closed: bool) -> None:
    """A command that has ended does not wait for what it left in the background, which is named."""
    command, pid = daemon(extra="os.close(1); os.close(2)" if closed else "")
    begun = time.monotonic()
    result = bench("bash", command=f"{command}; echo started; until [ -s ../pid0 ]; do sleep 0.01; done")
    assert time.monotonic() - begun < 30
    assert not result.is_error
    assert f"(pid {pid()})" in says(result)
    assert [item["pid"] for item in result.details["background"]] == [pid()]
    assert ("fullOutputPath" in result.details) == (not closed)
    assert alive(pid())
    end_all()
    assert not alive(pid())


def test_background_output_goes_on(bench: Any) -> None:
    """A process in the background does not die of a closed pipe, and what it prints lands in the file."""
    result = bench(
        "bash",
        command="(trap 'echo killed; exit' TERM; sleep 1; for i in 1 2 3; do echo $i; done; touch done) & echo up",
    )
    file = Path(result.details["fullOutputPath"])
    until((bench.folder / "done").exists)
    until(lambda: file.read_text() == "up\n1\n2\n3\n")


@linux
def test_python_ends_what_it_left(tmp_path: Path) -> None:
    """When Python ends, what commands left in the background ends too."""
    script = (
        "import asyncio\n"
        "from pi_nb.tools import builtin_tools\n"
        f"bash = builtin_tools({str(tmp_path)!r})[1]\n"
        "result = asyncio.run(bash.run({'command': 'setsid sleep 60 > /dev/null 2>&1 & echo $!'}))\n"
        "print(result.blocks[0].text, flush=True)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert not alive(int(done.stdout))


def test_secrets_are_not_passed_on(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands do not see keys, unless the user says which."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("GH_TOKEN", "gh-2")
    monkeypatch.setenv("HARMLESS", "yes")
    command = "echo [$OPENAI_API_KEY][$GH_TOKEN][$HARMLESS]"
    assert bench.text("bash", command=command) == "[][][yes]"
    tool = bash_tool(bench.folder, keep_environment=["GH_TOKEN"])
    result = asyncio.run(tool.run({"command": command}, ToolContext()))
    assert result.blocks[0].text == "[][gh-2][yes]"


def test_which_names_are_secret() -> None:
    """Names are judged by how they end, in any case."""
    secret = (
        "ANTHROPIC_API_KEY",
        "api_key",
        "HF_TOKEN",
        "TOKEN",
        "CLIENT_SECRET",
        "AWS_SECRET_ACCESS_KEY",
        "PG_PASSWORD",
    )
    fine = ("PATH", "TOKENIZERS_PARALLELISM", "KEYBOARD", "MONKEY")
    assert child_environment(dict.fromkeys(secret + fine, "x")) == dict.fromkeys(fine, "x")


def test_marks_are_nested() -> None:
    """A command within a command keeps the outer mark, so that the outer one finds it."""
    outer, inner = ProcessTree(), ProcessTree()
    environment = inner.environment(outer.environment({"A": "b"}))
    assert environment == {"A": "b", "PI_NB_CALLS": f"{outer.mark} {inner.mark}"}


def test_many_at_once(bench: Any) -> None:
    """Commands run beside each other."""

    async def several() -> list[ToolResult]:
        return await asyncio.gather(*(bench.run("bash", command=f"sleep 0.2; echo {n}") for n in range(8)))

    assert [result.blocks[0].text for result in asyncio.run(several())] == [str(n) for n in range(8)]


def test_much_output_at_once(bench: Any) -> None:
    """A command that prints without end is stopped in time, in little memory."""
    result = bench("bash", command="yes", timeout=0.5)
    assert result.is_error
    assert result.blocks[0].text.startswith("y\ny\n")
    Path(result.details["fullOutputPath"]).unlink()

"""``pi-nb demo``: the quickstart in a real kernel, in one folder, with nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import nbformat
import pytest

from pi_nb.cli import demo, main
from pi_nb.cli.notebooks import quickstart

Command = Callable[..., subprocess.CompletedProcess[bytes]]


def kernels_in(folder: Path) -> list[str]:
    """Return the command lines of processes that have to do with a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line and "ipykernel" in line:
            found.append(line)
    return found


def listing(folder: Path) -> dict[str, int]:
    """Return the files of a folder and when they were changed."""
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Give a user's home with nothing in it, and check that nothing was put there."""
    folder = tmp_path / "home"
    (folder / ".pi" / "agent" / "sessions").mkdir(parents=True)
    yield {"HOME": str(folder), "TMPDIR": str(tmp_path)}
    assert listing(folder) == {}


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what puts a notebook of given cells in the quickstart's place."""

    def put(*cells: str) -> None:
        file = tmp_path / "some.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), file)
        monkeypatch.setattr(demo, "quickstart", lambda: file)

    return put


def test_the_quickstart_runs(pi_nb_command: Command, tmp_path: Path, home: dict[str, str]) -> None:
    """A real kernel runs every cell offline; the tree it grew is shown, and where everything is."""
    folder = tmp_path / "out"
    done = pi_nb_command("demo", "--dir", folder, env={**home, "PI_NB_MODEL": "nonsense:model"}, cwd=tmp_path)
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr.decode()
    assert "◀ leaf" in text
    assert "[serious]" in text
    assert "[playful]" in text
    assert sorted(path.name for path in folder.iterdir()) == ["quickstart-executed.ipynb", "sessions"]
    notebook = nbformat.read(folder / "quickstart-executed.ipynb", as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
    assert str(folder / "quickstart-executed.ipynb") in text
    assert kernels_in(folder) == []


def test_a_kernels_chatter_is_not_told(
    notebook: Callable[..., None], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a kernel says of its sockets stands neither before the tree nor in the log that is kept."""
    notebook("print('hello')")
    assert main(["demo", "--dir", str(tmp_path / "out"), "--keep"]) == 0
    out, err = capfd.readouterr()
    assert out.startswith("Running ")
    assert err == ""
    assert (tmp_path / "out" / "runtime" / "kernel.log").read_text() == ""


def test_the_environment_keeps_to_the_folder(
    notebook: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The kernel is this Python; sessions, settings and history have places of their own; ours are as before."""
    names = ("PI_CODING_AGENT_SESSION_DIR", "PI_CODING_AGENT_DIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "PI_NB_MODEL")
    notebook(f"import json, os, sys; print(json.dumps([sys.executable, os.getcwd(), *map(os.environ.get, {names!r})]))")
    before = dict(os.environ)
    assert main(["demo", "--dir", str(tmp_path / "out"), "--keep"]) == 0
    assert dict(os.environ) == before
    ran = nbformat.read(tmp_path / "out" / "quickstart-executed.ipynb", as_version=4)
    python, cwd, *places, model = json.loads(ran.cells[0].outputs[0].text)
    assert (os.path.normpath(python), cwd) == (os.path.normpath(sys.executable), str(tmp_path / "out"))
    assert model == "scripted:demo"
    assert all(place.startswith(str(tmp_path / "out")) for place in places)
    assert (tmp_path / "out" / "runtime").is_dir()
    assert "Running some.ipynb with scripted:demo" in capsys.readouterr().out


def test_a_failing_cell_is_one_line(
    notebook: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What failed is said, the notebook is kept as far as it ran, and a second run writes beside it."""
    notebook("x = 1", "1 / 0", "x = 2")
    for name in ("quickstart-executed.ipynb", "quickstart-executed-2.ipynb"):
        assert main(["demo", "--dir", str(tmp_path / "out")]) == 1
        error = capsys.readouterr().err
        assert error.startswith("pi-nb: Cell 2 failed: ZeroDivisionError: division by zero")
        assert error.count("\n") == 1
        ran = nbformat.read(tmp_path / "out" / name, as_version=4)
        assert [bool(cell.execution_count) for cell in ran.cells] == [True, True, False]


def test_a_kernel_that_dies_is_one_line(
    notebook: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A dead kernel ends the demo with a message."""
    notebook("import os; os._exit(3)")
    assert main(["demo", "--dir", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err.startswith("pi-nb: The notebook did not run to its end: Kernel died")


def test_without_a_folder_it_makes_one_and_names_it(
    notebook: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The default is a new folder among the temporary ones."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    notebook("1")
    assert main(["demo"]) == 0
    (folder,) = tmp_path.glob("pi-nb-demo-*")
    assert f"notebook  {folder}" in capsys.readouterr().out


def test_without_nbclient_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing package is a friendly line."""
    monkeypatch.setattr(demo, "find_spec", lambda name: None)
    assert main(["demo"]) == 1
    assert "pip install 'pi-nb[lab]'" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_no_kernel(tmp_path: Path, number: signal.Signals) -> None:
    """Interrupted or terminated in the middle, the kernel is gone too."""
    file, folder = tmp_path / "slow.ipynb", tmp_path / "out"
    cell = nbformat.v4.new_code_cell("open('started', 'w').close(); import time; time.sleep(100)")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), file)
    code = (
        "import pathlib, sys; from pi_nb.cli import demo, main; "
        f"demo.quickstart = lambda: pathlib.Path({str(file)!r}); sys.exit(main(['demo', '--dir', {str(folder)!r}]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_until((folder / "started").exists)
        assert kernels_in(folder)
        process.send_signal(number)
        _out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode != 0
    assert b"Traceback" not in err, err.decode()
    wait_until(lambda: not kernels_in(folder))


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for something, a minute at most."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_quickstart_comes_with_the_package() -> None:
    """The notebook is there, without outputs."""
    cells = nbformat.read(quickstart(), as_version=4).cells
    assert cells
    assert not any(cell.get("outputs") for cell in cells)

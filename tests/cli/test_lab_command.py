"""``pi-nb lab`` and ``pi-nb local``."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from pi_nb.cli import lab, main
from pi_nb.cli.notebooks import QUICKSTART, quickstart
from pi_nb.providers import local, weights


def test_the_notebook_is_put_in_place_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new folder gets the notebook; a notebook that somebody worked in is never overwritten."""
    target = lab.place(quickstart(), tmp_path / "new" / "folder")
    assert target.read_bytes() == quickstart().read_bytes()
    target.write_text("mine")
    assert lab.place(quickstart(), target.parent) == target
    assert target.read_text() == "mine"
    assert "left as it is" in capsys.readouterr().out


def test_without_jupyterlab_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A missing package is a friendly line, and nothing is written."""
    monkeypatch.setattr(lab, "find_spec", lambda name: None)
    assert main(["lab", "--dir", str(tmp_path / "x")]) == 1
    assert "pip install 'pi-nb[lab]'" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_options_of_jupyterlab_before_the_dashes_are_told_where_to_go(capsys: pytest.CaptureFixture[str]) -> None:
    """An option that only JupyterLab knows is a usage error that names the place for it."""
    assert main(["lab", "--no-browser"]) == 2
    assert "options go after --: pi-nb lab -- --no-browser" in capsys.readouterr().err


def test_jupyterlab_serves_the_notebook(tmp_path: Path) -> None:
    """The command becomes JupyterLab, with the notebook in its root and the options it was given."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--no-browser", "--allow-root", f"--ServerApp.port={port}", "--IdentityProvider.token=secret"]
    command = [sys.executable, "-m", "pi_nb.cli", "lab", "--dir", str(tmp_path / "lab"), "--", *options]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        found = wait_for(f"http://127.0.0.1:{port}/api/contents/{QUICKSTART}?token=secret", process)
        assert found is not None, (tmp_path / "log").read_text()
        assert found["type"] == "notebook"
    finally:
        process.terminate()
        process.wait(30)


def wait_for(url: str, process: subprocess.Popen[bytes]) -> Any:
    """Return the JSON at an address once a process serves it; None if it ends or does not within a minute."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)
        except OSError:
            time.sleep(0.1)
    return None


def test_local_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Status says what is missing, and is 0 only if the model can be used."""
    monkeypatch.setenv("PI_NB_DATA_DIR", str(tmp_path))
    assert main(["local", "status"]) == 1
    assert "weights  missing: run pi-nb local fetch" in capsys.readouterr().out
    monkeypatch.setattr(weights, "fetched", lambda: True)
    monkeypatch.setattr(local, "installed", lambda: True)
    assert main(["local", "status"]) == 0
    assert "model    local:smollm2" in capsys.readouterr().out


def test_local_fetch_tells_its_progress(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Fetching says what it does, and then what there is."""
    monkeypatch.setattr(local, "fetch", lambda *, progress: progress("half of it"))
    main(["local", "fetch"])
    assert capsys.readouterr().out.startswith("half of it\nweights ")

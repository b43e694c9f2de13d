"""The search for keys finds them: a run that leaves one behind fails, and says where."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest

from pi_nb.providers.registry import default_registry
from tests import canaries

ROOT = Path(__file__).parents[1]
KEY = canaries.KEYS["OPENAI_API_KEY"]
CONFTEST = """
import os, sys
sys.path.insert(0, os.environ["ROOT"])
from tests import canaries
os.environ.update(canaries.KEYS)
def pytest_configure(config):
    config.pluginmanager.register(canaries)
"""
CLEAN = "import os\nKEY = os.environ['OPENAI_API_KEY']\n"


def run(folder: Path, test: str) -> tuple[int, str]:
    """Run a suite of one module and return its exit code and what it said; what it wrote is taken away."""
    suite = folder / "suite"
    suite.mkdir()
    (suite / "conftest.py").write_text(CONFTEST)
    (suite / "test_it.py").write_text(CLEAN + test)
    (suite / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", str(folder / "tmp")]
    environment = {**os.environ, "ROOT": str(ROOT)}
    done = subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, check=False, timeout=60)
    shutil.rmtree(suite)
    shutil.rmtree(folder / "tmp", ignore_errors=True)
    return done.returncode, done.stdout + done.stderr


LEAKS = """
import logging, urllib.parse, warnings
def test_file(tmp_path):
    (tmp_path / "some.log").write_text(KEY)
def test_name(tmp_path):
    (tmp_path / urllib.parse.quote(KEY, safe="")).touch()
def test_project():
    open("left.txt", "w").write(KEY)
def test_output():
    print(KEY)
def test_log():
    logging.warning(KEY)
def test_traceback():
    raise ValueError(KEY)
def test_warning():
    warnings.warn(KEY)
def test_wire():
    from tests import canaries
    canaries.look_through(KEY, "a frame")
"""
PLACES = (
    *("test_file0/some.log", "test_name0/sk-", "suite/left.txt", "test_output (call): Captured stdout call"),
    *("test_log (call): Captured log call", "test_traceback (call): what it failed with", "test_warning (a warning)"),
    "test_wire (call): a frame",
)


def test_a_run_that_leaves_keys_behind_fails(tmp_path):
    """Whatever the way, the run fails and names the place."""
    code, said = run(tmp_path, LEAKS)
    assert code == 1
    told = said.partition("a key was left behind")[2]
    assert [place for place in PLACES if place not in told] == []


def test_one_leak_makes_a_run_fail_that_passed(tmp_path):
    """It is not the failing test that makes the run fail."""
    code, said = run(tmp_path, "def test_a(tmp_path):\n    (tmp_path / 'some.log').write_text(KEY)\n")
    assert (code, "1 passed" in said, "test_a0/some.log" in said) == (1, True, True)


def test_a_run_that_leaves_none_behind_passes(tmp_path):
    """A key that is used and not told is no fault."""
    code, said = run(tmp_path, "def test_a(tmp_path):\n    assert KEY\n    (tmp_path / 'a').write_text('sk-open-')\n")
    assert (code, "1 passed" in said, "left behind" in said) == (0, True, False)


@pytest.mark.parametrize(
    "written",
    [
        KEY,
        json.dumps({"key": KEY}).replace("/", "\\/"),
        quote(KEY),
        quote(KEY, safe=""),
        KEY.encode().hex(),
        *(base64.b64encode(b"x" * n + KEY.encode()).decode() for n in range(5)),
        base64.urlsafe_b64encode(f"user:{KEY}".encode()).decode(),
        "a" * (canaries._BLOCK - 12) + KEY,
    ],
    ids=lambda text: f"{text[:3]}{len(text)}" if text[:2] in ("sk", "aa") else str(len(text)),
)
def test_ways_to_write_a_key(tmp_path_factory, written):
    """Encoded, or at the border of two blocks, a key in a file is found."""
    with_none = written.replace(canaries.PIECE, "")
    assert canaries.is_in(written)
    assert not canaries.is_in(with_none[:1000]) or with_none == written
    file = tmp_path_factory.mktemp("leak") / "file"
    file.write_text(written)
    found = canaries.found_in([file])
    file.unlink()
    assert found == [str(file)]


def test_archives_are_opened(tmp_path):
    """A key in a packed file is found."""
    packed, zipped = tmp_path / "a.gz", tmp_path / "a.zip"
    packed.write_bytes(gzip.compress(KEY.encode()))
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner", KEY * 9)
    found = canaries.found_in([packed, zipped, tmp_path])
    packed.unlink()
    zipped.unlink()
    assert found == [str(packed), str(zipped)]


def test_every_key_that_is_looked_for_is_watched():
    """Each variable in which a provider looks for its key holds one of ours, in this very process too."""
    registry = default_registry()
    keys = [getattr(registry.get(name), "_key", None) for name in registry.names()]
    looked_for = {name for key in keys if key is not None for name in key._env}
    assert len(looked_for) >= 9
    assert looked_for <= set(canaries.VARIABLES)
    assert {name: os.environ.get(name) for name in canaries.VARIABLES} == canaries.KEYS

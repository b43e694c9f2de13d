"""Failing comparisons of long texts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.long_diffs import ndiff

ROOT = Path(__file__).parents[1]
FAILING = """
from tests import long_diffs
long_diffs.install()
from pathlib import Path
LONG = Path({file!r}).read_text("utf-8")

def test_text():
    assert LONG.replace("e", "o") == LONG

def test_bytes():
    assert f"{{LONG[:50]}}letters{{LONG[50:]}}".encode() == LONG.encode()

def test_list():
    assert LONG.replace("r", "s").split(" ") == LONG.split(" ")

def test_rows():
    rows = [[f"<p>row {{n + m}} of a page whose rows are alike</p>" for n in range(2000)] for m in (0, 2000)]
    assert "\\n".join(rows[0]) == "\\n".join(rows[1])

def test_inside():
    assert "return" not in LONG
"""


def test_long_comparisons_fail_at_once(tmp_path: Path) -> None:
    """In CI too, where pytest cuts nothing, a stale bundle is told with the place where it begins to differ."""
    file = ROOT / "pi_nb/views/static/tree.js"
    (tmp_path / "test_long.py").write_text(FAILING.format(file=str(file)), "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        str(tmp_path),
    ]
    env = {**os.environ, "CI": "true", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert "5 failed" in done.stdout
    assert done.stdout.count("? long texts: line ") >= 4


@pytest.mark.parametrize(
    ("a", "b"), [([], ["x" * 20_000]), (["y\n"] * 9_000, ["y\n"] * 8_999), (["x" * 9_000 + "1"], ["x" * 9_000 + "2"])]
)
def test_the_difference_is_in_what_is_shown(a: list[str], b: list[str]) -> None:
    """What differs is shown, wherever it stands, and little else."""
    lines = list(ndiff(a, b))
    assert any(line[0] in "+-" for line in lines)
    assert sum(map(len, lines)) < 5_000


def test_short_texts_are_compared_whole() -> None:
    """Texts of some lines look as they always do."""
    assert list(ndiff(["a\n", "b\n"], ["a\n", "c\n"])) == ["  a\n", "- b\n", "+ c\n"]

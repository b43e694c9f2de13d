"""The command line, as a process and in this one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_nb.cli import main

STAMP = "2026-01-01T00:00:00.000Z"


@pytest.fixture
def pi_nb_command() -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Return what runs the real command in a process of its own."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
        env = {**os.environ, **options.pop("env", {})}
        command = [sys.executable, "-m", "pi_nb.cli", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, timeout=120, check=False, env=env, **options)

    return run


@pytest.fixture
def inspect(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, dict[str, Any]]]:
    """Return what inspects a file in this process and gives back the exit status and the JSON."""

    def run(file: Path, *options: str) -> tuple[int, dict[str, Any]]:
        status = main(["inspect", str(file), "--json", *options])
        return status, json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes a session file of entries given as ``(id, parent)`` or ``(id, parent, fields)``."""

    def make(*entries: tuple[Any, ...], **header: Any) -> Path:
        first = {"type": "session", "version": 3, "id": "s1", "timestamp": STAMP, "cwd": "/demo", **header}
        lines = [first]
        for id, parent, *fields in entries:
            own = fields[0] if fields else {"message": {"role": "user", "content": f"says {id}"}}
            lines.append({"type": "message", "id": id, "parentId": parent, "timestamp": STAMP, **own})
        file = tmp_path / "session.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return file

    return make

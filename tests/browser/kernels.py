"""Kernels of other ipykernel versions, beside the installed one, for one Jupyter server."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def install_kernel(data_dir: Path, version: str, packages: Path) -> str:
    """Make a kernel named after an ipykernel version, with that version in front of the installed one.

    Args:
        data_dir: A Jupyter data folder; the kernel's specification is written below it.
        version: An exact ipykernel version, such as ``7.3.0``.
        packages: Where to put that version; nothing else is changed.

    Returns:
        The kernel's name.

    Raises:
        subprocess.CalledProcessError: The version could not be installed.
    """
    target = packages / f"ipykernel-{version}"
    if not target.exists():
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(target)]
        subprocess.run([*pip, f"ipykernel=={version}"], check=True, capture_output=True, text=True)
    name = f"ipykernel-{version}"
    folder = data_dir / "kernels" / name
    folder.mkdir(parents=True, exist_ok=True)
    spec = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": name,
        "language": "python",
        "interrupt_mode": "signal",
        "env": {"PYTHONPATH": str(target)},
    }
    (folder / "kernel.json").write_text(json.dumps(spec))
    return name

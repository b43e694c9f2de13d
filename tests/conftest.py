"""Every test lives in folders of its own: no user's sessions, keys or Jupyter settings are seen or touched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

PRIVATE = (
    "PI_CODING_AGENT_SESSION_DIR",
    "PI_CODING_AGENT_DIR",
    "PI_NB_DATA_DIR",
    "IPYTHONDIR",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTER_RUNTIME_DIR",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
    "MPLCONFIGDIR",
)
DROPPED_SUFFIXES = ("_API_KEY", "_BASE_URL", "_API_BASE")
DROPPED = ("PI_NB_MODEL", "OLLAMA_HOST", "JPY_SESSION_NAME")


# a key that stands in the environment of every test, and must not be found in anything that a test leaves behind
CANARY = "sk-canary-0123456789abcdefghij"
SAID_BY: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test whose output, log or traceback holds the key."""
    if CANARY in report.longreprtext or any(CANARY in text for _, text in report.sections):
        SAID_BY.append(report.nodeid)


@pytest.fixture(scope="session", autouse=True)
def no_key_is_left_behind(private_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Search every file that the tests wrote, and all they printed, for the key."""
    os.environ["PI_NB_CANARY_API_KEY"] = CANARY
    yield
    base = tmp_path_factory.getbasetemp()
    paths = [Path(folder, name) for folder, _, names in os.walk(base, onerror=print) for name in names]
    found = [str(path) for path in paths if _holds(path, CANARY.encode())]
    assert not found + SAID_BY, "a key was written down"


def _holds(path: Path, word: bytes) -> bool:
    try:
        if not path.is_file():  # a socket, a pipe
            return False
        with path.open("rb") as file:
            before = b""
            while block := file.read(1 << 20):
                if word in before + block:
                    return True
                before = block[-len(word) :]
    except OSError:  # somebody took away the right to read it
        return False
    return False


@pytest.fixture(scope="session", autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Point every folder that pi_nb or Jupyter would use at a temporary one, and drop keys and model settings."""
    home = tmp_path_factory.mktemp("home")
    saved = dict(os.environ)
    for name in PRIVATE:
        folder = home / name.lower()
        folder.mkdir()
        os.environ[name] = str(folder)
    for name in list(os.environ):
        if name.endswith(DROPPED_SUFFIXES) or name in DROPPED:
            del os.environ[name]
    real = Path.home() / ".pi" / "agent" / "sessions"
    before = _listing(real)
    yield home
    os.environ.clear()
    os.environ.update(saved)
    assert _listing(real) == before, "a test wrote into the user's own session folder"


def _listing(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*")) if folder.exists() else []


@pytest.fixture(scope="session")
def shared() -> Path:
    """Return the folder of handed cases, recorded runs and real sessions; skip where it is not there."""
    folder = Path(os.environ.get("PI_NB_SHARED", Path(__file__).parents[1] / ".." / "shared")).resolve()
    if not (folder / "cases").is_dir():
        pytest.skip(f"no handed cases at {folder} (set PI_NB_SHARED)")
    return folder


def must(reason: str) -> None:
    """Skip because something outside Python is missing here; in CI that is a failure instead."""
    if os.environ.get("CI"):
        pytest.fail(f"CI must have it: {reason}")
    pytest.skip(reason)

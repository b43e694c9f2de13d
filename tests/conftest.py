"""Every test lives in folders of its own: no user's sessions, keys or Jupyter settings are seen or touched."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = str(Path(__file__).parents[1])
if ROOT not in sys.path:  # tests import what stands beside them, however pytest was started
    sys.path.insert(0, ROOT)

from tests import canaries, long_diffs  # noqa: E402

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


def pytest_configure(config: pytest.Config) -> None:
    """Watch over keys, of which a run must leave nothing behind; and let long comparisons fail at once."""
    config.pluginmanager.register(canaries, "canaries")
    long_diffs.install()
    # How long an example takes says more about what else the machine does than about the code.
    slow = [HealthCheck.too_slow]
    settings.register_profile("patient", settings.default, deadline=None, suppress_health_check=slow)
    settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Point every folder that pi_nb or Jupyter would use at a temporary one; keys are ours, the model the demo's."""
    home = tmp_path_factory.mktemp("home")
    saved = dict(os.environ)
    for name in PRIVATE:
        folder = home / name.lower()
        folder.mkdir()
        os.environ[name] = str(folder)
    for name in list(os.environ):
        if name.endswith(DROPPED_SUFFIXES) or name in DROPPED:
            del os.environ[name]
    os.environ.update(canaries.KEYS, PI_NB_MODEL="scripted:demo")  # nobody is to be asked with those keys
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

"""The servers and files that the tests of storages share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:  # lets tests import what stands beside them, however pytest was started
    sys.path.insert(0, ROOT)


@pytest.fixture(scope="session")
def postgres() -> Iterator[object]:
    """Give a running PostgreSQL server, or skip where there is none."""
    if sys.platform == "win32":
        pytest.skip("the tests start PostgreSQL on POSIX only")
    from tests.conftest import must
    from tests.storages.postgres import programs, running

    found = programs()
    if found is None:
        must("no PostgreSQL found (Debian: apt-get install postgresql)")
    with running(found) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of an empty database, once of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'sessions.db'}"
    return str(request.getfixturevalue("postgres").new_database())

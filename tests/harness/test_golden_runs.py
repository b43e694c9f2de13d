import asyncio
import json
from pathlib import Path

import pytest

from tests.check_golden import compare, differences

SHARED = Path(__file__).parents[2] / ".." / "shared" / "golden"


def recorded():
    import os

    folder = Path(os.environ["PI_NB_SHARED"]) / "golden" if "PI_NB_SHARED" in os.environ else SHARED
    files = sorted(folder.resolve().glob("*.json"))
    return files or [pytest.param(None, marks=pytest.mark.skip(reason=f"no recorded runs in {folder}"))]


@pytest.mark.parametrize("file", recorded(), ids=lambda file: file.stem if file else "none")
def test_a_recorded_run_of_pi_is_equal(file, tmp_path):
    """Results, events, requests, files and contexts of a recorded run come out the same."""
    golden = json.loads(file.read_text(encoding="utf-8"))
    assert asyncio.run(compare(golden, tmp_path)) == []


def test_a_difference_is_seen():
    """The comparison says where two recordings differ, in both directions, and keeps 1 and True apart."""
    assert list(differences({"a": 1, "b": [1]}, {"a": True, "b": [1, 2], "c": 0})) == [
        ".a: true instead of 1",
        ".b: 2 instead of 1",
        ".c: should not be there: 0",
    ]

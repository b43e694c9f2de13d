"""The measurement beside the official SDKs runs, and both read the same text; how fast is for its reader to judge."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from tests.conftest import must
from tests.providers.replay import FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.filterwarnings("ignore")  # the SDKs leave connections to the garbage collector
def test_the_measurement_runs(family):
    """Two hundred deltas are read by our provider and by the SDK to the same text, and both take some time."""
    if not all(map(find_spec, ("anthropic", "openai", "google.genai"))):
        must("the official SDKs: pip install anthropic openai google-genai")
    from tests.bench import bench_streams

    ours, theirs = bench_streams.measure(family, deltas=200, rounds=1)
    assert ours > 0
    assert theirs > 0

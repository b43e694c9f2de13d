"""What tests of providers share: the small model's weights, and patience with official SDKs."""

from __future__ import annotations

import gc
import os
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

USE_OFFICIAL_SDKS = ("test_like_official_sdks", "test_stream_bench", "test_third_party_servers", "test_typed_params")


def _uses_official_sdks(module: str) -> bool:
    return module.rpartition(".")[2] in USE_OFFICIAL_SDKS


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let official SDKs leave sockets open: how they close is not what these tests are about."""
    for item in items:
        if _uses_official_sdks(getattr(getattr(item, "module", None), "__name__", "")):
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(autouse=True)
def leftovers_of_official_sdks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect what official SDKs leave open where it was opened, so that no other test is blamed."""
    yield
    if _uses_official_sdks(request.module.__name__):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the small model's file: in CI, or where it is asked for by name, because it is a 93 MB download."""
    if not (os.environ.get("PI_NB_TEST_LOCAL") or os.environ.get("CI")):
        pytest.skip("a real local model: set PI_NB_TEST_LOCAL=1 (downloads 93 MB)")
    pytest.importorskip("xllamacpp")
    from pi_nb.providers.weights import fetch

    kept = os.environ.get("PI_NB_TEST_LOCAL_DIR")
    folder = Path(kept) if kept else tmp_path_factory.mktemp("local")
    saved = os.environ.get("PI_NB_DATA_DIR")
    os.environ["PI_NB_DATA_DIR"] = str(folder)
    try:
        file = fetch()
    finally:
        os.environ.pop("PI_NB_DATA_DIR")
        if saved is not None:
            os.environ["PI_NB_DATA_DIR"] = saved
    yield file
    if not kept:
        shutil.rmtree(folder)

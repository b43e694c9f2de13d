"""A key in the environment of a real notebook kernel: its provider gets it, and nobody else ever sees it."""

from __future__ import annotations

import json

import pytest

from tests import canaries
from tests.notebook.conftest import Kernel
from tests.providers.raw_server import Answer, serving
from tests.providers.test_http_providers import BEGUN, JSON, WHOLE

KEY = canaries.KEYS["ANTHROPIC_API_KEY"]
ECHO = {"error": {"type": "authentication_error", "message": f"bad key {KEY}", "key": KEY}}
ANSWERS = (
    Answer(WHOLE["anthropic"]),
    Answer([json.dumps(ECHO).encode()], status=401, headers={**JSON, "request-id": "req_1"}),
    Answer([*WHOLE["anthropic"][: BEGUN["anthropic"]], f"data: {{broken {KEY}\n\n".encode()]),
    Answer([f"<html>{KEY}</html>".encode()], status=404),
)


@pytest.fixture
def kernel(tmp_path):
    with serving(*ANSWERS) as server:
        kernel = Kernel(
            tmp_path,
            PI_NB_MODEL="anthropic:claude-sonnet-5-5",
            ANTHROPIC_BASE_URL=server.url,
            PI_NB_RECORD=str(tmp_path / "tape.jsonl"),
            PI_NB_CONFIG_DIR=str(tmp_path / "config"),
            PI_CODING_AGENT_SESSION_DIR=str(tmp_path / "sessions"),
            JPY_SESSION_NAME=str(tmp_path / "a.ipynb"),
        )
        kernel.server = server
        yield kernel
        kernel.close()


CELLS = (
    "%load_ext pi_nb\n%xmode Verbose\nimport logging; logging.basicConfig(level=logging.DEBUG, filename='all.log')",
    "%pi_trace on",
    "%%pi --out answer\nhello",
    "%%pi\nrefused",
    "%%pi\nbroken",
    "%%pi\nunknown",
    "%pi",
    "%pi_tree",
    "%pi_context",
    "%pi_log",
    "%pi_config",
    "%pi_model anthropic:",
    "%pi_trace",
    "import pi_nb.notebook as nb\nregistry = nb.current().registry\n(registry, vars(registry), answer)",
    "provider = registry.get('anthropic')\n(provider, vars(provider), provider._key, vars(provider._key))",
    "raise RuntimeError(repr([vars(provider), nb.current().harness.notices]))",
)


def test_nobody_but_its_provider_sees_a_key(kernel, tmp_path):
    """Answers that echo it, verbose tracebacks, logs at DEBUG, a trace, the tree, settings: not in one of them."""
    seen = []
    for number, cell in enumerate(CELLS):
        seen.append(kernel.run(cell, cell=f"c{number}").everything)
    asked = [one for one in kernel.server.received if one.method == "POST"]
    assert len(asked) >= 4
    assert all(one.headers["x-api-key"] == KEY for one in asked)
    assert "req_1" in "".join(seen) or "bad key" in "".join(seen)
    assert [cell for cell, text in zip(CELLS, seen, strict=True) if canaries.is_in(text)] == []
    written = list(canaries.files_under(tmp_path))
    assert {"all.log"} <= {path.name for path in written}
    assert any(path.suffix == ".jsonl" for path in written)
    assert canaries.found_in(written) == []

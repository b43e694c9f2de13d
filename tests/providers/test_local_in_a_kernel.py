"""The model in this process, in a real kernel: the kernel answers while it writes, and the stop button stops it."""

from __future__ import annotations

import time

import pytest

from tests.notebook.conftest import Kernel

TOOL = """
import pi_nb
@pi_nb.tool
def measure(thing: str) -> str:
    "Measure the length of a thing in metres."
    measured.append(thing)
    return "12 metres"
measured = []
"""


@pytest.fixture(scope="module")
def kernel(weights, tmp_path_factory):
    """Return a kernel whose model is the local one."""
    folder = tmp_path_factory.mktemp("local-kernel")
    kernel = Kernel(
        folder,
        PI_NB_MODEL="local:smollm2",
        PI_NB_DATA_DIR=str(weights.parents[1]),
        PI_NB_CONFIG_DIR=str(folder / "config"),
        PI_CODING_AGENT_SESSION_DIR=str(folder / "sessions"),
        JPY_SESSION_NAME=str(folder / "a.ipynb"),
    )
    assert kernel.run("%load_ext pi_nb\n" + TOOL).status == "ok"
    yield kernel
    kernel.close()


def test_the_kernel_answers_while_the_model_is_loaded_and_writes(kernel):
    """With a run in the background other cells run at once; none waits for the model, not even while it is loaded."""
    kernel.run(
        "import pi_nb.notebook as _nb\npieces = []\n_nb.current().harness.subscribe("
        "lambda event: pieces.append(event) if event.type == 'message_update' else None)"
    )
    assert kernel.run("%%pi --bg --out story\nWrite a very long story about a boat.", cell="c1").status == "ok"
    slowest, seen = 0.0, [0]
    while seen[-1] < 20:
        began = time.monotonic()
        pieces, done = kernel.run("print(len(pieces), story.done)").stream.split()
        slowest = max(slowest, time.monotonic() - began)
        assert done == "False"
        seen.append(int(pieces))
        time.sleep(0.05)
    assert len(set(seen)) > 2, "cells ran while it wrote"
    assert slowest < 5, "a cell waited"
    assert kernel.run("%pi_abort").stream.startswith("Stopped.")


def test_the_stop_button_stops_it(kernel):
    """An interrupt in the middle of an answer ends it within moments, and the next is answered."""
    request = kernel.start("%%pi\nWrite a very long story about a whale.", cell="c2")
    begun = kernel.finish(request, until=lambda seen: any(len(shown["text/plain"]) > 150 for shown in seen.history))
    assert begun.status == "?", begun
    began = time.monotonic()
    kernel.interrupt()
    stopped = kernel.finish(request)
    assert stopped.error.startswith("Stopped.")
    assert time.monotonic() - began < 10
    assert kernel.run("%pi Say hello.", timeout=200).status == "ok"


def test_it_calls_a_tool_of_the_notebook(kernel):
    """A function of the notebook is called with arguments that fit, held to its schema, and its result is answered.

    Whether so small a model calls a tool at all is a matter of chance, the more so after what was said before: it is
    asked in sessions of its own, and again if it only talked.
    """
    called = []
    while not called:
        kernel.run("%pi_session new")
        asked = kernel.run("%pi --tools measure Use the tool measure for the boat. How long is it?", timeout=200)
        assert asked.status == "ok", asked.error
        called = kernel.run("print(*(type(thing).__name__ for thing in measured))").stream.split()
    assert set(called) == {"str"}

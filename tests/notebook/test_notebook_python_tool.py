"""The tool that runs code in the kernel: what the model sees, what stays, how it ends."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.notebook.asked import SETUP

HELPERS = """
def seen():
    "Return what the model was told last: the texts, and how many pictures."
    message = provider.requests[-1].messages[-1]
    text = "".join(getattr(block, "text", "") for block in message.content)
    return text, sum(block.type == "image" for block in message.content), message.is_error
"""


@pytest.fixture
def kernel(kernel: Any) -> Any:
    """Return a kernel whose model may run code without asking."""
    kernel.run(SETUP + HELPERS)
    assert kernel.run("%pi_tools python --allow python").status == "ok"
    return kernel


def play(kernel: Any, code: str, **options: Any) -> str:
    """Start a prompt whose model runs some code; return the request."""
    arguments = "".join(f", {name}={value!r}" for name, value in options.items())
    kernel.run(f"provider = script(call('python', code={code!r}{arguments}), Reply('done'))")
    return str(kernel.start("%pi go"))


def seen(kernel: Any) -> tuple[str, int, bool]:
    """Return what the model was told last."""
    return eval(kernel.run("print(repr(seen()))").stream)  # type: ignore[no-any-return]


def test_code_shares_the_users_variables(kernel: Any) -> None:
    """It reads what the user has and leaves what it makes, and is not in the history."""
    kernel.run("x = 20")
    assert kernel.finish(play(kernel, "y = x + 1\nprint('printed')\ny * 2")).status == "ok"
    assert seen(kernel) == ("printed\n42", 0, False)
    assert kernel.run("print(y, any(cell.startswith('y = x') for cell in In))").stream == "21 False\n"


def test_what_is_printed_is_seen_while_it_runs(kernel: Any) -> None:
    """Output is in the card before the code has ended, although the main thread is busy with it."""
    request = play(
        kernel, "import time, sys\nprint('early')\nprint('error', file=sys.stderr)\ntime.sleep(3)\nprint('late')"
    )
    result = kernel.finish(request, until=lambda r: any("early" in d["text/plain"] for d in r.history))
    assert not any("\n  late" in data["text/plain"] for data in result.history)
    kernel.finish(request)
    assert seen(kernel) == ("early\nerror\nlate", 0, False)


def test_a_plot_is_a_picture_for_the_model_and_in_the_card(kernel: Any) -> None:
    """A figure needs no show(); it is in the answer's HTML once, and what only a page can show is shown beside it."""
    code = "import matplotlib.pyplot as plt\nfrom IPython.display import HTML, display\nplt.plot([1, 2])\n"
    result = kernel.finish(play(kernel, code + "display(HTML('<i>rich</i>'))\n3"))
    text, pictures, failed = seen(kernel)
    assert (pictures, failed) == (1, False)
    assert "3" in text
    assert result.shown[0]["text/html"].count("data:image/png;base64,") == 1
    assert [data["text/html"] for data in result.shown[1:]] == ["<i>rich</i>"]
    assert kernel.run("print(plt.get_fignums())").stream == "[]\n"


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "def f():\n    return 1 / 0\nf()",
            "line 3, in <module>\n    f()\n  The code, line 2, in f\n    return 1 / 0\n           ~~^~~\nZero",
        ),
        ("1 +", "  The code, line 1\n    1 +\n       ^\nSyntaxError: invalid syntax"),
        ("exit()", "the kernel is the user's and goes on"),
        ("import json\njson.loads('{')", "line 2, in <module>\n    json.loads('{')\njson.decoder.JSONDecodeError"),
        ("await nothing", "Top-level await is not possible here"),
        ("raise ValueError('\\x1b[31mred')", "ValueError: red"),
        ("open('nowhere.txt')", "FileNotFoundError"),
    ],
)
def test_errors_are_short(kernel: Any, code: str, told: str) -> None:
    """The model gets the user's own frames and the message; the kernel goes on and shows no traceback."""
    result = kernel.finish(play(kernel, code))
    text, _, failed = seen(kernel)
    assert told in text
    assert failed
    assert len(text.splitlines()) < 10
    assert "pi_nb" not in text
    assert "site-packages" not in text
    assert (result.status, result.error) == ("ok", "")


def test_an_interrupt_stops_the_code_and_the_run(kernel: Any) -> None:
    """The stop button ends both at once; what was printed is kept; the kernel goes on."""
    request = play(kernel, "import time\nprint('begun')\ntime.sleep(60)")
    kernel.finish(request, until=lambda r: any("\n  begun" in d["text/plain"] for d in r.history))
    began = time.monotonic()
    kernel.interrupt()
    result = kernel.finish(request)
    assert time.monotonic() - began < 10
    assert result.error.startswith("Stopped.")
    assert "begun\n\n  [Interrupted by the user.]" in result.history[-1]["text/plain"]
    assert kernel.run("%pi_tools").status == "ok"


@pytest.mark.parametrize("stubborn", [False, True])
def test_code_has_a_limit_of_time(kernel: Any, stubborn: bool) -> None:
    """What takes too long is interrupted, again if it caught that; the run goes on."""
    code = "import time\nprint('begun')\ntime.sleep(60)"
    if stubborn:
        code = "import time\nprint('begun')\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    time.sleep(60)"
    result = kernel.finish(play(kernel, code, timeout=0.5), timeout=20)
    assert seen(kernel) == ("begun\n\n[Stopped: it took longer than 0.5 s.]", 0, True)
    assert result.status == "ok"
    assert "done" in result.shown[0]["text/plain"]


def test_long_output_is_cut_to_its_end(kernel: Any) -> None:
    """The model sees the end and where the rest is; the card shows both ends."""
    result = kernel.finish(play(kernel, "for i in range(50000): print('line', i)"))
    text, _, failed = seen(kernel)
    assert not failed
    assert len(text) < 60_000
    assert "line 49999" in text
    assert "KB of" in text
    assert "All of it is in " in text
    assert len(result.shown[0]["text/html"]) < 30_000


def test_other_threads_keep_their_output(kernel: Any) -> None:
    """What a thread of the user's prints meanwhile is not the model's; what the code's own threads print is."""
    kernel.run(
        "import threading, time\nstop = threading.Event()\n"
        "def chatter():\n    while not stop.wait(0.05): print('secret')\n"
        "thread = threading.Thread(target=chatter); thread.start()"
    )
    code = "own = threading.Thread(target=print, args=('mine',))\nown.start(); own.join(); time.sleep(0.3)"
    kernel.finish(play(kernel, code))
    kernel.run("stop.set(); thread.join()")
    assert seen(kernel) == ("mine", 0, False)


def test_code_waits_for_the_notebook_in_the_background(kernel: Any) -> None:
    """Without a cell that waits, code runs between cells; one that computes for too long is not waited for."""
    kernel.run("provider = script(call('python', code='z = 1 + 1; print(z)', timeout=20), Reply('done'))")
    kernel.run("%pi --bg --out run go")
    deadline = time.monotonic() + 20
    while kernel.run("print(getattr(run, 'done', True))").stream != "True\n" and time.monotonic() < deadline:
        time.sleep(0.1)
    assert seen(kernel) == ("2", 0, False)
    kernel.run("provider = script(call('python', code='z = 3', timeout=0.5), Reply('done'))")
    kernel.run("%pi --bg --out run go\nimport time; time.sleep(3)")
    text, _, failed = seen(kernel)
    assert failed
    assert text == "Not run: the notebook was busy with another cell for all of 0.5 s."
    assert kernel.run("print(z)").stream == "2\n"

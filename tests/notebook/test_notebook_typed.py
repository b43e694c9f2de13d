"""What is typed after %pi is the prompt, even where IPython would read something else into it."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from pi_nb.notebook import typed

NO_HISTORY = Config({"HistoryManager": {"enabled": False}})  # no database, no thread of its own


@pytest.fixture
def shell() -> InteractiveShell:
    """Return a shell with the transformers in front."""
    ip = InteractiveShell(config=NO_HISTORY)
    typed.install(ip)
    typed.install(ip)
    return ip


def line(text: str) -> str:
    """Return the call that a line magic becomes."""
    return f"get_ipython().run_line_magic('pi', {text!r})\n"


@pytest.mark.parametrize("text", ["what is this?", "really??", "it's {x} $y \\n ?", "(open", '"""'])
def test_lines_arrive_as_typed(shell: InteractiveShell, text: str) -> None:
    """A question mark at the end is part of the question, and quotes need no partner."""
    assert shell.transform_cell(f"%pi {text}") == line(text)
    assert shell.transform_cell(f"if 1:\n    %pi {text}\n") == "if 1:\n    " + line(text)


@pytest.mark.parametrize(
    "body", [">>> 1 + 1\n2\n", "In [3]: x\n", "  a\n\n\tb ?\n", "%pi x?\n", "'\"\\ {x} $`y`\n", "%%pi\n"]
)
def test_cells_arrive_as_typed(shell: InteractiveShell, body: str) -> None:
    """Pasted interpreter sessions, indentation and magics inside a prompt are text."""
    assert (
        shell.transform_cell(f"%%pi --append\n{body}") == f"get_ipython().run_cell_magic('pi', '--append', {body!r})\n"
    )


@pytest.mark.parametrize("source", ["%pi?", "%%pi?", "%pi_tree?", "x = '''\n%pi y?\n'''\n", "%%pip\nx\n", "!ls"])
def test_everything_else_is_ipythons(shell: InteractiveShell, source: str) -> None:
    """Help, other magics and strings are what they were."""
    assert shell.transform_cell(source) == InteractiveShell(config=NO_HISTORY).transform_cell(source)


def test_removing_leaves_nothing() -> None:
    """After removal the shell is as it was."""
    ip = InteractiveShell(config=NO_HISTORY)
    before = [*ip.input_transformers_cleanup], [*ip.input_transformer_manager.token_transformers]
    typed.install(ip)
    typed.remove(ip)
    assert ([*ip.input_transformers_cleanup], [*ip.input_transformer_manager.token_transformers]) == before

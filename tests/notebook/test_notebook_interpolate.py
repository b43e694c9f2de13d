"""Only a dollar and backticks mean anything in a prompt."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_nb.errors import UserError
from pi_nb.notebook.interpolate import TABLE_ROWS, interpolate


def evaluate(expression: str) -> object:
    """Evaluate in a small namespace."""
    frame = pd.DataFrame({"a": [1, 2], "b|c": ["x", "y\nz"]})
    return eval(expression, {"x": 3, "name": "Ada", "df": frame, "long": pd.DataFrame({"n": range(50)})})


@given(st.text().filter(lambda text: "$`" not in text))
def test_any_other_text_stays_as_typed(text: str) -> None:
    """A text without the marker comes back byte for byte, and nothing is evaluated."""
    assert interpolate(text, lambda _: pytest.fail("evaluated")) == text


@pytest.mark.parametrize("text", ["{x} {{x}} {0} %s %(x)s $PATH ${x} `x` ``x`` f'{x!r}' \\n", "$`", "$``", "$`x\n`"])
def test_look_alikes_stay_as_typed(text: str) -> None:
    """Braces, percent signs, shell variables, code spans and broken markers are text."""
    assert interpolate(text, evaluate) == text


def test_expressions_are_evaluated() -> None:
    """Numbers come as repr, texts as they are, several in one prompt."""
    assert interpolate("$`x + 1` for $`name`, $`[name, x]`, {x}", evaluate) == "4 for Ada, ['Ada', 3], {x}"


@pytest.mark.parametrize("number", ["np.int64(6)", "np.float64(0.5)", "np.float32(0.1)", "np.bool_(True)"])
def test_numbers_of_numpy_are_numbers(number: str) -> None:
    """A number that NumPy holds is sent as it is written, without its type."""
    value = eval(number, {"np": np})
    assert interpolate("$`n`", lambda _: value) == number.partition("(")[2].removesuffix(")")


def test_a_value_is_not_looked_at_again() -> None:
    """A value that looks like an expression is only a value."""
    assert interpolate("$`y`", lambda _: "$`boom`") == "$`boom`"


def test_data_frames_are_markdown_tables() -> None:
    """A frame becomes a table; a bar in a cell does not break it; long ones are cut and counted."""
    assert interpolate("$`df`", evaluate) == "|  | a | b\\|c |\n| --- | --- | --- |\n| 0 | 1 | x |\n| 1 | 2 | y z |"
    lines = interpolate("$`long`", evaluate).splitlines()
    assert (len(lines), lines[-1]) == (TABLE_ROWS + 4, "… and 30 more of 50 rows")


def test_a_failing_expression_names_itself() -> None:
    """Nothing is sent when an expression fails, and the message says which and why."""
    with pytest.raises(UserError, match=r"\$`nope` could not be evaluated: NameError: name 'nope'") as caught:
        interpolate("a $`nope` b", evaluate)
    assert "--raw" in caught.value.hint

"""What the tree hears of answers that are coming."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pi_nb.harness.events import MessageEnd, MessageUpdate, RetryStart
from pi_nb.messages import AssistantMessage, UserMessage
from pi_nb.notebook import growing
from pi_nb.notebook.growing import Growing


def piece(text: str) -> Any:
    """Return an event with an answer so far."""
    message = AssistantMessage(content=[{"type": "text", "text": text}], model="m")
    return MessageUpdate(SimpleNamespace(partial=lambda: message))  # type: ignore[arg-type]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Give what is shown, without pauses."""
    monkeypatch.setattr(growing, "EVERY", 0)
    return []


def test_each_run_has_its_row_below_its_prompt(shown: list[Any]) -> None:
    """Runs with names hang from the entry they wrote last; the run without one says no place."""
    hears = Growing(shown.append)
    hears.hear(MessageEnd(UserMessage(content="?"), "p1"), "1")
    hears.hear(piece("one"), "1")
    hears.hear(piece("only"))
    hears.hear(MessageEnd(AssistantMessage(content=[]), "a1"), "1")
    hears.hear(piece("next"), "1")
    rows = [(run, row and (row.get("parent"), row["text"])) for told in shown for run, row in told.items()]
    assert rows == [("1", None), ("1", ("p1", "one")), ("", (None, "only")), ("1", None), ("1", ("a1", "next"))]


def test_many_runs_are_told_of_at_most_twenty_times_a_second() -> None:
    """What comes in between waits and is told together, the newest of each run."""
    shown: list[Any] = []
    hears = Growing(shown.append)
    for count in range(50):
        for run in "123":
            hears.hear(piece(f"{run}: {count}"), run)
    assert len(shown) < 5
    hears._due = 0
    hears.hear(piece("3: end"), "3")
    assert {run: row["text"] for run, row in shown[-1].items()} == {"1": "1: 49", "2": "2: 49", "3": "3: end"}


def test_an_answer_that_begins_anew_says_why(shown: list[Any]) -> None:
    """What was shown is taken back, also what was not told yet."""
    hears = Growing(shown.append)
    hears.hear(MessageEnd(UserMessage(content="?"), "p1"), "1")
    hears.hear(piece("half"), "1")
    hears.hear(RetryStart(2, 4, 1.0, "overloaded"), "1")
    assert shown[-1] == {"1": {"parent": "p1", "text": "", "note": "again, try 2 of 4: overloaded"}}

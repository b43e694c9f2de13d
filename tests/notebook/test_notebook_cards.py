"""Tool calls as cards: what is shown of them while they run, and what is left afterwards."""

from __future__ import annotations

from pi_nb.harness import events
from pi_nb.harness.tools import ToolResult
from pi_nb.notebook.cards import card_html, card_markdown, card_text, card_title
from pi_nb.notebook.transcript import Picture, Tool, Transcript


def test_a_call_is_titled_by_what_tells_it_from_others() -> None:
    """A command, the first line of code, a path; anything else by its arguments; never more than a line."""
    titles = {
        ("bash", "echo one"): {"command": "echo one", "timeout": 3},
        ("python", "x = 1 …"): {"code": "\nx = 1\nx + 1"},
        ("edit", "a.txt"): {"path": "a.txt", "edits": []},
        ("own", 'n=1, s="<b>"'): {"n": 1, "s": "<b>"},
        ("grep", 'pattern="x"'): {"pattern": "x"},
    }
    for (name, title), arguments in titles.items():
        assert card_title(Tool("c", name, arguments)) == title
    assert len(card_title(Tool("c", "bash", {"command": "x" * 500}))) == 80


def test_output_is_seen_while_a_call_runs_and_folded_afterwards() -> None:
    """A running call is open and shows the end of its output; a finished one is closed and shows both ends."""
    lines = "\n".join(f"line {n}" for n in range(2000))
    running = card_html(Tool("c", "bash", {"command": "x"}, "running", lines))
    assert running.startswith("<details open>")
    assert "line 1999" in running
    assert "line 0\n" not in running
    done = card_html(Tool("c", "bash", {"command": "x"}, "done", lines, seconds=1.0))
    assert done.startswith("<details><summary>")
    assert "line 0\n" in done
    assert "line 1999" in done
    assert "more characters …" in done
    assert len(done) < 6_000


def test_a_change_is_shown_in_the_place_of_its_arguments() -> None:
    """An edit shows its diff, coloured in HTML and fenced in Markdown, and not the texts it was made of."""
    edit = Tool(
        "c", "edit", {"path": "a", "edits": [{"oldText": "<one>"}]}, "done", "Edited a.", diff="-1 <one>\n+1 two"
    )
    html = card_html(edit)
    assert '<span class="pi-removed">-1 &lt;one&gt;\n</span><span class="pi-added">+1 two\n</span>' in html
    assert "oldText" not in html
    assert "```diff\n-1 <one>\n+1 two\n```" in card_markdown(edit, "edit")
    assert card_text(edit) == "[edit(a) ✓ done]\n  -1 <one>\n  +1 two"


def test_pictures_are_shown_and_nothing_else_that_calls_itself_one() -> None:
    """A PNG is inline, outside the fold; a type that could carry scripts is left out."""
    card = card_html(
        Tool("c", "python", {}, "done", "", (Picture("QUJD", "image/png"), Picture("QQ", "image/svg+xml")))
    )
    assert card.endswith('</details><img alt="picture from python" src="data:image/png;base64,QUJD">')
    assert "svg" not in card


def test_a_question_and_a_refusal_are_states_of_a_call() -> None:
    """A card says when somebody is asked, and tells a refusal from a failure."""
    transcript = Transcript()

    def state() -> str:
        (part,) = transcript.snapshot().parts
        assert isinstance(part, Tool)
        return part.state

    transcript.feed(events.ToolExecutionStart("c", "bash", {"command": "x"}))
    transcript.feed(events.ToolCallHeld("c", "bash", held=True))
    assert state() == "held"
    transcript.feed(events.ToolCallHeld("c", "bash", held=False))
    assert state() == "running"
    transcript.feed(events.ToolExecutionEnd("c", "bash", ToolResult.error("Not run: the user said no."), True))
    assert state() == "refused"

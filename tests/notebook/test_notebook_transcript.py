"""A run as its cell shows it: fed by events, drawn at most so often, the same in three formats."""

from __future__ import annotations

import io
from typing import Any

import pytest

from pi_nb.harness import events
from pi_nb.harness.tools import ToolResult
from pi_nb.messages import (
    AssistantMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi_nb.notebook import display as display_module
from pi_nb.notebook.answer_html import answer_html
from pi_nb.notebook.answer_markdown import answer_markdown, answer_text
from pi_nb.notebook.caption import Caption, clean, money, seconds, tokens
from pi_nb.notebook.display import NotebookOutput, TerminalOutput
from pi_nb.notebook.transcript import Notice, Said, Text, Thinking, Tool, Transcript
from pi_nb.providers.base import BlockDelta, BlockEnd, BlockStart

CALL = ToolCall(id="c1", name="add", arguments={"a": 1, "b": 2})


def message(*blocks: Any, **fields: Any) -> AssistantMessage:
    """Return an answer."""
    usage = Usage.of(input=10, output=5)
    return AssistantMessage(
        content=blocks, provider="scripted", model="any", usage=usage, **{"stop_reason": "stop", **fields}
    )


def piece(stream: Any) -> events.MessageUpdate:
    """Return an update."""
    return events.MessageUpdate(stream)


def streamed(kind: str, *pieces: str, index: int = 0) -> list[events.MessageUpdate]:
    """Return the updates of one block that has not ended."""
    return [piece(BlockStart(kind, index, message)), *(piece(BlockDelta(kind, index, p, message)) for p in pieces)]


def fed(*given: Any) -> Transcript:
    """Return a transcript that was fed these events, on a clock that stands still."""
    transcript = Transcript(clock=lambda: 0.0)
    for event in given:
        transcript.feed(event)
    return transcript


def test_pieces_are_joined_and_then_replaced_by_the_message() -> None:
    """While it streams the pieces count, afterwards the message."""
    start = events.MessageStart(message())
    transcript = fed(start, *streamed("thinking", "Hm", "m."), *streamed("text", "Hel", "lo", index=1))
    assert transcript.snapshot().parts == (Thinking("Hmm.", open=True), Text("Hello"))
    transcript.feed(events.MessageEnd(message(ThinkingContent(thinking="Hmm."), TextContent(text="Hello!")), "e1"))
    run = transcript.snapshot()
    assert run.parts == (Thinking("Hmm."), Text("Hello!"))
    assert (run.answer_entry, run.model, run.text, run.entries) == ("e1", "scripted:any", "Hello!", ("e1",))


def test_a_tool_call_from_writing_to_result() -> None:
    """One card follows a call through all its states; its result is told once."""
    transcript = fed(*streamed("toolcall", '{"a": 1'))
    assert transcript.snapshot().parts == (Tool("", "…", '{"a": 1'),)
    transcript.feed(piece(BlockEnd("toolcall", 0, CALL, message)))
    assert transcript.snapshot().parts == (Tool("c1", "add", {"a": 1, "b": 2}),)
    transcript.feed(events.MessageEnd(message(CALL, stop_reason="toolUse"), "e1"))
    transcript.feed(events.ToolExecutionStart("c1", "add", {"a": 1, "b": 2}))
    transcript.feed(events.ToolExecutionUpdate("c1", "add", {"a": 1, "b": 2}, ToolResult("half")))
    (card,) = transcript.snapshot().parts
    assert isinstance(card, Tool)
    assert (card.state, card.seconds) == ("running", None)
    picture = ImageContent(data="QUJD", mime_type="image/png")
    transcript.feed(events.ToolExecutionEnd("c1", "add", ToolResult([TextContent(text="3"), picture]), False))
    result = ToolResultMessage(tool_call_id="c1", tool_name="add", content=(TextContent(text="3"), picture))
    transcript.feed(events.MessageEnd(result, "e2"))
    (card,) = transcript.snapshot().parts
    assert isinstance(card, Tool)
    assert (card.state, card.result, len(card.pictures), card.seconds) == ("done", "3", 1, 0.0)


def test_usage_is_summed_over_the_run() -> None:
    """The caption counts all answers of a run."""
    run = fed(*[events.MessageEnd(message(TextContent(text="x")), None)] * 3).snapshot()
    assert (run.usage.input, run.usage.output, run.usage.total_tokens) == (30, 15, 45)


def test_a_retry_takes_back_what_had_arrived() -> None:
    """Half an answer that will be asked for again is not shown twice."""
    transcript = fed(*streamed("text", "half an ans"), events.RetryStart(1, 3, 2.0, "overloaded"))
    assert transcript.snapshot().parts == (Notice("The answer broke off: overloaded. Try 1 of 3 in 2 s."),)


def test_steering_is_shown_and_the_prompt_is_not() -> None:
    """The prompt is above the answer anyway; what was said later is not."""
    transcript = fed(
        events.MessageEnd(UserMessage(content="prompt"), "p"), events.MessageEnd(UserMessage(content="wait"), "s")
    )
    run = transcript.snapshot()
    assert (run.prompt_entry, run.parts) == ("p", (Said("wait"),))


RUN = fed(
    events.MessageEnd(UserMessage(content="p"), "p"),
    events.MessageEnd(message(ThinkingContent(thinking="Let me see"), TextContent(text="**yes**"), CALL), "a"),
    events.ToolExecutionEnd("c1", "add", ToolResult("3"), False),
)
RUN.settle()
CAPTION = Caption(sibling=(2, 3), why="Because.", note="Moved.")


def test_three_formats_say_the_same() -> None:
    """Answer, thinking, call, result and caption are in each; thinking and calls are folded."""
    html, markdown, text = (render(RUN.snapshot(), CAPTION) for render in (answer_html, answer_markdown, answer_text))
    for shown in (html, markdown, text):
        assert all(word in shown for word in ("add", "a=1, b=2" if shown is text else "1", "3", "Because.", "Moved."))
    assert "<strong>yes</strong>" in html
    assert "**yes**" in markdown
    assert html.count("<details") == markdown.count("<details>") == 2
    assert "open" not in html.split("</style>")[1]
    assert "[scripted:any · 10 in, 5 out · ‹2/3›. Because.]" in text


def test_what_is_not_finished_says_so() -> None:
    """A waiting cell names the model, a growing text has a caret, a settled one neither."""
    waiting = answer_html(Transcript(clock=lambda: 0.0).snapshot(), Caption(model="a:b"))
    assert "a:b … 0 s" in waiting
    growing = fed(*streamed("text", "so fa"))
    assert "so fa▍" in answer_html(growing.snapshot(), Caption())
    growing.settle()
    assert "▍" not in answer_html(growing.snapshot(), Caption())


def test_control_characters_and_keys_are_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing shown can steer a terminal, and no key of the environment is among it."""
    monkeypatch.setenv("SOME_API_KEY", "abcdefgh12345678")
    assert clean("a\x1b[31mb\x07\r\nc\x9b abcdefgh12345678\td") == "a[31mb\nc [SOME_API_KEY hidden]\td"


def test_numbers_for_people() -> None:
    """Counts, prices and times are short and never misleading."""
    assert tokens(Usage.of(input=1204, output=233, cache_read=900)) == "1,204 in, 233 out, 900 cached"
    assert (tokens(Usage.of()), money(0), money(0.00001), money(0.0123), money(2.5)) == (
        "",
        "",
        "< $0.0001",
        "$0.0123",
        "$2.50",
    )
    assert (seconds(0.84), seconds(125)) == ("0.8 s", "2 min 5 s")


class Screen:
    """Stands for IPython's display handle and counts."""

    def __init__(self) -> None:
        self.seen: list[tuple[dict[str, str], dict[str, Any]]] = []

    def display(self, data: dict[str, str], *, raw: bool, metadata: dict[str, Any]) -> None:
        self.seen.append((data, metadata))

    update = display


def test_redraws_keep_to_their_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is asked, a cell is redrawn at most every 50 ms, and when idle once a second."""
    screen, now = Screen(), [0.0]
    monkeypatch.setattr(display_module, "DisplayHandle", lambda: screen)
    transcript = Transcript(clock=lambda: now[0])
    output = NotebookOutput(transcript, Caption(), clock=lambda: now[0])
    for step in range(1000):
        now[0] = step / 1000
        transcript.feed(streamed("text", "x")[1])
        output.draw()
    assert len(screen.seen) == 20
    drawn = len(screen.seen)
    for step in range(1000, 4000):
        now[0] = step / 1000
        output.draw()
    assert len(screen.seen) - drawn in (3, 4)
    transcript.settle()
    output.close({"session": "s"})
    assert screen.seen[-1][1] == {"pi_nb": {"session": "s"}}


def test_a_terminal_gets_the_text_as_it_comes() -> None:
    """Text is written once, piece by piece, tools and caption as lines of their own."""
    stream = io.StringIO()
    transcript = Transcript(clock=lambda: 0.0)
    output = TerminalOutput(transcript, Caption(), stream=stream)
    for text in ("Hel", "lo ", "there"):
        transcript.feed(streamed("text", text)[1])
        output.draw()
    assert stream.getvalue() == "Hello there"
    transcript.feed(events.MessageEnd(message(TextContent(text="Hello there."), CALL), "e"))
    transcript.feed(events.ToolExecutionEnd("c1", "add", ToolResult("3"), False))
    output.draw()
    transcript.settle()
    output.close({})
    assert stream.getvalue() == ("Hello there.\n\n[add(a=1, b=2) ✓ done · 0.0 s]\n[scripted:any · 10 in, 5 out]\n")

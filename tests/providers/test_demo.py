"""The demo: deterministic, different on each branch, and honest about what it is."""

from __future__ import annotations

import asyncio

import pytest

from pi_nb.errors import ProviderError
from pi_nb.messages import (
    AssistantMessage,
    BranchSummaryMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolResultMessage,
    UserMessage,
)
from pi_nb.models import EXAMPLE_MODEL
from pi_nb.providers.base import Request, StreamDone, StreamError, ToolSpec
from pi_nb.providers.catalogue import known_models
from pi_nb.providers.demo import DemoProvider
from pi_nb.providers.demo_notes import facts_in
from pi_nb.providers.registry import _WITH_KEYS

PYTHON = ToolSpec("python", "Run code.", {"properties": {"code": {"type": "string"}}, "required": ["code"]})
ADD = ToolSpec(
    "add", "Add.", {"properties": {"a": {"type": "number"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
)


def say(history, text, *, provider=None, **fields):
    """Return the history with a prompt and the demo's answer."""
    provider = provider or DemoProvider(tokens_per_second=0)
    asked = [*history, UserMessage(content=text) if isinstance(text, str) else text]

    async def run():
        return [e async for e in provider.stream(Request(provider.model("demo"), tuple(asked), **fields))]

    last = asyncio.run(run())[-1]
    return [*asked, last.message], last


def answer(history, text, **fields):
    return say(history, text, **fields)[1].message


def test_branches_differ():
    """What was said on one branch is not known on the other."""
    root, _ = say([], "My name is Ada. I want to name a sailing boat.")
    green = answer(root, "Remember: the boat is painted green. What do you know so far?").text
    tub = answer(root, "Remember: the boat is a bathtub. What do you know so far?").text
    assert "your name is Ada" in green
    assert "your name is Ada" in tub
    assert "painted green" in green
    assert "painted green" not in tub
    assert "bathtub" in tub


def test_same_context_same_answer():
    """Asked the same, it answers the same."""
    assert answer([], "hello").text == answer([], "hello").text


def test_siblings_differ():
    """The same asked again of the same demo is answered in other words, with the time it is."""
    provider = DemoProvider(tokens_per_second=0)
    said = [say([], "Name a sailing boat.", provider=provider)[1].message.text for _ in range(3)]
    assert len({text.splitlines()[0] for text in said}) == 3
    assert "it was sent 1 message. For" in said[0]
    assert "it was sent 1 message, for the 3rd time." in said[2]
    assert "“Name a sailing boat.” " in said[0]


def test_counting_is_slow_enough_to_be_stopped(monkeypatch):
    """At the usual pace a hundred numbers take some ten seconds, other answers no longer than before; without, none."""
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    monkeypatch.setattr("pi_nb.providers.scripted.asyncio.sleep", sleep)
    for pace, text, least, most in ((90, "count to 100", 8, 16), (90, "hello", 0.5, 2), (0, "count to 100", 0, 0)):
        slept.clear()
        say([], text, provider=DemoProvider(tokens_per_second=pace))
        assert least <= sum(slept) <= most


@pytest.mark.parametrize("text", ["hello", "help", "markdown", "What is my name?", "count to 9", "Sing!", "think"])
def test_every_answer_says_what_it_is(text):
    """Each answer calls itself scripted; the first tells how to get a real model."""
    said = answer([], text).text
    assert "Scripted demo" in said
    assert "%pi_model" in said
    assert "pi-nb local fetch" in said
    later = answer(say([], "hello")[0], text).text
    assert "Scripted demo" in later
    assert "local fetch" not in later


def test_it_answers_what_was_asked():
    """A question about one thing is answered with that thing."""
    history, _ = say([], "My name is Ada. My favourite colour is blue. I live in Rome.")
    said = answer(history, "What is my favourite colour?").text
    assert "your favourite colour is blue" in said
    assert "Rome" not in said


def test_it_quotes_the_prompt_before():
    """Without anything to remember it says what it sees."""
    history, _ = say([], "First thing")
    said = answer(history, "Second thing").text
    assert "“First thing”" in said
    assert "2 prompts" in said


def test_thinking_when_asked_or_set():
    """It thinks before the answer, if the level or the prompt says so."""
    assert isinstance(answer([], "hello", thinking_level="low").content[0], ThinkingContent)
    assert isinstance(answer([], "Think about boats").content[0], ThinkingContent)
    assert isinstance(answer([], "hello").content[0], TextContent)


def test_a_tool_call_and_what_it_gave():
    """Asked to use a tool it calls it with code from the prompt, then tells the result."""
    history, last = say([], "Please run `2**10` with python", tools=(PYTHON, ADD))
    call = last.message.tool_calls[0]
    assert (call.name, call.arguments, last.message.stop_reason) == ("python", {"code": "2**10"}, "toolUse")
    given = ToolResultMessage(tool_call_id=call.id, tool_name="python", content=(TextContent(text="1024"),))
    after = answer(history, given, tools=(PYTHON, ADD))
    assert "1024" in after.text
    assert after.tool_calls == ()


def test_two_calls_at_once():
    """Two tools are called in one answer, with numbers from the prompt."""
    calls = answer([], "Run two tools at once with 3 and 4", tools=(PYTHON, ADD)).tool_calls
    assert [call.name for call in calls] == ["python", "add"]
    assert calls[1].arguments == {"a": 3.0, "b": 4}
    assert len({call.id for call in calls}) == 2


def test_no_tool_no_call():
    """Without tools it only talks."""
    assert answer([], "Run a tool").tool_calls == ()


def test_failures_to_look_at():
    """One failure passes when tried again, the other does not."""
    provider = DemoProvider(tokens_per_second=0)
    first, second = (say([], "overload please", provider=provider)[1] for _ in range(2))
    assert isinstance(first, StreamError)
    assert first.error.retryable
    assert isinstance(second, StreamDone)
    error = say([], "error", provider=provider)[1]
    assert (error.error.retryable, error.message.text) == (False, "You asked for an error, here it com")


def test_summaries():
    """Asked for a summary it writes one, and reads one on the branch it comes to."""
    asked = UserMessage(
        content="<conversation>\n[User]: My name is Ada\n\n[Assistant]: hi\n</conversation>\n\nWrite notes."
    )
    notes = answer([], asked).text
    assert "- your name is Ada" in notes
    assert "Ada" in answer([BranchSummaryMessage(summary=notes)], "What do you know?").text


def test_pictures_are_seen():
    """A picture in the prompt is mentioned."""
    shown = UserMessage(content=(TextContent(text="Look"), ImageContent(data="AA", mime_type="image/png")))
    assert "1 picture" in answer([], shown).text


def test_pace(monkeypatch):
    """The pace is a setting; nonsense in it is ignored."""
    monkeypatch.setenv("PI_NB_DEMO_PACE", "0")
    assert DemoProvider()._tokens_per_second is None
    monkeypatch.setenv("PI_NB_DEMO_PACE", "12.5")
    assert DemoProvider()._tokens_per_second == 12.5
    monkeypatch.setenv("PI_NB_DEMO_PACE", "fast")
    assert DemoProvider()._tokens_per_second == 90


def test_only_one_model():
    """There is one demo."""
    with pytest.raises(ProviderError):
        DemoProvider().model("other")


@pytest.mark.parametrize(
    ("said", "facts"),
    [
        ("My name is Ada.", ["your name is Ada"]),
        ("Call me Bo!", ["your name is Bo"]),
        ("my name is Ada. My name is Bo.", ["your name is Bo"]),
        ("Please remember that I like tea", ["you like tea"]),
        ("Remember: the boat is green\nThe boat is red.", ["the boat is red"]),
        ("I'm a teacher. I am from Rome.", ["you are a teacher", "you are from Rome"]),
        ("What is my name? Is the boat green?", []),
        ("Write a poem.", []),
    ],
)
def test_facts(said, facts):
    """Statements are remembered as the other side would say them; a later one about the same thing replaces it."""
    assert facts_in([said]) == facts


def test_it_is_sent_what_a_model_would_be():
    """An answer that was stopped is not among what it says it was sent."""
    stopped = AssistantMessage(content=(TextContent(text="1, 2"),), stop_reason="aborted")
    history = [UserMessage(content="count to 100"), stopped]
    assert "it was sent 2 messages" in answer(history, "What do you know?").text


def test_hints_name_a_model_that_there_is():
    """The model that hints name is in the catalogue, and is the one a key would choose."""
    provider, _, name = EXAMPLE_MODEL.partition(":")
    assert (provider, name) in known_models()
    assert EXAMPLE_MODEL in _WITH_KEYS.values()

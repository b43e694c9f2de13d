"""Any history becomes one that strict providers take."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_nb.messages import (
    AssistantMessage,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UnknownContent,
    UnknownMessage,
    UserMessage,
    text_of,
)
from pi_nb.models import Model
from pi_nb.providers.anthropic import AnthropicProvider
from pi_nb.providers.base import Request, ToolSpec
from pi_nb.providers.openai_chat import OpenAIChatProvider
from pi_nb.providers.transform import NO_RESULT, acceptable, framed, merge_users, sending, to_llm
from tests.providers.strict import anthropic_refusals, openai_refusals

CLAUDE = Model("anthropic", "claude-x", api="anthropic-messages", vision=True, reasoning=True)
GPT = Model("openai", "gpt", api="openai-completions")


def user(text):
    return UserMessage(content=text, timestamp=1)


def answer(*blocks, model=CLAUDE, stop="stop"):
    content = tuple(TextContent(text=b) if isinstance(b, str) else b for b in blocks)
    return AssistantMessage(
        content=content, api=model.api, provider=model.provider, model=model.id, stop_reason=stop, timestamp=2
    )


def call(id="t1", name="bash", **arguments):
    return ToolCall(id=id, name=name, arguments=arguments)


def result(id="t1", text="out", **fields):
    return ToolResultMessage(tool_call_id=id, tool_name="bash", content=(TextContent(text=text),), **fields)


def outline(messages):
    return [
        f"{m.role}:{m.tool_call_id}:{text_of(m.content)}"
        if m.role == "toolResult"
        else f"{m.role}:{text_of(m.content)}"
        for m in messages
    ]


# ---------------------------------------------------------------- roles


def test_only_three_roles_are_left():
    """What an application, the shell or a summary said becomes the user's; hidden commands and strangers go."""
    messages = [
        user("plain"),
        CustomMessage(custom_type="c", content="note"),
        BashExecutionMessage(command="ls", output="a", exit_code=2),
        BashExecutionMessage(command="secret", exclude_from_context=True),
        BranchSummaryMessage(summary="left"),
        CompactionSummaryMessage(summary="old"),
        SystemMessage(content="be brief"),
        UnknownMessage(role="from-the-future"),
    ]
    out = to_llm(messages)
    assert [m.role for m in out] == ["user"] * 6
    assert out[2].content[0].text == "Ran `ls`\n```\na\n```\n\nCommand exited with code 2"
    assert "<summary>\nleft\n</summary>" in out[3].content[0].text


def test_known_roles_pass_unchanged():
    """User messages, answers and results are the same objects afterwards."""
    messages = [user("a"), answer("b"), result()]
    assert all(a is b for a, b in zip(to_llm(messages), messages, strict=True))


# ---------------------------------------------------------------- order


def test_unanswered_calls_get_an_error_result_before_the_next_user_message():
    """Every call has its result right after, an invented one if need be."""
    out = acceptable(
        [user("go"), answer(call("a"), call("b"), stop="toolUse"), result("a"), user("never mind")], CLAUDE
    )
    assert outline(out) == ["user:go", "assistant:", "toolResult:a:out", f"toolResult:b:{NO_RESULT}", "user:never mind"]
    assert out[3].is_error


def test_results_come_in_the_order_of_the_calls():
    """Results that were written as they finished are put in order."""
    out = acceptable([answer(call("a"), call("b")), result("b", "2"), result("a", "1")], CLAUDE)
    assert outline(out)[1:] == ["toolResult:a:1", "toolResult:b:2"]


def test_what_stands_between_call_and_result_moves_after():
    """A custom message between a call and its result waits."""
    out = acceptable([answer(call()), CustomMessage(custom_type="c", content="psst"), result()], CLAUDE)
    assert outline(out) == ["assistant:", "toolResult:t1:out", "user:psst"]


def test_orphan_result_becomes_text():
    """A result whose call was compacted away is told in words."""
    out = acceptable([CompactionSummaryMessage(summary="S"), result(), user("post")], CLAUDE)
    assert [m.role for m in out] == ["user", "user", "user"]
    assert text_of(out[1].content).endswith("out")


def test_second_result_for_a_call_is_dropped():
    """A call keeps its first result."""
    out = acceptable([answer(call()), result(text="one"), result(text="two")], CLAUDE)
    assert outline(out) == ["assistant:", "toolResult:t1:one"]


def test_failed_answers_go_with_their_results():
    """Aborted and failed answers are not shown to a model, nor the results of their calls."""
    out = acceptable(
        [user("go"), answer("par", call(), stop="aborted"), result(), answer(stop="error"), user("again")], CLAUDE
    )
    assert outline(out) == ["user:go", "user:again"]


# ---------------------------------------------------------------- ids


def test_same_id_in_two_answers_becomes_two_ids():
    """Servers that call every call "0" do not confuse the next provider."""
    out = acceptable(
        [answer(call("0"), model=GPT), result("0", "1"), answer(call("0"), model=GPT), result("0", "2")], CLAUDE
    )
    first, second = out[0].tool_calls[0].id, out[2].tool_calls[0].id
    assert first != second
    assert [(m.tool_call_id, text_of(m.content)) for m in out if m.role == "toolResult"] == [
        (first, "1"),
        (second, "2"),
    ]


def test_same_id_twice_in_one_answer():
    """Two calls of one answer with the same id get their results in order."""
    out = acceptable([answer(call("0"), call("0"), model=GPT), result("0", "1"), result("0", "2")], CLAUDE)
    ids = [c.id for c in out[0].tool_calls]
    assert len(set(ids)) == 2
    assert [(m.tool_call_id, text_of(m.content)) for m in out[1:]] == list(zip(ids, "12", strict=True))


def test_long_ids_that_agree_in_their_beginning_stay_apart():
    """Cutting ids to length never makes two the same."""
    ids = ["x" * 80 + "|1", "x" * 80 + "|2"]
    out = acceptable([answer(*map(call, ids), model=GPT), *map(result, ids)], CLAUDE)
    assert len({c.id for c in out[0].tool_calls}) == 2
    assert [c.id for c in out[0].tool_calls] == [m.tool_call_id for m in out[1:]]


def test_own_ids_stay():
    """A provider gets its own ids back, however odd."""
    responses = Model("openai", "gpt", api="openai-responses")
    out = acceptable([answer(call("call_a|fc_b+/="), model=responses), result("call_a|fc_b+/=")], responses)
    assert out[0].tool_calls[0].id == "call_a|fc_b+/="


def test_earlier_ids_do_not_change_as_a_conversation_grows():
    """The ids of a prefix are the prefix of the ids, so prompt caches stay good."""
    history = [m for n in range(6) for m in (answer(call("0"), model=GPT), result("0"))]
    whole = [m.tool_calls[0].id for m in acceptable(history, CLAUDE) if m.role == "assistant"]
    part = [m.tool_calls[0].id for m in acceptable(history[:6], CLAUDE) if m.role == "assistant"]
    assert whole[:3] == part


# ---------------------------------------------------------------- content


def test_thinking_of_another_model():
    """Foreign thinking is text, foreign secret thinking goes, signatures go."""
    blocks = [
        ThinkingContent(thinking="hm", thinking_signature="s"),
        ThinkingContent(thinking="", thinking_signature="s", redacted=True),
        TextContent(text="so", text_signature="x"),
    ]
    out = acceptable([answer(*blocks, model=GPT)], CLAUDE)
    assert out[0].content == (TextContent(text="hm"), TextContent(text="so"))


def test_own_thinking_stays_with_its_signature():
    """A model gets its own signed thoughts back, also those without text."""
    thought = ThinkingContent(thinking="", thinking_signature="s")
    assert acceptable([answer(thought, "so")], CLAUDE)[0].content[0] == thought


def test_a_thought_that_led_to_nothing_goes():
    """An answer of nothing but thinking is left out."""
    assert acceptable([user("a"), answer(ThinkingContent(thinking="hm", thinking_signature="s"))], CLAUDE) == (
        user("a"),
    )


def test_pictures_for_a_model_that_cannot_see():
    """A run of pictures is one line; results with nothing else say so too."""
    image = ImageContent(data="AAAA", mime_type="image/png")
    shown = UserMessage(content=(image, image, TextContent(text="look"), image))
    out = acceptable([shown, answer(call(), model=GPT), ToolResultMessage(tool_call_id="t1", content=(image,))], GPT)
    omitted = "(image omitted: model does not support images)"
    assert [b.text for b in out[0].content] == [omitted, "look", omitted]
    assert text_of(out[2].content) == "(tool image omitted: model does not support images)"


def test_pictures_nobody_can_read():
    """A picture of a type no provider takes becomes text even for a model that sees."""
    out = acceptable([UserMessage(content=(ImageContent(data="AA", mime_type="image/tiff"),))], CLAUDE)
    assert "image/tiff" in text_of(out[0].content)


def test_blank_and_unknown_content_goes():
    """Blank text, unknown blocks and messages with nothing else are left out; a result always says something."""
    out = acceptable(
        [user("  "), user("hi"), answer("\n", UnknownContent(type="new", x=1)), answer(call()), result(text=" ")],
        CLAUDE,
    )
    assert outline(out) == ["user:hi", "assistant:", "toolResult:t1:(no output)"]


def test_names_and_arguments_are_made_legal():
    """A hallucinated tool name and arguments that are no object do not break the next request."""
    odd = ToolCall(id="a", name="web.search!", arguments="[1")
    made = acceptable([answer(odd), result("a")], CLAUDE)[0].tool_calls[0]
    assert (made.name, made.arguments) == ("web_search_", {})


def test_framed_begins_and_ends_with_the_user():
    """A model answers, it does not begin, and it does not go on by itself."""
    assert [m.role for m in framed([answer("a")])] == ["user", "assistant", "user"]
    assert [m.role for m in framed([])] == ["user"]


def test_merged_users():
    """User messages in a row become one."""
    assert outline(merge_users([user("a"), user("b"), answer("c"), user("d")])) == [
        "user:a\n\nb",
        "assistant:c",
        "user:d",
    ]


# ---------------------------------------------------------------- everything at once

ids = st.sampled_from(["t1", "t2", "0", "", "call_a|fc_b", "x" * 70, "y" * 70 + "!", "é", "functions.ls:0"])
texts = st.sampled_from(["", " \n", "hello", "ü😀", "x" * 30])
images = st.builds(
    ImageContent, data=st.sampled_from(["", "AAAA"]), mime_type=st.sampled_from(["image/png", "image/bmp", ""])
)
text_blocks = st.builds(TextContent, text=texts)
signatures = st.sampled_from([None, "", "sig", "reasoning_content"])
thoughts = st.builds(
    ThinkingContent, thinking=texts, thinking_signature=signatures, redacted=st.sampled_from([None, True])
)
arguments = st.sampled_from([{}, {"a": 1}, None, "text", '{"a": 1}', [1], 7])
names = st.sampled_from(["bash", "", "a.b c", "n" * 99])
calls = st.builds(ToolCall, id=ids, name=names, arguments=arguments)
own_calls = st.builds(ToolCall, id=ids.filter(lambda name: len(name) <= 40), name=names, arguments=arguments)
unknown = st.just(UnknownContent(type="server_tool_use", id="x"))
origins = st.sampled_from(
    [CLAUDE, GPT, Model("anthropic", "other", api="anthropic-messages"), Model("x", "y", api="z")]
)
stops = st.sampled_from(["stop", "toolUse", "length", "error", "aborted", None])


@st.composite
def answers(draw):
    origin = draw(origins)
    kinds = st.one_of(text_blocks, thoughts, own_calls if origin is GPT else calls, unknown, images)
    content = draw(st.one_of(texts, st.lists(kinds, max_size=5)))
    return AssistantMessage(
        content=content if isinstance(content, str) else tuple(content),
        api=origin.api,
        provider=origin.provider,
        model=origin.id,
        stop_reason=draw(stops),
    )


mixed = st.one_of(texts, st.lists(st.one_of(text_blocks, images, unknown), max_size=4).map(tuple))
messages = st.one_of(
    st.builds(UserMessage, content=mixed),
    answers(),
    st.builds(ToolResultMessage, tool_call_id=ids, tool_name=st.sampled_from([None, "bash"]), content=mixed),
    st.builds(CustomMessage, custom_type=st.just("c"), content=mixed),
    st.builds(BashExecutionMessage, command=texts, output=texts),
    st.builds(CompactionSummaryMessage, summary=texts),
    st.just(UnknownMessage(role="future")),
)
TOOLS = (ToolSpec("bash", "run", {"type": "object", "properties": {}}),)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(messages, max_size=9), st.booleans())
def test_no_history_is_refused(history, vision):
    """Whatever the history, the strict doubles of both APIs find nothing to refuse."""
    claude = Model("anthropic", "claude-x", api="anthropic-messages", vision=vision, reasoning=True)
    gpt = Model("openai", "gpt", api="openai-completions", vision=vision)
    for provider, model, refusals in (
        (AnthropicProvider(), claude, anthropic_refusals),
        (OpenAIChatProvider(), gpt, openai_refusals),
        (OpenAIChatProvider("mistral"), gpt, openai_refusals),
        (OpenAIChatProvider("ollama"), gpt, openai_refusals),
    ):
        body = provider.payload(Request(model, tuple(history), system="S", tools=TOOLS))
        assert list(refusals(body)) == []


@settings(max_examples=100, deadline=None)
@given(st.lists(messages, max_size=8))
def test_acceptable_is_stable(history):
    """Making an acceptable history acceptable changes nothing, and the input is never touched."""
    before = [m.to_wire() for m in history]
    once = acceptable(history, CLAUDE)
    assert acceptable(once, CLAUDE) == once
    assert [m.to_wire() for m in history] == before


@settings(max_examples=100, deadline=None)
@given(st.lists(messages, max_size=8))
def test_what_is_not_sent_makes_no_difference(history):
    """Without the messages that are said to be left out, the provider gets the same."""
    unsent = sending(history, CLAUDE).unsent
    without = [m for place, m in enumerate(history) if "nothing in it" in unsent.get(place, "nothing in it")]
    assert acceptable(without, CLAUDE) == acceptable(history, CLAUDE)


def test_why_messages_are_not_sent_and_which_are_sent_as_one():
    """A stopped answer goes with the results of its calls; what stands around it may become one message."""
    history = [
        *(user("one"), answer("half", call("0"), stop="aborted"), result("0"), user("two")),
        *(answer("yes"), user("three"), answer("", stop="error"), user("four")),
    ]
    found = sending(history, CLAUDE)
    assert found.unsent == {1: "the answer was stopped", 2: "its call is not sent", 6: "the answer failed"}
    assert found.together == ((0, 3), (5, 7))
    assert [m.role for m in acceptable(history, CLAUDE)] == ["user", "user", "assistant", "user", "user"]
    assert sending([user("one"), answer("yes")], CLAUDE).together == ()


@pytest.mark.parametrize("count", [20_000])
def test_long_histories_take_linear_time(count):
    """Twenty thousand messages are no problem."""
    history = [
        m for n in range(count // 4) for m in (user("q"), answer(call("0"), model=GPT), result("0"), answer("a"))
    ]
    assert len(acceptable(history, CLAUDE)) == count

"""Messages are built from pieces, cheaply and only when asked for."""

from __future__ import annotations

from pi_nb.errors import ProviderError
from pi_nb.messages import TextContent, ThinkingContent, ToolCall, UnknownContent
from pi_nb.models import Model, Price
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.surrogates import well_formed

MODEL = Model("p", "m", api="a", price=Price(input=1, output=10, cache_read=0.1, cache_write=2))


def test_interleaved_blocks():
    """Several blocks may be open at once; each gets its own pieces."""
    builder = MessageBuilder(MODEL)
    first, second = builder.open("toolcall", id="a", name="f"), builder.open("toolcall", id="b", name="g")
    for index, delta in ((0, '{"p"'), (1, '{"q"'), (0, ":1}"), (1, ":2}")):
        assert builder.append(index, delta).delta == delta
    assert (first.index, second.index) == (0, 1)
    assert [call.arguments for call in builder.partial().tool_calls] == [{"p": 1}, {"q": 2}]


def test_partial_shows_what_has_arrived():
    """A call's cut arguments are shown repaired; earlier partials stay as they were."""
    builder = MessageBuilder(MODEL)
    builder.open("text")
    builder.append(0, "he")
    before = builder.partial()
    builder.append(0, "llo")
    builder.open("toolcall", id="a", name="write")
    builder.append(1, '{"path":"a.t')
    assert before.text == "he"
    assert builder.partial().content == (
        TextContent(text="hello"),
        ToolCall(id="a", name="write", arguments={"path": "a.t"}),
    )


def test_surrogate_pairs_are_joined():
    """Half a character waits for its other half; a half that stays alone is replaced."""
    builder = MessageBuilder(MODEL)
    builder.open("text")
    assert builder.append(0, "a\ud83d").delta == "a"
    assert builder.append(0, "\ude00b").delta == "😀b"
    assert builder.append(0, "\ud83d") is None
    builder.close(0)
    assert builder.message().text == "a😀b\ufffd"
    assert well_formed("x\udc00y") == "x\ufffdy"


def test_signatures_names_and_unknown_blocks():
    """What a provider says late is added; what nobody knows is kept."""
    builder = MessageBuilder(MODEL)
    builder.open("thinking")
    builder.sign(0, "ab")
    builder.sign(0, "cd")
    builder.keep({"type": "server_tool_use", "x": 1})
    builder.open("toolcall", arguments={"k": 1})
    builder.name_call(2, id="late", name="f")
    assert builder.message().content == (
        ThinkingContent(thinking="", thinking_signature="abcd"),
        UnknownContent(type="server_tool_use", x=1),
        ToolCall(id="late", name="f", arguments={"k": 1}),
    )


def test_a_damaged_call_makes_the_answer_cut():
    """An answer whose call is not whole ends as ``length``, so that nobody runs it."""
    builder = MessageBuilder(MODEL)
    builder.stop_reason = "toolUse"
    builder.open("toolcall", id="a", name="rm")
    builder.append(0, '{"path":"/tm')
    builder.mark_damaged()
    assert builder.message().stop_reason == "length"


def test_usage_has_a_price():
    """Tokens cost what the model's price says."""
    builder = MessageBuilder(MODEL)
    builder.count(input=1_000_000, output=100_000, cache_read=10, cache_write=None, reasoning=5)
    usage = builder.message().usage
    assert (usage.cost.input, usage.cost.output, usage.total_tokens, usage.reasoning) == (1, 1, 1_100_010, 5)


def test_failure_keeps_what_had_arrived():
    """The last event of a failed answer holds the text so far and the error."""
    builder = MessageBuilder(MODEL)
    builder.open("text")
    builder.append(0, "half")
    failed = builder.failed(ProviderError("gone", code="truncated", retryable=True))
    assert (failed.message.text, failed.message.stop_reason, failed.message.error_message) == ("half", "error", "gone")
    assert repr(builder) == "<MessageBuilder p:m blocks=[text] stop=error>"


def test_many_pieces_take_linear_time():
    """A hundred thousand pieces, looked at now and then, are joined once each."""
    builder = MessageBuilder(MODEL)
    builder.open("text")
    for number in range(100_000):
        builder.append(0, "piece ")
        if number % 5000 == 0:
            builder.partial()
    assert len(builder.message().text) == 600_000

import asyncio

import pytest

from pi_nb.errors import CompactionError, HarnessError
from pi_nb.harness.compaction import (
    CompactionResult,
    CompactionSettings,
    find_cut_point,
    prepare_compaction,
    should_compact,
)
from pi_nb.harness.conversation import conversation_text
from pi_nb.harness.estimate import estimate_context, estimate_tokens
from pi_nb.harness.hooks import CompactDecision
from pi_nb.harness.prompts import SPLIT_TURN_HEADING
from pi_nb.messages import (
    AssistantMessage,
    BashExecutionMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserMessage,
)
from pi_nb.models import Model
from pi_nb.providers.scripted import Reply
from pi_nb.session.entries import parse_entry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from tests.harness.bench import bench

KEEP = CompactionSettings(keep_recent_tokens=300)


def user(session, text="x" * 400):
    return session.append_message(UserMessage(content=text))


def answer(session, text="y" * 400, calls=(), usage=None):
    blocks = (TextContent(text=text), *calls)
    return session.append_message(
        AssistantMessage(content=blocks, provider="p", model="m", usage=usage, stop_reason="stop")
    )


def result(session, id, text="z" * 400):
    return session.append_message(
        ToolResultMessage(tool_call_id=id, tool_name="read", content=(TextContent(text=text),))
    )


def new():
    return Session(InMemorySessionStorage())


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (UserMessage(content="abcd"), 1),
        (UserMessage(content="abcde"), 2),
        (UserMessage(content="😀😀"), 1),
        (UserMessage(content="😀😀😀"), 2),
        (UserMessage(content=(ImageContent(data="A", mime_type="image/png"),)), 1_200),
        (AssistantMessage(content=(ThinkingContent(thinking="abcd"), TextContent(text="abcd"))), 2),
        (AssistantMessage(content=(ToolCall(id="1", name="ab", arguments={"é": [1, 2]}),)), 4),
        (BashExecutionMessage(command="abcd", output="efgh"), 2),
    ],
)
def test_a_guess_of_tokens(message, tokens):
    """A token is four UTF-16 units, an image 1,200 tokens, JSON is counted as short as it gets."""
    assert estimate_tokens(message) == tokens


def test_a_long_result_is_cut_where_javascript_would():
    """A summariser sees 2,000 UTF-16 units of a result, never half a character, and whole numbers without a point."""
    call = ToolCall(id="t", name="plot", arguments={"n": [2.0, 2.5, -0.0], "at": {"x": 3.0}})
    result = ToolResultMessage(
        tool_call_id="t", tool_name="plot", content=(TextContent(text="x" + "\U0001f600" * 1500),)
    )
    text = conversation_text([AssistantMessage(content=(call,)), result])
    assert text.startswith('[Assistant tool calls]: plot(n=[2,2.5,0], at={"x":3})\n\n[Tool result]: x')
    assert text.count("\U0001f600") == 999
    assert "\n\n[and 1001 more characters, left out]" in text


def test_an_estimate_begins_at_the_last_count():
    """What the provider counted is believed; what came after is guessed; failed answers count nothing."""
    session = new()
    user(session)
    answer(session, usage=Usage.of(input=1_000, output=10))
    user(session, "abcdefgh")
    session.append_message(AssistantMessage(stop_reason="error", usage=Usage.of(input=9_999)))
    estimate = estimate_context(session.context(), session.path())
    assert (estimate.tokens, estimate.usage_tokens, estimate.last_usage_index) == (1_012, 1_010, 1)


def test_the_cut_keeps_about_what_was_asked():
    """The cut lies before the newest message at which enough is kept."""
    session = new()
    ids = [append(session) for _ in range(4) for append in (user, answer)]
    cut = find_cut_point(session.path(), 0, 250)
    assert session.path()[cut.first_kept].id == ids[5]
    assert cut.turn_start == 4


def test_a_cut_never_parts_a_call_from_its_result():
    """A tool result is no place to cut; if only results are over the budget the last good place is used."""
    session = new()
    user(session)
    kept = answer(session, calls=[ToolCall(id="t", name="read", arguments={})])
    result(session, "t", "z" * 4_000)
    cut = find_cut_point(session.path(), 0, 300)
    assert session.path()[cut.first_kept].id == kept


def test_configuration_stays_with_what_follows_it():
    """Entries that are no messages, right before the cut, are kept with it."""
    session = new()
    for _ in range(3):
        user(session)
        answer(session)
    change = session.append_model_change("p", "m2")
    user(session)
    answer(session)
    cut = find_cut_point(session.path(), 0, 150)
    assert session.path()[cut.first_kept].id == change


def test_a_second_compaction_starts_where_the_first_kept():
    """The summary of before is brought up to date with what was kept then and is old now."""
    session = new()
    first = user(session, "old " * 100)
    answer(session)
    kept = user(session, "kept " * 80)
    answer(session)
    session.append_compaction("SUM", kept, 1_000, details={"readFiles": ["/r"], "modifiedFiles": ["/m"]})
    user(session, "new " * 300)
    answer(session)
    made = prepare_compaction(session.path(), session.context(), CompactionSettings(keep_recent_tokens=350))
    assert made.previous_summary == "SUM"
    assert [message.role for message in made.messages_to_summarize] == ["user", "assistant"]
    assert first not in [made.first_kept_entry_id]
    assert made.files.details == {"readFiles": ["/r"], "modifiedFiles": ["/m"]}


def test_an_edited_message_is_summarised_as_edited():
    """What an edit took out of the context does not come back through a summary."""
    session = new()
    secret = user(session, "secret " * 60)
    answer(session)
    user(session)
    answer(session)
    edit = {"type": "context_edit", "id": "feed0001", "parentId": session.leaf_id, "targetId": secret}
    session.storage.append(parse_entry({**edit, "timestamp": "2026-01-01T00:00:00.000Z", "replacement": None}))
    made = prepare_compaction(session.path(), session.context(), CompactionSettings(keep_recent_tokens=150))
    assert "secret" not in str(made.messages_to_summarize)


def test_the_threshold():
    """A context is compacted when less than the reserve is free; a small window reserves less."""
    settings = CompactionSettings()
    assert should_compact(111_617, 128_000, settings)
    assert not should_compact(111_616, 128_000, settings)
    assert not should_compact(5_000, 8_000, settings)
    assert should_compact(6_001, 8_000, settings)
    assert not should_compact(10**9, 128_000, CompactionSettings(auto=False))


def talking(*replies, rounds=4, **options):
    made = bench(*replies, compaction=KEEP, **options)
    for _ in range(rounds):
        user(made.session)
        answer(made.session)
    return made


def test_a_compaction_within_a_turn_makes_two_summaries():
    """The history and the beginning of the turn that is cut are summarised apart; tokens are added up."""
    made = talking(Reply("SUM", usage=Usage.of(input=10, output=2)), Reply("PRE", usage=Usage.of(input=5, output=1)))
    result_ = asyncio.run(made.harness.compact("the numbers"))
    assert result_.summary == f"SUM{SPLIT_TURN_HEADING}PRE"
    assert (result_.usage.input, result_.usage.output) == (15, 3)
    history, prefix = made.provider.requests
    assert "Pay special attention to: the numbers" in history.messages[0].content[0].text
    assert (history.max_tokens, prefix.max_tokens) == (13_107, 8_192)
    assert made.session.context().messages[0].summary == result_.summary
    assert made.types == ["session_compact"]


def test_nothing_to_compact_is_refused():
    """An empty session, one that was just compacted, and one that is all recent are refused without asking a model."""
    made = bench()
    with pytest.raises(CompactionError, match="nothing to compact"):
        asyncio.run(made.harness.compact())
    user(made.session)
    with pytest.raises(CompactionError, match="recent"):
        asyncio.run(made.harness.compact())
    assert made.provider.requests == []
    assert made.kinds() == ["user"]


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply("half a sum", stop_reason="length"), "cut off"),
        (Reply(""), "empty"),
        (Reply(error="no such model"), "no such model"),
    ],
)
def test_half_a_summary_is_an_error(reply, words):
    """A summary that is cut off, empty or failed writes nothing."""
    made = talking(reply)
    before = len(made.session)
    with pytest.raises(CompactionError, match=words):
        asyncio.run(made.harness.compact())
    assert len(made.session) == before
    assert made.harness.is_idle


def test_a_hook_may_stop_or_supply_a_compaction():
    """A hook's refusal is an error; its own summary is written as such; its exception is a hook error."""
    made = talking("never")
    kept = made.session.path()[4].id
    answers = iter([CompactDecision(cancel=True), CompactDecision(compaction=CompactionResult("MINE", kept, 7)), None])

    def decide(event):
        assert event.preparation.tokens_before == 800
        return next(answers)

    remove = made.harness.on("session_before_compact", decide)
    with pytest.raises(CompactionError, match="hook"):
        asyncio.run(made.harness.compact())
    assert asyncio.run(made.harness.compact()).summary == "MINE"
    assert made.session.entries()[-1].from_hook is True
    remove()
    user(made.session)
    made.harness.on("session_before_compact", lambda _event: 1 / 0)
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.compact())
    assert caught.value.code == "hook"
    assert made.harness.is_idle


def test_a_conversation_longer_than_the_window_is_shortened_for_the_summariser():
    """A small model gets the beginning and the end of what it cannot hold."""
    made = bench("SUM", "PRE", models=[Model("scripted", "one", context_window=2_000)])
    for _ in range(6):
        user(made.session, "w" * 4_000)
        answer(made.session, "v" * 4_000)
    asyncio.run(made.harness.compact())
    assert all(len(request.messages[0].content[0].text) < 8_000 for request in made.provider.requests)
    assert "characters left out" in made.provider.requests[0].messages[0].content[0].text


def test_what_was_set_meanwhile_is_written_after_the_compaction():
    """A setting made during a compaction is not lost."""
    made = talking(Reply("SUM", delay=0.03), "PRE")
    user(made.session)

    async def work():
        task = asyncio.create_task(made.harness.compact())
        await asyncio.sleep(0.01)
        assert made.harness.phase == "compaction"
        await made.harness.set_thinking_level("low")
        await task

    asyncio.run(work())
    assert made.kinds()[-2:] == ["compaction", "thinking_level_change"]

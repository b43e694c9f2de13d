import asyncio

import pytest

from pi_nb.errors import ProviderError
from pi_nb.harness.compaction import CompactionSettings
from pi_nb.harness.retry import RetryPolicy
from pi_nb.harness.tools import tool
from pi_nb.messages import AssistantMessage, TextContent, Usage, UserMessage
from pi_nb.models import Model
from pi_nb.providers.scripted import Reply
from tests.harness.bench import OVERFLOW, OVERLOADED, bench, calling, refusals

WINDOW = [Model("scripted", "one", context_window=10_000)]
SMALL = CompactionSettings(keep_recent_tokens=300)
BROKEN = ProviderError("it broke", code="truncated", retryable=True)


def rate_limited(seconds):
    return ProviderError("slow down", code="rate_limit", status=429, retryable=True, retry_after=seconds)


@pytest.mark.parametrize(
    ("error", "attempt", "delay"),
    [
        (OVERLOADED, 1, 2.0),
        (OVERLOADED, 2, 4.0),
        (OVERLOADED, 3, 8.0),
        (OVERLOADED, 9, 30.0),
        (rate_limited(5), 1, 5),
        (rate_limited(0), 1, 0),
        (rate_limited(86_400), 1, 30.0),
        (rate_limited(-3), 1, 2.0),
    ],
)
def test_delays(error, attempt, delay):
    """Delays double up to a limit; what the provider asks for is honoured up to the same limit."""
    policy = RetryPolicy(base_delay=2.0, max_delay=30.0, jitter=0)
    assert policy.delay(error, attempt) == delay


def test_jitter_shortens_a_delay():
    """The random part is taken off, so that many clients do not come back at once."""
    assert RetryPolicy(base_delay=4.0, jitter=0.25, random=lambda: 1.0).delay(OVERLOADED, 1) == 3.0


@pytest.mark.parametrize(
    ("error", "attempt", "allowed"),
    [
        (OVERLOADED, 1, True),
        (OVERLOADED, 2, True),
        (OVERLOADED, 3, False),
        (ProviderError("400", status=400), 1, False),
    ],
)
def test_only_what_may_pass_is_tried_again(error, attempt, allowed):
    """The provider says what may pass; the number of tries is limited."""
    assert RetryPolicy(max_attempts=3).allows(error, attempt) is allowed


def test_a_failed_try_leaves_nothing_behind():
    """Tries that failed before anything was shown are told as retries and leave no message."""
    made = bench(Reply(error=OVERLOADED), Reply(error=rate_limited(0)), "Hello.")
    answer = asyncio.run(made.harness.prompt("go"))
    assert answer.text == "Hello."
    assert made.said() == ["user: go", "assistant: Hello."]
    assert [e for e in made.types if e.startswith("retry")] == ["retry_start", "retry_start", "retry_end"]
    begun = [e for e in made.events if e.type == "retry_start"]
    assert [(e.attempt, e.max_attempts, e.error) for e in begun] == [(2, 3, "overloaded"), (3, 3, "slow down")]
    assert [e.success for e in made.events if e.type == "retry_end"] == [True]


def test_the_last_failure_is_the_answer():
    """When all tries have failed the answer says why, in one message."""
    made = bench(*[Reply(error=OVERLOADED)] * 3, "Fine.")
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.stop_reason, answer.error_message) == ("error", "overloaded")
    assert made.kinds() == ["user", "assistant"]
    assert [e.success for e in made.events if e.type == "retry_end"] == [False]
    assert asyncio.run(made.harness.prompt("again")).text == "Fine."


def test_an_answer_that_breaks_off_is_asked_for_again():
    """Of a try that broke nothing is in the session; subscribers are told that what they saw is void."""
    made = bench(Reply("Half an ans", error=BROKEN), "A whole answer.")
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.text, answer.stop_reason) == ("A whole answer.", "stop")
    assert made.said() == ["user: go", "assistant: A whole answer."]
    assert made.kinds() == ["user", "assistant"]
    told = [t for t in made.types if t.startswith(("message", "retry"))][2:]
    assert told == ["message_start", "retry_start", "message_start", "retry_end", "message_end"]
    assert [e.success for e in made.events if e.type == "retry_end"] == [True]


def test_the_last_half_is_kept_when_the_tries_are_used_up():
    """A provider that dies each time leaves what it said last, with the reason, once; the next prompt works."""
    halves = [Reply(text, error=BROKEN) for text in ("One", "Two", "Three")]
    made = bench(*halves, "Fine.")
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.text, answer.stop_reason, answer.error_message) == ("Three", "error", "it broke")
    assert made.said() == ["user: go", "assistant: Three"]
    assert [e.success for e in made.events if e.type == "retry_end"] == [False]
    ends = [e for e in made.events if e.type == "message_end" and e.message.role == "assistant"]
    assert [(e.message.text, str(e.error)) for e in ends] == [("Three", "it broke")]
    assert refusals(made.session) == []
    assert asyncio.run(made.harness.prompt("again")).text == "Fine."


def test_a_half_outlives_tries_that_say_nothing():
    """A provider that dies for good after its first try: what that try said is kept, with the last reason."""
    made = bench(Reply("Half", error=BROKEN), *[Reply(error=OVERLOADED)] * 2)
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.text, answer.stop_reason, answer.error_message) == ("Half", "error", "overloaded")
    assert made.types.count("retry_start") == 2
    assert made.kinds() == ["user", "assistant"]


async def aborted_at(made, moment):
    """Prompt, abort when an event is set, and return the answer."""
    task = asyncio.create_task(made.harness.prompt("go"))
    await asyncio.wait_for(moment.wait(), 10)
    await made.harness.abort()
    return await task


def test_a_half_outlives_an_abort_between_tries():
    """Aborted while another try is waited for, the answer is what was shown, and says that it was aborted."""
    made = bench(Reply("Half", error=BROKEN), "never", retry=RetryPolicy(base_delay=60, jitter=0))
    waiting = asyncio.Event()
    made.harness.subscribe(lambda event: waiting.set() if event.type == "retry_start" else None)
    answer = asyncio.run(aborted_at(made, waiting))
    assert (answer.text, answer.stop_reason) == ("Half", "aborted")
    assert made.said() == ["user: go", "assistant: Half"]
    assert refusals(made.session) == []


def test_calls_of_a_broken_try_are_not_run():
    """A tool call that was complete before its answer broke off is run only if the next try makes it too."""
    ran = []

    @tool
    async def note(text: str) -> str:
        """Note."""
        ran.append(text)
        return text

    broken = Reply(calling(("note", {"text": "first"})).content, error=BROKEN)
    made = bench(broken, calling(("note", {"text": "second"})), "Done.", tools=[note])
    assert asyncio.run(made.harness.prompt("go")).text == "Done."
    assert ran == ["second"]
    assert made.kinds() == ["user", "assistant", "toolResult", "assistant"]


def test_what_will_not_pass_keeps_its_half_at_once():
    """An answer that broke for good reason is not asked for again."""
    made = bench(Reply("Half", error=ProviderError("no", code="content_filter")), "never")
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.text, answer.stop_reason) == ("Half", "error")
    assert len(made.provider.requests) == 1


def test_an_overflow_in_the_middle_of_an_answer():
    """What was shown is void, the conversation is compacted, and the whole answer is asked for again."""
    made = bench(Reply("Half", error=OVERFLOW), "SUMMARY", "PREFIX", "Hello.", compaction=SMALL)
    talk(made)
    assert asyncio.run(made.harness.prompt("go")).text == "Hello."
    assert [t for t in made.types if t.startswith("retry")] == ["retry_start", "retry_end"]
    assert made.kinds()[-3:] == ["user", "compaction", "assistant"]


def test_an_abort_while_room_is_made():
    """An abort in the compaction after an overflow gives an aborted answer; nothing was compacted."""
    asked = asyncio.Event()

    def summarise(_request):
        asked.set()
        return Reply("x", delay=30)

    made = bench(Reply(error=OVERFLOW), summarise, compaction=SMALL)
    talk(made)
    assert asyncio.run(aborted_at(made, asked)).stop_reason == "aborted"
    assert "compaction" not in made.kinds()


def test_waits_of_summaries_are_told():
    """A summary that is asked for again says so, like an answer."""
    made = bench(Reply(error=OVERLOADED), "SUMMARY", "PREFIX", compaction=SMALL)
    talk(made)
    asyncio.run(made.harness.compact())
    assert made.types == ["retry_start", "retry_end", "session_compact"]
    assert [e.success for e in made.events if e.type == "retry_end"] == [True]


def test_one_try_means_one():
    """A policy of one try never repeats."""
    made = bench(Reply(error=OVERLOADED), "never", retry=RetryPolicy(max_attempts=1))
    assert asyncio.run(made.harness.prompt("go")).stop_reason == "error"
    assert len(made.provider.requests) == 1


# ---------------------------------------------------------------- a context that is too long


def talk(made, rounds=4, words=50):
    """Write a conversation into the session."""
    for number in range(rounds):
        made.session.append_message(UserMessage(content=f"question {number} " * words))
        made.session.append_message(
            AssistantMessage(
                content=(TextContent(text=f"answer {number} " * words),),
                provider="scripted",
                model="one",
                usage=Usage.of(),
            )
        )


def test_an_overflow_is_compacted_once_and_tried_again():
    """A context that the provider finds too long is compacted, visibly, and the question is asked again."""
    made = bench(Reply(error=OVERFLOW), "SUMMARY", "PREFIX", "Hello.", compaction=SMALL)
    talk(made)
    answer = asyncio.run(made.harness.prompt("go"))
    assert answer.text == "Hello."
    assert made.types.count("session_compact") == 1
    assert made.kinds()[-3:] == ["user", "compaction", "assistant"]
    assert made.session.context().messages[0].role == "compactionSummary"


def test_a_second_overflow_is_the_answer():
    """If compacting did not help, the provider's words are the answer."""
    made = bench(Reply(error=OVERFLOW), "SUMMARY", "PREFIX", Reply(error=OVERFLOW), "never", compaction=SMALL)
    talk(made)
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.stop_reason, answer.error_message) == ("error", "prompt is too long")
    assert made.types.count("session_compact") == 1


def test_an_overflow_with_nothing_to_compact():
    """A prompt that is itself too long gives the provider's words, and a notice says why nothing was compacted."""
    made = bench(Reply(error=OVERFLOW), "never")
    answer = asyncio.run(made.harness.prompt("go"))
    assert answer.error_message == "prompt is too long"
    assert "nothing to compact" in made.harness.notices[-1]


def test_an_answer_cut_before_its_first_word_counts_as_an_overflow():
    """A limit that leaves no room for an answer is an overflow too."""
    made = bench(Reply((), stop_reason="length"), "SUMMARY", "PREFIX", "Hello.", compaction=SMALL)
    talk(made)
    assert asyncio.run(made.harness.prompt("go")).text == "Hello."


def cut(text):
    """Return a reply whose provider counts more than fits into the window."""
    return Reply(text, usage=Usage.of(input=10_500, output=10, cache_read=100))


def test_a_conversation_that_was_cut_without_a_word():
    """An answer to more than fits was given to a part of it: room is made, and it is asked for again, once."""
    made = bench(cut("To a part."), "SUMMARY", "PREFIX", cut("To the whole."), models=WINDOW, compaction=SMALL)
    talk(made)
    assert asyncio.run(made.harness.prompt("go")).text == "To the whole."
    assert made.kinds()[-3:] == ["user", "compaction", "assistant"]
    assert [t for t in made.types if t.startswith("retry")] == ["retry_start", "retry_end"]


def test_a_prompt_that_is_cut_keeps_its_answer():
    """If there is nothing to leave out the answer counts as it is."""
    made = bench(cut("To a part."), models=WINDOW)
    assert asyncio.run(made.harness.prompt("go")).text == "To a part."
    assert made.kinds() == ["user", "assistant"]
    assert "nothing to compact" in made.harness.notices[-1]


def full(text):
    """Return a reply whose provider counts a nearly full window."""
    return Reply(text, usage=Usage.of(input=9_000, output=100))


def test_a_nearly_full_window_is_compacted_after_the_turn():
    """When a turn leaves too little room, the session is compacted before the run ends, and it is told."""
    made = bench(full("Hello."), "SUMMARY", "PREFIX", models=WINDOW, compaction=SMALL)
    talk(made)
    asyncio.run(made.harness.prompt("go"))
    assert made.types[-4:] == ["save_point", "session_compact", "agent_end", "settled"]
    assert made.kinds()[-1] == "compaction"


def test_stale_usage_does_not_compact_again():
    """What a provider counted before a compaction does not cause another one."""
    made = bench(full("Hello."), "SUMMARY", "PREFIX", "Short.", models=WINDOW, compaction=SMALL)
    talk(made)
    asyncio.run(made.harness.prompt("go"))
    asyncio.run(made.harness.prompt("on"))
    assert made.types.count("session_compact") == 1


def test_compacting_by_itself_can_be_turned_off():
    """Without it a full window is the user's business."""
    made = bench(full("Hello."), models=WINDOW, compaction=CompactionSettings(auto=False, keep_recent_tokens=300))
    talk(made)
    asyncio.run(made.harness.prompt("go"))
    assert "compaction" not in made.kinds()


def test_a_compaction_that_fails_does_not_fail_the_run():
    """The run ends well, a notice says what failed, and it is not tried after every turn."""
    made = bench(full("Hello."), Reply(error="no"), models=WINDOW, compaction=SMALL)
    talk(made)
    answer = asyncio.run(made.harness.prompt("go"))
    assert answer.text == "Hello."
    assert made.harness.notices == ["The compaction failed: no"]
    assert made.harness.is_idle

import asyncio
from dataclasses import replace

import pytest

from pi_nb.errors import HarnessError, UserError
from pi_nb.harness.branch_summary import BranchSummary
from pi_nb.harness.compaction import CompactionResult, CompactionSettings
from pi_nb.harness.hooks import AgentStartPatch, CompactDecision, ToolCallDecision, ToolResultPatch, TreeDecision
from pi_nb.harness.tools import ToolResult, tool
from pi_nb.messages import CustomMessage, TextContent
from tests.harness.bench import bench, calling, refusals


@tool
async def echo(text: str) -> ToolResult:
    """Say it again."""
    return ToolResult(f"echo: {text}", {"len": len(text)})


def ran(*replies, hooks=(), **options):
    made = bench(*(replies or ("Done.",)), **options)
    for name, handler in hooks:
        made.harness.on(name, handler)
    made.answer = asyncio.run(made.harness.prompt("go"))
    return made


def test_a_hook_may_add_messages_and_replace_the_system_prompt():
    """Messages are written after the prompt; the system prompt holds for the whole run and no longer."""
    note = CustomMessage(custom_type="note", content="by the way")

    def start(event):
        assert (event.prompt, event.system_prompt) == ("go", "Be brief.")
        return AgentStartPatch([note], "Be long.")

    made = bench(calling(("echo", {"text": "a"})), "b", "c", tools=[echo], system_prompt="Be brief.")
    remove = made.harness.on("before_agent_start", start)
    asyncio.run(made.harness.prompt("go"))
    remove()
    asyncio.run(made.harness.prompt("on"))
    assert [request.system for request in made.provider.requests] == ["Be long.", "Be long.", "Be brief."]
    assert made.kinds()[:2] == ["user", "custom"]


def test_the_context_can_be_changed_for_a_request():
    """Handlers are chained; what is sent changes, what is written does not."""
    made = ran(
        hooks=[
            ("context", lambda event: [*event.messages, CustomMessage(custom_type="x", content="one")]),
            ("context", lambda event: [*event.messages, CustomMessage(custom_type="x", content="two")]),
        ]
    )
    assert [message.content for message in made.provider.requests[0].messages[1:]] == ["one", "two"]
    assert made.kinds() == ["user", "assistant"]


def test_a_request_can_be_changed():
    """A handler returns the request to make instead."""
    made = ran(hooks=[("before_provider_request", lambda event: replace(event.request, max_tokens=7))])
    assert made.provider.requests[0].max_tokens == 7


def test_one_refusal_is_enough_to_block_a_call():
    """If one handler blocks a call it is not run, whatever the others say, and the model is told why."""
    calls = []

    @tool
    async def note(text: str) -> str:
        """Note."""
        calls.append(text)
        return text

    made = ran(
        calling(("note", {"text": "a"}), ("note", {"text": "b"})),
        "Done.",
        tools=[note],
        hooks=[
            ("tool_call", lambda call: ToolCallDecision(call.input["text"] == "a", "not this one")),
            ("tool_call", lambda _call: ToolCallDecision(False)),
        ],
    )
    assert calls == ["b"]
    assert made.said()[2:4] == ["toolResult: not this one", "toolResult: b"]


def test_a_result_can_be_changed():
    """Patches are chained; what they do not name stays."""

    def first(event):
        assert (event.is_error, event.details) == (False, {"len": 1})
        return ToolResultPatch(content=(TextContent(text="better"),))

    def second(event):
        assert event.content == (TextContent(text="better"),)
        return ToolResultPatch(is_error=True)

    made = ran(
        calling(("echo", {"text": "a"})), "Done.", tools=[echo], hooks=[("tool_result", first), ("tool_result", second)]
    )
    result = made.session.context().messages[2]
    assert (result.content, result.is_error, result.details) == ((TextContent(text="better"),), True, {"len": 1})


def test_a_result_can_end_the_run():
    """A patch may say that the model need not see the result."""
    made = ran(
        calling(("echo", {"text": "a"})),
        "never",
        tools=[echo],
        hooks=[("tool_result", lambda _event: ToolResultPatch(terminate=True))],
    )
    assert made.kinds() == ["user", "assistant", "toolResult"]
    assert made.answer.stop_reason == "toolUse"


@pytest.mark.parametrize("hook", ["context", "before_provider_request"])
def test_a_hook_that_raises_fails_the_run(hook):
    """The run ends with a message that says what was wrong, and the harness works again."""
    made = bench("Fine.")

    async def explode(_event):
        raise ValueError("boom")

    remove = made.harness.on(hook, explode)
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.stop_reason, answer.error_message) == ("error", "boom")
    remove()
    assert asyncio.run(made.harness.prompt("again")).text == "Fine."


def test_a_start_hook_that_raises_begins_nothing():
    """The prompt raises, nothing is written, and what waited for it waits on."""
    made = bench("Fine.")

    async def work():
        await made.harness.next_turn("before")
        remove = made.harness.on("before_agent_start", lambda _event: 1 / 0)
        with pytest.raises(HarnessError) as caught:
            await made.harness.prompt("go")
        assert caught.value.code == "hook"
        assert made.kinds() == []
        assert made.harness.is_idle
        remove()
        await made.harness.prompt("again")

    asyncio.run(work())
    assert made.said() == ["user: before", "user: again", "assistant: Fine."]


@pytest.mark.parametrize("hook", ["tool_call", "tool_result"])
def test_a_tool_hook_that_raises_fails_the_call(hook):
    """A broken approval does not let a call through; the model sees an error."""
    made = ran(calling(("echo", {"text": "a"})), "Done.", tools=[echo], hooks=[(hook, lambda _event: 1 / 0)])
    result = made.session.context().messages[2]
    assert result.is_error
    assert result.content[0].text == "division by zero"
    assert made.answer.text == "Done."


def test_an_answer_of_the_wrong_kind_is_an_error():
    """A handler that returns something else is told so; a forgotten class does not silently allow a call."""
    made = ran(calling(("echo", {"text": "a"})), "Done.", tools=[echo], hooks=[("tool_call", lambda _event: True)])
    assert "returned a bool" in made.session.context().messages[2].content[0].text


def test_an_unknown_hook_is_refused():
    """A misspelt hook is an error at once, with the names there are."""
    with pytest.raises(UserError) as caught:
        bench().harness.on("tool_cal", print)
    assert "tool_call" in caught.value.hint


@pytest.mark.parametrize(
    "name", ["before_agent_start", "context", "before_provider_request", "tool_call", "tool_result"]
)
def test_a_hook_may_abort_the_run(name):
    """The prompt returns an aborted answer; the caller, who was not cancelled, is not told that it was."""
    made = bench(calling(("echo", {"text": "a"})), "Never.", "Next.", tools=[echo])

    async def stop(event):
        await made.harness.abort()

    async def play():
        remove = made.harness.on(name, stop)
        first = await made.harness.prompt("go")
        remove()
        return first, await made.harness.prompt("again")

    first, second = asyncio.run(play())
    assert first.stop_reason == "aborted"
    assert second.stop_reason == "stop"
    assert refusals(made.session) == []


@pytest.mark.parametrize("name", ["context", "before_provider_request"])
def test_a_hook_whose_own_work_is_cancelled_fails_the_run(name):
    """A cancellation inside a hook is its failure, not the end of whoever prompts."""

    async def wait(event):
        work = asyncio.ensure_future(asyncio.sleep(60))
        work.cancel()
        await work

    made = ran(hooks=[(name, wait)])
    assert (made.answer.stop_reason, made.answer.error_message) == ("error", "CancelledError")
    assert made.types[-1] == "settled"


@pytest.mark.parametrize("content", [5, [1], [{"type": "text"}], object()])
def test_a_result_is_not_changed_into_none(content):
    """A patch that is no content fails the call, and the model is told."""
    patch = ToolResultPatch(content=content)
    made = ran(calling(("echo", {"text": "a"})), "Done.", tools=[echo], hooks=[("tool_result", lambda event: patch)])
    assert made.answer.text == "Done."
    assert "cannot be given to a model" in made.said()[2]


def test_a_text_as_changed_content_is_one_block_for_the_next_hook():
    """Several hooks see what the one before made of a result, as blocks."""
    seen = []
    patch = ToolResultPatch(content="patched")
    hooks = [("tool_result", lambda event: patch), ("tool_result", lambda event: seen.append(event.content))]
    ran(calling(("echo", {"text": "a"})), "Done.", tools=[echo], hooks=hooks)
    assert seen == [(TextContent(text="patched"),)]


@pytest.mark.parametrize("patch", [AgentStartPatch(5), AgentStartPatch([1]), AgentStartPatch((), 5)])
def test_a_run_does_not_begin_with_what_is_no_message(patch):
    """It is an error of the hook, and the harness is idle."""
    made = bench("Done.")
    made.harness.on("before_agent_start", lambda event: patch)
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.prompt("go"))
    assert (caught.value.code, made.harness.phase) == ("hook", "idle")


def test_a_reason_that_is_no_text():
    """It is told as text."""
    no = ToolCallDecision(True, 5)
    made = ran(calling(("echo", {"text": "a"})), "Done.", tools=[echo], hooks=[("tool_call", lambda event: no)])
    assert made.said()[2:] == ["toolResult: 5", "assistant: Done."]


@pytest.mark.parametrize(
    "decision", [TreeDecision(label=5), TreeDecision(summary=5), TreeDecision(summary=BranchSummary(5))]
)
def test_a_move_is_not_made_with_what_is_no_summary_or_label(decision):
    """It is an error of the hook before anything is written."""
    made = ran()
    made.harness.on("session_before_tree", lambda event: decision)
    before = len(made.session)
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.navigate_tree(None, summarize=True))
    assert (caught.value.code, made.harness.phase, len(made.session)) == ("hook", "idle", before)


@pytest.mark.parametrize("compaction", [5, CompactionResult(5, None, 1)])
def test_a_compaction_is_not_made_of_what_is_no_summary(compaction):
    """It is an error of the hook before anything is written."""
    made = ran("Done. " * 200, compaction=CompactionSettings(keep_recent_tokens=1))
    made.harness.on("session_before_compact", lambda event: CompactDecision(compaction=compaction))
    before = len(made.session)
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.compact())
    assert (caught.value.code, made.harness.phase, len(made.session)) == ("hook", "idle", before)


async def late(answer):
    """Return an answer a moment later."""
    await asyncio.sleep(0)
    return answer


def test_what_several_hooks_add_before_a_run_is_added_in_their_order():
    """Synchronous or not, each sees the system prompt as the one before left it, and all their messages are written."""

    def first(event):
        return AgentStartPatch([CustomMessage(custom_type="x", content="one")], f"{event.system_prompt} One.")

    async def second(event):
        return await late(
            AgentStartPatch([CustomMessage(custom_type="x", content="two")], event.system_prompt + " Two.")
        )

    hooks = [("before_agent_start", hook) for hook in (first, lambda _event: None, second, lambda _event: late(None))]
    made = ran(hooks=hooks, system_prompt="Zero.")
    assert made.provider.requests[0].system == "Zero. One. Two."
    assert [m.content for m in made.provider.requests[0].messages[1:]] == ["one", "two"]


def test_requests_and_results_go_through_all_hooks():
    """What one makes the next one sees, synchronous or not."""

    async def louder(event):
        return await late(ToolResultPatch(content=f"{event.content[0].text}!"))

    made = ran(
        calling(("echo", {"text": "a"})),
        "Done.",
        tools=[echo],
        hooks=[
            ("before_provider_request", lambda event: replace(event.request, max_tokens=7)),
            (
                "before_provider_request",
                lambda event: late(replace(event.request, max_tokens=event.request.max_tokens + 1)),
            ),
            ("context", lambda event: late([*event.messages, CustomMessage(custom_type="x", content="one")])),
            ("context", lambda event: event.messages[:1] + event.messages[-1:]),
            ("tool_result", louder),
            ("tool_result", louder),
        ],
    )
    assert [request.max_tokens for request in made.provider.requests] == [8, 8]
    assert [len(request.messages) for request in made.provider.requests] == [2, 2]
    assert made.said()[2] == "toolResult: echo: a!!"


@pytest.mark.parametrize("order", [1, -1])
def test_one_hook_is_enough_to_stop_a_move_or_a_compaction(order):
    """Whoever cancels decides, before or after others that do not."""
    compact = [lambda _event: CompactDecision(cancel=True), lambda _event: late(CompactDecision())][::order]
    move = [lambda _event: late(TreeDecision(cancel=True)), lambda _event: TreeDecision(label="here")][::order]
    made = ran(
        "One.", hooks=[("session_before_compact", h) for h in compact] + [("session_before_tree", h) for h in move]
    )
    with pytest.raises(HarnessError, match="cancelled by a hook"):
        asyncio.run(made.harness.compact())
    assert asyncio.run(made.harness.navigate_tree(None)).cancelled


def test_what_several_hooks_say_of_a_move_counts_together():
    """A label of one and a summary of another are both used; of two labels the later one."""
    hooks = [
        lambda _event: TreeDecision(label="first"),
        lambda _event: late(TreeDecision(summary=BranchSummary("B"))),
        lambda _event: TreeDecision(label="second"),
    ]
    made = ran("One.", hooks=[("session_before_tree", hook) for hook in hooks])
    moved = asyncio.run(made.harness.navigate_tree(None, summarize=True))
    assert moved.summary_entry.summary == "B"
    assert made.session.labels == {moved.summary_entry.id: "second"}


def test_listeners_may_be_synchronous_or_not():
    """Each is done with an event before the next one hears of it, and before the run goes on."""
    made = bench("Hello.")
    heard = []

    async def slow(event):
        await asyncio.sleep(0.001)
        heard.append(("slow", event.type))

    made.harness.subscribe(slow)
    made.harness.subscribe(lambda event: heard.append(("quick", event.type)))
    asyncio.run(made.harness.prompt("go"))
    types = [event.type for event in made.events]
    assert heard == [pair for name in types for pair in (("slow", name), ("quick", name))]

import asyncio
import json

import pytest

from pi_nb.errors import HarnessError, SessionError
from pi_nb.harness.tools import ToolResult, tool
from pi_nb.messages import AssistantMessage, TextContent, UserMessage
from pi_nb.models import Model
from pi_nb.providers.scripted import Reply
from pi_nb.session.refs import resolve_ref
from pi_nb.session.repo import SessionRepo
from tests.harness.bench import PICTURE, bench, calling, refusals


@tool
async def echo(text: str) -> str:
    """Say it again."""
    return f"echo: {text}"


def test_a_prompt_is_answered():
    """The last answer comes back, and question and answer are in the session."""
    made = bench("Hello.")
    answer = asyncio.run(made.harness.prompt("Hi"))
    assert answer.text == "Hello."
    assert made.said() == ["user: Hi", "assistant: Hello."]
    assert made.harness.phase == "idle"


@pytest.mark.parametrize("nothing", ["", " \n", (), (TextContent(text="  "),)])
def test_an_empty_prompt_is_refused(nothing):
    """Nothing is asked, nothing is written, and the harness stays idle."""
    made = bench("Hello.")
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.prompt(nothing))
    assert caught.value.code == "invalid_argument"
    assert (made.said(), made.harness.phase) == ([], "idle")


def test_the_three_lifecycles_are_nested():
    """A run holds turns, a turn holds messages, and settled comes last."""
    made = bench(calling(("echo", {"text": "a"})), "Done.", tools=[echo])
    asyncio.run(made.harness.prompt("go"))
    assert made.types == [
        "agent_start",
        *("turn_start", "message_start", "message_end"),
        *("after_provider_response", "message_start", "message_end"),
        *("tool_execution_start", "tool_execution_end", "message_start", "message_end", "turn_end", "save_point"),
        *("turn_start", "after_provider_response", "message_start", "message_end", "turn_end", "save_point"),
        *("agent_end", "settled"),
    ]


def test_a_message_is_on_disk_before_its_end_is_told(tmp_path):
    """Whoever hears of a message's end finds it in the file, under the id the event names."""
    made = bench(calling(("echo", {"text": "a"})), "Done.", tools=[echo], folder=tmp_path)
    missing = []

    def look(event):
        if event.type == "message_end":
            lines = [json.loads(line) for line in made.session.file.read_text().splitlines()]
            if lines[-1]["id"] != event.entry_id or lines[-1]["message"] != event.message.to_wire():
                missing.append(event)

    made.harness.subscribe(look)
    asyncio.run(made.harness.prompt("go"))
    made.session.close()
    assert missing == []
    assert made.kinds() == ["user", "assistant", "toolResult", "assistant"]


def test_images_and_blocks_are_sent():
    """A prompt may be blocks of text and images, and have images added."""
    made = bench("Seen.")
    asyncio.run(made.harness.prompt([TextContent(text="look"), PICTURE], images=[PICTURE]))
    assert made.provider.requests[0].messages[0].content == (TextContent(text="look"), PICTURE, PICTURE)


def test_a_request_holds_what_the_harness_was_given():
    """System prompt, active tools, thinking level and session id are in the request."""
    made = bench("x", tools=[echo], system_prompt="Be brief.", thinking_level="high")
    asyncio.run(made.harness.prompt("go"))
    request = made.provider.requests[0]
    assert (request.system, request.thinking_level, request.session_id) == ("Be brief.", "high", made.session.id)
    assert [(t.name, t.description) for t in request.tools] == [("echo", "Say it again.")]


def test_a_failed_provider_is_an_answer():
    """A provider's failure does not raise: the answer has it, and the next prompt works."""
    made = bench(Reply("par", error="bad gateway"), "Fine.")
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.text, answer.stop_reason, answer.error_message) == ("par", "error", "bad gateway")
    assert asyncio.run(made.harness.prompt("again")).text == "Fine."
    assert refusals(made.session) == []


class Broken:
    """A provider that breaks its promise and raises in the middle of an answer."""

    name = "scripted"

    def __init__(self, inner):
        self.inner = inner

    def model(self, model_id):
        return Model("scripted", model_id)

    async def stream(self, request):
        async for event in self.inner.stream(request):
            if event.type == "text_end":
                raise ValueError("no such key")
            yield event


def test_a_provider_that_raises_keeps_what_had_arrived():
    """The partial answer is kept with one clear line, and the harness is idle."""
    made = bench("Half an answer", "Fine.")
    made.harness._config.registry.register(Broken(made.provider))
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.text, answer.stop_reason) == ("Half an answer", "error")
    assert answer.error_message == "ValueError: no such key"
    assert made.harness.is_idle
    made.harness._config.registry.register(made.provider)
    assert asyncio.run(made.harness.prompt("again")).text == "Fine."


class Cancelling(Broken):
    """A provider in which something is cancelled, though nobody cancelled the run."""

    async def stream(self, request):
        async for event in self.inner.stream(request):
            if event.type == "text_end":
                raise asyncio.CancelledError
            yield event


def test_a_provider_that_cancels_itself_is_an_answer_too():
    """Whoever prompts is not told that they were cancelled; what had arrived is kept."""
    made = bench("Half an answer")
    made.harness._config.registry.register(Cancelling(made.provider))
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.text, answer.stop_reason) == ("Half an answer", "error")
    assert made.types[-1] == "settled"


class Clinging(Broken):
    """A provider whose stream cannot be closed."""

    def stream(self, request):
        events = self.inner.stream(request)

        class Stream:
            def __aiter__(self):
                return self

            async def __anext__(self):
                return await anext(events)

            async def aclose(self):
                await events.aclose()
                raise ValueError("closed already")

        return Stream()


def test_an_answer_is_not_lost_to_a_stream_that_cannot_be_closed():
    """The whole answer had arrived."""
    made = bench("All of it.")
    made.harness._config.registry.register(Clinging(made.provider))
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.text, answer.stop_reason) == ("All of it.", "stop")


def test_an_unknown_provider_is_an_answer_too():
    """A model whose provider is gone gives an error answer, not an exception."""
    made = bench(model=Model("nowhere", "m"))
    answer = asyncio.run(made.harness.prompt("go"))
    assert answer.stop_reason == "error"
    assert "nowhere" in answer.error_message


def test_a_second_prompt_is_refused_while_one_runs():
    """Prompts, moves and compactions need an idle harness."""
    made = bench(Reply("x", delay=0.05))

    async def work():
        running = asyncio.create_task(made.harness.prompt("go"))
        await asyncio.sleep(0)
        for attempt in (made.harness.prompt("b"), made.harness.compact(), made.harness.navigate_tree(None)):
            with pytest.raises(HarnessError) as caught:
                await attempt
            assert caught.value.code == "busy"
        await running

    asyncio.run(work())
    assert made.said() == ["user: go", "assistant: x"]


def test_two_prompts_at_the_same_moment():
    """Of two prompts begun together one runs and one is refused, also when the leaf was moved before."""
    made = bench("a", "b", "c")

    async def work():
        await made.harness.prompt("first")
        made.session.move_to(None)
        outcomes = await asyncio.gather(made.harness.prompt("x"), made.harness.prompt("y"), return_exceptions=True)
        assert [getattr(o, "code", "ok") for o in outcomes] == ["ok", "busy"]

    asyncio.run(work())
    assert made.said() == ["user: x", "assistant: b"]


def test_a_run_ends_after_its_last_turn():
    """The limit of turns ends a run with a note, and the session can go on."""
    made = bench(*[calling(("echo", {"text": "a"}))] * 3, "Done.", tools=[echo], max_turns=2)
    answer = asyncio.run(made.harness.prompt("go"))
    assert answer.stop_reason == "error"
    assert "2 turns" in answer.error_message
    assert len(made.provider.requests) == 2
    assert refusals(made.session) == []
    made.harness.max_turns = 50
    assert asyncio.run(made.harness.prompt("on")).text == "Done."


def test_settings_take_effect_and_are_written_when_the_turn_ends():
    """What is set during a turn is told at once, written after the turn's results, and used by the next turn."""
    made = bench(
        calling(("echo", {"text": "a"})),
        "Done.",
        tools=[echo],
        models=[Model("scripted", "one"), Model("scripted", "two")],
    )

    async def change(event):
        if event.type == "tool_execution_start":
            await made.harness.set_model("scripted:two")
            await made.harness.set_thinking_level("low")
            await made.harness.set_active_tools([])
            await made.harness.append_message(UserMessage(content="by the way"))

    made.harness.subscribe(change)
    asyncio.run(made.harness.prompt("go"))
    assert made.kinds() == [
        *("user", "assistant", "toolResult"),
        *("model_change", "thinking_level_change", "active_tools_change", "user", "assistant"),
    ]
    first, second = made.provider.requests
    assert (first.model.id, second.model.id, second.thinking_level, second.tools) == ("one", "two", "low", ())
    saves = [event.had_pending_mutations for event in made.events if event.type == "save_point"]
    assert saves == [True, False]


def test_settings_are_written_at_once_when_idle():
    """An idle harness writes what is set at once; wrong values change nothing."""
    made = bench(tools=[echo])

    async def work():
        await made.harness.set_thinking_level("high")
        for wrong in (
            made.harness.set_thinking_level("loud"),
            made.harness.set_active_tools(["nosuch"]),
            made.harness.set_active_tools(["echo", "echo"]),
            made.harness.set_tools([echo, echo]),
        ):
            with pytest.raises(HarnessError) as caught:
                await wrong
            assert caught.value.code == "invalid_argument"

    asyncio.run(work())
    assert made.kinds() == ["thinking_level_change"]
    assert made.harness.thinking_level == "high"


def test_a_subscriber_that_raises_fails_the_run():
    """The run ends with a message that says what was wrong; the harness is idle and works again."""
    made = bench(calling(("echo", {"text": "a"})), "Fine.", tools=[echo])

    def explode(event):
        if event.type == "tool_execution_end":
            raise ValueError("boom")

    stop = made.harness.subscribe(explode)
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.stop_reason, answer.error_message) == ("error", "boom")
    assert made.harness.is_idle
    stop()
    assert asyncio.run(made.harness.prompt("again")).text == "Fine."
    assert refusals(made.session) == []


def test_a_subscriber_that_always_raises_cannot_keep_the_harness_busy():
    """Even if telling of the failure fails, the failure is written and the harness is idle."""
    made = bench("x", "y")

    def explode(_event):
        raise ValueError("boom")

    stop = made.harness.subscribe(explode)
    answer = asyncio.run(made.harness.prompt("go"))
    assert answer.error_message == "boom"
    assert made.harness.is_idle
    stop()
    assert asyncio.run(made.harness.prompt("again")).stop_reason == "stop"


def test_every_subscriber_hears_an_event_even_if_one_raises():
    """The first subscriber's exception does not keep the others from hearing."""
    made = bench("x")
    heard = []
    made.harness._listeners._listeners.clear()
    made.harness.subscribe(lambda _event: 1 / 0)
    made.harness.subscribe(lambda event: heard.append(event.type))
    asyncio.run(made.harness.prompt("go"))
    assert heard[0] == "agent_start"


def test_a_session_that_cannot_be_written_is_an_error(tmp_path):
    """A failing disk raises with the session's words, and the harness is idle."""
    made = bench("x", folder=tmp_path)
    made.session.close()
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.prompt("go"))
    assert caught.value.code == "session"
    assert isinstance(caught.value.__cause__, SessionError)
    assert made.harness.is_idle


def test_a_reopened_session_goes_on(tmp_path):
    """Model, thinking level and tools of a reopened session are those of its branch."""
    models = [Model("scripted", "one"), Model("scripted", "two")]
    made = bench("a", models=models, folder=tmp_path, tools=[echo])

    async def work():
        await made.harness.set_model("scripted:two")
        await made.harness.set_thinking_level("low")
        await made.harness.set_active_tools([])
        await made.harness.prompt("hi")

    asyncio.run(work())
    made.session.close()
    with SessionRepo(tmp_path).open(made.session.file) as session:
        again = bench("b", models=models, session=session, tools=[echo])
        assert (str(again.harness.model), again.harness.thinking_level) == ("scripted:two", "low")
        assert again.harness.active_tool_names == ()
        assert asyncio.run(again.harness.prompt("on")).text == "b"
        assert again.said() == ["user: hi", "assistant: a", "user: on", "assistant: b"]


def test_a_new_session_names_its_model_with_the_first_answer():
    """Nothing is written for a model that was merely given; the first answer names it, as in pi."""
    made = bench("a")
    asyncio.run(made.harness.prompt("hi"))
    assert made.kinds() == ["user", "assistant"]
    assert str(made.session.context().model) == "scripted:one"


def test_labels_written_meanwhile_stay_on_the_line():
    """A label given during a run does not tear the conversation apart."""
    made = bench(calling(("echo", {"text": "a"})), "Done.", tools=[echo])

    def label(event):
        if event.type == "tool_execution_start":
            made.session.append_label(made.session.entries()[0].id, "start")

    made.harness.subscribe(label)
    asyncio.run(made.harness.prompt("go"))
    assert made.said() == ["user: go", "assistant: ", "toolResult: echo: a", "assistant: Done."]
    assert len(made.session.branches()) == 1


def test_application_fields_are_written_beside_the_prompt():
    """Fields an application gives are on the prompt's entry only."""
    made = bench("a")
    asyncio.run(made.harness.prompt("hi", extra={"cell": "c-1"}))
    assert [entry.to_wire().get("cell") for entry in made.session.entries()] == ["c-1", None]


def test_no_model_is_a_clear_error():
    """Without any model a prompt says so and writes nothing."""
    made = bench(model=None)
    assert made.harness.model is None or str(made.harness.model).startswith("scripted:")
    made.harness._config.model = None
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.prompt("go"))
    assert caught.value.code == "invalid_state"
    assert made.harness.is_idle
    assert made.kinds() == []


def test_the_repr_shows_the_state():
    """The representation says what the harness is doing, with which model, on which session."""
    made = bench()
    assert repr(made.harness) == f"<AgentHarness idle model=scripted:one session={made.session.id[-8:]}>"


def test_a_thinking_level_the_model_has_not_is_told_once():
    """Which level is used instead stands in the notices, once for all runs."""
    made = bench("One.", "Two.")

    async def run():
        await made.harness.set_model(Model("scripted", "m", reasoning=True, thinking_levels=("low", "high")))
        await made.harness.set_thinking_level("xhigh")
        await made.harness.prompt("go")
        await made.harness.prompt("go on")

    asyncio.run(run())
    assert made.harness.notices == ["scripted:m has no thinking level xhigh; it thinks high."]


def _endless() -> ToolResult:
    details: list = []
    details.append(details)
    return ToolResult("fine", details=details)


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (ToolResult(5), "cannot be given to a model"),
        (ToolResult(None), "cannot be given to a model"),
        (ToolResult([1, None]), "cannot be given to a model"),
        (ToolResult([TextContent.model_construct(text=None)]), "cannot be given to a model"),
        (ToolResult(["a", {"type": "text", "text": "b"}]), "ab"),
        (_endless(), "fine"),
        (b"bytes", "cannot be given to a model"),
    ],
)
def test_whatever_a_tool_returns_the_call_has_a_result(value, told):
    """What is no content is an error the model is told of; the other calls have their results, and the run goes on."""

    @tool
    async def odd() -> object:
        """Return something."""
        return value

    made = bench(calling(("odd", {}), ("echo", {"text": "a"})), "Done.", tools=[odd, echo])
    assert asyncio.run(made.harness.prompt("go")).text == "Done."
    assert told in made.said()[2]
    assert made.said()[3] == "toolResult: echo: a"


class Unspeakable(Exception):
    """An exception that cannot even be written."""

    def __str__(self):
        raise ValueError("no words")


@pytest.mark.parametrize("how", ["unspeakable", "cancels itself", "exits"])
def test_however_a_tool_fails_the_call_has_a_result(how):
    """The failure stays with the call; whoever prompts is not cancelled."""

    @tool
    async def odd() -> str:
        """Fail."""
        if how == "unspeakable":
            raise Unspeakable
        if how == "exits":
            raise SystemExit(1)
        asyncio.current_task().cancel()
        await asyncio.sleep(60)
        return "never"

    made = bench(calling(("odd", {}), ("echo", {"text": "a"})), "Done.", tools=[odd, echo])
    assert asyncio.run(made.harness.prompt("go")).text == "Done."
    results = [m for m in made.session.context().messages if m.role == "toolResult"]
    assert [m.is_error for m in results] == [True, False]


def test_a_subscriber_whose_own_work_is_cancelled_fails_the_run():
    """That is its failure; the run ends in order and is settled."""

    async def listen(event):
        if event.type == "turn_start":
            work = asyncio.ensure_future(asyncio.sleep(60))
            work.cancel()
            await work

    made = bench("Done.")
    made.harness.subscribe(listen)
    answer = asyncio.run(made.harness.prompt("go"))
    assert (answer.stop_reason, answer.error_message) == ("error", "CancelledError")
    assert made.types[-1] == "settled"


def long_session(folder, rounds=300):
    with SessionRepo(folder).create(str(folder)) as session:
        for number in range(rounds):
            session.append_message(UserMessage(content=f"question {number}"))
            content = (TextContent(text=f"answer {number}"),)
            session.append_message(AssistantMessage(content=content, provider="scripted", model="one"))
        return session.file


def test_a_request_does_not_wait_for_old_messages_to_be_read(tmp_path):
    """A long session's first request is made before its messages are read; whoever looks at them finds them all."""
    read = []

    def answer(request):
        read.append(len(made.session.storage._cache))
        return str(len(tuple(request.messages)))

    with SessionRepo(tmp_path).open(long_session(tmp_path)) as session:
        made = bench(answer, session=session)
        assert asyncio.run(made.harness.prompt("go")).text == "601"
    assert read[0] < 20


def test_a_move_reads_no_more_than_what_it_leaves(tmp_path):
    """A step back in a long session, named by a count, does not wait for the messages that stay on the path."""
    with SessionRepo(tmp_path).open(long_session(tmp_path)) as session:
        made = bench("Hello.", session=session)
        asyncio.run(made.harness.navigate_tree(resolve_ref(session, "@~2")))
        read = len(session.storage._cache)
        assert len(session.context().messages) == 596
    assert read < 20


def test_old_messages_can_be_read_ahead(tmp_path):
    """While nobody says anything they are read a few at a time; a prompt that comes meanwhile is not kept."""
    with SessionRepo(tmp_path).open(long_session(tmp_path)) as session:
        made = bench("Hello.", session=session)

        async def work():
            reading = asyncio.create_task(made.harness.read_ahead())
            await asyncio.sleep(0)
            answer = await made.harness.prompt("go")
            await asyncio.wait_for(reading, 10)
            await made.harness.read_ahead()
            return answer

        assert asyncio.run(work()).text == "Hello."
        assert len(session.storage._cache) >= 600
        assert len(made.provider.requests[0].messages) == 601

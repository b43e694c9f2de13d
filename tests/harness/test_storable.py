import asyncio
import dataclasses
import json
import math

import pytest
from pydantic import BaseModel

from pi_nb.errors import HarnessError
from pi_nb.harness.branch_summary import BranchSummary
from pi_nb.harness.compaction import CompactionResult
from pi_nb.harness.hooks import AgentStartPatch, CompactDecision, ToolResultPatch, TreeDecision
from pi_nb.harness.storable import storable
from pi_nb.harness.tools import ToolResult, tool
from pi_nb.harness.totals import session_totals
from pi_nb.messages import Cost, CustomMessage, TextContent, Usage
from pi_nb.providers.scripted import Reply
from pi_nb.session.repo import SessionRepo
from tests.harness.bench import bench, calling, refusals

NAN, INF = math.nan, math.inf
ODD = Usage(input=NAN, output=INF, total_tokens=NAN, cost=Cost(total=NAN), reasoning=3)


class Point(BaseModel):
    x: float


@dataclasses.dataclass
class Place:
    y: float


def reopened(made):
    """Return the messages of a session's file, every line of it strict JSON."""
    file = made.session.file
    made.session.close()
    for line in file.read_text(encoding="utf-8").splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} in the file"))
    with SessionRepo(file.parent.parent).open(file) as session:
        assert session.warnings == ()
        assert refusals(session) == []
        return session.context().messages


def around(value):
    """Return a value that holds itself."""
    value["self"] = value
    return value


DEEP = {"loss": NAN, "best": [INF, -INF, 1.5], "deep": {"a": (NAN, 2)}}


@pytest.mark.parametrize(
    ("details", "kept"),
    [
        (DEEP, {"loss": None, "best": [None, None, 1.5], "deep": {"a": [None, 2]}}),
        (NAN, None),
        ({"p": NAN, "of": Point(x=INF)}, {"p": None, "of": {"x": None}}),
    ],
)
def test_details_of_a_tool_with_numbers_that_are_none(tmp_path, details, kept):
    """NaN and infinities in details are null in the file; the result stays what it was for the model."""

    @tool
    def train() -> ToolResult:
        """Train."""
        return ToolResult("trained", details)

    made = bench(calling(("train", {})), "Done.", tools=[train], folder=tmp_path)
    assert asyncio.run(made.harness.prompt("go")).text == "Done."
    result = reopened(made)[2]
    assert (result.content[0].text, result.is_error, result.details) == ("trained", False, kept)


@pytest.mark.parametrize(("value", "text"), [(NAN, "NaN"), ({"a": [INF]}, '{"a": [Infinity]}')])
def test_json_results_with_numbers_that_are_none(tmp_path, value, text):
    """A tool may return NaN: the model reads the word."""

    @tool
    def measure() -> object:
        """Measure."""
        return value

    made = bench(calling(("measure", {})), "Done.", tools=[measure], folder=tmp_path)
    asyncio.run(made.harness.prompt("go"))
    result = reopened(made)[2]
    assert (result.content[0].text, result.is_error) == (text, False)


def test_usage_with_numbers_that_are_none(tmp_path):
    """What a provider counts wrongly counts as nothing; the answer is written, and the next one too."""
    made = bench(Reply("One.", usage=ODD), Reply("Two.", usage=Usage.of(input=2, output=1)), folder=tmp_path)

    async def work():
        return [await made.harness.prompt("go"), await made.harness.prompt("on")]

    one, two = asyncio.run(work())
    assert (one.text, one.usage.input, one.usage.cost.total, two.text) == ("One.", 0, 0, "Two.")
    ends = [e.message for e in made.events if e.type == "message_end" and e.message.role == "assistant"]
    assert ends[0] == one
    assert session_totals(made.session).tokens == 3
    assert reopened(made)[1].usage.total_tokens == 0


def test_arguments_with_numbers_that_are_none(tmp_path):
    """A call whose arguments no file can hold is written without them."""

    @tool
    async def echo(x: float) -> str:
        """Say it."""
        return str(x)

    made = bench(calling(("echo", {"x": NAN})), "Done.", tools=[echo], folder=tmp_path)
    assert asyncio.run(made.harness.prompt("go")).text == "Done."
    assert reopened(made)[1].tool_calls[0].arguments == {"x": None}


def test_what_hooks_and_applications_bring(tmp_path):
    """Messages, patches and fields of others are kept as well as a file can hold them."""
    note = CustomMessage(
        custom_type="n", content="note", details={"x": NAN, "o": object(), "p": [Point(x=1), Place(2)]}
    )

    @tool
    async def echo(text: str) -> str:
        """Say it."""
        return text

    made = bench(calling(("echo", {"text": "a"})), "Done.", tools=[echo], folder=tmp_path)
    made.harness.on("before_agent_start", lambda _event: AgentStartPatch([note]))
    made.harness.on("tool_result", lambda _event: ToolResultPatch(details={"y": INF}))
    assert asyncio.run(made.harness.prompt("go", extra={"piNb": {"z": NAN}})).text == "Done."
    assert made.session.entries()[0].model_extra == {"piNb": {"z": None}}
    messages = reopened(made)
    assert messages[1].details["x"] is None
    assert messages[1].details["p"] == [{"x": 1.0}, {"y": 2}]
    assert messages[3].details == {"y": None}


def test_summaries_of_hooks(tmp_path):
    """A compaction and a branch summary that a hook supplies are written, whatever their details."""
    made = bench("One.", folder=tmp_path)

    async def work():
        await made.harness.prompt("go")
        first = made.session.entries()[0].id
        compaction = CompactionResult("S", first, NAN, {"x": INF}, ODD)
        made.harness.on("session_before_compact", lambda _event: CompactDecision(compaction=compaction))
        made.harness.on("session_before_tree", lambda _event: TreeDecision(summary=BranchSummary("B", {"x": NAN}, ODD)))
        await made.harness.compact()
        await made.harness.navigate_tree(None, summarize=True)

    asyncio.run(work())
    assert made.kinds()[-3:] == ["compaction", "leaf", "branch_summary"]
    assert reopened(made)[0].summary == "B"


def test_what_cannot_be_written_for_other_reasons_is_told(tmp_path):
    """Cleaning is no cure for a file that somebody else has replaced."""
    made = bench("One.", "Two.", folder=tmp_path)
    asyncio.run(made.harness.prompt("go"))
    made.session.file.write_text("something else\n")
    with pytest.raises(HarnessError) as caught:
        asyncio.run(made.harness.prompt("on"))
    assert caught.value.code == "session"
    assert made.harness.is_idle


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({1: {2}, None: (True,)}, {"1": [2], "None": [True]}),
        (TextContent(text="x"), {"type": "text", "text": "x"}),
        (around({}), {"repr": "{'self': {...}}"}),
    ],
)
def test_storable(value, plain):
    """Everything has a form that JSON can hold."""
    assert storable(value) == plain

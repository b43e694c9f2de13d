import asyncio
import enum
import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from pi_nb.errors import ToolError
from pi_nb.harness.signatures import read_docstring
from pi_nb.harness.tools import FunctionTool, Tool, ToolContext, ToolResult, spec_of, to_result, tool
from pi_nb.messages import ImageContent, TextContent
from tests.harness.bench import PICTURE, bench, calling


def text_of(result):
    return "".join(block.text for block in result.blocks)


def call(made, **args):
    return asyncio.run(made.run(args))


def run_in_harness(made, **args):
    b = bench(calling((made.name, args)), "Done.", tools=[made])
    asyncio.run(b.harness.prompt("go"))
    return next(message for message in b.session.context().messages if message.role == "toolResult")


class Unit(enum.Enum):
    METRE = "m"
    FOOT = "ft"


@tool
def area(width: float, height: float = 1.0, unit: Unit = Unit.METRE) -> str:
    """Compute an area.

    The result is text.

    Args:
        width: How wide,
            in units.
        height (float): How high.
        unit: Of length.

    Returns:
        The area.
    """
    return f"{width * height:g} {unit.value}²"


def test_the_schema_comes_from_hints_and_docstring():
    """Types, defaults, enums and descriptions are in the schema, and nothing the model need not know."""
    assert spec_of(area).parameters == {
        "type": "object",
        "required": ["width"],
        "properties": {
            "width": {"type": "number", "description": "How wide, in units."},
            "height": {"type": "number", "default": 1.0, "description": "How high."},
            "unit": {"$ref": "#/$defs/Unit", "default": "m", "description": "Of length."},
        },
        "$defs": {"Unit": {"type": "string", "enum": ["m", "ft"]}},
    }
    assert (area.name, area.description) == ("area", "Compute an area.\n\nThe result is text.")


def test_a_parameter_called_title_is_kept():
    """Only the titles that are invented for a schema are left out."""

    @tool
    def book(title: str) -> str:
        """Book."""
        return title

    assert book.parameters["properties"] == {"title": {"type": "string"}}


def test_a_tool_is_still_its_function():
    """Calling a tool calls the function, and it looks like what it is."""
    assert area(2, 3) == "6 m²"
    assert repr(area) == "<FunctionTool area>"
    assert isinstance(area, Tool)
    assert isinstance(area, FunctionTool)


def test_arguments_become_what_the_function_wants():
    """Enums, dates, models and numbers in strings arrive in the function's own types."""

    class Point(BaseModel):
        x: int
        y: int = 0

    @tool
    def visit(point: Point, when: date, unit: Unit, kind: Literal["a", "b"], many: Sequence[int] = ()) -> str:
        """Visit."""
        assert isinstance(point, Point)
        assert isinstance(when, date)
        return f"{point.x} {when.year} {unit.name} {kind} {list(many)}"

    given = {"point": {"x": "4"}, "when": "2026-01-02", "unit": "ft", "kind": "a", "many": ["1", 2]}
    assert text_of(call(visit, **given)) == "4 2026 FOOT a [1, 2]"


def test_annotated_limits_are_enforced():
    """Limits in the type hints are checked, and the model is told which was broken."""

    @tool
    def roll(sides: Annotated[int, Field(ge=2, description="How many sides.")]) -> int:
        """Roll."""
        return sides

    assert roll.parameters["properties"]["sides"] == {"type": "integer", "minimum": 2, "description": "How many sides."}
    with pytest.raises(ToolError, match="at least 2"):
        call(roll, sides=1)


def test_the_context_is_not_for_the_model():
    """A parameter for the context is filled in and not in the schema."""

    @tool
    async def where(ctx: ToolContext, name: str = "x") -> str:
        """Where."""
        return f"{name} {ctx.call_id} {ctx.session is not None} {ctx.signal.aborted}"

    assert list(where.parameters["properties"]) == ["name"]
    assert text_of(call(where)) == "x  False False"
    assert run_in_harness(where, name="y").content[0].text == "y c1 True False"


def test_an_optional_context_works_too():
    """The context may be annotated as optional, so that the function can be called by hand."""

    @tool
    def plain(text: str, ctx: ToolContext | None = None) -> str:
        """Plain."""
        return f"{text} {ctx is not None}"

    assert plain("a") == "a False"
    assert text_of(call(plain, text="a")) == "a True"


def test_a_synchronous_function_runs_in_a_thread_of_its_own():
    """It may block without stopping the event loop, and sees the context variables of the run."""

    @tool
    def thread() -> str:
        """Thread."""
        return threading.current_thread().name

    assert text_of(call(thread)) == "tool thread"


@dataclass
class Row:
    name: str
    size: int


class Shape(BaseModel):
    sides: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (None, ""),
        (3, "3"),
        (True, "true"),
        ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
        ([Row("a", 1)], '[{"name": "a", "size": 1}]'),
        (Shape(sides=3), '{"sides": 3}'),
        ({1, 2}, "[1, 2]"),
        (TextContent(text="block"), "block"),
        ([TextContent(text="a"), "b"], "ab"),
        (["a", "b"], '["a", "b"]'),
        (ToolResult("mine", {"d": 1}), "mine"),
    ],
)
def test_results(value, text):
    """Text stays text; JSON, dataclasses and models become JSON; blocks stay blocks."""
    assert text_of(to_result(value)) == text


def test_an_image_is_a_result():
    """An image, or images between texts, reach the model as such."""

    @tool
    def picture() -> list[str | ImageContent]:
        """Picture."""
        return ["Here:", PICTURE]

    assert run_in_harness(picture).content == (TextContent(text="Here:"), PICTURE)


@pytest.mark.parametrize("value", [object(), {"a": object()}, b"bytes", lambda: None])
def test_what_is_no_result_is_an_error(value):
    """Something that is neither text nor JSON is an error result, not an exception."""

    @tool
    def odd() -> object:
        """Odd."""
        return value

    message = run_in_harness(odd)
    assert message.is_error
    assert "cannot be given to a model" in message.content[0].text


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolError("no such file"), "no such file"),
        (KeyError("x"), "KeyError: 'x'"),
        (SystemExit(3), "SystemExit: 3"),
        (StopIteration(1), "StopIteration: 1"),
    ],
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_whatever_a_tool_raises_is_an_error_result(kind, error, text):
    """Exceptions of all kinds become error results; a tool's own are told in its words."""

    @tool(name="bad")
    def sync() -> str:
        """Bad."""
        raise error

    @tool(name="bad")
    async def asynchronous() -> str:
        """Bad."""
        raise error

    message = run_in_harness(sync if kind == "sync" else asynchronous)
    assert message.is_error
    assert text.partition(":")[0] in message.content[0].text


def test_a_tool_that_cancels_itself_is_an_error_result():
    """A cancellation from within a tool does not pass for an abort of the run."""

    @tool
    async def lost() -> str:
        """Lost."""
        raise asyncio.CancelledError

    message = run_in_harness(lost)
    assert message.is_error


def test_a_limit_of_time():
    """A tool that takes too long fails, and the run goes on."""

    @tool(timeout=0.02)
    async def slow() -> str:
        """Slow."""
        await asyncio.sleep(30)
        return "x"

    message = run_in_harness(slow)
    assert message.content[0].text == "Stopped: it took longer than 0.02 seconds."


def test_options_of_the_decorator():
    """Name and description can be given, and calls can be made one after another."""

    @tool(name="other", description="Said otherwise.", sequential=True)
    def f(x: int) -> int:
        return x

    assert (f.name, f.description, f.sequential) == ("other", "Said otherwise.", True)


@pytest.mark.parametrize(
    "source", ["def f(x): ...", "def f(*xs: int): ...", "def f(x: int, /): ...", "def f(**xs: int): ..."]
)
def test_a_function_that_cannot_be_a_tool(source):
    """Parameters without a hint, or that cannot be given by name, are refused when the tool is made."""
    names = {}
    exec(source, names)
    with pytest.raises(TypeError, match="parameter"):
        tool(names["f"])


def test_updates_are_told_while_a_tool_runs():
    """A tool says how far it is, from its thread too, and all is told before its end."""

    @tool
    def work(ctx: ToolContext) -> str:
        """Work."""
        for step in range(3):
            ctx.update(f"step {step}")
        return "done"

    made = bench(calling(("work", {})), "Done.", tools=[work])
    asyncio.run(made.harness.prompt("go"))
    told = [e.partial_result.blocks[0].text for e in made.events if e.type == "tool_execution_update"]
    assert told == ["step 0", "step 1", "step 2"]
    types = [t for t in made.types if t.startswith("tool")]
    assert types == ["tool_execution_start", *["tool_execution_update"] * 3, "tool_execution_end"]


def test_details_that_json_cannot_hold_do_not_break_the_session():
    """Details of any kind are kept as well as a session file can hold them."""

    @tool
    def odd() -> ToolResult:
        """Odd."""
        return ToolResult("x", {"thing": object()})

    assert "object object" in run_in_harness(odd).details["thing"]


def test_a_tool_may_bring_its_own_executor():
    """``run`` may return any awaitable, such as a future that somebody else completes."""

    class Remote:
        name = "remote"
        description = "Runs elsewhere."

        @property
        def parameters(self):
            return {"type": "object", "properties": {"n": {"type": "integer"}}}

        def run(self, args, ctx):
            loop = asyncio.get_running_loop()
            future = loop.create_future()
            threading.Thread(target=lambda: loop.call_soon_threadsafe(future.set_result, args["n"] + 1)).start()
            return future

    assert run_in_harness(Remote(), n="41").content[0].text == "42"


def test_a_broken_schema_is_an_error_result():
    """A tool whose schema makes no sense fails its calls, not the run."""

    class Odd:
        name = "odd"
        description = "Odd."

        @property
        def parameters(self):
            return {"type": "object", "properties": {"n": {"type": "string", "pattern": "("}}}

        async def run(self, args, ctx):
            return "x"

    message = run_in_harness(Odd(), n="41")
    assert message.is_error


def test_docstrings_of_other_shapes():
    """A missing docstring, one line, and sections before the arguments are all read."""

    def none():
        pass

    def sections():
        """Summary.

        Returns:
            x: not an argument.

        Args:
            *items: All of them.
            b: Two: colons.
        """

    assert read_docstring(none) == ("", {})
    assert read_docstring(sections) == ("Summary.", {"items": "All of them.", "b": "Two: colons."})


def test_a_schema_is_json():
    """What is sent to a provider is plain JSON."""
    json.dumps(area.parameters)

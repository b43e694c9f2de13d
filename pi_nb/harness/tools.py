"""What a model may call: the tool protocol, and ``@tool`` to make one from a typed function.

    >>> @tool
    ... def add(a: float, b: float) -> float:
    ...     '''Add two numbers.
    ...
    ...     Args:
    ...         a: The first.
    ...         b: The second.
    ...     '''
    ...     return a + b

The JSON schema comes from the type hints, the descriptions from the docstring. A parameter annotated
:class:`ToolContext` is not shown to the model; it receives the context of the call. Asynchronous functions run on the
harness's event loop, others in a thread of their own.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload, runtime_checkable

from pydantic import BaseModel, ValidationError

from pi_nb.errors import ToolError
from pi_nb.harness.arguments import fit_arguments
from pi_nb.harness.listeners import told
from pi_nb.harness.signals import AbortSignal
from pi_nb.harness.signatures import Signature, read_signature
from pi_nb.harness.threads import in_thread
from pi_nb.messages import ImageContent, TextContent, Value
from pi_nb.providers.base import ToolSpec

if TYPE_CHECKING:
    from pi_nb.session.tree import Session

__all__ = ["FunctionTool", "Tool", "ToolContext", "ToolResult", "spec_of", "to_result", "tool"]

ResultBlock: TypeAlias = TextContent | ImageContent


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool call gave.

    Attributes:
        content: What the model sees; a string is one text block.
        details: For people and views; any JSON, never sent to a model.
        is_error: True if the call failed.
        terminate: True to end the run after this turn, if all its calls say so.
    """

    content: str | Sequence[ResultBlock] = ()
    details: Any = None
    is_error: bool = False
    terminate: bool = False

    @property
    def blocks(self) -> tuple[ResultBlock, ...]:
        """The content as blocks."""
        return (TextContent(text=self.content),) if isinstance(self.content, str) else tuple(self.content)

    @classmethod
    def error(cls, text: str) -> ToolResult:
        """Return a failed result that says why."""
        return cls((TextContent(text=text),), {}, is_error=True)


def _ignore(_partial: Any) -> None:
    pass


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a running tool knows of its call.

    Attributes:
        call_id: The model's id of the call.
        signal: Given when the run is aborted; a tool that goes on is cancelled shortly after.
        update: Call it, from any thread, with a text, JSON or :class:`ToolResult` to say how far the work is.
        session: The session of the run; None in a tool that is called by hand.
        cwd: Directory the session belongs to.
    """

    call_id: str = ""
    signal: AbortSignal = dataclasses.field(default_factory=AbortSignal)
    update: Callable[[Any], None] = _ignore
    session: Session | None = None
    cwd: str = "."


@runtime_checkable
class Tool(Protocol):
    """Something a model may call. ``run`` may return any awaitable, so a tool may bring its own executor.

    Optional attributes, looked up by name: ``sequential`` (True: no other call runs beside it), ``timeout`` (seconds),
    ``keep`` (``head`` or ``tail``: which end of an oversized result is kept).
    """

    @property
    def name(self) -> str:
        """What the model calls it."""
        ...

    @property
    def description(self) -> str:
        """What it does, for the model."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """JSON schema of the arguments, an object."""
        ...

    def run(self, args: dict[str, Any], ctx: ToolContext) -> Awaitable[Any]:
        """Do it. The arguments fit the schema; anything :func:`to_result` takes may come back; raising is failing."""
        ...


def spec_of(tool: Tool) -> ToolSpec:
    """Return the tool as a model sees it."""
    return ToolSpec(tool.name, tool.description, tool.parameters)


@dataclass(frozen=True)
class FunctionTool:
    """A function as a tool. Calling it calls the function.

    Attributes:
        function: What it runs; synchronous functions run in a thread.
        sequential: True if no other call may run beside it.
        timeout: Seconds until the call fails, or None.
        keep: Which end of an oversized result is kept, ``head`` or ``tail``.
    """

    function: Callable[..., Any]
    name: str
    description: str
    parameters: Mapping[str, Any]
    signature: Signature
    sequential: bool = False
    timeout: float | None = None
    keep: str = "head"

    def __repr__(self) -> str:
        return f"<FunctionTool {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    async def run(self, args: dict[str, Any], ctx: ToolContext | None = None) -> ToolResult:
        """Call the function with arguments that may still need to be brought into its types.

        Raises:
            ToolError: An argument is missing or of a wrong type, or the result cannot be given to a model.
        """
        ctx = ctx or ToolContext()
        fitted = fit_arguments(self.parameters, args, tool=self.name)
        kwargs = self.signature.bind(fitted, ctx, tool=self.name)
        if inspect.iscoroutinefunction(self.function):
            value = await self.function(**kwargs)
        else:
            value = await in_thread(self.function, **kwargs)
            if inspect.isawaitable(value):
                value = await value
        return to_result(value)


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...
@overload
def tool(
    *,
    name: str | None = ...,
    description: str | None = ...,
    sequential: bool = ...,
    timeout: float | None = ...,
    keep: str = ...,
) -> Callable[[Callable[..., Any]], FunctionTool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    sequential: bool = False,
    timeout: float | None = None,
    keep: str = "head",
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool from a typed function; use it bare or with options.

    Args:
        function: The function, synchronous or asynchronous. Every parameter needs a type hint.
        name: What the model calls it; the function's name if None.
        description: What it does; the docstring without its sections if None.
        sequential: True if no other call may run beside it.
        timeout: Seconds until a call fails, or None for no limit.
        keep: Which end of an oversized result the model sees, ``head`` or ``tail``.

    Raises:
        TypeError: A parameter has no type hint, or is positional-only or variadic.
    """

    def build(function: Callable[..., Any]) -> FunctionTool:
        signature = read_signature(function, context=ToolContext)
        return FunctionTool(
            function,
            name or function.__name__,
            signature.summary if description is None else description,
            signature.schema,
            signature,
            sequential=sequential,
            timeout=timeout,
            keep=keep,
        )

    return build if function is None else build(function)


def to_result(value: Any) -> ToolResult:
    """Return what a tool gave as a result: a string, JSON, images, blocks, pydantic or dataclass values.

    Raises:
        ToolError: It is none of these.
    """
    if isinstance(value, ToolResult):
        return _sound(value)
    if value is None:
        return ToolResult()
    if isinstance(value, str):
        return ToolResult((TextContent(text=value),))
    if isinstance(value, TextContent | ImageContent):
        return ToolResult((value,))
    if _is_blocks(value):
        return ToolResult(tuple(TextContent(text=part) if isinstance(part, str) else part for part in value))
    return ToolResult((TextContent(text=_json(value)),))


def _sound(result: ToolResult) -> ToolResult:
    """Return a result whose content is what a model can be given."""
    content: Any = result.content
    if isinstance(content, str) or _is_sound(content):
        return result
    try:
        return dataclasses.replace(result, content=tuple(map(_block, content)))
    except (TypeError, KeyError, ValidationError) as error:
        raise ToolError(f"The result cannot be given to a model: its content is {told(content, repr)[:80]}") from error


def _is_sound(content: Any) -> bool:
    return isinstance(content, list | tuple) and all(
        isinstance(part, ImageContent) or (isinstance(part, TextContent) and isinstance(part.text, str))
        for part in content
    )


def _block(part: Any) -> ResultBlock:
    """Return one block of a result; a string or a block as JSON is one too.

    Raises:
        TypeError, KeyError, pydantic.ValidationError: It is none.
    """
    if isinstance(part, str):
        return TextContent(text=part)
    data = part.to_wire() if isinstance(part, Value) else part
    if data["type"] == "image":
        return ImageContent.model_validate(data)
    return TextContent.model_validate(data)


def _is_blocks(value: Any) -> bool:
    if not isinstance(value, list | tuple) or not any(isinstance(part, ImageContent | TextContent) for part in value):
        return False
    return all(isinstance(part, ImageContent | TextContent | str) for part in value)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, default=_plain, ensure_ascii=False)  # NaN is a word like others to a model
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"The result cannot be given to a model: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return value.to_wire()
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    raise TypeError(f"a {type(value).__name__} is neither text nor JSON")

"""A function's signature and docstring, read as a tool's parameters."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from pi_nb.errors import ToolError

__all__ = ["Signature", "read_docstring", "read_signature"]

_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Raises|Yields|Examples?|Notes?|Attributes):\s*$")
_ARGUMENT = re.compile(r"^(\*{0,2}\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes.

    Attributes:
        summary: The docstring without its sections.
        schema: JSON schema of the parameters a model gives.
        model: Brings arguments into the parameters' types.
        context_name: Name of the parameter that takes the context, or None.
    """

    summary: str
    schema: Mapping[str, Any]
    model: type[BaseModel]
    context_name: str | None

    def bind(self, args: Mapping[str, Any], context: Any, *, tool: str) -> dict[str, Any]:
        """Return keyword arguments for the function.

        Raises:
            ToolError: An argument does not fit; the message names each.
        """
        try:
            values = self.model.model_validate(dict(args))
        except ValidationError as error:
            raise ToolError(_explain(error, tool)) from None
        kwargs = {name: getattr(values, name) for name in type(values).model_fields}
        if self.context_name is not None:
            kwargs[self.context_name] = context
        return kwargs


def _explain(error: ValidationError, tool: str) -> str:
    lines = [f"  {'.'.join(map(str, item['loc'])) or '(all)'}: {item['msg']}" for item in error.errors()]
    return "\n".join([f"Arguments for {tool} do not fit its parameters:", *lines])


def read_signature(function: Callable[..., Any], *, context: type) -> Signature:
    """Return what a function takes.

    Args:
        function: Has a type hint on every parameter.
        context: Type of the parameter that the model does not see.

    Raises:
        TypeError: A parameter has no type hint, or is positional-only or variadic.
    """
    summary, described = read_docstring(function)
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    context_name = None
    for name, parameter in inspect.signature(function).parameters.items():
        hint = _hint_of(function, parameter, hints)
        if _is_context(hint, context):
            context_name = name
        else:
            fields[name] = (hint, _field(parameter, described.get(name)))
    model = create_model(
        function.__name__, __config__=ConfigDict(extra="ignore", arbitrary_types_allowed=True), **fields
    )
    return Signature(summary, _clean(model.model_json_schema()), model, context_name)


def _hint_of(function: Callable[..., Any], parameter: inspect.Parameter, hints: Mapping[str, Any]) -> Any:
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise TypeError(f"{function.__name__}: parameter {parameter.name} cannot be given by name.")
    if parameter.name not in hints:
        raise TypeError(f"{function.__name__}: parameter {parameter.name} needs a type hint.")
    return hints[parameter.name]


def _is_context(hint: Any, context: type) -> bool:
    return hint is context or context in getattr(hint, "__args__", ())


def _field(parameter: inspect.Parameter, description: str | None) -> Any:
    default = ... if parameter.default is parameter.empty else parameter.default
    return Field(default, description=description) if description else Field(default)


def _clean(schema: Any) -> Any:
    """Return the schema without the titles pydantic invents, which only cost tokens."""
    if isinstance(schema, list):
        return [_clean(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    named = {"properties", "$defs"}
    return {
        key: {name: _clean(item) for name, item in value.items()} if key in named else _clean(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def read_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Return a Google docstring's text without its sections, and the description of each argument."""
    lines = (inspect.getdoc(function) or "").splitlines()
    summary: list[str] = []
    arguments: list[str] = []
    target = summary
    for line in lines:
        section = _SECTION.match(line)
        if section is None:
            target.append(line)
        else:
            target = arguments if section.group(1) in {"Args", "Arguments", "Parameters"} else []
    return "\n".join(summary).strip(), _arguments_of(textwrap.dedent("\n".join(arguments)).splitlines())


def _arguments_of(lines: list[str]) -> dict[str, str]:
    described: dict[str, str] = {}
    current = ""
    for line in lines:
        begins = _ARGUMENT.match(line)
        if begins is not None:
            current = begins.group(1).lstrip("*")
            described[current] = begins.group(2).strip()
        elif current and line.strip():
            described[current] = f"{described[current]} {line.strip()}".strip()
    return described

"""Tool arguments against their JSON schema: what a model meant is taken, what it cannot have meant is refused.

Models write ``"3"`` for 3 and null for an empty value. Such primitives are brought into the type the schema asks for;
everything else is checked as it is. Only the keywords that tool schemas use are known; unknown ones are not checked.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pi_nb.errors import ToolError

__all__ = ["fit_arguments"]

Schema: TypeAlias = Mapping[str, Any]
Problem: TypeAlias = tuple[str, str]

_EMPTY: Mapping[str, Any] = {"string": "", "number": 0, "integer": 0, "boolean": False}
_SHOWN = 2_000  # characters of the arguments that an error quotes


def fit_arguments(schema: Schema, arguments: Any, *, tool: str) -> dict[str, Any]:
    """Return the arguments in the types the schema asks for.

    Args:
        schema: JSON schema of an object.
        arguments: What the model wrote; None counts as no arguments.
        tool: Name of the tool, for the error.

    Raises:
        ToolError: They do not fit; the message says, for the model, what is wrong with each.
    """
    given = {} if arguments is None else arguments
    fitted = _coerce(given, schema, schema)
    problems = list(_problems(fitted, {"type": "object", **schema}, schema, ""))
    if problems:
        raise ToolError(_explain(tool, problems, given))
    result: dict[str, Any] = fitted
    return result


def _explain(tool: str, problems: Sequence[Problem], given: Any) -> str:
    lines = [f"  {where or '(all)'}: {what}" for where, what in problems]
    shown = json.dumps(given, ensure_ascii=False, indent=2, default=str)
    if len(shown) > _SHOWN:
        shown = f"{shown[:_SHOWN]}…"
    return "\n".join([f"Arguments for {tool} do not fit its parameters:", *lines, "Given:", shown])


# ---------------------------------------------------------------- coercion


def _coerce(value: Any, schema: Any, root: Schema) -> Any:
    schema = _resolve(schema, root)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return _coerce_to_option(value, options, root)
    kinds = _types(schema)
    if kinds and not any(_is(value, kind) for kind in kinds):
        value = _coerce_primitive(value, kinds)
    if isinstance(value, dict):
        return _coerce_members(value, schema, root)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        return [_coerce(item, schema["items"], root) for item in value]
    return value


def _coerce_to_option(value: Any, options: Sequence[Any], root: Schema) -> Any:
    """Return the value as the first alternative takes it: unchanged if one does, else as one can."""
    for convert in (False, True):
        for option in options:
            candidate = _coerce(value, option, root) if convert else value
            if not any(_problems(candidate, option, root, "")):
                return candidate
    return value


def _coerce_members(value: dict[str, Any], schema: Schema, root: Schema) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    fitted = {}
    for name, item in value.items():
        if name not in properties:
            fitted[name] = item
        elif item is not None or name in required or _allows_null(properties[name], root):
            fitted[name] = _coerce(item, properties[name], root)
    return fitted  # null for something optional means that it was not given


def _allows_null(schema: Any, root: Schema) -> bool:
    return not any(_problems(None, schema, root, ""))


def _coerce_primitive(value: Any, kinds: Sequence[str]) -> Any:
    for kind in kinds:
        if value is None and kind in _EMPTY:
            return _EMPTY[kind]
        convert = _CONVERSIONS.get(kind)
        converted = convert(value) if convert else None
        if converted is not None:
            return converted
    return value


def _to_number(value: Any) -> int | float | None:
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, str):
        return None
    try:
        number = float(value.strip() or 0)
    except ValueError:
        return None
    if not math.isfinite(number) or "_" in value:
        return None
    return int(number) if number.is_integer() and not re.search(r"[.eE]", value) else number


def _to_integer(value: Any) -> int | None:
    number = value if isinstance(value, float) else _to_number(value)
    return int(number) if number is not None and float(number).is_integer() else None


def _to_string(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int | float) else None


def _to_boolean(value: Any) -> bool | None:
    known: dict[Any, bool] = {"true": True, "false": False, "1": True, "0": False, 1: True, 0: False}
    return known.get(value.strip().lower() if isinstance(value, str) else value) if _hashable(value) else None


def _hashable(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _unquoted(value: Any, kind: type) -> Any:
    """Return what a string of JSON holds; some models quote whole arrays and objects."""
    try:
        parsed = json.loads(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return parsed if isinstance(parsed, kind) else None


def _to_object(value: Any) -> Any:
    return _unquoted(value, dict)


def _to_array(value: Any) -> Any:
    """Return the array in a string, or one item as an array."""
    unquoted = _unquoted(value, list)
    return [value] if unquoted is None and value is not None else unquoted


_CONVERSIONS: Mapping[str, Callable[[Any], Any]] = {
    "number": _to_number,
    "integer": _to_integer,
    "string": _to_string,
    "boolean": _to_boolean,
    "array": _to_array,
    "object": _to_object,
}

# ---------------------------------------------------------------- checks


def _resolve(schema: Any, root: Schema) -> Schema:
    """Return the schema with its ``$ref`` followed; ``true`` and unknown references allow anything."""
    seen = 0
    while isinstance(schema, Mapping) and "$ref" in schema and seen < 20:
        target: Any = root
        for part in str(schema["$ref"]).removeprefix("#").strip("/").split("/"):
            target = target.get(part, {}) if isinstance(target, Mapping) else {}
        schema = {**{k: v for k, v in schema.items() if k != "$ref"}, **target} if isinstance(target, Mapping) else {}
        seen += 1
    return schema if isinstance(schema, Mapping) else {}


def _types(schema: Schema) -> tuple[str, ...]:
    kind = schema.get("type")
    return (kind,) if isinstance(kind, str) else tuple(kind or ())


def _is(value: Any, kind: str) -> bool:
    if kind in {"number", "integer"}:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return kind == "number" or isinstance(value, int)
    classes = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    return isinstance(value, classes.get(kind, object))


def _problems(value: Any, schema: Any, root: Schema, where: str) -> Iterator[Problem]:
    schema = _resolve(schema, root)
    kinds = _types(schema)
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield where, f"must be {' or '.join(kinds)}"
        return
    yield from _value_problems(value, schema, where)
    yield from _combined_problems(value, schema, root, where)
    if isinstance(value, dict):
        yield from _object_problems(value, schema, root, where)
    elif isinstance(value, list):
        yield from _array_problems(value, schema, root, where)


def _value_problems(value: Any, schema: Schema, where: str) -> Iterator[Problem]:
    if "enum" in schema and value not in schema["enum"]:
        yield where, f"must be one of {json.dumps(list(schema['enum']), ensure_ascii=False, default=str)}"
    if "const" in schema and value != schema["const"]:
        yield where, f"must be {json.dumps(schema['const'], ensure_ascii=False, default=str)}"
    if isinstance(value, str):
        yield from ((where, text) for text in _string_problems(value, schema))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from ((where, text) for text in _number_problems(value, schema))


def _string_problems(value: str, schema: Schema) -> Iterator[str]:
    if len(value) < schema.get("minLength", 0):
        yield f"must have at least {schema['minLength']} characters"
    if len(value) > schema.get("maxLength", math.inf):
        yield f"must have at most {schema['maxLength']} characters"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"must match {schema['pattern']}"


def _number_problems(value: float, schema: Schema) -> Iterator[str]:
    if value < schema.get("minimum", -math.inf):
        yield f"must be at least {schema['minimum']}"
    if value > schema.get("maximum", math.inf):
        yield f"must be at most {schema['maximum']}"
    if value <= schema.get("exclusiveMinimum", -math.inf):
        yield f"must be more than {schema['exclusiveMinimum']}"
    if value >= schema.get("exclusiveMaximum", math.inf):
        yield f"must be less than {schema['exclusiveMaximum']}"


def _combined_problems(value: Any, schema: Schema, root: Schema, where: str) -> Iterator[Problem]:
    for option in schema.get("allOf") or ():
        yield from _problems(value, option, root, where)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options and all(any(_problems(value, option, root, where)) for option in options):
        kinds = [kind for option in options for kind in _types(_resolve(option, root))]
        yield where, f"must be {' or '.join(dict.fromkeys(kinds))}" if kinds else "fits no alternative"


def _object_problems(value: dict[str, Any], schema: Schema, root: Schema, where: str) -> Iterator[Problem]:
    properties = schema.get("properties") or {}
    for name in schema.get("required") or ():
        if name not in value:
            yield _join(where, name), "is missing"
    extra = schema.get("additionalProperties", True)
    for name, item in value.items():
        if name in properties:
            yield from _problems(item, properties[name], root, _join(where, name))
        elif extra is False:
            yield _join(where, name), "is not a parameter"
        elif isinstance(extra, Mapping):
            yield from _problems(item, extra, root, _join(where, name))


def _array_problems(value: list[Any], schema: Schema, root: Schema, where: str) -> Iterator[Problem]:
    if len(value) < schema.get("minItems", 0):
        yield where, f"must have at least {schema['minItems']} items"
    if len(value) > schema.get("maxItems", math.inf):
        yield where, f"must have at most {schema['maxItems']} items"
    for position, item in enumerate(value):
        yield from _problems(item, schema.get("items", {}), root, _join(where, str(position)))


def _join(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name

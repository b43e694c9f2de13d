"""Says where a value does not fit the parameter types of an official SDK: unknown keys, missing ones, wrong values."""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, Union

import typing_extensions

_LISTS = (list, tuple, collections.abc.Iterable, collections.abc.Sequence)
_OBJECTS = (dict, collections.abc.Mapping)
_WRAPPERS = (typing.Required, typing.NotRequired, typing_extensions.Required, typing_extensions.NotRequired)


def misfits(value: Any, wanted: Any, place: str = "body") -> Iterator[str]:
    origin, arguments = typing.get_origin(wanted), typing.get_args(wanted)
    if wanted is Any or wanted is object:
        return
    if isinstance(wanted, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        yield from misfits(value, wanted.__value__, place)
    elif origin is typing.Annotated or origin in _WRAPPERS:
        yield from misfits(value, arguments[0], place)
    elif origin is Union or origin is types.UnionType:
        yield from _nearest([list(misfits(value, one, place)) for one in arguments])
    elif origin is Literal:
        if value not in arguments:
            yield f"{place}: {value!r} is none of {arguments}"
    elif typing_extensions.is_typeddict(wanted):
        yield from _object(value, wanted, place)
    elif origin in _LISTS:
        if not isinstance(value, list):
            yield f"{place}: {value!r:.60} is no list"
            return
        for number, item in enumerate(value):
            yield from misfits(item, arguments[0], f"{place}[{number}]")
    elif origin in _OBJECTS or wanted in _OBJECTS:
        if not isinstance(value, dict):
            yield f"{place}: {value!r:.60} is no object"
        for name, item in value.items() if isinstance(value, dict) and arguments else ():
            yield from misfits(item, arguments[1], f"{place}.{name}")
    elif not _is(value, wanted):
        yield f"{place}: {value!r:.60} is no {wanted}"


def _is(value: Any, wanted: Any) -> bool:
    if wanted is None or wanted is type(None):
        return value is None
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return wanted in (str, bool) and isinstance(value, wanted)


def _nearest(found: list[list[str]]) -> list[str]:
    """Return the complaints of the alternative that went furthest."""
    if [] in found:
        return []
    return max(found, key=lambda complaints: (max(c.split(":")[0].count(".") for c in complaints), -len(complaints)))


@cache
def _hints(wanted: Any) -> dict[str, Any]:
    return typing_extensions.get_type_hints(wanted, include_extras=True)


@cache
def _required(wanted: Any) -> frozenset[str]:
    origins = {name: typing.get_origin(hint) for name, hint in _hints(wanted).items()}
    marked = {name for name, origin in origins.items() if origin is typing.Required}
    return frozenset(marked | {n for n in wanted.__required_keys__ if origins[n] is not typing.NotRequired})


def _object(value: Any, wanted: Any, place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place}: {value!r:.60} is no object"
        return
    hints = _hints(wanted)
    for name in sorted(value.keys() - hints.keys()):
        yield f"{place}.{name}: {wanted.__name__} has no such key"
    for name in sorted(_required(wanted) - value.keys()):
        yield f"{place}.{name}: is missing in {wanted.__name__}"
    for name in value.keys() & hints.keys():
        yield from misfits(value[name], hints[name], f"{place}.{name}")

"""Arguments as models write them: whole, damaged, cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_nb.providers.arguments import Arguments, parse_arguments

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(max_size=8), json_values, max_size=4)


@given(objects)
def test_json_is_read_as_json(value):
    """What is JSON is read exactly."""
    assert parse_arguments(json.dumps(value)) == Arguments(value, True)


@pytest.mark.parametrize("text", ["", "  ", "null", "{}"])
def test_nothing_is_no_arguments(text):
    """A call without arguments comes in several shapes."""
    assert parse_arguments(text) == Arguments({}, True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"content":"a\nb\\d"}', {"content": "a\nb\\d"}),
        ('{"path":"C:\\Users\\x"}', {"path": "C:\\Users\\x"}),
        ('{"t":"tab\there"}', {"t": "tab\there"}),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ('{}{"a":1}', {"a": 1}),
        ('{"a":1,}', {"a": 1}),
    ],
)
def test_damage_is_repaired(text, value):
    """Raw newlines, invented escapes, double encoding and a leading empty object do not change what was meant."""
    assert parse_arguments(text) == Arguments(value, True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":1,"b":"he', {"a": 1, "b": "he"}),
        ('{"a":[1,{"b":tr', {"a": [1, {}]}),
        ('{"a":1,"b', {"a": 1}),
        ('{"a":1,"b":', {"a": 1}),
        ('{"a":"x\\u00', {"a": "x"}),
        ('{"a":"x\\', {"a": "x"}),
        ('{"a": foo}', {}),
        ("[1, 2]", {}),
        ("nonsense", {}),
        ('{"a":1}}', {"a": 1}),
    ],
)
def test_what_is_cut_can_be_shown_but_not_run(text, value):
    """What is missing or not understood makes the arguments not whole."""
    assert parse_arguments(text) == Arguments(value, False)


@given(objects, st.data())
def test_every_beginning_can_be_shown(value, data):
    """Any beginning of an object gives some of it, and only the whole is called whole."""
    text = json.dumps(value, ensure_ascii=data.draw(st.booleans()))
    cut = data.draw(st.integers(1, len(text)))
    parsed = parse_arguments(text[:cut])
    assert parsed.whole == (cut == len(text))
    assert set(parsed.value) <= set(value)


@given(st.text(alphabet='{}[]:,"\\ \nab1tu😀', max_size=30))
def test_no_text_breaks_the_reader(text):
    """Whatever a model writes, an object comes out."""
    assert isinstance(parse_arguments(text).value, dict)


def test_half_characters_are_replaced():
    """A surrogate without its other half could not be stored."""
    assert parse_arguments(r'{"a": "\ud83d", "b": ["\ud83d\ude00"]}').value == {"a": "\ufffd", "b": ["😀"]}


def test_deep_nesting_is_no_problem():
    """A hundred thousand brackets neither crash nor recurse."""
    assert parse_arguments('{"a":' * 100_000).whole is False

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_nb.errors import ToolError
from pi_nb.harness.arguments import fit_arguments

SCHEMA = {
    "type": "object",
    "properties": {
        "n": {"type": "number"},
        "i": {"type": "integer", "minimum": 1},
        "s": {"type": "string", "maxLength": 5},
        "b": {"type": "boolean"},
        "a": {"type": "array", "items": {"type": "number"}, "maxItems": 2},
        "o": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]},
        "e": {"enum": ["p", "q"]},
        "u": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "z": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "r": {"$ref": "#/$defs/R"},
    },
    "$defs": {"R": {"type": "object", "properties": {"y": {"$ref": "#/$defs/N"}}}, "N": {"type": "number"}},
}


@pytest.mark.parametrize(
    ("given", "fitted"),
    [
        ({"n": "3"}, {"n": 3}),
        ({"n": " 3.5 "}, {"n": 3.5}),
        ({"n": "1e2"}, {"n": 100.0}),
        ({"n": ""}, {"n": 0}),
        ({"n": True}, {"n": 1}),
        ({"i": "3"}, {"i": 3}),
        ({"i": 3.0}, {"i": 3}),
        ({"s": 5}, {"s": "5"}),
        ({"s": 1.5}, {"s": "1.5"}),
        ({"s": True}, {"s": "true"}),
        ({"b": "true"}, {"b": True}),
        ({"b": "False"}, {"b": False}),
        ({"b": 0}, {"b": False}),
        ({"a": "[1, 2]"}, {"a": [1, 2]}),
        ({"a": 1}, {"a": [1]}),
        ({"a": ["1"]}, {"a": [1]}),
        ({"o": '{"x": "1"}'}, {"o": {"x": 1}}),
        ({"u": "4"}, {"u": "4"}),
        ({"u": True}, {"u": 1}),
        ({"z": None}, {"z": None}),
        ({"s": None}, {}),
        ({"r": {"y": "2"}}, {"r": {"y": 2}}),
        ({"extra": 1}, {"extra": 1}),
        (None, {}),
    ],
)
def test_what_a_model_meant_is_taken(given, fitted):
    """Primitives are brought into the type the schema asks for; null for an optional argument is no argument."""
    assert fit_arguments(SCHEMA, given, tool="t") == fitted


@pytest.mark.parametrize("kind", ["string", "number", "integer", "boolean"])
def test_null_for_something_required_is_the_empty_value(kind):
    """A required primitive that is null becomes the empty value of its type."""
    schema = {"type": "object", "properties": {"x": {"type": kind}}, "required": ["x"]}
    empty = {"string": "", "number": 0, "integer": 0, "boolean": False}[kind]
    assert fit_arguments(schema, {"x": None}, tool="t") == {"x": empty}


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"n": "x"}, "n: must be number"),
        ({"n": "1_0"}, "n: must be number"),
        ({"n": "inf"}, "n: must be number"),
        ({"n": [1]}, "n: must be number"),
        ({"i": 3.5}, "i: must be integer"),
        ({"i": 0}, "i: must be at least 1"),
        ({"s": ["x"]}, "s: must be string"),
        ({"s": "too long"}, "s: must have at most 5 characters"),
        ({"b": "yes"}, "b: must be boolean"),
        ({"a": [1, 2, 3]}, "a: must have at most 2 items"),
        ({"a": ["x"]}, "a.0: must be number"),
        ({"o": {}}, "o.x: is missing"),
        ({"e": "z"}, 'e: must be one of ["p", "q"]'),
        ({"u": {}}, "u: must be integer or string"),
        ({"r": {"y": []}}, "r.y: must be number"),
        ("text", "(all): must be object"),
        ([], "(all): must be object"),
    ],
)
def test_what_a_model_cannot_have_meant_is_refused(given, problem):
    """The error names the tool, the place and what is wrong, and shows what was given."""
    with pytest.raises(ToolError) as caught:
        fit_arguments(SCHEMA, given, tool="t")
    lines = str(caught.value).split("\n")
    assert lines[0] == "Arguments for t do not fit its parameters:"
    assert lines[1] == f"  {problem}"
    assert "Given:" in lines


def test_everything_that_is_wrong_is_said_at_once():
    """A model is told of all problems together, and of arguments that do not exist if the schema is closed."""
    schema = {**SCHEMA, "required": ["n", "s"], "additionalProperties": False}
    with pytest.raises(ToolError) as caught:
        fit_arguments(schema, {"i": "x", "what": 1}, tool="t")
    text = str(caught.value)
    for problem in ("n: is missing", "s: is missing", "i: must be integer", "what: is not a parameter"):
        assert problem in text


def test_huge_arguments_are_not_quoted_whole():
    """An error about a big argument stays short."""
    with pytest.raises(ToolError) as caught:
        fit_arguments(SCHEMA, {"n": "x" * 100_000}, tool="t")
    assert len(str(caught.value)) < 3_000


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "n": st.floats(allow_nan=False, allow_infinity=False),
            "i": st.integers(min_value=1),
            "s": st.text(max_size=5),
            "b": st.booleans(),
            "a": st.lists(st.integers(), max_size=2),
            "o": st.fixed_dictionaries({"x": st.integers()}),
            "u": st.integers() | st.text(),
            "z": st.none() | st.text(),
        },
    )
)
def test_what_fits_is_not_changed(arguments):
    """Arguments that fit the schema are passed on as they are."""
    assert fit_arguments(SCHEMA, arguments, tool="t") == arguments


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("nisbaoeuzr"), json_values))
def test_anything_is_fitted_or_refused(arguments):
    """Whatever a model writes is taken or refused with a tool error, and what was taken is taken again unchanged."""
    try:
        fitted = fit_arguments(SCHEMA, arguments, tool="t")
    except ToolError:
        return
    assert fit_arguments(SCHEMA, fitted, tool="t") == fitted

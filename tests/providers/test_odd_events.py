"""Events whose fields are of any type and in any order: a reader may refuse them, but not break."""

from __future__ import annotations

import copy
import json
import random

import pytest

from pi_nb.providers.base import StreamDone, StreamError
from tests import check_streams
from tests.providers.replay import FAMILIES, into_reader

ODD = (None, True, 0, -1, 1.5, "", "x", [], [None], {}, {"type": "x"}, [{"text": 7}])


def payloads(shared, family):
    for path in sorted((shared / "streams" / family).glob("*.txt")):
        lines = check_streams.body(path).split(b"\n")
        found = [json.loads(line[6:]) for line in lines if line.startswith(b"data: {")]
        if len(found) < 80:
            yield found


def places(value, path=()):
    """Yield the path of everything inside JSON data."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


def replaced(value, path, odd):
    if not path:
        return odd
    value = copy.copy(value)
    value[path[0]] = replaced(value[path[0]], path[1:], odd)
    return value


@pytest.mark.parametrize("family", FAMILIES)
def test_fields_of_any_type(shared, family):
    """Whatever stands in a field, the answer ends with one last event, and never with an exception."""
    chance = random.Random(family)
    for events in payloads(shared, family):
        for _ in range(40):
            position = chance.randrange(len(events))
            place = chance.choice([p for p in places(events[position]) if len(p) < 8])
            changed = [*events]
            changed[position] = replaced(events[position], place, chance.choice(ODD))
            if chance.random() < 0.3:
                del changed[chance.randrange(len(changed))]
            body = b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in changed)
            last = into_reader(family, [body])[-1]
            assert isinstance(last, StreamDone | StreamError)
            json.dumps(last.message.to_wire())


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("data", ["went wrong", {"message": "went wrong"}, {"error": "went wrong"}])
def test_an_event_that_is_called_error(family, data):
    """It ends the answer with what the server says, whatever shape that has."""
    last = into_reader(family, [f"event: error\ndata: {json.dumps(data)}\n\n".encode()])[-1]
    assert isinstance(last, StreamError)
    assert "went wrong" in str(last.error)

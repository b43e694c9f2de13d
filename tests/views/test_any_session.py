"""Whatever a file holds that opens as a session can be drawn in every way."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from pi_nb.cli.inspect import report_on
from pi_nb.session.jsonl import JsonlSessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.dot import to_dot
from pi_nb.views.html import context_html, tree_html
from pi_nb.views.outline import outline
from pi_nb.views.svg import tree_svg
from pi_nb.views.text import render_context, render_log, render_tree

KINDS = (
    "message", "model_change", "thinking_level_change", "active_tools_change", "compaction", "branch_summary", "custom",
    "custom_message", "label", "session_info", "leaf", "context_edit", "usage", "from_the_future",
)  # fmt: skip
ROLES = (
    "user",
    "assistant",
    "toolResult",
    "bashExecution",
    "custom",
    "branchSummary",
    "compactionSummary",
    "system",
    "?",
)
IDS = st.sampled_from(["a", "b", "c", "d", "e", "a-long-foreign-id-1", "a-long-foreign-id-2"])
JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=8),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=4), inner, max_size=3)),
    max_leaves=4,
)
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "thinking", "image", "toolCall", "odd"])},
    optional=dict.fromkeys(("text", "thinking", "data", "mimeType", "id", "name", "arguments"), JSON),
)
CONTENT = st.one_of(JSON, st.lists(BLOCK, max_size=3))
SAID = ("model", "provider", "stopReason", "errorMessage", "toolName", "toolCallId", "isError", "usage", "command")
SHOWN = ("output", "exitCode", "cancelled", "summary", "customType", "tokensBefore", "timestamp")
MESSAGE = st.fixed_dictionaries(
    {"role": st.sampled_from(ROLES)}, optional={"content": CONTENT, **dict.fromkeys((*SAID, *SHOWN), JSON)}
)
SET = ("provider", "modelId", "thinkingLevel", "activeToolNames", "summary", "firstKeptEntryId", "tokensBefore")
NOTED = ("fromId", "customType", "data", "display", "label", "name", "kind", "model")
ENTRY = st.fixed_dictionaries(
    {
        "type": st.sampled_from(KINDS),
        "id": IDS,
        "parentId": st.one_of(st.none(), IDS, st.just("gone")),
        "timestamp": st.sampled_from(["2026-01-01T00:00:00.000Z", "yesterday"]),
        "targetId": st.one_of(st.none(), IDS),
    },
    optional={
        "message": st.one_of(MESSAGE, JSON),
        "content": CONTENT,
        "replacement": st.one_of(st.none(), st.fixed_dictionaries({"content": CONTENT})),
        **dict.fromkeys((*SET, *NOTED), st.one_of(JSON, st.text(max_size=8))),
    },
)


@settings(max_examples=60, deadline=None)
@given(st.lists(ENTRY, max_size=8), st.one_of(st.none(), st.integers(1, 4)))
def test_it_can_be_drawn(entries: list[dict[str, Any]], most: int | None) -> None:
    """Known kinds with fields of wrong types, unknown kinds, broken trees: each picture has every row."""
    header = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.jsonl"
        file.write_text("".join(json.dumps(line) + "\n" for line in (header, *entries)))
        with Session(JsonlSessionStorage.open(file, read_only=True)) as session:
            count = len(outline(session, max_rows=most).layout.rows)
            rows = [line for line in render_tree(session, max_rows=most).splitlines()[2:] if re.search("[●○]", line)]
            dots = [e for e in ET.fromstring(tree_svg(session, max_rows=most)).iter() if "dot" in e.get("class", "")]
            nodes = [line for line in to_dot(session, max_rows=most).body if re.match(r"\tn\d+ \[", line)]
            assert len(rows) == len(dots) == len(nodes) == count
            assert tree_html(session, max_rows=most).count('<div class="row') == count
            assert len(render_log(session).split("\n")) == 2 + len(entries)
        report, context = report_on(file)
        assert report.entries == len(entries)
        if context is not None:
            assert str(len(context.items)) in render_context(context)
            assert context_html(context).count('<div class="message') == len(context.items)
        assert [path.name for path in Path(folder).iterdir()] == ["session.jsonl"]

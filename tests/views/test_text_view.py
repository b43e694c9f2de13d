"""The tree, the log and the context as text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_nb.messages import UserMessage
from pi_nb.session.context import provenance
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.plain import clip, pad, visible, width
from pi_nb.views.text import render_context, render_log, render_tree

UNSHOWN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
JOINERS = "\u200c\u200d\ufe0e\ufe0f"


def bare(text: str, session: Session) -> str:
    """Return text with the ids, which are random, replaced by their place in the log."""
    for number, entry in enumerate(session.entries(), 1):
        text = text.replace(entry.id, f"#{number}")
    return text.replace(session.id[-8:], "SESSION")


def test_the_tree(boat: Session) -> None:
    """A row per entry: ids, lines, marks, roles, calls, labels, and where the leaf is."""
    assert bare(render_tree(boat), boat) == "\n".join(
        [
            "session SESSION · 15 entries · 2 branches · leaf #15",
            "",
            "#1  ● [model: lab:mouse]",
            "#2  ● user: I am Ada.",
            "#3  ● assistant: Hello Ada.",
            "#4  ├─● user: My boat is green.",
            "#5  │ ● assistant: I look. [bash: ls]",
            "#6  │ ● result: [bash] a b (failed)",
            "#7  │ ● [serious] assistant: Your boat is green.",
            "#14  │ ● compaction: 1,234 tokens → Ada has a green boat.",
            "#15  │ ● user: And now? ◀ leaf",
            "#9  └─○ user: My boat is a bathtub.",
            "#10    ○ [tub] assistant: (aborted)",
        ]
    )


def test_bookkeeping_is_drawn_when_asked_for(boat: Session) -> None:
    """With ``everything`` labels and moves that carry something are rows of their own."""
    lines = bare(render_tree(boat, everything=True), boat).splitlines()
    assert "#13  │ ● [label: serious → #7]" in lines
    assert lines[-1] == "#11    ○ [label: tub → #10]"


def test_the_leafs_mark_stands_on_what_people_see(boat: Session) -> None:
    """Where the leaf is a label, a name or a program's note, the entry above is marked; no branch is counted."""
    said, before = boat.leaf_id, len(render_tree(boat).splitlines())
    assert said is not None
    boat.append_label(said, "here")
    boat.append_session_info("Boats")
    boat.append_custom("note", {"x": 1})
    lines = bare(render_tree(boat), boat).splitlines()
    assert len(lines) == before
    assert " · 2 branches · leaf #15" in lines[0]
    assert "#15  │ ● [here] user: And now? ◀ leaf" in lines
    after = boat.append_message(UserMessage(content="More.", timestamp=1))
    assert render_tree(boat).splitlines()[-3].startswith(f"{after}  │ ● user: More.")


def test_markdown_marks_are_left_out_of_previews() -> None:
    """Bold, code quotes and headings are words in a row; stars and backticks that mark nothing stay."""
    session = Session(InMemorySessionStorage())
    session.append_message(UserMessage(content="# Hi **Ada**, run `ls *.py` and 2**3**4, __init__", timestamp=1))
    assert "user: Hi Ada, run ls *.py and 2**3**4, __init__" in render_tree(session)


def test_the_tree_in_ascii_without_ids(boat: Session) -> None:
    """With ``ascii`` every character is ASCII, and ids can be left out."""
    text = render_tree(boat, ascii=True, ids=False)
    assert text.isascii()
    assert "|-* user: My boat is green." in text
    assert "`-o user: My boat is a bathtub." in text
    assert text.splitlines()[-3].endswith("<- leaf")


def test_the_log(boat: Session) -> None:
    """The log is in the order of writing; each move of the leaf says from where to where."""
    lines = [re.sub(r" \d\d:\d\d:\d\d ", " TIME ", line) for line in bare(render_log(boat), boat).splitlines()[2:]]
    assert lines[0] == " 1  TIME  #1  [model: lab:mouse]"
    assert lines[7] == " 8  TIME  #8  ↩ leaf #7 → #3"
    assert lines[11] == "12  TIME  #12  ↩ leaf #11 → #7"
    assert len(lines) == 15


def test_the_end_of_the_log(boat: Session) -> None:
    """The last entries alone are the end of the whole log."""
    whole, end = render_log(boat).splitlines(), render_log(boat, last=4).splitlines()
    assert end[2:] == whole[-4:]
    assert end[0].endswith("15 entries in the order of writing, the last 4")
    assert render_log(boat, last=99) == render_log(boat)


def test_the_log_says_where_an_entry_hangs_if_not_below_the_leaf(session_of: Callable[..., Session]) -> None:
    """What others wrote elsewhere without moving the leaf can be told from what followed."""
    session = session_of(("a", None), ("b", "a"), ("c", "a"), ("d", None))
    tails = [re.sub(".*(?=⤷)", "", line) for line in render_log(session).splitlines()[4:]]
    assert tails == ["⤷ below a  user: says c", "⤷ below the beginning  user: says d"]


def test_the_context(boat: Session) -> None:
    """What a model would be sent stands there in full, and why the rest would not be."""
    text = bare(render_context(boat.context(), provenance=provenance(boat.path())), boat)
    assert [line for line in text.splitlines() if line and not line.startswith(" ")] == [
        "context at #15 · 3 messages",
        "lab:mouse · thinking off",
        "1  #14  compaction",
        "2  #7  assistant",
        "3  #15  user",
        "not in the context:",
    ]
    assert "    Ada has a green boat." in text
    assert "not in the context:\n  summarised by" in text


def test_an_empty_session_and_one_at_the_beginning() -> None:
    """No entries, or a leaf before the first, are no trouble."""
    session = Session(InMemorySessionStorage())
    assert render_tree(session).endswith("· 0 entries · 0 branches · at the beginning")
    session.append_message(UserMessage(content="hi"))
    session.move_to(None)
    assert "○ user: hi" in render_tree(session)
    assert "context at the beginning · 0 messages" in render_context(session.context(None))


def test_several_roots_stand_apart_and_broken_ones_say_so(session_of: Callable[..., Session]) -> None:
    """A blank line separates trees; an orphan, a cycle and an unknown leaf are named."""
    moved = {"type": "leaf", "targetId": "nowhere"}
    session = session_of(("a", None), ("o", "gone"), ("x", "y"), ("y", "x"), ("s", "s"), ("l", "a", moved))
    assert render_tree(session).splitlines()[0].endswith("leaf nowhere which is not in the log")
    assert render_tree(session).splitlines()[2:] == [
        "a  ○ user: says a",
        "",
        "o  ○ user: says o (parent gone is missing)",
        "",
        "x  ○ user: says x (on a cycle)",
        "y  ○ user: says y",
        "",
        "s  ○ user: says s (is its own parent)",
    ]


def test_few_rows_say_what_is_left_out(boat: Session) -> None:
    """With a limit the path to the leaf is shown, and the rest counted where it hangs and below."""
    lines = render_tree(boat, max_rows=5).splitlines()
    assert len(lines) == 2 + 5 + 2
    assert lines[-1] == "5 of 11 entries drawn, those nearest to the leaf"
    assert "(+6 more)" in lines[2]


def test_deep_branches_keep_to_the_width(session_of: Callable[..., Session]) -> None:
    """Forty branch points below each other still leave room for what is said."""
    pairs = [("0", None), *((f"{n}", f"{max(0, n - 1 - n % 2)}") for n in range(1, 80))]
    text = render_tree(session_of(*pairs), width=60)
    assert all(width(line) <= 60 for line in text.splitlines())
    assert "  … │ │" in text
    assert "says 79" in text


@pytest.mark.parametrize("cells", [20, 60, 100])
@pytest.mark.parametrize("ascii", [False, True])
def test_nothing_in_a_session_acts_on_the_terminal(hostile: Session, cells: int, ascii: bool) -> None:
    """Whatever entries hold, a row is one row, as wide as allowed, of characters that only show."""
    texts = [render_tree(hostile, width=cells, ascii=ascii), render_log(hostile, width=cells, ascii=ascii)]
    rows = [2 + len(hostile) - sum(entry.type == "leaf" for entry in hostile.entries()) + 1, 2 + len(hostile)]
    for text, count in zip(texts, rows, strict=True):
        assert text.isascii() or not ascii
        lines = text.split("\n")
        assert len(lines) <= count
        assert not [c for line in lines for c in line if unicodedata.category(c) in UNSHOWN and c not in JOINERS]
        assert all(width(line) <= cells for line in lines)


def test_a_hostile_context_keeps_its_lines_and_nothing_else(hostile: Session) -> None:
    """In full texts line ends stay; everything else that acts is escaped."""
    text = render_context(hostile.context(hostile.entries()[-2].id), provenance={"x": "\x1b[1m"})
    assert not [c for c in text if unicodedata.category(c) in UNSHOWN and c not in "\n" + JOINERS]
    assert r"\x1b[31mred" in text


@given(st.text())
def test_visible_text_is_one_line_and_loses_nothing_that_shows(text: str) -> None:
    """Printable characters stay as they are, others become escapes."""
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) in UNSHOWN and c not in JOINERS]
    kept = [c for c in text if unicodedata.category(c) not in UNSHOWN | {"Cn", "Co"}]
    assert "".join(kept) == text or len(shown) > len(kept)
    assert visible(shown) == shown


@given(st.text(st.characters(exclude_categories=sorted(UNSHOWN))), st.integers(1, 30))
def test_clipped_text_fits_and_is_a_beginning(text: str, cells: int) -> None:
    """Clipping keeps whole characters from the start and says that it clipped."""
    short = clip(text, cells)
    assert width(short) <= cells
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))
    assert width(pad(short, cells)) == cells


def test_wide_and_combining_characters_are_measured() -> None:
    """CJK and emoji take two cells, accents none."""
    assert [width(text) for text in ("abc", "漢字", "e\u0301", "😀", "ｈｉ")] == [3, 4, 1, 2, 4]
    assert clip("漢字かな", 5) == "漢字…"

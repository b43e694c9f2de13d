"""The tree as one SVG picture."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from pi_nb.session.tree import Session
from pi_nb.views import looks
from pi_nb.views.svg import tree_svg

SVG = "{http://www.w3.org/2000/svg}"
ALLOWED = {f"{SVG}{name}" for name in ("svg", "style", "rect", "text", "tspan", "g", "path", "circle")}


def words(picture: ET.Element) -> list[str]:
    """Return what each row says."""
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text") if "words" in text.get("class", "").split()]


def test_a_row_per_entry_with_its_mark_and_its_words(boat: Session) -> None:
    """Each entry is a mark and a text; the path is filled, the leaf ringed, labels are tags."""
    picture = ET.fromstring(tree_svg(boat))
    assert words(picture)[2:5] == ["assistant Hello Ada.", "user My boat is green.", "assistant I look. [bash: ls]"]
    dots = [dot.get("class", "").split() for dot in picture.iter(f"{SVG}circle")]
    assert [dot for dot in dots if dot == ["ring"]] == [["ring"]]
    assert sum("dot" in dot for dot in dots) == len(words(picture)) == 11
    assert sum("on" in dot for dot in dots) == sum(entry.type != "label" for entry in boat.path())
    tags = [group.findtext(f"{SVG}text") for group in picture.iter(f"{SVG}g") if "chip" in group.get("class", "")]
    assert sorted(map(str, tags)) == ["leaf", "serious", "tub"]


def test_it_stands_alone(boat: Session) -> None:
    """It loads nothing, runs nothing, and has a style for light and for dark."""
    source = tree_svg(boat)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|href|url\(|@import|<script|foreignObject", source)
    assert "prefers-color-scheme:dark" in source
    assert 'role="img"' in source


def test_everything_lies_within_the_picture(boat: Session, session_of: Callable[..., Session]) -> None:
    """Marks, lines and tags keep inside, also where the tree is deep."""
    deep = session_of(("0", None), *((f"{n}", f"{max(0, n - 1 - n % 2)}") for n in range(1, 60)))
    for session in (boat, deep):
        picture = ET.fromstring(tree_svg(session))
        wide, high = float(picture.get("width", "0")), float(picture.get("height", "0"))
        for shape in picture.iter():
            assert float(shape.get("x", shape.get("cx", "0"))) < wide
            assert float(shape.get("y", shape.get("cy", "0"))) < high


def test_hostile_text_is_text(hostile: Session) -> None:
    """Whatever a session holds, the picture is well-formed and has nothing in it but lines and text."""
    picture = ET.fromstring(tree_svg(hostile))
    assert {element.tag for element in picture.iter()} <= ALLOWED
    assert not [name for element in picture.iter() for name in element.keys() if name.startswith("on")]  # noqa: SIM118
    assert any("<script>alert(1)</script>" in row for row in words(picture))


def test_two_hundred_rows_at_most(session_of: Callable[..., Session]) -> None:
    """A long session is drawn around its leaf, and the rest counted."""
    session = session_of(("0", None), *((f"{n}", f"{n - 1}") for n in range(1, 1000)))
    picture = ET.fromstring(tree_svg(session))
    assert len(words(picture)) == 200
    assert "200 of 1,000 entries drawn, those nearest to the leaf" in ["".join(t.itertext()) for t in picture.iter()]
    assert words(picture)[-1] == "user says 999"


def test_an_empty_session_is_a_picture(session_of: Callable[..., Session]) -> None:
    """Without entries there is the heading."""
    assert "0 entries" in "".join(ET.fromstring(tree_svg(session_of())).itertext())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read(theme: str) -> None:
    """Every colour of text has a contrast of 4.5 to 1 against what it stands on, in both themes."""
    colours = looks.THEMES[theme]
    for name in ("text", "dim", "user", "assistant", "tool", "custom", "summary", "fail"):
        for ground in ("back", "soft"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
    assert contrast(colours["back"], colours["path"]) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as WCAG defines it."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb``."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

"""The tree for Graphviz, and drawn by it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import graphviz
import pytest
from graphviz.backend import dot_command

from pi_nb.errors import UserError
from pi_nb.session.tree import Session
from pi_nb.views import dot
from tests.conftest import must

SVG = "{http://www.w3.org/2000/svg}"
PURE = shutil.which("graphviz-pure") or shutil.which(Path(sys.executable).parent / "graphviz-pure")


@pytest.fixture(autouse=True)
def _binary_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the graphviz package as it was."""
    monkeypatch.setattr(dot_command, "DOT_BINARY", dot_command.DOT_BINARY)


@pytest.fixture(params=["dot", "graphviz-pure"])
def program(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Draw with the system's Graphviz, then with the one from the extra."""
    found = shutil.which("dot") if request.param == "dot" else PURE
    if found is None:
        must(f"{request.param} is not installed")
    monkeypatch.setattr(dot, "find_dot", lambda: Path(str(found)))
    return Path(str(found))


def drawn(source: str) -> list[str]:
    """Return the texts of a picture's nodes, each node's lines joined by a slash."""
    groups = [g for g in ET.fromstring(source).iter(f"{SVG}g") if g.get("class") == "node"]
    return ["/".join(str(text.text) for text in group.iter(f"{SVG}text")) for group in groups]


def test_it_is_a_graph_with_a_node_per_entry(boat: Session) -> None:
    """Nodes are numbered, edges lead from parents to children, and the graph shows itself in a notebook."""
    graph = dot.to_dot(boat)
    assert isinstance(graph, graphviz.Digraph)
    assert len(re.findall(r"^\tn\d+ \[", graph.source, re.MULTILINE)) == 11
    assert len(re.findall(r"^\tn\d+ -> n\d+", graph.source, re.MULTILINE)) == 10


def test_it_is_drawn(program: Path, boat: Session) -> None:
    """Both programs draw every node with role, text, id and label."""
    nodes = drawn(dot.dot_svg(boat))
    ids = [entry.id for entry in boat.entries()]
    assert len(nodes) == 11
    assert f"assistant: Your boat is green./{ids[6]} [serious]" in nodes


def test_hostile_text_is_text(program: Path, hostile: Session) -> None:
    """Markup, escape sequences, entities and quotes of a session come out as they went in."""
    source = dot.dot_svg(hostile, max_rows=None)
    nodes = drawn(source)
    assert "<script" not in source
    assert any(node.startswith("user: <script>alert(1)</script><img src") for node in nodes)
    assert any(node.startswith(r"user: <b>html</b> \N \G \L \n {a|b}") for node in nodes)
    assert any(node.startswith("user: \"'><svg/onload=alert(3)> &lt;b") for node in nodes)


def test_two_hundred_nodes_at_most(session_of: Callable[..., Session]) -> None:
    """Graphviz is slow with many nodes, so it gets those near the leaf."""
    session = session_of(("0", None), *((f"{n}", f"{n - 1}") for n in range(1, 1000)))
    source = dot.to_dot(session).source
    assert source.count(" -> ") == 199
    assert "200 of 1,000 entries drawn" in source
    assert "style=dashed" in source


def test_without_graphviz_our_own_picture_is_drawn(boat: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Graphviz is no error."""
    monkeypatch.setattr(dot, "find_dot", lambda: None)
    assert 'class="pi-nb-svg"' in dot.dot_svg(boat)
    assert "digraph" in dot.to_dot(boat).source


def test_a_session_gives_its_graph(program: Path, boat: Session, tmp_path: Path) -> None:
    """``session.graph()`` is a graph: DOT, SVG and PNG come out of it, and a notebook shows it as SVG."""
    graph = boat.graph()
    assert graph.source == dot.to_dot(boat).source
    assert graph.source.startswith("digraph session {")
    assert len(drawn(graph.pipe(encoding="utf-8"))) == 11
    assert graph.pipe(format="png").startswith(b"\x89PNG")
    assert "</svg>" in graph._repr_mimebundle_()["image/svg+xml"]
    file = graph.render(tmp_path / "tree", format="png", cleanup=True)
    assert Path(file).read_bytes().startswith(b"\x89PNG")
    graph.node("n0", label="changed")
    assert "changed" in graph.pipe(encoding="utf-8")


def test_without_graphviz_the_graph_shows_our_picture(
    boat: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """DOT and SVG can still be had; for a PNG a sentence says what to install."""
    monkeypatch.setattr(dot, "find_dot", lambda: None)
    graph = boat.graph(everything=True)
    assert graph.source.startswith("digraph session {")
    assert 'class="pi-nb-svg"' in graph._repr_mimebundle_()["image/svg+xml"]
    assert graph.pipe().startswith(b"<svg")
    assert Path(graph.render(tmp_path / "tree")).read_text("utf-8") == graph.pipe(encoding="utf-8")
    with pytest.raises(UserError) as caught:
        graph.pipe(format="png")
    assert caught.value._render_traceback_() == ["A picture as png needs Graphviz.", "%pip install 'pi-nb[dot]'"]


def test_a_graphviz_that_fails_says_why(boat: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the program wrote on stderr is the message."""
    broken = tmp_path / "dot"
    broken.write_text("#!/bin/sh\necho no such font >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(dot, "find_dot", lambda: broken)
    with pytest.raises(UserError, match="no such font"):
        dot.dot_svg(boat)


def test_the_system_s_program_is_found_first() -> None:
    """``dot`` on the path wins; else the binary of the extra beside this Python."""
    code = "from pi_nb.views.dot import find_dot; print(find_dot())"
    empty = {"PATH": "", "PYTHONPATH": ":".join(sys.path)}
    alone = subprocess.run([sys.executable, "-c", code], env=empty, capture_output=True, text=True, check=True)
    beside = Path(sys.executable).parent / "graphviz-pure"
    found = Path(alone.stdout.strip())
    assert found.samefile(beside) if beside.exists() else str(found) == "None"
    if shutil.which("dot"):
        assert dot.find_dot() == Path(str(shutil.which("dot")))

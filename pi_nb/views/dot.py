"""A session's tree for Graphviz, and as a picture made by it where there is one.

A picture needs ``dot``: the system's, or the one the extra ``dot`` installs. Without either, SVG is our own.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import graphviz
from graphviz.backend import dot_command

from pi_nb.errors import UserError
from pi_nb.session.tree import Session
from pi_nb.views.outline import Drawn, outline
from pi_nb.views.plain import clip
from pi_nb.views.svg import tree_svg

__all__ = ["TreeGraph", "dot_svg", "find_dot", "to_dot"]

_CELLS: Final = 40  # most cells of text in a node
_COLOURS: Final = {
    "user": "#1b5fc4",
    "assistant": "#1a7340",
    "tool": "#8a5700",
    "custom": "#0b6b78",
    "summary": "#7c46c8",
}
_GREY: Final = "#626b76"
_PATH: Final = "#2f6fde"
_GRAPH: Final = {
    "bgcolor": "transparent",
    "fontname": "Helvetica,Arial,sans-serif",
    "fontsize": "11",
    "labelloc": "t",
    "ranksep": ".3",
}
_NODE: Final = {
    "shape": "box",
    "style": "rounded,filled",
    "fillcolor": "#ffffff",
    "fontsize": "10",
    "margin": ".12,.06",
}
_EDGE: Final = {"color": _GREY, "arrowsize": ".6"}


class TreeGraph(graphviz.Digraph):  # type: ignore[misc]  # the package has no types
    """A ``graphviz.Digraph`` of a session. Where there is no Graphviz to draw it, its SVG is our own picture."""

    def __init__(self, own_svg: Callable[[], str], **options: Any) -> None:
        super().__init__("session", **options)
        self._own_svg = own_svg

    def pipe(self, format: str | None = None, *, encoding: str | None = None, **options: Any) -> Any:
        """Return the drawn graph: bytes, or text if an encoding is given; else as :meth:`graphviz.Digraph.pipe`.

        Raises:
            UserError: There is no Graphviz, and a format other than SVG is wanted.
        """
        if _use_dot():
            return super().pipe(format, encoding=encoding, **options)
        picture = self._own(format)
        return picture if encoding else picture.encode()

    def render(self, filename: Any = None, **options: Any) -> str:
        """Write the drawn graph to a file and return its path, as :meth:`graphviz.Digraph.render` does.

        Raises:
            UserError: As for :meth:`pipe`.
        """
        if _use_dot():
            return str(super().render(filename, **options))
        picture = self._own(options.get("format"))
        target = Path(options.get("directory") or self.directory or "") / f"{filename or self.filename}.svg"
        target.write_text(picture, encoding="utf-8")
        return str(target)

    def _own(self, format: str | None) -> str:
        wanted = format or self.format
        if wanted != "svg":
            raise UserError(f"A picture as {wanted} needs Graphviz.", hint="%pip install 'pi-nb[dot]'")
        return self._own_svg()


def _use_dot() -> bool:
    """Let the package draw with the program there is, and return whether there is one."""
    program = find_dot()
    if program is not None:
        dot_command.DOT_BINARY = program  # the package looks for nothing but ``dot``
    return program is not None


def to_dot(session: Session, *, max_rows: int | None = 200, everything: bool = False) -> Any:
    """Return the tree as a ``graphviz.Digraph``; its ``source`` is DOT.

    All that a session holds is plain text in it. In a notebook the graph shows itself, with Graphviz or without.

    Args:
        session: The session.
        max_rows: Most nodes; those nearest to the leaf are drawn and the rest counted. None draws all.
        everything: True to draw bookkeeping too: labels, names, moves of the leaf.
    """
    shown = outline(session, max_rows=max_rows, everything=everything)
    title = "\n".join(part for part in (shown.heading, shown.footing) if part)
    font = {"fontname": _GRAPH["fontname"]}
    graph = TreeGraph(
        lambda: tree_svg(session, max_rows=max_rows, everything=everything),
        format="svg",
        graph_attr={**_GRAPH, "fontcolor": _GREY, "label": _literal(title)},
        node_attr={**_NODE, **font},
        edge_attr=_EDGE,
    )
    names: dict[str | None, str] = {}
    for number, drawn in enumerate(shown.drawn()):
        names[drawn.row.id] = f"n{number}"  # an id could mean something to Graphviz
        _draw(graph, drawn, names)
    return graph


def _draw(graph: Any, drawn: Drawn, names: Mapping[str | None, str]) -> None:
    row, colour = drawn.row, _COLOURS.get(drawn.line.kind, _GREY)
    marks = " ".join(f"[{mark.text}]" for mark in drawn.marks)
    label = "\n".join(part for part in (clip(str(drawn.line), _CELLS), f"{drawn.id} {marks}".rstrip()) if part)
    graph.node(
        names[row.id],
        label=_literal(label),
        tooltip=_literal(str(drawn.line)),
        color=_PATH if row.active else colour,
        fontcolor=colour,
        penwidth="2" if row.leaf else "1.4" if row.active else ".7",
        fillcolor="#eef4fe" if row.leaf else "#ffffff",
    )
    if row.parent is not None:
        style = {"color": _PATH, "penwidth": "1.6"} if row.active else {}
        graph.edge(names[row.parent], names[row.id], style="dashed" if row.gap else "solid", **style)


def _literal(text: str) -> Any:
    """Return text as an attribute in which nothing is markup, an escape sequence or an entity; line ends stay."""
    lines = text.replace("\\", "\\\\").replace("&", "&amp;").split("\n")
    return graphviz.nohtml("\\n".join(lines))


def find_dot() -> Path | None:
    """Return the program that draws DOT: the system's ``dot``, else the one from the extra ``dot``, else None."""
    ours = Path(sys.executable).parent / "graphviz-pure"
    found = shutil.which("dot") or shutil.which("graphviz-pure") or shutil.which(ours)
    return Path(found) if found else None


def dot_svg(session: Session, *, max_rows: int | None = 200) -> str:
    """Return the tree as an SVG document drawn by Graphviz, or by us where there is no Graphviz.

    Raises:
        UserError: Graphviz is there but failed; the message is what it said.
    """
    try:
        return str(to_dot(session, max_rows=max_rows).pipe(format="svg", encoding="utf-8", quiet=True))
    except graphviz.CalledProcessError as error:
        raise UserError(f"Graphviz failed: {str(error.stderr).strip()[:400]}") from error

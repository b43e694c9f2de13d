"""The notebook surface: magics, cells, display. The only room that knows IPython.

::

    cell ──► magics ──► prompting ──► owner thread: harness.prompt ──► events ──► transcript
                │            │                                                        │
                ▼            └──── pump (the cell's thread): draw ◄── display ◄── snapshot
    looking · sessions · labels · tools · status

A prompt is an ``Ask`` (``asks``); ``placing`` finds where it belongs, ``replay`` whether it is answered already. What
goes on for it is a ``Job`` (``jobs``): one run (``prompting``), several (``fan_out``) or a summary (``progress``), that
the cell follows or leaves alone.

The live tree speaks through ``tree_agent``: its prompts, without a cell, and what else its page asks for. Its forks and
pages are made in ``tree_files``.

What a model may call is in ``toolbox``, its card in ``cards``. Before a call runs ``approvals`` decides, and ``asking``
asks: with buttons or a line (``questions`` is what they show, ``receipts`` what stays); ``askers`` knows which of
several runs wants it, ``approving`` answers from another cell. ``kernel_tool`` runs code on the main thread, as an
errand (``main_thread``, ``execution``, ``capture``).

``extension`` loads and unloads, with a ``glance`` at the session's file; ``runtime`` holds what lives in between.
``typed`` and ``interpolate`` bring prompts in as they were written; ``markdown``, ``answer_html`` and
``answer_markdown`` take answers out, with nothing in them that could run. ``current()`` is the way in from Python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime

__all__ = ["current"]


def current() -> Runtime:
    """Return the runtime of this notebook: ``.session``, ``.harness``, ``.reply``, ``.registry``, ``.tree_view``.

    Raises:
        UserError: The extension is not loaded.
    """
    from IPython import get_ipython

    from pi_nb.notebook.extension import runtime_of

    return runtime_of(get_ipython())

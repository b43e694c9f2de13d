"""Branching agent sessions in a notebook.

The house, from the street inwards; data flows one way::

     cell ──► notebook ──► harness ──► session ──► storage (memory · JSONL · SQL)
                │  ▲          │  ▲
                ▼  │ events   ▼  │ stream events
              views         providers · tools

* ``session`` knows entries and trees; no model, no HTTP, no Jupyter. Synchronous and thread-safe.
* ``providers`` know wire formats; no session, no Jupyter. Async.
* ``harness`` runs the agent: turns, tools, queues, hooks, save points. Async, pure Python.
* ``tools`` are what a model may call.
* ``views`` turn a session into pictures: text, SVG, HTML, the live widget.
* ``notebook`` is the only room that knows IPython.
* ``testing`` is the contract of a storage, as tests to inherit.

``import pi_nb`` is cheap: names are looked up when first used, so that neither IPython nor an HTTP client is
imported by it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "AgentHarness": "pi_nb.harness.agent",
    "AnthropicProvider": "pi_nb.providers.anthropic",
    "InMemorySessionStorage": "pi_nb.session.memory",
    "JsonlSessionStorage": "pi_nb.session.jsonl",
    "Model": "pi_nb.models",
    "OpenAIChatProvider": "pi_nb.providers.openai_chat",
    "PiError": "pi_nb.errors",
    "ProviderError": "pi_nb.errors",
    "Registry": "pi_nb.providers.registry",
    "Reply": "pi_nb.providers.scripted",
    "ScriptedProvider": "pi_nb.providers.scripted",
    "Session": "pi_nb.session.tree",
    "SessionError": "pi_nb.errors",
    "SessionRepo": "pi_nb.session.repo",
    "ToolContext": "pi_nb.harness.tools",
    "ToolResult": "pi_nb.harness.tools",
    "TreeView": "pi_nb.views.tree_view",
    "UserError": "pi_nb.errors",
    "load_resources": "pi_nb.harness.resource_files",
    "recording": "pi_nb.providers.record",
    "tool": "pi_nb.harness.tools",
}

__all__ = ["__version__", "load_ipython_extension", "unload_ipython_extension", *_HOMES]
__all__.sort()


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(ip: Any) -> None:
    """Add the magics; this is what ``%load_ext pi_nb`` calls. Loading twice is the same as loading once."""
    import_module("pi_nb.notebook.extension").load(ip)


def unload_ipython_extension(ip: Any) -> None:
    """Take everything away again: magics, completion, threads, widgets."""
    import_module("pi_nb.notebook.extension").unload(ip)

"""``%pi_config``: every setting, its value, and where that came from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pi_nb.notebook.caption import clean
from pi_nb.notebook.settings import VARIABLES

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime
    from pi_nb.notebook.settings import PiMagics

__all__ = ["Setting", "config_html", "config_text", "settings_of"]

OTHER_VARIABLES = {
    "PI_CODING_AGENT_SESSION_DIR": "folder of the session files",
    "PI_CODING_AGENT_DIR": "folder of pi's files; sessions are in it",
    "PI_NB_DATA_DIR": "folder of the local model, and of models.toml: your own facts of models",
    "PI_NB_LOCAL_CONTEXT": "tokens of context of the local model",
    "PI_NB_MODELS": "file of your own facts of models, instead of models.toml",
    "PI_NB_RECORDING": "file that answers are recorded to and played from",
    "PI_NB_RECORDING_MODE": "auto, record or replay",
    "PI_NB_DEMO_PACE": "tokens a second of scripted:demo",
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting: its name as it is set, its value, where that came from, and what it does."""

    name: str
    value: str
    origin: str
    help: str


def settings_of(runtime: Runtime) -> list[Setting]:
    """Return all settings, and the variables of the environment that count beside them. Keys are never shown."""
    settings = runtime.settings
    found = [
        Setting(f"PiMagics.{name}", _value(settings, name), settings.origin(name), trait.help)
        for name, trait in sorted(settings.traits(config=True).items())
    ]
    found += [
        Setting(name, repr(os.environ[name]), "environment", help)
        for name, help in OTHER_VARIABLES.items()
        if name in os.environ
    ]
    return found + [_key(name) for name in sorted(os.environ) if name.endswith("_API_KEY")]


def _value(settings: PiMagics, name: str) -> str:
    """Return a setting's value; that of an unset model is what the environment names."""
    value = getattr(settings, name)
    return repr(value or os.environ.get(VARIABLES["model"], "") if name == "model" else value)


def _key(name: str) -> Setting:
    value = "set, hidden" if os.environ[name] else "empty"
    return Setting(name, value, "environment", "a provider's key; read when a request is made")


def config_text(found: list[Setting]) -> str:
    """Return settings as lines, and how to change them."""
    names, values = (max(len(getattr(s, field)) for s in found) for field in ("name", "value"))
    values = min(values, 40)
    lines = [f"{s.name:{names}}  {clean(s.value):{values}}  {s.origin:12}  {s.help}".rstrip() for s in found]
    return "\n".join([*lines, "", _HOW])


_HOW = (
    "%config PiMagics.model = 'provider:model' sets one for this kernel, "
    "c.PiMagics.model in ipython_config.py for all; "
    f"{VARIABLES['model']} gives the default of model."
)


def config_html(found: list[Setting]) -> str:
    """Return settings as an HTML table."""
    from html import escape

    def row(cells: Any) -> str:
        return "<tr>" + "".join(f'<td style="text-align:left">{escape(clean(cell))}</td>' for cell in cells) + "</tr>"

    rows = "".join(row((s.name, s.value, s.origin, s.help)) for s in found)
    head = "".join(f'<th style="text-align:left">{name}</th>' for name in ("setting", "value", "from", "what it does"))
    return f"<table><tr>{head}</tr>{rows}</table><div>{escape(_HOW)}</div>"

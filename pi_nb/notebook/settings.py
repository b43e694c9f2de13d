"""What a user may set: in a config file, with ``%config PiMagics.name = value``, or in the environment.

An environment variable (``PI_NB_MODEL``, ``PI_NB_THINKING`` …) only gives the default; what is configured wins.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Float, Int, TraitError, Unicode
from traitlets.config import Config, Configurable

if TYPE_CHECKING:
    from pi_nb.providers.timeouts import Timeouts

__all__ = ["VARIABLES", "PiMagics", "install", "remove"]

VARIABLES = {
    name: f"PI_NB_{name.upper()}"
    for name in (
        *("model", "thinking", "system_prompt", "max_turns", "replay", "tools", "session_root"),
        *("connect_timeout", "first_token_timeout", "idle_timeout"),
    )
}
"""Which variable of the environment gives the default of which setting."""

_YES = frozenset({"1", "true", "yes", "on"})


class PiMagics(Configurable):
    """Settings of pi_nb."""

    model = Unicode(
        help="Model of branches that name none, provider:model; empty: PI_NB_MODEL, else what is there."
    ).tag(config=True)
    thinking = Unicode("off", help="Thinking level of branches that set none.").tag(config=True)
    system_prompt = Unicode(help="System prompt of every run; PI_NB_SYSTEM_PROMPT gives the default.").tag(config=True)
    max_turns = Int(50, min=1, help="Answers after which a run ends.").tag(config=True)
    replay = Bool(False, help="Show stored answers instead of asking again, as %%pi --replay does.").tag(config=True)
    tools = Unicode(
        help="Tools, separated by commas, that are active on branches that choose none, such as 'read,grep'."
    ).tag(config=True)
    session_root = Unicode(help="Folder of the session files; empty: pi's own.").tag(config=True)
    connect_timeout = Float(15.0, min=0.001, help="Seconds to wait for a connection to a provider.").tag(config=True)
    first_token_timeout = Float(600.0, min=0.001, help="Seconds to wait for an answer to begin.").tag(config=True)
    idle_timeout = Float(180.0, min=0.001, help="Seconds to wait for an answer to go on.").tag(config=True)

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self._in_file = {name: getattr(self, name) for name in _section(self.config)}
        self._in_environment = dict(self._defaults())
        for name, value in self._in_environment.items():
            setattr(self, name, value)

    def _defaults(self) -> Iterator[tuple[str, Any]]:
        """Yield the settings that the environment gives and no config file does; what cannot be read is passed over."""
        for name, variable in VARIABLES.items():
            text = os.environ.get(variable)
            if text and name not in self._in_file and name != "model":  # a model of the registry's choice says why
                try:
                    trait = self.traits()[name]
                    value = text.lower() in _YES if isinstance(trait, Bool) else trait.from_string(text)
                    yield name, trait._validate(self, value)
                except (TraitError, ValueError):
                    continue

    @property
    def timeouts(self) -> Timeouts:
        """How long to wait for providers."""
        from pi_nb.providers.timeouts import Timeouts

        return Timeouts(self.connect_timeout, self.first_token_timeout, self.idle_timeout)

    def origin(self, name: str) -> str:
        """Return where the value of a setting came from: ``config file``, ``%config``, ``environment``, ``default``."""
        value = getattr(self, name)
        if name in self._in_file and value == self._in_file[name]:
            return "config file"
        if name in self._in_environment and value == self._in_environment[name]:
            return "environment"
        if value != self.traits()[name].default():
            return "%config"
        return "environment" if name == "model" and os.environ.get(VARIABLES["model"]) else "default"


def _section(config: Config) -> list[str]:
    """Return the names of the settings that a config file, or the command line, sets."""
    return [name for name in config.get(PiMagics.__name__, {}) if name in PiMagics.class_trait_names(config=True)]


def install(ip: Any) -> PiMagics:
    """Add the settings to ``%config`` and return them."""
    remove(ip)
    settings = PiMagics(parent=ip)
    ip.configurables.append(settings)
    return settings


def remove(ip: Any) -> None:
    """Take the settings out of ``%config`` again."""
    ip.configurables[:] = [c for c in ip.configurables if type(c).__name__ != PiMagics.__name__]

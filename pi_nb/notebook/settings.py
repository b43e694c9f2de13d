"""What a user may set: in a config file, with ``%config PiNb.name = value``, or in the environment.

An environment variable (``PI_NB_MODEL``) only gives the default; what is configured wins.
"""

from __future__ import annotations

import os
from typing import Any

from traitlets import Bool, Int, Unicode, default
from traitlets.config import Configurable

__all__ = ["PiNb", "install", "remove"]


class PiNb(Configurable):
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

    @default("system_prompt")
    def _system_prompt(self) -> str:
        return os.environ.get("PI_NB_SYSTEM_PROMPT", "")


def install(ip: Any) -> PiNb:
    """Add the settings to ``%config`` and return them."""
    remove(ip)
    settings = PiNb(parent=ip)
    ip.configurables.append(settings)
    return settings


def remove(ip: Any) -> None:
    """Take the settings out of ``%config`` again."""
    ip.configurables[:] = [c for c in ip.configurables if type(c).__name__ != PiNb.__name__]

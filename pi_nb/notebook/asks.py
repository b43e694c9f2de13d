"""What a cell asks for, as a value: made of a magic's arguments, checked before anything is written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pi_nb.errors import UserError
from pi_nb.messages import ImageContent, TextContent
from pi_nb.notebook.cells import Cell
from pi_nb.notebook.checks import ask_to_write, check_level, check_tool, check_writable
from pi_nb.notebook.references import check_label

if TYPE_CHECKING:
    import argparse

    from pi_nb.notebook.runtime import Runtime

__all__ = ["Ask", "Block", "ask_from", "check", "check_key", "check_model"]

Block: TypeAlias = TextContent | ImageContent


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a cell asks for.

    Attributes:
        text: The prompt, with its expressions already evaluated.
        cell: The cell that asks.
        attached: Texts and images that go with it.
        model: ``provider:model`` from here on, or None to leave it.
        thinking: Thinking level from here on, or None.
        tools: Names of the active tools from here on, or None.
        place: Reference to move the leaf to first, or None.
        append: True to append at the leaf even if the cell was run before.
        replay: True to show the stored answer if there is one to the same question.
        label: Label for the answer, or None.
        system: System prompt for this run only, or None.
        max_turns: Limit for this run only, or None.
        out: Variable to store the reply in, or None.
        background: True to give the prompt back at once.
        branch: Which of several branches that answer one prompt, counted from 1; None if it is the only one.
    """

    text: str
    cell: Cell
    attached: tuple[Block, ...] = ()
    model: str | None = None
    thinking: str | None = None
    tools: tuple[str, ...] | None = None
    place: str | None = None
    append: bool = False
    replay: bool = False
    label: str | None = None
    system: str | None = None
    max_turns: int | None = None
    out: str | None = None
    background: bool = False
    branch: int | None = None

    @property
    def content(self) -> tuple[Block, ...]:
        """What is sent: the prompt and what is attached."""
        said = (TextContent(text=self.text),) if self.text.strip() or not self.attached else ()
        return (*said, *self.attached)

    def terms(self, system_prompt: str) -> dict[str, Any]:
        """Return what the answer depends on and the session does not say otherwise.

        Args:
            system_prompt: The one that counts where this prompt brings none.
        """
        system = system_prompt if self.system is None else self.system
        known = {"system": hashlib.sha256(system.encode()).hexdigest()[:16] if system else None}
        known |= {"maxTurns": self.max_turns}  # type: ignore[dict-item]
        return {name: value for name, value in known.items() if value is not None}

    def beside(self, system_prompt: str) -> dict[str, Any]:
        """Return what is written beside the prompt's message: its cell, and the terms it was asked under."""
        terms = self.terms(system_prompt)
        more: dict[str, Any] = {"terms": terms} if terms else {}
        more |= {"branch": self.branch} if self.branch is not None else {}
        return {name: {**fields, **more} for name, fields in self.cell.to_wire().items()}


def ask_from(runtime: Runtime, given: argparse.Namespace, text: str) -> Ask:
    """Return what a ``%pi`` asks for.

    Args:
        runtime: Where expressions are evaluated and tools are found.
        given: Its parsed options.
        text: The prompt as typed.

    Raises:
        UserError: An expression cannot be evaluated, an option makes no sense, or there is no such tool.
    """
    from pi_nb.notebook.attachments import attached, pictures
    from pi_nb.notebook.interpolate import interpolate

    evaluate = runtime.ip.ev
    return Ask(
        text=text if given.raw else interpolate(text, evaluate),
        cell=runtime.cells.now(runtime.ip, text, runtime.guest),
        attached=(*attached(given.attach, evaluate), *pictures(given.image, evaluate)),
        model=given.model,
        thinking=None if given.thinking and "," in given.thinking else given.thinking,
        tools=_tools(runtime, given),
        place=vars(given)["from"],
        append=given.append,
        replay=(given.replay or runtime.settings.replay) and not given.append,
        label=given.label,
        system=given.system,
        max_turns=given.max_turns,
        out=_variable(given.out),
        background=given.bg,
    )


def _tools(runtime: Runtime, given: argparse.Namespace) -> tuple[str, ...] | None:
    from pi_nb.notebook.toolbox import known_or_added, names_of

    if given.no_tools:
        return ()
    return None if given.tools is None else known_or_added(runtime, names_of([given.tools]))


def _variable(name: str | None) -> str | None:
    if name and not name.isidentifier():
        raise UserError(f"{name!r} cannot be the name of a variable.", hint="For example: --out ans")
    return name


def check(runtime: Runtime, ask: Ask) -> None:
    """Find whatever is wrong with a request before anything is written.

    Raises:
        UserError: An empty prompt, an unknown place, level or tool, a session that cannot be written, a run going on.
        ProviderError: ``not_found``: the provider has no such model.
    """
    runtime.check_idle()
    if not ask.text.strip().strip("\"'") and not ask.attached:
        raise UserError("The prompt is empty.", hint="Write it below %%pi, or after %pi.")
    ask_to_write(runtime)
    check_writable(runtime.session)
    check_model(runtime, ask.model)
    if ask.thinking is not None:
        check_level(ask.thinking)
    for name in ask.tools or ():
        check_tool(runtime.tools, name)
    if ask.place is not None:
        runtime.find(ask.place)
    if ask.label is not None:
        check_label(runtime.session, ask.label)


def check_model(runtime: Runtime, model: str | None) -> None:
    """Check that there is a model to ask.

    Raises:
        UserError, ProviderError: There is not.
    """
    if model is not None:
        runtime.registry.resolve(model)
    elif runtime.harness.model is None:
        raise UserError(
            " ".join(runtime.harness.notices) or "There is no model.", hint="%pi_model provider:model sets one."
        )


def check_key(runtime: Runtime, ask: Ask) -> None:
    """Check that the model that would be asked is not known to lack its key.

    Raises:
        ProviderError: ``auth``: it lacks it; the hint says how to set it.
    """
    from pi_nb.notebook.placing import parent_of

    if ask.model is not None:
        provider = runtime.registry.resolve(ask.model)[0].name
    else:
        model = runtime.harness.configuration_at(parent_of(runtime.session, ask)).model
        provider = model.provider if model else ""
    missing = runtime.registry.missing_key(provider) if provider in runtime.registry.names() else None
    if missing is not None:
        raise missing

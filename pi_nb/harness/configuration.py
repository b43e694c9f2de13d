"""Model, thinking level and tools: what they are now, what the branch says, and what is still to be written.

The branch decides: after a checkout the configuration is what the path says, and where it says nothing, what the
harness was made with. What a branch asks for and this place does not have is reported and replaced, never fatal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pi_nb.errors import HarnessError, PiError, ProviderError
from pi_nb.harness.events import HarnessEvent, ModelUpdate, ThinkingLevelUpdate, ToolsUpdate
from pi_nb.harness.run import Settings
from pi_nb.harness.tools import Tool
from pi_nb.models import THINKING_LEVELS, Model
from pi_nb.providers.base import Provider
from pi_nb.providers.registry import Registry
from pi_nb.providers.thinking import thinking_note
from pi_nb.session.entries import ThinkingLevelChangeEntry

if TYPE_CHECKING:
    from pi_nb.session.context import Context
    from pi_nb.session.entries import Entry
    from pi_nb.session.tree import Session

__all__ = ["BranchState", "Configuration", "branch_state", "check_tool_names"]


@dataclass(frozen=True, slots=True)
class BranchState:
    """What a branch says of the configuration; None where it says nothing."""

    model: str | None = None
    thinking_level: str | None = None
    active_tool_names: tuple[str, ...] | None = None


def branch_state(session: Session, at: str | None, base_level: str = "") -> BranchState:
    """Return what the path to an entry says of model, thinking level and active tools.

    Args:
        session: The session.
        at: The entry.
        base_level: Level where a path sets none; if it is ``off``, the path need not be searched for an ``off``.
    """
    context: Context = session.context(at)
    level: str | None = context.thinking_level
    if level == "off" and (base_level == "off" or not _says_level(session.path(at))):
        level = None
    model = None if context.model is None else str(context.model)
    return BranchState(model, level, context.active_tool_names)


def _says_level(path: Sequence[Entry]) -> bool:
    return any(isinstance(entry, ThinkingLevelChangeEntry) for entry in path)


def check_tool_names(names: Sequence[str], known: Sequence[str], what: str = "active tool") -> None:
    """Check names of active tools.

    Raises:
        HarnessError: ``invalid_argument``: one is unknown or comes twice.
    """
    missing = [name for name in names if name not in known]
    double = sorted({name for name in names if list(names).count(name) > 1})
    if double:
        raise HarnessError(f"The {what} names contain {', '.join(double)} twice.", code="invalid_argument")
    if missing:
        raise HarnessError(
            f"There is no tool {', '.join(missing)}.",
            code="invalid_argument",
            hint=f"Known: {', '.join(known) or 'none'}.",
        )


class Configuration:
    """The configuration of a harness or of one run.

    Args:
        registry: Where providers are found.
        model: Model where the branch names none; None for the registry's choice.
        thinking_level: Level where the branch sets none.
        tools: What a model may call.
        active: Names of the tools it may call where the branch says nothing; None for all.
        notices: Where to say what could not be had.

    Raises:
        HarnessError: ``invalid_argument``: a tool name comes twice, or an active one is unknown.
        UserError, ProviderError: A model given by name does not exist.
    """

    def __init__(
        self,
        registry: Registry,
        *,
        model: str | Model | None,
        thinking_level: str,
        tools: Sequence[Tool],
        active: Sequence[str] | None,
        notices: list[str],
    ) -> None:
        self.registry = registry
        self.notices = notices
        self._noted: set[str] = set()  # what is worth saying once
        self.tools: dict[str, Tool] = {}
        self.active: tuple[str, ...] = ()
        self.replace_tools(tools, [tool.name for tool in tools] if active is None else active)
        self._base_model = self.find_model(model) if model is not None else None
        self._base_level = check_level(thinking_level)
        self._base_active = None if active is None else tuple(active)
        self.model = self._base_model
        self.thinking_level = self._base_level

    def restore_at(self, session: Session, at: str | None) -> Iterator[HarnessEvent]:
        """Become what the branch to an entry says; yield an event for each part that changes."""
        return self._restore(branch_state(session, at, self._base_level))

    def at(self, session: Session, entry_id: str | None) -> Configuration:
        """Return what would count at an entry; this one stays as it is, and nobody is told of what is missing."""
        twin = self.copy()
        twin.notices = []
        for _ in twin.restore_at(session, entry_id):
            continue
        return twin

    def copy(self) -> Configuration:
        """Return a configuration of its own for one run."""
        twin = object.__new__(Configuration)
        twin.__dict__.update(self.__dict__)
        return twin

    # ------------------------------------------------------------ parts

    def find_model(self, model: str | Model) -> Model:
        """Return the model of that name; a model is returned as it is.

        Raises:
            UserError: Not ``provider:model``, or no such provider.
            ProviderError: ``not_found``: the provider has no such model.
        """
        return model if isinstance(model, Model) else self.registry.resolve(model)[1]

    def replace_tools(self, tools: Sequence[Tool], active: Sequence[str]) -> None:
        """Use other tools.

        Raises:
            HarnessError: ``invalid_argument``: a name comes twice, or an active one is unknown.
        """
        names = [tool.name for tool in tools]
        check_tool_names(names, names, "tool")
        check_tool_names(active, names)
        self.tools = {tool.name: tool for tool in tools}
        self.active = tuple(active)

    def settings(self, system_prompt: str) -> Settings:
        """Return what the next turn works with.

        Raises:
            HarnessError: ``invalid_state``: there is no model.
        """
        model = self.model
        if model is None:
            raise HarnessError(
                "No model is set.", code="invalid_state", hint="Choose one: set_model('provider:model')."
            )
        note = thinking_note(model, self.thinking_level)
        if note and note not in self._noted:
            self._noted.add(note)
            self.notices.append(note)
        return Settings(
            model,
            lambda: self._provider(model),
            self.thinking_level,
            tuple(self.tools[name] for name in self.active if name in self.tools),
            system_prompt,
        )

    def _provider(self, model: Model) -> Provider:
        try:
            return self.registry.get(model.provider)
        except ProviderError:
            raise
        except PiError as error:
            raise ProviderError(str(error), code="not_found", hint=error.hint) from error

    # ------------------------------------------------------------ restoring

    def _restore(self, state: BranchState) -> Iterator[HarnessEvent]:
        yield from self._restore_model(state.model)
        previous, self.thinking_level = self.thinking_level, state.thinking_level or self._base_level
        if previous != self.thinking_level:
            yield ThinkingLevelUpdate(self.thinking_level, previous, source="restore")
        before = self.active
        self.active = self._available(state.active_tool_names)
        if before != self.active:
            names = tuple(self.tools)
            yield ToolsUpdate(names, names, self.active, before, source="restore")

    def _restore_model(self, ref: str | None) -> Iterator[HarnessEvent]:
        previous = self.model
        self.model = self._model_for(ref)
        if previous != self.model:
            yield ModelUpdate(self.model, previous, source="restore")

    def _model_for(self, ref: str | None) -> Model | None:
        for candidate in (self.model, self._base_model):
            if candidate is not None and str(candidate) == ref:
                return candidate
        if ref is not None:
            try:
                return self.registry.resolve(ref)[1]
            except PiError as error:
                fallback = self._fallback()
                self.notices.append(f"This branch used {ref}, which is not available here ({error}); using {fallback}.")
                return fallback
        return self._fallback()

    def _fallback(self) -> Model | None:
        """Return the model for branches that name none, or whose model is not to be had."""
        if self._base_model is None:
            choice = self.registry.default()
            try:
                self._base_model = self.registry.resolve(choice.ref)[1]
            except PiError as error:
                self.notices.append(f"The model {choice.ref} ({choice.reason}) is not available: {error}")
        return self._base_model

    def _available(self, names: Sequence[str] | None) -> tuple[str, ...]:
        if names is None:
            base = self._base_active if self._base_active is not None else tuple(self.tools)
            return tuple(name for name in base if name in self.tools)
        missing = [name for name in names if name not in self.tools]
        if missing:
            self.notices.append(f"This branch uses tools that are not available here: {', '.join(missing)}.")
        return tuple(name for name in names if name in self.tools)


def check_level(level: str) -> str:
    """Return the thinking level.

    Raises:
        HarnessError: ``invalid_argument``: there is no such level.
    """
    if level not in THINKING_LEVELS:
        known = ", ".join(THINKING_LEVELS)
        raise HarnessError(f"{level!r} is not a thinking level.", code="invalid_argument", hint=f"Known: {known}.")
    return level

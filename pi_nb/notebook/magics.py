"""The magics: each parses its arguments, calls what does the work, and shows what came of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

from IPython.core.magic import Magics, line_cell_magic, line_magic, magics_class, no_var_expand
from IPython.display import display

from pi_nb.errors import PiError, SessionError, UserError
from pi_nb.notebook.caption import clean
from pi_nb.notebook.commands import COMMANDS
from pi_nb.notebook.place import has_kernel
from pi_nb.notebook.runtime import Runtime
from pi_nb.providers.surrogates import well_formed

__all__ = ["CellMagics"]

Given: TypeAlias = argparse.Namespace


def command(method: Callable[..., None]) -> Callable[..., None]:
    """Make a magic of a method that takes parsed arguments: help, mistakes in one line, prompts untouched."""
    name = method.__name__

    @wraps(method)
    def magic(self: CellMagics, line: str, cell: str | None = None) -> None:
        spec = COMMANDS["%" + name] if cell is None else COMMANDS["%%" + name]
        try:
            given = spec.parse(line)
            if given.help:
                say(spec.parser.format_help())
            elif cell is None:
                method(self, given)
            else:
                method(self, given, cell)
        except PiError as error:
            raise self.shown(error) from None

    magic.__doc__ = COMMANDS["%" + name].parser.format_help()
    return no_var_expand(magic)  # type: ignore[no-any-return]


def say(text: str) -> None:
    """Print a line or more of our own, made fit to be shown."""
    sys.stdout.write(clean(text).rstrip("\n") + "\n")


def say_once(runtime: Runtime, text: str) -> None:
    """Print something that a kernel is told one time only; nothing if there is nothing to say."""
    if text and text not in runtime.visited:
        runtime.visited.add(text)
        say(text)


def say_of_key(runtime: Runtime) -> None:
    """Print that the model's key is missing and how to set it; nothing if it is there."""
    model = runtime.harness.model
    known = model is not None and model.provider in runtime.registry.names()
    missing = runtime.registry.missing_key(model.provider) if model is not None and known else None
    if missing is not None:
        say(f"{missing}\n{missing.hint}")


@magics_class
class CellMagics(Magics):
    """Prompt, branch and look, from a cell."""

    def __init__(self, shell: Any, runtime: Runtime) -> None:
        super().__init__(shell)
        self.runtime = runtime

    def shown(self, error: PiError) -> PiError:
        """Return an error as it should be shown: in words, or with its traceback where ``%xmode Verbose`` is on."""
        error = self._told(error)
        error.args = tuple(clean(arg) if isinstance(arg, str) else arg for arg in error.args)
        error.hint = clean(error.hint)
        tracebacks = self.shell.InteractiveTB
        if tracebacks.mode != "Verbose":
            error.show_words_only()
        else:
            error._render_traceback_ = lambda: tracebacks.structured_traceback(  # type: ignore[method-assign]
                type(error), error, error.__traceback__
            )
        return error

    def _told(self, error: PiError) -> PiError:
        """Return the error to show: where it is the way to the leaf that is broken, one that says what helps."""
        if not isinstance(error, SessionError) or not self.runtime.has_session:
            return error
        from pi_nb.notebook.checks import leaf_fault

        return leaf_fault(self.runtime.session) or error

    @line_cell_magic
    @command
    def pi(self, given: Given, cell: str | None = None) -> None:
        """Prompt the model, or say where we are."""
        from pi_nb.notebook import looking, prompting, status
        from pi_nb.notebook.asks import ask_from
        from pi_nb.notebook.fan_out import fan_from, fan_out

        asked = _asked(given)
        if cell is None and not given.text and not asked:
            return _show_rows(status.facts(self.runtime))
        if cell is not None and given.text:
            raise UserError(f"{given.text!r} is on the %%pi line.", hint="The prompt goes below it, options in front.")
        ask = ask_from(self.runtime, given, given.text if cell is None else cell.removesuffix("\n"))
        if given.dry_run:
            return looking.show_request(self.runtime, ask)
        fan = fan_from(self.runtime, given)
        if fan is None:
            prompting.prompt(self.runtime, ask)
        else:
            fan_out(self.runtime, ask, fan)
        return say_once(self.runtime, looking.click_note(self.shell)) if ask.background else None

    @line_magic
    @command
    def pi_checkout(self, given: Given) -> None:
        """Move the leaf."""
        from pi_nb.notebook.branch_settings import BranchSettings
        from pi_nb.notebook.checks import leaf_fault
        from pi_nb.notebook.progress import checkout_with_summary
        from pi_nb.notebook.status import leaf_line

        runtime = self.runtime
        runtime.check_idle()
        if leaf_fault(runtime.session) is not None:
            return self._offer(self._leave_broken(given.ref))
        target, before = runtime.find(given.ref), runtime.session.leaf_id
        if given.summarize:
            return self._offer(checkout_with_summary(runtime, target, given.message).editor_text)
        settings = BranchSettings.of(runtime.harness)
        result = runtime.wait(runtime.harness.navigate_tree(target))
        moved = "Leaf" if result.leaf_id != before else "The leaf is there already"
        changed = BranchSettings.of(runtime.harness).since(settings)
        say(" · ".join(filter(None, (f"{moved}: {leaf_line(runtime.session)}", changed))))
        return self._offer(result.editor_text)

    def _leave_broken(self, ref: str) -> str | None:
        """Go away from a leaf whose way up is broken; no harness can be made there."""
        from pi_nb.notebook.status import leaf_line
        from pi_nb.session.refs import resolve_ref

        session = self.runtime.session
        target = resolve_ref(session, ref)
        session.path(target)
        prompt = session.checkout(target).editor_text
        say(f"Leaf: {leaf_line(session)}")
        return prompt

    def _offer(self, prompt: str | None) -> None:
        """Put a prompt that was checked out into the next cell."""
        if prompt is not None:
            say("The prompt that was there is in the next cell, to be edited and run.")
            self.shell.set_next_input(f"%%pi\n{well_formed(prompt)}", replace=False)

    @line_magic
    @command
    def pi_tree(self, given: Given) -> None:
        """Show the tree."""
        from pi_nb.notebook import looking

        if given.svg:
            looking.show_svg(self.runtime.session)
        elif given.dot:
            looking.show_dot(self.runtime.session)
        elif given.text or not has_kernel(self.shell):
            looking.show_text(self.runtime.session)
        elif self.runtime.place.kind == "headless":
            looking.show_picture(self.runtime.session)  # nobody is there to click
        else:
            display(self.runtime.tree_view)
            say_once(self.runtime, looking.click_note(self.shell))

    @line_magic
    @command
    def pi_context(self, given: Given) -> None:
        """Show what the model would be sent."""
        from pi_nb.notebook.looking import show_context

        show_context(self.runtime, self.runtime.find(given.ref or "@"))

    @line_magic
    @command
    def pi_log(self, given: Given) -> None:
        """Show the log."""
        from pi_nb.notebook.looking import log_text

        say(log_text(self.runtime.session, whole=given.all))

    @line_magic
    @command
    def pi_label(self, given: Given) -> None:
        """Label an entry, or list the labels."""
        from pi_nb.notebook.labels import clear_label, label_entry, labels_text

        session = self.runtime.session
        if given.name is None:
            say(labels_text(session))
        elif given.clear:
            say(clear_label(session, given.name))
        else:
            self.runtime.check_idle()
            say(label_entry(session, given.name, given.ref, notebook=self.runtime.guest))

    @line_magic
    @command
    def pi_model(self, given: Given) -> None:
        """Set or say the model, or list a provider's."""
        from pi_nb.notebook.model_list import models_text
        from pi_nb.notebook.status import why_model

        runtime = self.runtime
        if given.model is not None and given.model.endswith(":"):
            say(models_text(runtime, given.model[:-1]))
            return
        if given.model is not None:
            runtime.wait(runtime.harness.set_model(given.model))
        chosen = runtime.session.context().model is not None
        say(f"{runtime.harness.model}" + (", on this branch." if chosen else f". {why_model(runtime)}"))
        say_of_key(runtime)

    @line_magic
    @command
    def pi_thinking(self, given: Given) -> None:
        """Set or say the thinking level."""
        from pi_nb.notebook.checks import check_level

        runtime = self.runtime
        if given.level is not None:
            check_level(given.level)
            runtime.wait(runtime.harness.set_thinking_level(given.level))
        say(f"Thinking: {runtime.harness.thinking_level}.")

    @line_magic
    @command
    def pi_tools(self, given: Given) -> None:
        """Set or say the tools."""
        from pi_nb.notebook import tools
        from pi_nb.notebook.display import show

        said = tools.change(self.runtime, given)
        if said:
            return say("\n".join(said))
        return show(tools.overview_html(self.runtime), tools.overview_text(self.runtime))

    @line_magic
    @command
    def pi_session(self, given: Given) -> None:
        """Say where the session is, or change it."""
        from pi_nb.notebook.sessions import act

        say(act(self.runtime, given.action, given.words, yes=given.yes))

    @line_magic
    @command
    def pi_abort(self, given: Given) -> None:
        """Stop the run."""
        from pi_nb.notebook.steering import abort

        say(abort(self.runtime))

    @line_magic
    @command
    def pi_approve(self, given: Given) -> None:
        """Show the open question, or answer it."""
        from pi_nb.notebook.approving import approve

        said = approve(self.runtime, given.text)
        if said:
            say(said)

    @line_cell_magic
    @command
    def pi_steer(self, given: Given, cell: str | None = None) -> None:
        """Speak to the run."""
        from pi_nb.notebook.steering import steer

        say(steer(self.runtime, _text(given, cell)))

    @line_cell_magic
    @command
    def pi_followup(self, given: Given, cell: str | None = None) -> None:
        """Speak to the run when it would stop."""
        from pi_nb.notebook.steering import followup

        say(followup(self.runtime, _text(given, cell)))

    @line_cell_magic
    @command
    def pi_next(self, given: Given, cell: str | None = None) -> None:
        """Speak in front of the next prompt."""
        from pi_nb.notebook.steering import next_turn

        say(next_turn(self.runtime, _text(given, cell)))


def _text(given: Given, cell: str | None) -> str:
    return str(given.text) if cell is None else cell.removesuffix("\n")


def _asked(given: Given) -> bool:
    """Return whether any option was given."""
    return any(value not in (None, False, "", []) for name, value in vars(given).items() if name != "text")


def _show_rows(rows: list[tuple[str, str]]) -> None:
    from pi_nb.notebook.display import show
    from pi_nb.notebook.status import status_html, status_text

    show(status_html(rows), status_text(rows))

"""The magics around runs: compacting, comparing, tracing, settings."""

from __future__ import annotations

from IPython.core.magic import line_magic, magics_class

from pi_nb.errors import UserError
from pi_nb.notebook.magics import CellMagics, Given, command, say

__all__ = ["RunMagics"]


@magics_class
class RunMagics(CellMagics):
    """Summarise, compare, trace."""

    @line_magic
    @command
    def pi_compact(self, given: Given) -> None:
        """Summarise the older part of the branch."""
        from pi_nb.notebook.progress import compact

        compact(self.runtime, given.message)

    @line_magic
    @command
    def pi_diff(self, given: Given) -> None:
        """Compare two branches."""
        from pi_nb.notebook.comparing import compare
        from pi_nb.notebook.comparison_views import as_html, as_text
        from pi_nb.notebook.display import show

        found = compare(self.runtime.session, given.left, given.right or "@", notebook=self.runtime.guest)
        show(as_html(found, whole_text=given.text), as_text(found, whole_text=given.text))

    @line_magic
    @command
    def pi_trace(self, given: Given) -> None:
        """Trace runs, or stop doing so."""
        if given.state not in (None, "on", "off"):
            raise UserError(f"%pi_trace {given.state!r}?", hint="on or off.")
        if given.state is not None:
            self.runtime.tracing = given.state == "on"
        say("Runs are traced." if self.runtime.tracing else "Runs are not traced.")

    @line_magic
    @command
    def pi_config(self, given: Given) -> None:
        """Show the settings."""
        from pi_nb.notebook.configuring import config_html, config_text, settings_of
        from pi_nb.notebook.display import show

        found = settings_of(self.runtime)
        show(config_html(found), config_text(found))

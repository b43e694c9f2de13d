"""A place in a session's tree, for code in other cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_nb.session.context import Context
    from pi_nb.session.entries import Entry
    from pi_nb.session.tree import Session

__all__ = ["Place"]


@dataclass(frozen=True, slots=True)
class Place:
    """An entry and the session it is in; ``id`` is None before the first entry."""

    session: Session
    id: str | None

    def __repr__(self) -> str:
        return f"<Place {self.id} of {self.session!r}>"

    @property
    def entry(self) -> Entry | None:
        """The entry; None before the first."""
        return None if self.id is None else self.session.entry(self.id)

    @property
    def label(self) -> str | None:
        """The entry's label, or None."""
        return self.session.labels.get(self.id) if self.id else None

    def context(self) -> Context:
        """Return what a model would see from here. Errors as for :meth:`Session.context`."""
        return self.session.context(self.id)

    def path(self) -> Sequence[Entry]:
        """Return the entries from the root to here. Errors as for :meth:`Session.path`."""
        return self.session.path(self.id)

    def children(self) -> list[Place]:
        """Return the places that follow on this one, in the order of writing."""
        return [Place(self.session, child) for child in self.session.children(self.id)]

    def to_frame(self) -> Any:
        """Return the entries from the root to here as a ``pandas.DataFrame``, as :meth:`Session.to_frame` has them.

        Raises:
            UserError: pandas is not installed.
        """
        from pi_nb.views.frame import session_frame

        return session_frame(self.session, [entry.id for entry in self.path()])

"""Short names for entries, as people type them.

========= =====================================================
``@``     the leaf
``@^``    its parent; ``@^^`` the parent of that
``@~n``   the place before the last *n* prompts of the path
``-``     where the leaf was before it last moved
``root``  before the first entry
label     the entry with that label
id        an entry's id, or the beginning of one; if that is digits only, four of them
========= =====================================================

``^`` and ``~n`` may follow any of them: ``plan^``, ``9b1e~2``.
"""

from __future__ import annotations

import difflib
import re

from pi_nb.errors import UserError
from pi_nb.session.entries import Entry, LeafEntry, MessageEntry
from pi_nb.session.tree import Session

__all__ = ["label_problem", "resolve_ref"]

_STEPS = re.compile(r"(?:\^|~\d*)+$")
_STEP = re.compile(r"\^|~(\d*)")
_LABELS = 12  # that a hint names
_SHORTEST = 4  # digits that are taken for the beginning of an id
_RESERVED = re.compile(r"root|-|@.*|cell:\d.*", re.DOTALL)


def resolve_ref(session: Session, text: str) -> str | None:
    """Return the id of the entry that a reference names; None for the root.

    Raises:
        UserError: It names nothing, or more than one entry; the hint names what is near.
    """
    name = text.strip()
    if name in session.labels.values() and _STEPS.sub("", name) not in ("@", "-", "root"):
        return _labelled(session, name)
    steps = _STEPS.search(name)
    if steps is None or steps.start() == 0:
        return _base(session, name)
    place = _base(session, name[: steps.start()])
    for step in _STEP.finditer(steps.group()):
        place = _parent(session, place) if step.group() == "^" else _turns_up(session, place, int(step.group(1) or 1))
    return place


def label_problem(session: Session, label: str, target: str | None = None) -> str:
    """Return why a label could not be used as a reference to its entry; empty if it could.

    Files may hold any label; this is for those who give new ones.

    Args:
        session: The session.
        label: The label.
        target: The entry it is for, if that is known yet.
    """
    if not label.strip():
        return "A label needs a name."
    if label != label.strip():
        return f"{label!r} begins or ends with a space."
    if _RESERVED.fullmatch(label):
        return f"{label!r} has a meaning of its own as a reference."
    if _STEPS.search(label):
        return f"{label!r} ends like a reference to what comes before."
    if label != target and label in session.storage.index.positions:
        return f"{label!r} is the id of an entry."
    return ""


def _base(session: Session, name: str) -> str | None:
    if name in ("@", "root"):
        return session.leaf_id if name == "@" else None
    if name == "-":
        return _previous_leaf(session)
    if name in session.labels.values():
        return _labelled(session, name)
    if not name:
        raise UserError("An entry is missing.", hint="Name one by label, id, or @ for the current leaf.")
    return _by_id(session, name)


def _labelled(session: Session, label: str) -> str:
    targets = [target for target, name in session.labels.items() if name == label and session.get(target)]
    if len(targets) == 1:
        return targets[0]
    if not targets:
        raise UserError(f"The entry labelled {label!r} is not in this session.")
    raise UserError(f"{len(targets)} entries are labelled {label!r}.", hint="Use an id: " + ", ".join(targets) + ".")


def _by_id(session: Session, text: str) -> str:
    ids = session.storage.index.positions
    if text in ids:
        return text
    if len(text) < _SHORTEST and text.isdecimal():
        raise UserError(
            f"{text} is too short for an id, and may be the number of something else.",
            hint=f"Write {_SHORTEST} characters of an id; in a notebook cell:{text} is what cell [{text}] wrote.",
        )
    found = [entry_id for entry_id in ids if entry_id.startswith(text.lower())]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[:5])
        raise UserError(f"{len(found)} entries begin with {text!r}.", hint=f"Write more of the id: {shown}.")
    near = _near(text, list(session.labels.values()), list(ids))
    raise UserError(f"No entry is called {text!r}.", hint=near + _copied(session))


def _copied(session: Session) -> str:
    """Return where else it may be, if the session is a copy of a part of another; else nothing."""
    parent = session.header.parent_session
    name = re.split(r"[\\/]", parent)[-1].removesuffix(".jsonl") if parent else ""
    return f" This session is a copy; what was not copied is in {name[-8:]!r}." if name else ""


def _near(text: str, labels: list[str], ids: list[str]) -> str:
    """Return what may have been meant; where nothing is like it, which labels there are."""
    near = difflib.get_close_matches(text, labels, n=3, cutoff=0.6)
    beginnings = {name[: len(text)] for name in ids[-2000:]}
    near += difflib.get_close_matches(text.lower(), beginnings, n=3, cutoff=0.8)
    if near:
        return f"Did you mean {' or '.join(near[:3])}?"
    known = ", ".join(dict.fromkeys(labels[-_LABELS:]))
    return (
        f"Labels here: {known}. Ids and @ work too." if known else "Name one by label, id, or @ for the current leaf."
    )


def _previous_leaf(session: Session) -> str | None:
    for entry in reversed(session.entries()):
        if isinstance(entry, LeafEntry):
            return entry.parent_id
    raise UserError("The leaf has not moved yet.", hint="Check out an entry by label or id.")


def _parent(session: Session, place: str | None) -> str | None:
    if place is None:
        raise UserError("There is nothing before the root.")
    return session.entry(place).parent_id


def _turns_up(session: Session, place: str | None, count: int) -> str | None:
    """Return the place before the last ``count`` prompts of a path."""
    if not count:
        return place
    found = 0
    for entry in reversed(session.path(place)):  # as few as it takes: a path may be very long
        found += _is_prompt(entry)
        if found == count:
            return entry.parent_id
    raise UserError(f"There are only {found} prompts on this branch, not {count}.")


def _is_prompt(entry: Entry) -> bool:
    return isinstance(entry, MessageEntry) and entry.message.role == "user"

"""``%pi_approve``: the question that is open, from another cell than the one that asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pi_nb.errors import UserError
from pi_nb.tools.policy import Answer

if TYPE_CHECKING:
    from pi_nb.notebook.runtime import Runtime

__all__ = ["approve"]

_ANSWERS = {
    "yes": (Answer(True), "Allowed, once."),
    "always": (Answer(True, always=True), "Allowed, always in this session."),
    "no": (Answer(False), "Denied."),
}


def approve(runtime: Runtime, text: str) -> str:
    """Show the open question in this cell, or answer it; return what to say about it.

    Raises:
        UserError: No question is open, it can only be answered in its line, or that is no answer.
    """
    question = runtime.approvals.question
    if question is None:
        raise UserError("No question is open.", hint="%pi_tools shows which tools are asked about.")
    word, _, why = text.strip().partition(" ")
    if not word:
        runtime.approvals.show_question()
        return ""
    if word not in _ANSWERS or (why and word != "no"):
        raise UserError(f"{text.strip()!r} is no answer.", hint="yes, always, no, or no and why.")
    if question.answer is None:
        raise UserError("This question is asked in a line, and answered there.")
    answer, said = _ANSWERS[word]
    question.answer(Answer(answer.allowed, answer.always, why.strip()))
    return f"{said} {question.shown.tool} {question.shown.title}".strip()

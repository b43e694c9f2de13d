"""What the live tree tells of a context."""

from __future__ import annotations

from pi_nb.messages import AssistantMessage, TextContent, UserMessage
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session
from pi_nb.views.tree_answers import context_answer


def test_an_answer_that_was_stopped_is_marked() -> None:
    """It is shown, with why no model is sent it; what is sent is simply kept."""
    session = Session(InMemorySessionStorage())
    session.append_message(UserMessage(content="one"))
    stopped = AssistantMessage(
        content=(TextContent(text="half"),), provider="p", model="m", stop_reason="aborted", error_message="x"
    )
    session.append_message(stopped)
    session.append_message(UserMessage(content="two"))
    whys = [item["why"] for item in context_answer(session, session.leaf_id)["items"]]
    assert whys == ["kept", "not sent: the answer was stopped", "kept"]

"""What the user says while the agent works: steer, follow-up and next-turn.

========== ===============================================
steer      before the next answer of this run
follow-up  when the run would stop
next-turn  in front of the next prompt
========== ===============================================
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Literal

from pi_nb.harness.events import QueueUpdate
from pi_nb.messages import Message

__all__ = ["MessageQueue", "QueueMode", "Queues"]

QueueMode = Literal["one-at-a-time", "all"]


class MessageQueue:
    """Messages that wait, first in, first out; ``mode`` says how many leave at once."""

    def __init__(self, mode: QueueMode = "one-at-a-time") -> None:
        self.mode: QueueMode = mode
        self._waiting: deque[Message] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def messages(self) -> tuple[Message, ...]:
        """What waits, in order."""
        return tuple(self._waiting)

    def put(self, message: Message) -> None:
        """Add a message at the end."""
        self._waiting.append(message)

    def take(self) -> tuple[Message, ...]:
        """Remove and return what leaves next: one message, or all of them."""
        return self.clear() if self.mode == "all" else tuple(self._waiting.popleft() for _ in range(min(1, len(self))))

    def put_back(self, messages: Iterable[Message]) -> None:
        """Return messages that could not be delivered to the front, in their order."""
        self._waiting.extendleft(reversed(tuple(messages)))

    def clear(self) -> tuple[Message, ...]:
        """Remove and return everything."""
        messages = tuple(self._waiting)
        self._waiting.clear()
        return messages


class Queues:
    """The three queues of a harness."""

    def __init__(self, *, steering_mode: QueueMode, follow_up_mode: QueueMode) -> None:
        self.steer = MessageQueue(steering_mode)
        self.follow_up = MessageQueue(follow_up_mode)
        self.next_turn = MessageQueue("all")

    def update(self) -> QueueUpdate:
        """Return the event that says what waits now."""
        return QueueUpdate(self.steer.messages, self.follow_up.messages, self.next_turn.messages)

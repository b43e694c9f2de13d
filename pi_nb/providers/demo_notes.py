"""What a user said about himself and the world: the demo's whole memory, read anew from each context."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

__all__ = ["facts_in", "name_in", "sentences"]

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_REMEMBER = re.compile(r"^(?:please\s+)?(?:remember|note|keep in mind)\b[:,]?\s*(?:that\s+)?(.+)$", re.IGNORECASE)
_CALLED = re.compile(r"^(?:call me|i am called|i'm called)\s+(.+)$", re.IGNORECASE)
_STATEMENT = re.compile(
    r"^(?P<subject>(?:my|our|the|this|that)\s+[\w' -]{1,40}?|it)\s+(?:is|are|was|were|has|have|costs?|needs?)\s+.+$",
    re.IGNORECASE,
)
_ABOUT_ME = re.compile(
    r"^(?:i|we)(?:'m|\s+(?:am|are|want|would like|like|love|live|have|need|prefer|work|hate|own|use|come|study|teach))"
    r"\s+.+$",
    re.IGNORECASE,
)
_NAME = re.compile(r"^your name is (.+)$")
_SWAPS = (
    (re.compile(r"\bI am\b|\bI'm\b", re.IGNORECASE), "you are"),
    (re.compile(r"\bI\b"), "you"),
    (re.compile(r"\bmy\b", re.IGNORECASE), "your"),
    (re.compile(r"\bme\b", re.IGNORECASE), "you"),
    (re.compile(r"\bmine\b", re.IGNORECASE), "yours"),
)


def sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without what is blank."""
    return [part.strip() for part in _SENTENCE_END.split(text) if part.strip()]


def facts_in(texts: Iterable[str]) -> list[str]:
    """Return what the texts state, in order, seen from the other side; a later statement about a thing replaces one.

    >>> facts_in(["My name is Ada. What is the time?", "Remember: the boat is green"])
    ['your name is Ada', 'the boat is green']
    """
    facts: dict[str, str] = {}
    for text in texts:
        for subject, fact in _statements(text):
            facts.pop(subject, None)
            facts[subject] = fact
    return list(facts.values())


def _statements(text: str) -> Iterator[tuple[str, str]]:
    for sentence in sentences(text):
        if sentence.endswith("?"):
            continue
        bare = sentence.rstrip(".! ")
        remember, called = _REMEMBER.match(bare), _CALLED.match(bare)
        if called:
            yield "your name", f"your name is {called.group(1)}"
        elif remember or _STATEMENT.match(bare) or _ABOUT_ME.match(bare):
            fact = _from_here(remember.group(1) if remember else bare)
            yield _subject(fact), fact


def _subject(fact: str) -> str:
    match = _STATEMENT.match(re.sub(r"^your\b", "my", fact))
    return match.group("subject").lower().replace("my ", "your ", 1) if match else fact.lower()


def _from_here(text: str) -> str:
    """Return a sentence as the one spoken to would say it: I becomes you."""
    for pattern, word in _SWAPS:
        text = pattern.sub(word, text)
    first = text.split(" ", 1)[0]
    return text[0].lower() + text[1:] if first.lower() in _LOWER else text


_LOWER = frozenset({"the", "your", "you", "we", "our", "this", "that", "it"})


def name_in(facts: Iterable[str]) -> str:
    """Return the user's name, if it is among the facts."""
    return next((match.group(1) for fact in facts if (match := _NAME.match(fact))), "")

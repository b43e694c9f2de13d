"""What tells one session from another for a person who looks at a list: how it begins, and how long it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pi_nb.session import lines
from pi_nb.session.logfile import open_to_read

__all__ = ["Preview", "preview", "prompt_in"]


@dataclass(frozen=True, slots=True)
class Preview:
    """How many entries a session's file has, and what the user said first; empty if nothing yet."""

    entries: int = 0
    first_prompt: str = ""


def preview(file: Path) -> Preview:
    """Read through a session's file; of one that cannot be read nothing is known."""
    count, prompt = 0, ""
    try:
        with open_to_read(file) as stream:
            for line in stream:
                count += not lines.is_blank(line)
                if not prompt and b'"user"' in line:
                    prompt = prompt_in(line)
    except OSError:
        return Preview()
    return Preview(max(0, count - 1), prompt)  # the header is no entry


def prompt_in(line: bytes) -> str:
    """Return, on one line, what the user says in a line of a file; empty if it is no prompt."""
    try:
        fields = lines.decode(line)
    except ValueError:
        return ""
    message = fields.get("message") if isinstance(fields, dict) else None
    if not isinstance(message, dict) or message.get("role") != "user":
        return ""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    texts = [b.get("text") for b in blocks if isinstance(b, dict) and b.get("type") == "text"]
    text = content if isinstance(content, str) else " ".join(t for t in texts if isinstance(t, str))
    return " ".join(text.split())

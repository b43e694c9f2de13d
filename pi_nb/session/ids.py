"""Identifiers and times, as pi writes them."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Container
from datetime import UTC, datetime

__all__ = ["new_entry_id", "new_session_id", "now_iso", "parse_time", "time_ms"]


def new_session_id() -> str:
    """Return a UUID of version 7: 48 bits of milliseconds since 1970, then random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_entry_id(taken: Container[str]) -> str:
    """Return 8 random hexadecimal digits that are not in ``taken``."""
    while True:
        try:
            entry_id = _pool.pop()
        except IndexError:  # asking the system for many at once is a tenth of the price
            digits = os.urandom(1024).hex()
            _pool.extend(digits[place : place + 8] for place in range(0, len(digits), 8))
            continue
        if entry_id not in taken:
            return entry_id


_pool: list[str] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.clear)


def now_iso() -> str:
    """Return the time as ISO 8601 in UTC with milliseconds, such as ``2026-01-31T09:30:00.000Z``."""
    global _now
    millis = time.time_ns() // 1_000_000
    known, text = _now
    if known != millis:
        text = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(millis // 1000))}.{millis % 1000:03d}Z"
        _now = millis, text
    return text


_now = (-1, "")  # formatting is dear, and entries come in bursts


def parse_time(text: object) -> datetime | None:
    """Return the moment a text names, or None if it names none. Without an offset it is taken as UTC."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def time_ms(text: object) -> int | None:
    """Return the milliseconds since 1970 that a text names, or None."""
    moment = parse_time(text)
    return None if moment is None else round(moment.timestamp() * 1000)

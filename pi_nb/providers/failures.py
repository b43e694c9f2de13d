"""What went wrong, in our words: HTTP status and error body to :class:`~pi_nb.errors.ProviderError`.

Decided from the status and the error's type; its text is read only to tell a context that is too long from other
bad requests, because no provider but OpenAI has a type for that. Digits in a text decide nothing.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from pi_nb.errors import ProviderCode, ProviderError

__all__ = ["ErrorBody", "failure", "is_overflow", "parse_error_body", "retry_after"]

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})  # and all of 5xx
_RETRYABLE_CODES = frozenset({"rate_limit", "overloaded", "server", "connection", "timeout", "truncated"})
_MESSAGE_LIMIT = 500


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What an error body says: ``kind`` is the provider's type or code of the error, lower case."""

    message: str
    kind: str = ""


def parse_error_body(body: Any) -> ErrorBody:
    """Return what an error body, or an error object inside a stream, says; it may be of any shape."""
    data = _decoded(body)
    if isinstance(data, list) and data:  # Gemini wraps errors in an array
        data = data[0]
    if not isinstance(data, Mapping):
        return ErrorBody(_short(str(data or "")))
    error = data.get("error") or data
    if not isinstance(error, Mapping):
        return ErrorBody(_short(str(error)), str(data.get("code") or ""))
    nested = _metadata(error)
    message = error.get("message") or error.get("msg") or error.get("detail") or json.dumps(error, default=str)
    if nested and nested not in str(message):
        message = f"{message}: {nested}"
    words = [error.get("code"), error.get("type"), error.get("status"), error.get("error_type")]
    words += [detail.get("reason") for detail in _google_details(data)]
    kinds = [str(word).lower() for word in words if isinstance(word, str)]
    return ErrorBody(_short(str(message)), " ".join(kinds))


def _google_details(body: Any) -> list[Mapping[str, Any]]:
    """Return the details of a Google error, each an object with a type of its own."""
    data = body[0] if isinstance(body, list) and body else body
    error = data.get("error") if isinstance(data, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    return [detail for detail in details if isinstance(detail, Mapping)] if isinstance(details, list) else []


def _decoded(body: Any) -> Any:
    if not isinstance(body, str | bytes):
        return body
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else body
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _without_tags(text)


def _without_tags(text: str) -> str:
    """Return the words of an HTML error page, such as a proxy sends."""
    if "<html" not in text[:1000].lower():
        return text
    return re.sub(r"<(style|script).*?</\1>|<[^>]*>", " ", text, flags=re.DOTALL | re.IGNORECASE)


def _metadata(error: Mapping[str, Any]) -> str:
    """Return what the provider behind OpenRouter said."""
    metadata = error.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return parse_error_body(raw).message if isinstance(raw, str | Mapping) else ""


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MESSAGE_LIMIT else text[: _MESSAGE_LIMIT - 1] + "…"


# ---------------------------------------------------------------- context overflow

_OVERFLOW_KIND = re.compile(r"context_length_exceeded|exceed_context_size|request_too_large|context_window_exceeded")
_OVERFLOW_TEXT = re.compile(
    "|".join(
        (
            r"prompt (is )?too long",  # Anthropic, z.ai, Ollama
            r"exceeds? (the )?context limit",  # Anthropic: input and max_tokens together
            r"(prompt|input) exceeds max(imum)? length",  # z.ai
            r"exceeds? (the|this model'?s|model'?s)?\s*(available )?context (window|size|length)",  # OpenAI, llama.cpp
            r"context window (exceeds limit|exceeded)",  # MiniMax, LiteLLM
            r"maximum (context|prompt|model) length",  # vLLM, OpenRouter, xAI, Mistral
            r"maximum allowed input length",  # Poolside
            r"longer than the (maximum )?model'?s? (context )?length",  # Together, vLLM
            r"greater than the context length",  # LM Studio
            r"configured context size is",
            r"reduce the length of the (messages|input|prompt)",  # Groq, Cerebras
            r"input token count .*exceeds the maximum",  # Gemini
            r"input is too long for requested model",  # Bedrock
            r"prompt token count of \S+ exceeds",  # Copilot
            r"exceeded model token limit",  # Kimi
            r"range of input length should be",  # Qwen
            r"context[ _]length[ _]exceeded",
            r"token limit exceeded",
            r"too many (input |prompt )?tokens(?!.*\bwait\b)",  # Bedrock's throttling says the same, and to wait
        )
    ),
    re.IGNORECASE,
)
_RATE = re.compile(  # so many tokens in a time, not at once
    r"rate[_ ]?limit|throttl|quota|too[_ ]many[_ ]requests|resource_exhausted|daily|monthly|per[_ ](minute|hour|day)\b",
    re.IGNORECASE,
)


def is_overflow(error: ErrorBody, status: int | None) -> bool:
    """Return whether the request was refused because it is longer than the model's context window."""
    if status == 429:  # "tokens per minute" sounds alike
        return False
    if status == 413 or _OVERFLOW_KIND.search(error.kind):
        return True
    if status == 400 and not error.message:  # Cerebras says nothing more, and for other reasons nobody is that short
        return True
    if _RATE.search(f"{error.kind} {error.message}"):
        return False
    return (status is None or status in (400, 422, 500)) and _OVERFLOW_TEXT.search(error.message) is not None


# ---------------------------------------------------------------- classification

_BY_STATUS: Mapping[int, ProviderCode] = {
    401: "auth",
    402: "auth",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "server",
    413: "context_overflow",
    425: "server",
    429: "rate_limit",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
_BY_KIND: tuple[tuple[re.Pattern[str], ProviderCode], ...] = (
    (re.compile(r"overloaded|capacity|unavailable"), "overloaded"),
    (re.compile(r"rate_limit|throttl|resource_exhausted|too_many_requests|insufficient_quota"), "rate_limit"),
    (re.compile(r"auth|permission|api_key|billing"), "auth"),
    (re.compile(r"content_filter|content_policy|safety|moderation|refusal"), "content_filter"),
    (re.compile(r"not_found"), "not_found"),
    (re.compile(r"timeout|deadline"), "timeout"),
    (re.compile(r"network|connection"), "connection"),
    (re.compile(r"api_error|server_error|internal"), "server"),
    (re.compile(r"invalid"), "invalid_request"),
)
_HOPELESS = re.compile(
    r"insufficient_(quota|balance)|usage_?limit|billing|model_not_found"
)  # trying again changes nothing


def failure(
    body: Any, *, status: int | None = None, headers: Mapping[str, str] | None = None, prefix: str = ""
) -> ProviderError:
    """Return the error for a refused request, or for an error object inside a stream (``status`` None)."""
    error = body if isinstance(body, ErrorBody) else parse_error_body(body)
    status = status if status is not None else _inner_status(body)
    code = _code(error, status)
    retryable = (code in _RETRYABLE_CODES or _is_retryable_status(status)) and not _HOPELESS.search(error.kind)
    headers = headers or {}
    return ProviderError(
        f"{prefix}{error.message or _status_text(status)}",
        code=code,
        hint=_HINTS.get(code, ""),
        status=status,
        request_id=headers.get("request-id") or headers.get("x-request-id"),
        retry_after=retry_after(headers) if retry_after(headers) is not None else _retry_delay(body),
        retryable=retryable and code not in ("auth", "context_overflow", "content_filter", "not_found"),
    )


def _code(error: ErrorBody, status: int | None) -> ProviderCode:
    if is_overflow(error, status):
        return "context_overflow"
    by_kind = next((code for pattern, code in _BY_KIND if pattern.search(error.kind)), None)
    if status is not None and status in _BY_STATUS and status not in (403, 404, 409):
        return _BY_STATUS[status]
    if by_kind is not None and by_kind != "invalid_request":
        return by_kind
    if status is not None:
        return _BY_STATUS.get(status) or ("server" if status >= 500 else "invalid_request")
    return by_kind or "unknown"


def _is_retryable_status(status: int | None) -> bool:
    return status is not None and (status in RETRYABLE_STATUS or status >= 500)


def _inner_status(body: Any) -> int | None:
    """Return the HTTP status that an error object inside a stream carries as its code, as OpenRouter's do."""
    error = body.get("error", body) if isinstance(body, Mapping) else None
    code = error.get("code") if isinstance(error, Mapping) else None
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    return code if isinstance(code, int) and 400 <= code <= 599 else None


def _status_text(status: int | None) -> str:
    return f"HTTP status {status}, no message" if status is not None else "no message"


_HINTS: Mapping[str, str] = {
    "auth": "Check the key in the environment, and that it may use this model.",
    "context_overflow": "Compact the session, or go back to an earlier entry.",
    "rate_limit": "Wait a little, or use another model.",
    "overloaded": "Wait a little, or use another model.",
}


# ---------------------------------------------------------------- Retry-After


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return how many seconds the provider asks to wait: from a number or a date; None if it does not say."""
    if (exact := _number(headers.get("retry-after-ms"))) is not None:
        return max(0.0, exact / 1000)
    value = headers.get("retry-after")
    if (seconds := _number(value)) is not None:
        return max(0.0, seconds)
    return _until(value, time.time() if now is None else now) if value else None


def _retry_delay(body: Any) -> float | None:
    """Return the seconds that a Google error asks to wait, such as ``34.4s``."""
    for detail in _google_details(_decoded(body)):
        delay = detail.get("retryDelay")
        if isinstance(delay, str) and (seconds := _number(delay.removesuffix("s"))) is not None:
            return max(0.0, seconds)
    return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until(date: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - now)
    except (ValueError, OverflowError):
        return None

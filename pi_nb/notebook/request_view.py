"""``--dry-run``: the request as it would leave this machine, byte for byte but for the keys."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pi_nb.harness.tools import spec_of
from pi_nb.messages import UserMessage, now_ms, to_wire
from pi_nb.notebook.caption import clean
from pi_nb.notebook.placing import parent_of
from pi_nb.providers.base import Provider, Request
from pi_nb.providers.masks import shown_url
from pi_nb.providers.transform import acceptable

if TYPE_CHECKING:
    from pi_nb.notebook.asks import Ask
    from pi_nb.notebook.runtime import Runtime

__all__ = ["request_for", "request_text"]

HIDDEN = "[key hidden]"
LONGEST = 200  # characters of a picture's data that are shown


def request_for(runtime: Runtime, ask: Ask) -> tuple[Provider, Request]:
    """Return the request that a prompt would make, and who would be asked.

    Hooks of the harness are not asked; they may change it.

    Raises:
        UserError, ProviderError: There is no such model.
    """
    session, harness = runtime.session, runtime.harness
    at = parent_of(session, ask)
    settings = harness.configuration_at(at)
    provider, model = runtime.registry.resolve(ask.model or str(settings.model))
    names = settings.active if ask.tools is None else ask.tools
    prompt = UserMessage(content=ask.content, timestamp=now_ms())
    return provider, Request(
        model=model,
        messages=(*session.context(at).messages, *harness.queues.next_turn.messages, prompt),
        system=harness.system_prompt if ask.system is None else ask.system,
        tools=tuple(spec_of(tool) for tool in harness.tools if tool.name in names),
        thinking_level=ask.thinking or settings.thinking_level,
        session_id=session.id,
    )


def request_text(runtime: Runtime, ask: Ask) -> str:
    """Return a request as text: address, headers and body where it goes over HTTP, else its parts as JSON."""
    provider, request = request_for(runtime, ask)
    payload = getattr(provider, "payload", None)
    if not callable(payload):
        return f"{provider.name} is asked without HTTP:\n{_json(_parts(request))}"
    address = shown_url(getattr(provider, "base_url", ""))
    lines = [f"POST {address}{getattr(provider, 'path', _no_path)(request)}"]
    lines += [f"{name}: {value}" for name, value in _headers(provider, request).items()]
    return clean("\n".join([*lines, "", _json(payload(request))]))


def _no_path(_request: Request) -> str:
    return ""


def _headers(provider: Any, request: Request) -> Mapping[str, str]:
    """Return the headers as they would be; who sees them cannot use them."""
    ours = {"content-type": "application/json", "accept": "text/event-stream"}
    return {**ours, **provider.auth(HIDDEN), **dict.fromkeys(request.headers, HIDDEN)}


def _parts(request: Request) -> dict[str, Any]:
    return {
        "model": str(request.model),
        "system": request.system,
        "thinking": request.thinking_level,
        "tools": [
            {"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in request.tools
        ],
        "messages": [to_wire(message) for message in acceptable(request.messages, request.model)],
    }


def _json(value: Any) -> str:
    return json.dumps(_brief(value), indent=2, ensure_ascii=False, default=str)


def _brief(value: Any) -> Any:
    """Return JSON data with pictures cut short: nobody reads base64."""
    if isinstance(value, Mapping):
        return {key: _cut(item) if key == "data" else _brief(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_brief(item) for item in value]
    if isinstance(value, str) and value.startswith("data:"):
        return _cut(value)
    return value


def _cut(value: Any) -> Any:
    if not isinstance(value, str) or len(value) <= LONGEST:
        return _brief(value) if not isinstance(value, str) else value
    return f"{value[:LONGEST]}… {len(value) - LONGEST:,} more characters"

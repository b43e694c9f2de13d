"""Request bodies, held against the parameter types of the official SDKs."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_nb.messages import (
    AssistantMessage,
    CompactionSummaryMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from pi_nb.models import THINKING_LEVELS, Model
from pi_nb.providers.base import Request, ToolSpec
from pi_nb.providers.thinking import takes_temperature
from tests.conftest import must
from tests.providers.replay import FAMILIES, make_provider
from tests.providers.test_transform import messages as any_message
from tests.providers.typed_params import misfits

MODEL = {
    "anthropic": ("claude-sonnet-5-5", "claude-sonnet-4-5", "claude-3-haiku"),
    "openai_chat": ("gpt-6-sol", "gpt-5.4", "gpt-4o", "o3"),
    "openai_responses": ("gpt-6-sol", "gpt-5.1", "gpt-4.1"),
    "gemini": ("gemini-3.8-flash", "gemini-2.5-pro", "gemma-3-27b"),
}
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}, "n": {"type": "integer"}}, "required": ["q"]}
TOOLS = (ToolSpec("find", "Find a thing.", SCHEMA), ToolSpec("now", "The time.", {}))


@pytest.fixture(autouse=True, scope="module")
def sdks():
    """Need the official SDKs."""
    if not all(map(find_spec, ("anthropic", "openai", "google.genai"))):
        must("the official SDKs: pip install anthropic openai google-genai")


def complaints(family, body):
    """Return what the family's SDK would not have typed like this."""
    if family == "anthropic":
        from anthropic.types.message_create_params import MessageCreateParamsStreaming

        # the SDK has forgotten it, models before Claude 4.7 have not
        old = body if takes_temperature(Model("anthropic", body["model"])) else {}
        kept = {name: value for name, value in body.items() if name != "temperature" or name not in old}
        return list(misfits(kept, MessageCreateParamsStreaming))
    if family == "openai_chat":
        from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming

        return list(misfits(body, CompletionCreateParamsStreaming))
    if family == "openai_responses":
        from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

        return list(misfits(body, ResponseCreateParamsStreaming))
    return gemini_complaints(body)


def gemini_complaints(body):
    """Hold a body against google-genai's own models, which refuse fields they do not know."""
    from google.genai import types
    from pydantic import ValidationError

    known = {"contents", "systemInstruction", "tools", "generationConfig"}
    parts = [(types.Content, content) for content in body["contents"]]
    parts += [(types.Content, body["systemInstruction"])] if "systemInstruction" in body else []
    parts += [(types.Tool, tool) for tool in body.get("tools", ())]
    parts += [(types.GenerationConfig, body["generationConfig"])] if "generationConfig" in body else []
    found = sorted(body.keys() - known)
    for model, data in parts:
        try:
            model.model_validate(data, strict=False, by_alias=True, by_name=False)
        except ValidationError as error:
            found.append(str(error))
    return found


# ---------------------------------------------------------------- conversations


def conversations(provider, model):
    """Return, by name, what sessions come to hold."""
    by = {"api": model.api, "provider": model.provider, "model": model.id, "timestamp": 2}
    ask = UserMessage(content="Which boat — ⛵ 船?", timestamp=1)
    picture = ImageContent(data="aGk=", mime_type="image/png")
    signature = {
        "openai-responses": '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}',
        "openai-completions": "reasoning_content" if provider.name != "openai" else "",
    }.get(model.api, "c2lnbmF0dXJl")
    thought = ThinkingContent(thinking="Let me see.", thinking_signature=signature or None)
    call = ToolCall(id="call_1|fc_1", name="find", arguments={"q": "ü \ud83d", "n": 2})
    other = ToolCall(id="call_2", name="now", arguments={})
    calls = AssistantMessage(
        content=(thought, TextContent(text="One moment."), call, other), stop_reason="toolUse", **by
    )
    result = ToolResultMessage(tool_call_id=call.id, tool_name="find", content=(TextContent(text="12 m"), picture))
    failed = ToolResultMessage(tool_call_id="call_2", tool_name="now", content="no clock", is_error=True)
    answer = AssistantMessage(content=(TextContent(text="The long one."),), stop_reason="stop", **by)
    foreign = {**by, "provider": "elsewhere", "api": "other", "model": "m"}
    redacted = ThinkingContent(thinking="", thinking_signature="AAAA", redacted=True)
    return {
        "one question": (ask,),
        "nothing": (),
        "pictures": (UserMessage(content=(TextContent(text="See:"), picture, picture)),),
        "tools": (ask, calls, result, failed, answer, ask),
        "in the middle of a turn": (ask, calls, result, failed),
        "orphans": (result, ask, calls, failed, ask, result),
        "unanswered": (ask, calls),
        "of another model": (ask, calls.model_copy(update=foreign), result, failed, ask),
        "redacted": (ask, AssistantMessage(content=(redacted, TextContent(text="x")), stop_reason="stop", **by), ask),
        "aborted": (ask, answer.model_copy(update={"stop_reason": "aborted"}), ask),
        "compacted": (CompactionSummaryMessage(summary="Boats."), answer, ask),
    }


def requests(family):
    for model_id in MODEL[family]:
        provider = make_provider(family, "http://127.0.0.1:9")
        model = provider.model(model_id)
        for name, history in conversations(provider, model).items():
            plain = Request(model, history)
            full = replace(plain, system="Be brief.", tools=TOOLS, max_tokens=4000, session_id="s1")
            yield f"{model_id}, {name}", provider, plain
            yield f"{model_id}, {name}, with a temperature", provider, replace(full, temperature=0.5)
            for level in THINKING_LEVELS:
                yield f"{model_id}, {name}, thinking {level}", provider, replace(full, thinking_level=level)


@pytest.mark.parametrize("family", FAMILIES)
def test_bodies_have_the_sdks_types(family):
    """What is sent, for conversations of every kind and every thinking level, is what the SDK would have typed."""
    found = {}
    for name, provider, request in requests(family):
        if wrong := complaints(family, provider.payload(request)):
            found[name] = wrong
    assert found == {}


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(history=st.lists(any_message, max_size=6))
def test_any_history_has_the_sdks_types(family, history):
    """Also histories that nobody would write."""
    provider = make_provider(family, "http://127.0.0.1:9")
    request = Request(provider.model(MODEL[family][0]), tuple(history), tools=TOOLS, thinking_level="high")
    assert complaints(family, provider.payload(request)) == []


def test_the_check_finds_faults():
    """Unknown keys, missing keys and wrong values are complained of, deep inside too."""
    good = {"model": "x", "max_tokens": 1, "stream": True, "messages": [{"role": "user", "content": "hi"}]}
    assert complaints("anthropic", good) == []
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "x"}}
    for wrong, told in (
        ({**good, "colour": 1}, "no such key"),
        ({**good, "max_tokens": "1"}, "body.max_tokens"),
        ({"model": "x", "stream": True, "messages": []}, "is missing"),
        ({**good, "messages": [{"role": "user", "content": [image]}]}, "media_type"),
        ({**good, "messages": [{"role": "user", "content": [{"type": "text", "text": "x", "y": 1}]}]}, "no such key"),
    ):
        assert any(told in line for line in complaints("anthropic", wrong)), (wrong, complaints("anthropic", wrong))
    assert complaints("gemini", {"contents": [{"role": "user", "parts": [{"txt": "hi"}]}]}) != []

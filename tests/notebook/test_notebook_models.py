"""``%pi_model provider:`` in a real kernel: what a server tells, and what is known where none does."""

from __future__ import annotations

from typing import Any

from tests.providers.raw_server import Answer, serving


def test_models_are_listed(kernel: Any) -> None:
    """A server's models stand in a table with their facts, and can be completed from then on."""
    body = b'{"data": [{"id": "llama3.2:1b"}, {"id": "qwen3:8b"}]}'
    with serving(Answer([body], headers={"content-type": "application/json"})) as server:
        kernel.run("from pi_nb.providers.openai_chat import OpenAIChatProvider")
        kernel.run("import pi_nb.notebook")
        kernel.run(f"ollama = OpenAIChatProvider('ollama', base_url='{server.url}/v1')")
        kernel.run("pi_nb.notebook.current().registry.register(ollama)")
        told = kernel.run("%pi_model ollama:").stream
    assert "ollama:llama3.2:1b  32,768 tokens\n" in told
    assert "ollama:qwen3:8b     32,768 tokens, thinks\n" in told
    assert "2 models, from its server." in told
    assert "ollama:qwen3:8b" in [found["text"] for found in kernel.complete("%pi_model ollama:q")]


def test_models_that_are_known_here(kernel: Any) -> None:
    """Without a key or a server, the known ones are listed, and it is said why."""
    kernel.run("import os\ndel os.environ['ANTHROPIC_API_KEY']")
    told = kernel.run("%pi_model anthropic:").stream
    assert "ANTHROPIC_API_KEY is not set" in told
    assert "anthropic:claude-sonnet-4-5" in told
    assert "$3 in, $15 out" in told
    assert "known here; others may be named too" in told
    assert kernel.run("%pi_model nowhere:").error.startswith("There is no provider 'nowhere'.")


def test_waiting_times_are_settings(kernel: Any) -> None:
    """How long a provider is waited for is set like anything else, and counts at once."""
    body = b'data: {"choices": [{"index": 0, "delta": {"content": "Hi"}}]}\n\n'
    with serving(Answer([body, 3.0])) as server:
        kernel.run("from pi_nb.providers.openai_chat import OpenAIChatProvider")
        kernel.run("import pi_nb.notebook")
        kernel.run(f"provider = OpenAIChatProvider('vllm', base_url='{server.url}/v1')")
        kernel.run("pi_nb.notebook.current().registry.register(provider)")
        kernel.run("%config PiMagics.idle_timeout = 0.2")
        result = kernel.run("%pi --model vllm:m hi")
    assert "stopped coming for 0.2 s" in result.everything

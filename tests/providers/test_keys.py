"""A key goes to its provider and nowhere else."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import pickle
import sys
import time
import traceback
import types

import pytest

from pi_nb.errors import ProviderError
from pi_nb.harness.agent import AgentHarness
from pi_nb.messages import UserMessage
from pi_nb.models import Model
from pi_nb.providers.base import Request, StreamDone, StreamError
from pi_nb.providers.compatible import CompatibleProvider
from pi_nb.providers.keys import Key
from pi_nb.providers.masks import Masks, shown_url
from pi_nb.providers.network import Network
from pi_nb.providers.record import Recording
from pi_nb.providers.registry import Registry
from pi_nb.providers.timeouts import Timeouts
from pi_nb.session.repo import SessionRepo
from tests.providers.raw_server import Answer, cut, serving
from tests.providers.replay import FAMILIES, ask, collect, make_provider, over_http
from tests.providers.test_http_providers import BEGUN, JSON, VARIABLE, WHOLE, environment, sse, without_key

CANARY = "sk-canary-0123456789abcdefghij"
ECHO = {"error": {"type": "x", "message": f"bad key {CANARY} ({CANARY[:9]}***{CANARY[-4:]})", "key": CANARY}}


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def begun(family, *pieces):
    return Answer([*WHOLE[family][: BEGUN[family]], *pieces])


# what a server may do with a key it was sent, and how an answer may go
ANSWERS = {
    "whole": lambda family: Answer(WHOLE[family]),
    "refused": lambda family: Answer([json.dumps(ECHO).encode()], status=401, headers=JSON),
    "refused in pieces": lambda family: Answer(cut(json.dumps(ECHO).encode(), 3), status=500, headers=JSON),
    "unknown model": lambda family: Answer([json.dumps(ECHO).encode()], status=404, headers=JSON),
    "a page": lambda family: Answer([f"<html><body>{CANARY}</body></html>".encode()], status=502),
    "cut by its length": lambda family: Answer([b"x" * 490 + CANARY.encode()], status=400),
    "sent on": lambda family: Answer([], status=307, headers={"location": "http://127.0.0.1:9/"}),
    "failed in the middle": lambda family: begun(family, *sse({"type": "error", **ECHO})),
    "not JSON": lambda family: begun(family, f"data: {{{'x' * 80}{CANARY}{CANARY}\n\n".encode()),
    "no stream": lambda family: Answer([f"hello {CANARY}".encode()]),
    "an error with status 200": lambda family: Answer([json.dumps(ECHO).encode()], headers=JSON),
    "broken": lambda family: Answer(WHOLE[family][: BEGUN[family]], end="reset"),
    "silent": lambda family: begun(family, 0.5),
}


@pytest.fixture
def told(caplog):
    """Collect everything that is told about a request: logs at DEBUG, and what a test adds."""
    caplog.set_level(logging.DEBUG)
    for name in ("httpx", "httpcore", "asyncio", "pi_nb"):
        caplog.set_level(logging.DEBUG, logger=name)
    lines = []
    yield lines
    everything = "\n".join([*lines, *(record.getMessage() for record in caplog.get_records("call"))])
    assert len(everything) > 100
    assert CANARY not in everything
    assert CANARY[:14] not in everything


def every_way_of_showing(error):
    """Return an error as a program, a notebook and a debugger show it, with the variables of every frame."""
    shown = [str(error), repr(error), getattr(error, "hint", ""), repr(vars(error))]
    for one in (error, error.__cause__, error.__context__):
        if one is not None:
            frames = traceback.TracebackException.from_exception(one, capture_locals=True)
            shown += frames.format()
    return shown


@pytest.mark.parametrize("way", ANSWERS)
def test_no_word_of_a_key(family, way, told, tmp_path):
    """Events, messages, errors, logs, reprs and recordings of any answer are without it; the server got it."""

    async def run(server):
        provider = make_provider(family, server.url, api_key=None, timeouts=Timeouts(idle=0.2))
        provider.recording = Recording(tmp_path / "tape.jsonl")
        events = await collect(provider)
        told.extend([repr(provider), repr(vars(provider)), repr(vars(provider._key)), repr(events)])
        await provider.aclose()
        return events

    with serving(ANSWERS[way](family)) as server, environment(**{VARIABLE[family]: CANARY}):
        events = asyncio.run(run(server))
        assert any(CANARY in value for value in server.received[0].headers.values())
    last = events[-1]
    assert isinstance(last, StreamDone if way == "whole" else StreamError)
    told.append(json.dumps(last.message.to_wire()))
    if isinstance(last, StreamError):
        told.extend(every_way_of_showing(last.error))
    told.extend(path.read_text() for path in tmp_path.iterdir())


def test_headers_are_handed_on_without_it(family):
    """A hook that is given a response's headers finds no key, although the server sent it back there."""
    with environment(**{VARIABLE[family]: CANARY}):
        echo = Answer(WHOLE[family], headers={"content-type": "text/event-stream", "x-key": f"was {CANARY}"})
        response = over_http(family, echo, api_key=None)[0]
    assert response.headers["x-key"] == "was [key]"


@pytest.mark.parametrize("place", ["before the answer", "in the answer"])
def test_no_word_in_the_traceback_of_an_interrupt(family, place, told):
    """Not even the variables of every frame, as a verbose traceback shows them, hold it."""

    async def run(server):
        provider = make_provider(family, server.url, api_key=None)
        stream = provider.stream(ask(provider))
        reading = asyncio.create_task(_read(stream))
        await asyncio.to_thread(wait_for, lambda: server.received)
        await asyncio.sleep(0.05)
        reading.cancel()
        try:
            await reading
        except asyncio.CancelledError as error:
            told.extend(every_way_of_showing(error))
        await provider.aclose()

    pieces = [5.0] if place == "before the answer" else [*WHOLE[family][: BEGUN[family]], 5.0]
    with serving(Answer(pieces)) as server, environment(**{VARIABLE[family]: CANARY}):
        asyncio.run(run(server))
    assert any("in _post" in line or "in _chunks" in line for line in told)


async def _read(stream):
    async for _ in stream:
        pass


def wait_for(condition, seconds=5.0):
    for _ in range(int(seconds * 100)):
        if condition():
            return
        time.sleep(0.01)


@pytest.mark.parametrize("way", ["whole", "refused", "failed in the middle"])
def test_no_word_in_a_session(family, way, told, tmp_path):
    """A run by the harness leaves a session file, events, notices and reprs without it."""

    async def run(server):
        provider = make_provider(family, server.url, api_key=None)
        registry = Registry([provider])
        session = SessionRepo(tmp_path).create(tmp_path)
        harness = AgentHarness(session, model=f"{provider.name}:model-x", registry=registry)
        harness.subscribe(lambda event: told.append(repr(event)))
        message = await harness.prompt("go")
        told.extend([repr(message), repr(harness), repr(harness.notices), repr(registry), repr(session)])
        await registry.aclose()
        session.close()
        return message

    with serving(ANSWERS[way](family)) as server, environment(**{VARIABLE[family]: CANARY}):
        message = asyncio.run(run(server))
    assert message.stop_reason == ("stop" if way == "whole" else "error")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    told.extend(path.read_text() for path in files)


def test_no_word_in_a_verbose_traceback(told):
    """IPython's most talkative traceback, of an error that a user raises again, is without it."""
    ultratb = pytest.importorskip("IPython.core.ultratb")

    async def run(server):
        provider = make_provider("openai_chat", server.url, api_key=None)
        last = (await collect(provider))[-1]
        await provider.aclose()
        raise last.error

    out = io.StringIO()
    with serving(ANSWERS["refused"]("openai_chat")) as server, environment(OPENAI_API_KEY=CANARY):
        try:
            asyncio.run(run(server))
        except ProviderError as error:
            shown = ultratb.VerboseTB(theme_name="nocolor", include_vars=True)
            out.write(shown.text(type(error), error, error.__traceback__))
    assert "server" in out.getvalue()
    told.append(out.getvalue())


# ---------------------------------------------------------------- where keys come from


class Ring:
    def __init__(self, **keys):
        self.keys = keys
        self.asked = []

    def get_password(self, service, name):
        self.asked.append((service, name))
        if self.keys.get(name) == "locked":
            raise RuntimeError("nobody unlocked it")
        return self.keys.get(name)


@pytest.fixture
def ring(monkeypatch):
    def install(**keys):
        ring = Ring(**keys)
        module = types.ModuleType("keyring")
        module.get_password = ring.get_password
        module.__spec__ = type(sys.__spec__)("keyring", None)
        monkeypatch.setitem(sys.modules, "keyring", module)
        return ring

    return install


def test_a_key_from_the_keyring(family, ring, told):
    """Without a variable the system's keyring is asked, under the variable's name; nothing of it is shown."""
    keys = ring(**{VARIABLE[family]: CANARY})

    async def run(server):
        provider = make_provider(family, server.url, api_key=None)
        last = (await collect(provider))[-1]
        told.extend([str(last.error), repr(provider), repr(last)])
        await provider.aclose()

    with serving(ANSWERS["refused"](family)) as server, environment(**without_key(family)):
        asyncio.run(run(server))
        assert any(CANARY in value for value in server.received[0].headers.values())
    assert ("pi-nb", VARIABLE[family]) in keys.asked


def test_the_environment_goes_before_the_keyring(ring):
    """A variable that is set is used, and the keyring is not even asked; nor is it for a repr."""
    keys = ring(OPENAI_API_KEY="from-the-keyring")
    with environment(OPENAI_API_KEY="from-the-environment"):
        assert Key(env=["OPENAI_API_KEY"]).get() == "from-the-environment"
        assert repr(Key(env=["OPENAI_API_KEY"])) == "<Key OPENAI_API_KEY>"
    with environment(OPENAI_API_KEY=None):
        assert repr(Key(env=["OPENAI_API_KEY"])) == "<Key none>"
    assert keys.asked == []


def test_a_keyring_that_is_locked_is_no_key(ring):
    """A keyring that fails is as if there were none: the error names the variable and the keyring's command."""
    ring(OPENAI_API_KEY="locked")
    with environment(OPENAI_API_KEY=None), pytest.raises(ProviderError) as caught:
        Key(env=["OPENAI_API_KEY"]).get()
    assert "keyring set pi-nb OPENAI_API_KEY" in caught.value.hint


def test_a_key_that_changes_stays_secret():
    """A function may give another key each time; those it gave before are still taken out of texts."""
    keys = iter(["first-key-0123456789", "second-key-0123456789"])
    key = Key(lambda: next(keys), env=[])
    assert [key.get(), key.get()] == ["first-key-0123456789", "second-key-0123456789"]
    assert key.redact("first-key-0123456789 or second-key-0123456789") == "[key] or [key]"


def test_a_key_is_not_stored():
    """A provider's key can be neither pickled nor read from its attributes."""
    key = Key(CANARY, env=[])
    assert key.get() == CANARY
    with pytest.raises(TypeError, match="not to be stored"):
        pickle.dumps(key)
    assert CANARY not in repr(vars(key))


# ---------------------------------------------------------------- taking keys out of texts


@pytest.mark.parametrize(
    "text",
    [CANARY, f"{CANARY[:7]}***", f"{CANARY[:10]}…", f"{CANARY[:8]}****{CANARY[-4:]}", json.dumps({"a": CANARY})],
)
def test_ways_to_quote_a_key(text):
    """Whole, half masked or cut short with dots, a quoted key is taken out, and what stands around it stays."""
    assert Masks([CANARY]).removed(f"key '{text}' is bad").count(CANARY[:7]) == 0
    assert Masks([CANARY]).removed("sk-can is a word, sk-canvas too") == "sk-can is a word, sk-canvas too"


def test_stand_ins_are_no_secrets():
    """Local servers want some key: ``none`` in a text is left alone."""
    assert Masks(["none", "ollama"]).removed("none of ollama") == "none of ollama"


def test_an_address_is_shown_without_its_secrets():
    """A password or a key in a base URL is not shown, the address is."""
    assert shown_url("http://me:secret@host:1/v1?key=abc&x=1") == "http://host:1/v1?x=1"
    assert shown_url("not an address") == "not an address"
    provider = make_provider("openai_chat", "http://me:pass-word@127.0.0.1:9/v1", api_key="none")

    async def run():
        last = (await collect(provider))[-1]
        await provider.aclose()
        return last.error

    for text in (repr(provider), str(asyncio.run(run()))):
        assert "pass-word" not in text
        assert "127.0.0.1:9" in text


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://me:PASS@WORD@host:notaport/v1", "http://…@host:notaport/v1"),
        ("http://me:PASSWORD@[::1/v1", "http://…@[::1/v1"),
        ("http://me:PASS/WORD@host/v1", "http://…@host/v1"),
        ("http://me:123/PASSWORD@host/v1", "http://…@host/v1"),
        ("http://me:PASSWORD%40host/v1", "http://…@host/v1"),
        ("http://PASS\nWORD@host/v1", "http://…@host/v1"),
        ("http://PASS\udcffWORD@host/v1", "http://…@host/v1"),
        ("me:PASSWORD@host/v1", "…@host/v1"),
        ("PASSWORD@host/v1", "…@host/v1"),
        ("http:me:PASSWORD@host/v1", "…@host/v1"),
        ("http:///me:PASSWORD@host/v1", "http://…@host/v1"),
        ("http://me:PASS?WORD@host/v1", "[an address with secrets]"),
        ("http://me:?PASSWORD@host/v1", "[an address with secrets]"),
        ("http://me:#PASSWORD@host/v1", "http://me"),
        ("http://host:x/v1?api_key=PASSWORD", "http://host:x/v1"),
        ("http://host:x/v1?api_key=PASS@WORD", "[an address with secrets]"),
        ("http://host:x/v1#PASSWORD", "http://host:x/v1"),
        ("http://host/v1?password=PASSWORD", "http://host/v1"),
        ("http://host:x/v1", "http://host:x/v1"),
    ],
)
def test_what_is_no_address_does_not_show_its_secrets(url, shown):
    """However a base URL is mistyped, its password is neither in the repr nor in the error that is stored."""
    assert shown_url(url) == shown
    provider = make_provider("openai_chat", url, api_key="none", network=Network(proxy="http://127.0.0.1:9"))
    assert shown in repr(provider)

    async def run():
        last = (await collect(provider))[-1]
        await provider.aclose()
        return str(last.error)

    error = asyncio.run(run())
    assert "PASS" not in error
    assert "WORD" not in error


@pytest.mark.parametrize(
    "proxy", ["me:PASSWORD@h:1", "http://me:PASSWORD@h:port", "http://me:PASS/WORD@h", "gopher://me:PASSWORD@h"]
)
def test_what_is_no_proxy_does_not_show_its_secrets(proxy):
    """A mistyped proxy is told of without its password."""
    provider = make_provider("openai_chat", "http://127.0.0.1:9/v1", api_key="none", network=Network(proxy=proxy))

    async def run():
        last = (await collect(provider))[-1]
        await provider.aclose()
        return str(last.error)

    for text in (repr(provider), repr(provider.network), asyncio.run(run())):
        assert "PASS" not in text
        assert "WORD" not in text


def test_a_stranger_in_a_models_name_is_shown_without_its_password():
    """The address in a model's name is not shown with its password either."""
    provider = CompatibleProvider()

    async def run():
        model = Model(provider.name, "m@http://me:PASSWORD@stranger.example/v1", api=provider.api)
        last = (await collect(provider, Request(model, (UserMessage(content="hi"),))))[-1]
        await provider.aclose()
        return last.error

    error = asyncio.run(run())
    assert "http://stranger.example/v1" in str(error)
    assert "PASSWORD" not in f"{error} {error.hint}"


def test_a_user_in_the_address_signs():
    """A server behind a password is asked with it, if the provider has no key of its own."""
    from pi_nb.providers.openai_chat import OpenAIChatProvider

    async def run(url):
        provider = OpenAIChatProvider("vllm", base_url=url.replace("//", "//me:pw@"))
        await collect(provider)
        await provider.aclose()

    with serving(Answer(WHOLE["openai_chat"])) as server:
        asyncio.run(run(server.url))
        assert server.received[0].headers["authorization"] == "Basic bWU6cHc="


def test_names_of_variables(family):
    """Each provider says which variable its key is in."""
    with environment(**{VARIABLE[family]: CANARY}):
        assert f"key={VARIABLE[family]}" in repr(make_provider(family, "http://127.0.0.1:9", api_key=None))


def test_a_missing_key_is_known_without_asking(family, tmp_path):
    """The error is the one a request would get; with a key, given or not, or a recording, there is none."""
    with environment(**without_key(family)):
        provider = make_provider(family, "http://127.0.0.1:9", api_key=None)
        missing = Registry([provider]).missing_key(provider.name)
        assert missing is not None
        assert (missing.code, VARIABLE[family] in str(missing), "getpass" in missing.hint) == ("auth", True, True)
        assert make_provider(family, "http://127.0.0.1:9", api_key=lambda: 1 / 0).missing_key() is None
        provider.recording = Recording(tmp_path / "tape.jsonl")
        assert provider.missing_key() is None
    with environment(**{VARIABLE[family]: CANARY}):
        assert make_provider(family, "http://127.0.0.1:9", api_key=None).missing_key() is None

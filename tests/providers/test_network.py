"""Proxies, certificates and waiting, with real ones: a server with a certificate of our own, a proxy in between."""

from __future__ import annotations

import asyncio
import socket
import ssl
from urllib.parse import urlsplit

import pytest

from pi_nb.providers.base import StreamDone
from pi_nb.providers.http import Network
from pi_nb.providers.openai_chat import OpenAIChatProvider
from pi_nb.providers.registry import Registry, default_registry
from pi_nb.providers.timeouts import Timeouts
from tests.providers.own_authority import HOST, authority, proxying
from tests.providers.raw_server import Answer, serving
from tests.providers.replay import FAMILIES, ask, collect, make_provider
from tests.providers.test_http_providers import KEY, NAME, WHOLE, environment

NOTHING_SET = dict.fromkeys(
    [name for stem in ("http", "https", "all", "no") for name in (f"{stem}_proxy", f"{stem}_PROXY".upper())]
    + ["SSL_CERT_FILE", "SSL_CERT_DIR"]
)


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


@pytest.fixture(scope="module")
def company(tmp_path_factory):
    return authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def _nothing_set():
    with environment(**NOTHING_SET):
        yield


def last_of(family, url, **options):
    async def run():
        provider = make_provider(family, url, api_key=KEY, **options)
        last = (await collect(provider))[-1]
        await provider.aclose()
        return last

    return asyncio.run(run())


def on_proxy(url):
    """Return a server's address under the name that only the proxy knows."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{HOST}:{parts.port}"


# ---------------------------------------------------------------- certificates


def test_an_authority_nobody_knows_is_told_in_one_line(family, company):
    """The error names the server and the reason, its hint the variable; nothing is tried again or sent."""
    with serving(Answer(WHOLE[family]), tls=company.server) as server:
        error = last_of(family, server.url).error
        assert server.received == []
    assert str(error).startswith(f"{NAME[family]}: The certificate of {server.url} is not trusted: ")
    assert str(error).count("\n") == 0
    assert (error.code, error.retryable) == ("connection", False)
    assert "SSL_CERT_FILE=" in error.hint


@pytest.mark.parametrize("way", ["environment", "path", "context", "nobody is checked"])
def test_an_authority_of_our_own(family, company, way):
    """It is trusted by ``SSL_CERT_FILE``, a path, an SSL context; or nobody is checked."""
    variables, options = {
        "environment": ({"SSL_CERT_FILE": str(company.file)}, {}),
        "path": ({}, {"network": Network(verify=str(company.file))}),
        "context": ({}, {"network": Network(verify=ssl.create_default_context(cafile=company.file))}),
        "nobody is checked": ({}, {"network": Network(verify=False)}),
    }[way]
    with serving(Answer(WHOLE[family]), tls=company.server) as server, environment(**variables):
        last = last_of(family, server.url, **options)
        assert isinstance(last, StreamDone), last.error
        assert server.received[0].method == "POST"


def test_a_certificate_that_has_ended_or_is_anothers(company):
    """What trust does not help with is not said to: the reason is enough."""
    trusting = Network(verify=str(company.file))
    with serving(Answer(WHOLE["openai_chat"]), tls=company.expired) as server:
        error = last_of("openai_chat", server.url, network=trusting).error
    assert "expired" in str(error)
    assert "SSL_CERT_FILE" not in error.hint
    with serving(Answer(WHOLE["openai_chat"]), tls=company.server) as server:
        error = last_of("openai_chat", server.url.replace("127.0.0.1", "localhost"), network=trusting).error
    assert "ismatch" in str(error)


def test_certificates_that_are_not_there():
    """A path that is none is told, with the variable if it was one."""
    error = last_of("anthropic", "https://127.0.0.1:9", network=Network(verify="/nowhere/ca.pem")).error
    assert str(error) == "anthropic: Certificates cannot be read: /nowhere/ca.pem (No such file or directory)."
    with environment(SSL_CERT_FILE="/nowhere/ca.pem"):
        error = last_of("anthropic", "https://127.0.0.1:9").error
    assert "SSL_CERT_FILE=/nowhere/ca.pem" in str(error)


def test_the_environment_may_change_in_a_running_notebook(company):
    """Certificates and proxies that are set after a failure count from the next request on."""

    async def run(server, proxy):
        provider = make_provider("anthropic", server.url, api_key=KEY)
        untrusted = (await collect(provider))[-1].error
        with environment(SSL_CERT_FILE=str(company.file)):
            trusted = (await collect(provider))[-1]
            with environment(HTTPS_PROXY=proxy.url):
                proxied = (await collect(provider))[-1]
        await provider.aclose()
        return untrusted, trusted, proxied

    with serving(Answer(WHOLE["anthropic"]), tls=company.server) as server, proxying() as proxy:
        untrusted, *good = asyncio.run(run(server, proxy))
    assert "not trusted" in str(untrusted)
    assert all(isinstance(last, StreamDone) for last in good)
    assert len(proxy.asked) == 1


# ---------------------------------------------------------------- proxies


@pytest.mark.parametrize("way", ["environment", "argument", "registry"])
@pytest.mark.parametrize("secure", [True, False])
def test_a_proxy(family, company, way, secure):
    """A proxy of the environment, an argument, or a registry is gone through: a tunnel if the server is secure."""
    with serving(Answer(WHOLE[family]), tls=company.server if secure else None) as server, proxying() as proxy:
        address, signed = on_proxy(server.url), proxy.url.replace("//", "//me:pass-word@")
        of_environment = {"HTTPS_PROXY": signed, "HTTP_PROXY": signed} if way == "environment" else {}
        with environment(SSL_CERT_FILE=str(company.file), **of_environment):
            if way == "registry":
                last = through_registry(family, address, Network(proxy=signed))
            else:
                options = {"network": Network(proxy=signed)} if way == "argument" else {}
                last = last_of(family, address, **options)
    assert isinstance(last, StreamDone), last.error
    assert proxy.asked[0].startswith(f"CONNECT {HOST}:" if secure else f"POST http://{HOST}:")
    assert proxy.signed == ["bWU6cGFzcy13b3Jk"]
    if secure:  # the proxy saw nothing of the request
        assert len(proxy.asked) == 1


def through_registry(family, address, network):
    async def run():
        registry = Registry([make_provider(family, address, api_key=KEY)], network=network)
        last = (await collect(registry.get(NAME[family])))[-1]
        await registry.aclose()
        return last

    return asyncio.run(run())


def test_hosts_without_a_proxy(family):
    """``NO_PROXY`` names hosts that are asked directly."""
    with serving(Answer(WHOLE[family])) as server, proxying() as proxy:
        with environment(HTTP_PROXY=proxy.url, NO_PROXY="127.0.0.1"):
            assert isinstance(last_of(family, server.url), StreamDone)
        assert proxy.asked == []


def test_a_proxy_that_refuses_or_is_none(family):
    """What the proxy says is told, and where to look; its password is not."""
    with proxying() as proxy:
        proxy.refuses = True
        network = Network(proxy=proxy.url.replace("//", "//me:pass-word@"))
        refused = last_of(family, "https://provider.invalid", network=network).error
    assert (refused.code, "407" in str(refused), "HTTPS_PROXY" in refused.hint) == ("connection", True, True)
    wrong = last_of(family, "https://provider.invalid", network=Network(proxy="gopher://me:pass-word@x")).error
    assert (wrong.code, wrong.retryable) == ("invalid_request", False)
    for text in (str(refused), str(wrong), repr(network), refused.hint, wrong.hint):
        assert "pass-word" not in text


def test_all_of_ours_are_equipped():
    """A registry's network reaches the providers that are built later."""
    network = Network(proxy="http://127.0.0.1:9")
    registry = default_registry(network=network)
    for name in ("anthropic", "openai", "google", "ollama", "openai-compatible"):
        assert registry.get(name).network is network
    asyncio.run(registry.aclose())


# ---------------------------------------------------------------- waiting


def test_a_connection_that_is_not_made_in_time(family):
    """A server whose queue is full answers no greeting: a timeout, after the time that was set."""
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for one in (first, second):
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        error = last_of(family, url, timeouts=Timeouts(connect=0.3)).error
    assert (error.code, error.retryable) == ("timeout", True)


def test_the_key_of_a_server_behind_a_proxy_is_told_to_nobody(company):
    """The proxy of a secure server is not sent the provider's key."""
    with serving(Answer(WHOLE["openai_chat"]), tls=company.server) as server, proxying() as proxy:

        async def run():
            network = Network(proxy=proxy.url, verify=str(company.file))
            provider = OpenAIChatProvider(base_url=on_proxy(server.url), api_key=KEY, network=network)
            await collect(provider, ask(provider))
            await provider.aclose()

        asyncio.run(run())
        assert KEY in server.received[0].headers["authorization"]
    assert KEY not in "".join([*proxy.asked, *proxy.signed])

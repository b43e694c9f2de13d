"""The system's keyring: keys in it choose the model to begin with, unless asking it would ask its user."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from pi_nb.providers import keyrings
from pi_nb.providers.keyrings import key_of, quietly_held
from pi_nb.providers.keys import Key
from pi_nb.providers.registry import DefaultModel, default_registry
from tests import canaries

keyring = pytest.importorskip("keyring")
from keyring.backends import chainer, fail, null  # noqa: E402


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch, tmp_path):
    """No key in the environment, no Ollama, no weights; and the keyring as it was, afterwards."""
    for name in (*canaries.VARIABLES, "PI_NB_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:9")
    monkeypatch.setenv("PI_NB_DATA_DIR", str(tmp_path))
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


def ring(kind, **keys):
    """Use a keyring of some kind, told by its class, that holds keys; it notes what it was asked."""
    module, _, name = kind.rpartition(".")

    def get_password(self, service, key):
        asked.append((service, key))
        value = keys.get(key)
        return value() if callable(value) else value

    asked = []
    methods = {"get_password": get_password, "set_password": print, "priority": 1}
    methods |= {"__module__": module, "__qualname__": name}
    made = type(name, (keyring.backend.KeyringBackend,), methods)()
    keyring.backend.KeyringBackend._classes.discard(type(made))  # it is not one that the package may choose
    keyring.set_keyring(made)
    return asked


OPEN = "keyrings.alt.file.PlaintextKeyring"


def test_a_key_in_the_keyring_chooses_the_model():
    """A provider whose key is in the keyring comes after those of the environment, and before Ollama."""
    asked = ring(OPEN, GEMINI_API_KEY="k", GROQ_API_KEY="k")
    assert default_registry().default() == DefaultModel("google:gemini-3.8-flash", "GEMINI_API_KEY is in the keyring")
    assert {service for service, _ in asked} == {"pi-nb"}
    assert default_registry().missing_key("google") is None


def test_the_environment_is_enough(monkeypatch):
    """With a key in the environment, or a setting, the keyring is not asked."""
    asked = ring(OPEN, ANTHROPIC_API_KEY="k")
    monkeypatch.setenv("GROQ_API_KEY", "k")
    assert default_registry().default().ref.startswith("groq:")
    monkeypatch.setenv("PI_NB_MODEL", "scripted:demo")
    assert default_registry().default().ref == "scripted:demo"
    assert asked == []


@pytest.mark.parametrize(
    "kind", ["some.vault.Keyring", "keyrings.alt.file.EncryptedKeyring", "keyring.backends.kwallet.DBusKeyring"]
)
def test_a_keyring_that_might_ask_its_user_is_left_alone(kind):
    """To choose a model no dialogue is opened and no password asked for; a request that needs the key does ask."""
    asked = ring(kind, OPENAI_API_KEY="key-0123456789")
    assert default_registry().default().ref == "scripted:demo"
    assert asked == []
    assert Key(env=["OPENAI_API_KEY"]).get() == "key-0123456789"


def test_a_locked_keyring_is_left_alone(monkeypatch):
    """The desktop's keyring is asked while it is unlocked, and only then."""
    asked = ring("keyring.backends.SecretService.Keyring", OPENAI_API_KEY="k")
    assert default_registry().default().ref == "scripted:demo"  # here no desktop answers
    assert asked == []
    monkeypatch.setattr(keyrings, "_is_unlocked", lambda: True)
    assert default_registry().default().ref.startswith("openai:")


@pytest.mark.parametrize("backend", [null.Keyring, fail.Keyring])
def test_no_keyring_at_all(backend):
    """Where there is none, as on a server, there is no key, and no word about it."""
    keyring.set_keyring(backend())
    assert (quietly_held(["OPENAI_API_KEY"]), key_of("OPENAI_API_KEY")) == ("", "")
    assert default_registry().default().ref == "scripted:demo"


def test_a_keyring_among_others(monkeypatch):
    """Of several keyrings behind one, those that ask nobody are asked."""
    ring("some.vault.Keyring", OPENAI_API_KEY="k")
    hidden = keyring.get_keyring()
    ring(OPEN, GROQ_API_KEY="k")
    both = chainer.ChainerBackend()
    monkeypatch.setattr(chainer.ChainerBackend, "backends", [hidden, keyring.get_keyring()])
    keyring.set_keyring(both)
    assert default_registry().default().ref.startswith("groq:")


def test_a_keyring_that_does_not_answer():
    """One that hangs, or breaks, is given up on after a second."""
    free = threading.Event()
    ring(OPEN, OPENAI_API_KEY=lambda: free.wait(20) and "k")
    began = time.monotonic()
    assert quietly_held(["OPENAI_API_KEY"]) == ""
    assert time.monotonic() - began < 10
    free.set()
    ring(OPEN, OPENAI_API_KEY=lambda: 1 / 0, GROQ_API_KEY="k")
    assert quietly_held(["OPENAI_API_KEY", "GROQ_API_KEY"]) == "GROQ_API_KEY"


def test_nothing_is_asked_before_it_must():
    """Importing the package, and making a registry, do not even import ``keyring``."""
    code = "import sys, pi_nb; from pi_nb.providers.registry import default_registry as r; r().names()"
    subprocess.run([sys.executable, "-c", f"{code}; assert 'keyring' not in sys.modules"], check=True)


def test_how_to_set_a_key_once_for_all(monkeypatch):
    """The hint holds the command, and before it what must be installed for it."""
    keyring.set_keyring(null.Keyring())
    hint = Key(env=["OPENAI_API_KEY"]).lack().hint
    assert hint.endswith("once for all: keyring set pi-nb OPENAI_API_KEY")
    monkeypatch.setattr(keyrings, "find_spec", lambda name: None)
    hint = Key(env=["OPENAI_API_KEY"]).lack().hint
    assert hint.endswith("pip install 'pi-nb[keyring]' && keyring set pi-nb OPENAI_API_KEY")

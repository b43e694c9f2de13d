"""``local:``: a model inside this process, without key or network.

``local:smollm2`` is a very small model (135 million parameters) whose weights ``pi-nb local fetch`` gets. It answers
anything and is often wrong: it shows that branches really differ, not what a good model can do. It calls a tool if
the prompt names it (:mod:`~pi_nb.providers.constrained`). ``local:/path/to/model.gguf`` is any other model in
llama.cpp's format, and calls tools as it was taught.

The runtime is llama.cpp as packaged by ``xllamacpp`` (the extra ``local``). It runs in threads of its own with one
core left to the rest of the machine, because a busy core too many makes it ten times slower.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, cast

from pi_nb.errors import ProviderError
from pi_nb.models import Model
from pi_nb.providers.base import Request, StreamEvent
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.catalogue import look_up
from pi_nb.providers.client import Clients
from pi_nb.providers.constrained import ConstrainedReader, constrained, offered
from pi_nb.providers.http import Reader
from pi_nb.providers.network import Network
from pi_nb.providers.openai_chat import OpenAIChatProvider
from pi_nb.providers.weights import NAME, fetch, fetched, weights_path

__all__ = ["LocalProvider", "fetch", "installed"]

_CONTEXT = 8192  # what SmolLM2 was trained for; others would take gigabytes for their longest
_LONGEST_ANSWER = 1024
_BATCH = 64  # tokens of a prompt between two looks at whether anybody still wants the answer
_CONTEXT_ENV = "PI_NB_LOCAL_CONTEXT"


def installed() -> bool:
    """Return whether ``local:smollm2`` can be used: the runtime is installed and the weights are there. Cheap."""
    return find_spec("xllamacpp") is not None and fetched()


class LocalProvider:
    """Runs a GGUF model in this process, one answer at a time.

    Args:
        threads: Cores to use; None for all but one.
        context_window: Tokens of context; None for the environment's ``PI_NB_LOCAL_CONTEXT``, or 8192.
    """

    api = "openai-completions"

    def __init__(self, *, threads: int | None = None, context_window: int | None = None) -> None:
        self._threads = threads or max(1, (os.cpu_count() or 2) - 1)
        self._window = context_window or int(os.environ.get(_CONTEXT_ENV, "") or _CONTEXT)
        self._lock = Lock()
        self._worker: ThreadPoolExecutor | None = None
        self._loaded: _Engine | None = None  # changed by the worker only

    def __repr__(self) -> str:
        loaded = self._loaded.file.name if self._loaded else "nothing"
        return f"<LocalProvider threads={self._threads} context={self._window} loaded={loaded}>"

    @property
    def name(self) -> str:
        """The part before the colon in ``provider:model``."""
        return "local"

    def model(self, model_id: str) -> Model:
        """Return the model of that name or file.

        Raises:
            ProviderError: ``not_found``: neither ``smollm2`` nor a GGUF file's path.
        """
        if model_id != NAME and not model_id.endswith(".gguf"):
            raise ProviderError(
                f"local has no model {model_id!r}.",
                code="not_found",
                hint=f"Write local:{NAME}, or local: and the path of a .gguf file.",
            )
        guess = look_up("local", Path(model_id).stem if model_id != NAME else NAME, api=self.api)
        return Model(
            "local",
            model_id,
            api=self.api,
            context_window=self._window,
            max_tokens=min(_LONGEST_ANSWER, self._window // 2) if model_id == NAME else self._window // 2,
            reasoning=guess.reasoning,
        )

    async def model_names(self) -> list[str]:
        """Return the model that has been fetched, if it has; files are named by their paths."""
        return [NAME] if installed() else []

    async def aclose(self) -> None:
        """Forget the loaded model and stop the thread."""
        with self._lock:
            worker, self._worker = self._worker, None
        if self._loaded is not None:
            await self._loaded.aclose()
        if worker is not None:
            self._loaded = None
            await asyncio.to_thread(worker.shutdown)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Yield the events of one answer; a cancelled one stops within a batch of its prompt, or at its next token."""
        try:
            path = _file_of(request.model.id)
            engine = await asyncio.wrap_future(self._submit(path))
        except Exception as error:
            known = isinstance(error, ProviderError)
            said = error if known else ProviderError(f"local: {type(error).__name__}: {error}", code="bad_response")
            yield MessageBuilder(request.model, provider=self.name, api=self.api).failed(cast(ProviderError, said))
            return
        async with aclosing(cast(AsyncGenerator[StreamEvent, None], engine.stream(request))) as events:
            async for event in events:
                yield event

    def _submit(self, path: Path) -> Future[_Engine]:
        """Have the model loaded, by the worker: it takes seconds."""
        with self._lock:
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, thread_name_prefix="pi_nb-local")
            return self._worker.submit(self._engine, path)

    def _engine(self, path: Path) -> _Engine:
        if self._loaded is None or self._loaded.file != path:
            self._loaded = None  # one model's memory at a time
            self._loaded = _Engine(path, threads=self._threads, window=self._window)
        return self._loaded


class _Engine(OpenAIChatProvider):
    """A loaded model, asked over this machine's loopback: closing the connection is how its work is stopped.

    It computes in threads of its own, outside Python. Nobody else can ask it, because nobody else has the key.
    """

    def __init__(self, path: Path, *, threads: int, window: int) -> None:
        key = secrets.token_hex(16)
        self.file = path
        self._server = _load(path, threads=threads, window=window, key=key)
        super().__init__("llamacpp", api_key=key, base_url=f"{self._server.listening_address}/v1", name="local")
        self._clients = Clients(self._timeouts, Network(environment=False), outside=False)

    def payload(self, request: Request) -> dict[str, Any]:
        """Return the request's body; the small model is held to a schema when it may call tools."""
        body = super().payload(request)
        if request.model.id == NAME:
            body = constrained(body, offered(request))
        body.setdefault("max_tokens", request.model.max_tokens)
        body.setdefault("temperature", 0.2)
        return body

    def reader_for(self, request: Request, builder: MessageBuilder) -> Reader:
        """Return what reads the answer to a request."""
        if request.model.id == NAME and offered(request):
            return ConstrainedReader(builder)
        return super().reader(builder)


# ---------------------------------------------------------------- the runtime


def _file_of(model_id: str) -> Path:
    """Return a model's file.

    Raises:
        ProviderError: ``not_found``: it is not there, or the runtime is not.
    """
    if find_spec("xllamacpp") is None:
        raise ProviderError(
            "The runtime for local models is not installed.", code="not_found", hint="pip install 'pi-nb[local]'"
        )
    path = weights_path() if model_id == NAME else Path(model_id).expanduser()
    if not path.is_file():
        hint = "Get it (93 MB): pi-nb local fetch" if model_id == NAME else "Give the path of a .gguf file."
        raise ProviderError(f"The weights of local:{model_id} are not here.", code="not_found", hint=hint)
    return path


def _runtime() -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        needs_gomp = "libgomp" in str(error)
        raise ProviderError(
            f"The runtime for local models cannot be loaded: {error}",
            code="not_found",
            hint="Install the system package libgomp1 (Debian, Ubuntu) or libgomp (Fedora)."
            if needs_gomp
            else "It needs a 64-bit processor of the last ten years.",
        ) from error
    return xllamacpp


def _load(path: Path, *, threads: int, window: int, key: str) -> Any:
    runtime = _runtime()
    params = runtime.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = window, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup, params.verbosity, params.ui = False, 0, False
    params.n_batch = params.n_ubatch = _BATCH
    params.api_keys = [key]  # it listens on a port of this machine: let nobody else in
    try:
        return runtime.Server(params)
    except RuntimeError:
        raise ProviderError(f"{path.name} could not be loaded: is it a GGUF file?", code="bad_response") from None

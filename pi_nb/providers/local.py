"""``local:``: a model inside this process, without key or network.

``local:smollm2`` is a very small model (135 million parameters) whose weights ``pi-nb local fetch`` gets. It answers
anything and is often wrong: it shows that branches really differ, not what a good model can do, and it calls no
tools. ``local:/path/to/model.gguf`` is any other model in llama.cpp's format.

The runtime is llama.cpp as packaged by ``xllamacpp`` (the extra ``local``). It runs in a thread of its own with one
core left to the rest of the machine, because a busy core too many makes it ten times slower.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Lock
from typing import Any

from pi_nb.errors import ProviderError
from pi_nb.models import Model
from pi_nb.providers.base import Request, StreamEvent, StreamResponse
from pi_nb.providers.builder import MessageBuilder
from pi_nb.providers.catalogue import look_up
from pi_nb.providers.chat_reader import ChatReader
from pi_nb.providers.dialects import DIALECTS
from pi_nb.providers.openai_chat import chat_payload
from pi_nb.providers.sse import ServerSentEvent
from pi_nb.providers.weights import NAME, fetch, fetched, weights_path

__all__ = ["LocalProvider", "fetch", "installed"]

_CONTEXT = 8192  # what SmolLM2 was trained for; others would take gigabytes for their longest
_LONGEST_ANSWER = 1024
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
        self._loaded: tuple[Path, Any] | None = None  # touched by the worker only

    def __repr__(self) -> str:
        loaded = self._loaded[0].name if self._loaded else "nothing"
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

    async def aclose(self) -> None:
        """Forget the loaded model and stop the thread."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            self._loaded = None
            await asyncio.to_thread(worker.shutdown)

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Yield the events of one answer; a cancelled one stops at its next token."""
        builder = MessageBuilder(request.model, provider=self.name, api=self.api)
        reader = ChatReader(builder)
        run = _Run(asyncio.get_running_loop())
        try:
            path = _file_of(request.model.id)
            yield StreamResponse(200, {})
            self._submit(lambda: run.play(lambda: self._engine(path), self._payload(request)))
            while (chunk := await run.chunks.get()) is not None:
                for event in reader.feed(ServerSentEvent(data=chunk)):
                    yield event
            if run.error is not None:
                raise run.error
            for event in reader.finish():
                yield event
        except ProviderError as error:
            yield builder.failed(error)
        except Exception as error:
            yield builder.failed(ProviderError(f"local: {type(error).__name__}: {error}", code="bad_response"))
        finally:
            run.stop.set()

    def _payload(self, request: Request) -> str:
        body = chat_payload(request, DIALECTS["llamacpp"])
        if request.model.id == NAME:
            body.pop("tools", None)  # it fills any answer with calls that mean nothing
        body.setdefault("max_tokens", request.model.max_tokens)
        body.setdefault("temperature", 0.2)
        return json.dumps(body)

    def _submit(self, work: Callable[[], None]) -> None:
        with self._lock:
            if self._worker is None:
                self._worker = ThreadPoolExecutor(1, thread_name_prefix="pi_nb-local")
            self._worker.submit(work)

    def _engine(self, path: Path) -> Any:
        """Return the loaded model; called on the worker."""
        if self._loaded is None or self._loaded[0] != path:
            self._loaded = None  # one model's memory at a time
            self._loaded = (path, _load(path, threads=self._threads, window=self._window))
        return self._loaded[1]


class _Run:
    """One answer on its way from the worker to the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.chunks: asyncio.Queue[str | None] = asyncio.Queue()
        self.error: Exception | None = None
        self.stop = Event()
        self._loop = loop

    def play(self, engine: Callable[[], Any], payload: str) -> None:
        """Generate; called on the worker, where nothing may be raised."""
        try:
            if not self.stop.is_set():
                engine().handle_chat_completions(payload, self._take)
        except Exception as error:
            self.error = error
        self._put(None)

    def _take(self, chunk: str) -> bool:
        """Pass on a piece; True tells the runtime to stop."""
        return self.stop.is_set() or not self._put(chunk)

    def _put(self, chunk: str | None) -> bool:
        with suppress(RuntimeError):  # the loop is closed: nobody reads any more
            self._loop.call_soon_threadsafe(self.chunks.put_nowait, chunk)
            return True
        return False


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


def _load(path: Path, *, threads: int, window: int) -> Any:
    runtime = _runtime()
    params = runtime.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel = window, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup, params.verbosity, params.ui = False, 0, False
    params.api_keys = [secrets.token_hex(16)]  # it also listens on a port of this machine: let nobody else in
    try:
        return runtime.Server(params)
    except RuntimeError:
        raise ProviderError(f"{path.name} could not be loaded: is it a GGUF file?", code="bad_response") from None

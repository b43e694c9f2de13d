"""Servers that nobody here wrote, each in a process of its own, and how our clients reach them."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

LLMOCK_PATHS = {"anthropic": "/anthropic", "openai_chat": "/v1", "openai_responses": "/v1", "gemini": "/gemini/v1beta"}
AIMOCK_PATHS = {"anthropic": "", "openai_chat": "/v1", "openai_responses": "/v1", "gemini": "/v1beta"}
MODELS = {
    "anthropic": "claude-sonnet-5-5",
    "openai_chat": "gpt-6-sol",
    "openai_responses": "gpt-6-sol",
    "gemini": "gemini-3.8-flash",
}


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def process(command: Sequence[str], port: int, log: Path) -> Iterator[str]:
    """Run a server and give its URL once it accepts connections."""
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out, cwd=log.parent) as child:
        try:
            for _ in range(600):
                assert child.poll() is None, log.read_text()
                with socket.socket() as sock:
                    if sock.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}"
        finally:
            child.kill()


class LlMock:
    """The server of the package ``llmock``: fails as it is told, and judges how its clients coped."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.granted = ""  # what it may find wrong

    def script(self, *behaviours: dict[str, Any]) -> None:
        """Queue what happens to the next requests."""
        httpx.post(f"{self.url}/_llmock/scenario", json={"behaviors": behaviours}).raise_for_status()

    def requests(self) -> list[dict[str, Any]]:
        """Return what was asked, oldest first."""
        return list(httpx.get(f"{self.url}/_llmock/requests").json()["requests"])

    def verdict(self) -> str:
        """Return what the server found wrong with its client; empty if nothing."""
        found = httpx.get(f"{self.url}/_llmock/verdict").json()["findings"]
        return "\n".join(f"{one['severity']}: {one['title']}" for one in found)

    def reset(self) -> None:
        httpx.post(f"{self.url}/_llmock/reset").raise_for_status()


@contextmanager
def llmock(folder: Path) -> Iterator[LlMock]:
    port = free_port()
    code = f"from llmock.cli import app; app(['serve', '--port', '{port}', '--log-level', 'warning'])"
    with process([sys.executable, "-c", code], port, folder / "llmock.log") as url:
        yield LlMock(url)


def aimock_command(folder: Path) -> list[str] | str:
    """Return what starts ``@copilotkit/aimock``, installed by npm if need be; or why it cannot be had."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        return "node and npm"
    cache = os.environ.get("PI_NB_NPM_CACHE")
    folder = Path(cache, "aimock") if cache else folder
    script = folder / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
        done = subprocess.run(
            [*command, "@copilotkit/aimock@1.43.0"], capture_output=True, text=True, check=False, timeout=200
        )
        if done.returncode:
            return f"@copilotkit/aimock from npm: {done.stderr[-300:]}"
    return [node, str(script)]

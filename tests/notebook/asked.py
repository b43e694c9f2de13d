"""The front end's part in questions: a page that shows buttons, played over the kernel's own protocol."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

SETUP = """
from pi_nb.messages import ToolCall
def call(name, **args):
    return Reply([ToolCall(id="c1", name=name, arguments=args)])
"""


@dataclass
class Page:
    """A page that knows widgets and whose messages take a subshell, as JupyterLab's do."""

    kernel: Any
    subshell: str | None = None

    def __post_init__(self) -> None:
        client = self.kernel.client
        client.control_channel.send(client.session.msg("create_subshell_request", {}))
        self.subshell = client.control_channel.get_msg(timeout=10)["content"]["subshell_id"]

    def question(self, request: str, timeout: float = 20) -> tuple[str, dict[str, Any]]:
        """Wait until a running cell asks; return the widget's id and its state."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            message = self.kernel.client.get_iopub_msg(timeout=timeout)
            if message["parent_header"].get("msg_id") != request or message["msg_type"] != "comm_open":
                continue
            state = message["content"]["data"].get("state", {})
            if "question" in state:
                return message["content"]["comm_id"], state
        raise AssertionError("nothing was asked")

    def say(self, widget: str, **content: Any) -> None:
        """Send a widget's custom message, three times: a page says everything again until it was heard."""
        for pause in (0, 0.2, 0.4):
            time.sleep(pause)
            self._send(widget, content)

    def _send(self, widget: str, content: Any) -> None:
        client = self.kernel.client
        data = {"method": "custom", "content": content}
        message = client.session.msg("comm_msg", {"comm_id": widget, "data": data})
        message["header"]["subshell_id"] = self.subshell
        client.shell_channel.send(message)


def type_answer(kernel: Any, text: str, timeout: float = 20) -> str:
    """Wait for a line to be asked for, and type it; return the prompt."""
    prompt = kernel.client.get_stdin_msg(timeout=timeout)["content"]["prompt"]
    kernel.client.input(text)
    return str(prompt)

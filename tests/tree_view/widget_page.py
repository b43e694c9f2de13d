"""The built widget in Chromium, talking to a real TreeView through a model of a few lines.

The page's model only keeps messages; :meth:`WidgetPage.pump` carries them to the Python widget's comm and back, as
a notebook server does.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from comm.base_comm import BaseComm

ORIGIN = "http://widget.test/"
MODEL = (Path(__file__).parent / "model.js").read_text("utf-8")


class RecordingComm(BaseComm):
    """A comm that keeps what the widget sends."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.sent: list[dict[str, Any]] = []
        self.bytes = 0
        super().__init__(*args, **options)

    def publish_msg(
        self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any
    ) -> None:
        """Keep a message, as the JSON it would travel as; what Jupyter could not encode is an error here too."""
        text = json.dumps(data, ensure_ascii=False)
        self.bytes += len(text.encode())
        if msg_type == "comm_open":
            self.state = json.loads(text).get("state", {})
        elif msg_type == "comm_msg":
            self.sent.append(json.loads(text))

    def ask(self, content: dict[str, Any]) -> list[dict[str, Any]]:
        """Send a custom message as the page would; return the custom messages that came back, and drop all others."""
        self.handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
        return [message["content"] for message in self.take() if message["method"] == "custom"]

    def take(self) -> list[dict[str, Any]]:
        """Return what was sent since the last time."""
        sent, self.sent = self.sent, []
        return sent


class WidgetPage:
    """One view of a widget in a page of its own."""

    def __init__(
        self,
        chrome: Any,
        view: Any,
        comm: RecordingComm,
        *,
        width: int = 1200,
        height: int = 800,
        dark: bool = False,
        theme: dict[str, str] | None = None,
        **options: Any,
    ) -> None:
        self.view = view
        self.comm = comm
        self.faults: list[str] = []
        scheme = "dark" if dark else "light"
        size = {"width": width, "height": height}
        self.context = chrome.new_context(viewport=size, color_scheme=scheme, **options)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.faults.append(f"script error: {error}"))
        self.page.on("dialog", lambda dialog: (self.faults.append(f"dialogue: {dialog.message}"), dialog.dismiss()))
        self.page.on("console", lambda note: note.type == "error" and self.faults.append(note.text))
        self._serve(dark, theme or {})
        self.render()

    def _serve(self, dark: bool, theme: dict[str, str]) -> None:
        files = {"": ("text/html", self._html(dark, theme)), "tree.js": ("text/javascript", self.comm.state["_esm"])}

        def answer(route: Any) -> None:
            known = files.get(route.request.url.removeprefix(ORIGIN))
            if known is None:
                self.faults.append(f"request: {route.request.url}")
                return route.fulfill(status=404)
            return route.fulfill(content_type=f"{known[0]}; charset=utf-8", body=known[1])

        self.page.route("**/*", answer)
        self.page.goto(ORIGIN)
        self.page.add_script_tag(content=MODEL)

    def _html(self, dark: bool, theme: dict[str, str]) -> str:
        ground = "#0d1017" if dark else "#ffffff"
        named = ";".join(f"{name}:{value}" for name, value in theme.items())
        return (
            "<!doctype html><html lang=en><title>tree</title><link rel=icon href='data:,'>"
            f"<style>{self.comm.state['_css']}</style>"
            f"<body style='margin:16px;background:{ground};{named}'><main id=here></main><div id=there></div>"
        )

    def render(self, *, into: str = "here") -> None:
        """Render one view into the page; the first time also initialize the model."""
        state = {name: value for name, value in self.comm.state.items() if name not in ("_esm", "_css")}
        self.page.evaluate(
            """async ([state, into]) => {
              const widget = (await import("/tree.js")).default;
              if (!window.model) {
                window.model = makeModel(state);
                window.whole = new AbortController();
                widget.initialize({ model, signal: whole.signal });
              }
              (window.views ??= {})[into] = new AbortController();
              widget.render({ model, el: document.getElementById(into), signal: views[into].signal });
            }""",
            [state, into],
        )

    def pump(self, *, deadline: float = 30) -> None:
        """Carry messages both ways until the page has drawn three times with nothing more to say."""
        end = time.monotonic() + deadline
        quiet = 0
        while quiet < 3 and time.monotonic() < end:
            asked = self.page.evaluate("() => said()")
            for content in asked:
                self.comm.handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})
            told = self.comm.take()
            if told:
                self.page.evaluate("(messages) => messages.forEach((message) => model.take(message))", told)
            quiet = 0 if asked or told or not self._published() else quiet + 1

    def _published(self) -> bool:
        """Return whether the page has heard of every entry, or never will."""
        return self.view.rev == len(self.view.session) or not self.view._open

    def rows(self) -> list[str]:
        """Return what the rows in view say, top down."""
        found: list[str] = self.page.evaluate("() => rowsInView()")
        return found

    def row(self, text: str) -> Any:
        """Return the locator of the row that contains a text."""
        return self.page.locator(".pt-row", has_text=text).first

    def click(self, text: str, **options: Any) -> None:
        """Click a row and let the answer arrive."""
        self.row(text).locator(".pt-text").click(**options)
        self.pump()

    def press(self, *keys: str) -> None:
        """Press keys with the tree focused."""
        self.page.locator(".pt-rows").focus()
        for key in keys:
            self.page.keyboard.press(key)
        self.pump()

    def text(self, selector: str) -> str:
        """Return the text of the first element that matches."""
        return str(self.page.locator(selector).first.inner_text())

    def close(self) -> None:
        """Take the page away."""
        self.context.close()

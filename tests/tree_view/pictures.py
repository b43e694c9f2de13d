"""Pictures of the live tree in every state, to be looked at: ``python tests/tree_view/pictures.py FOLDER [name …]``

Nothing is asserted here. Each picture is one state: sizes, themes, contrasts, widths, and what can happen to a view.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import comm  # noqa: E402

from pi_nb.session.entries import parse_entry  # noqa: E402
from pi_nb.session.memory import InMemorySessionStorage  # noqa: E402
from pi_nb.session.tree import Session  # noqa: E402
from pi_nb.views.tree_view import TreeView  # noqa: E402
from tests.browser.jupyter import browser  # noqa: E402
from tests.tree_view.talk import said  # noqa: E402
from tests.tree_view.widget_page import RecordingComm, WidgetPage  # noqa: E402

LIGHT_CONTRAST: Final = {  # as JupyterLab's high-contrast themes and VS Code's set them
    "--jp-layout-color1": "#fff",
    "--jp-ui-font-color1": "#000",
    "--jp-border-color1": "#000",
    "--jp-brand-color1": "#0040a0",
}
DARK_CONTRAST: Final = {
    "--jp-layout-color1": "#000",
    "--jp-ui-font-color1": "#fff",
    "--jp-border-color1": "#fff",
    "--jp-brand-color1": "#8ab4f8",
}
CODE_DARK: Final = {
    "--vscode-editor-background": "#1f1f1f",
    "--vscode-foreground": "#cccccc",
    "--vscode-editorWidget-background": "#202020",
    "--vscode-font-family": "Helvetica, sans-serif",
    "--vscode-contrastBorder": "",
}
CODE_LIGHT: Final = {
    "--vscode-editor-background": "#ffffff",
    "--vscode-foreground": "#3b3b3b",
    "--vscode-editorWidget-background": "#f8f8f8",
}
CODE_CONTRAST: Final = {
    "--vscode-editor-background": "#000000",
    "--vscode-foreground": "#ffffff",
    "--vscode-editorWidget-background": "#0c141f",
    "--vscode-contrastBorder": "#6fc3df",
}
TOPICS: Final = ["the boat is painted green", "it sails from Gothenburg", "the sail is torn", "it carries apples"]


def hello() -> Session:
    """Return a session of five entries."""
    session = Session(InMemorySessionStorage())
    session.append_model_change("scripted", "demo")
    session.append_message({"role": "user", "content": "My name is Ada. I want to name a sailing boat."})
    named = session.append_message(said("Nice to meet you, Ada. How about *Argo*, after the ship of the Argonauts?"))
    session.append_message({"role": "user", "content": "Something shorter."})
    session.append_message(said("Then **Io**: two letters, a moon of Jupiter."))
    session.append_label(named, "argo")
    return session


def boats(size: int = 200) -> Session:
    """Return a session with branches, tools, labels, models, a compaction and a failure."""
    dice = random.Random(size)
    session = hello()
    answers = [entry.id for entry in session.entries() if entry.type == "message"][1::2]
    while len(session) < size:
        chance = dice.random()
        if chance < 0.09:
            session.move_to(dice.choice(answers[-12:]))
        elif chance < 0.12:
            session.append_model_change("anthropic", dice.choice(["claude-opus-4-1", "claude-haiku-4-5"]))
        elif chance < 0.14:
            session.append_label(answers[-1], dice.choice(["serious", "playful", "to keep"]))
        elif chance < 0.15 and size > 100:
            path = session.path()
            kept = next(entry.id for entry in path[len(path) // 2 :] if entry.type == "message")
            session.append_compaction("Ada names a boat; it is green and sails from Gothenburg.", kept, 41_000)
        topic = dice.choice(TOPICS)
        session.append_message({"role": "user", "content": f"Remember: {topic}. What do you know so far?"})
        if dice.random() < 0.35:
            session.append_message(said("", ("bash", {"command": f"grep -rn '{topic.split()[-1]}' harbour/*.log"})))
            result = {"role": "toolResult", "toolCallId": "c0", "toolName": "bash"}
            session.append_message({**result, "content": [{"type": "text", "text": "harbour/may.log:14: apples, 3 t"}]})
        text = f"So far: your name is Ada, and {topic}. " + "The harbour log agrees with that. " * dice.randint(1, 6)
        answers.append(session.append_message(said(text, total=dice.randint(90, 9000))))
    return session


def fanned() -> Session:
    """Return a session with one prompt answered three times."""
    session = hello()
    start = session.leaf_id
    for name, why in (("Io", "two letters"), ("Argo", "an old ship"), ("Kon-Tiki", "a raft that crossed an ocean")):
        prompt = session.append_message({"role": "user", "content": "Your last word?"}, parent=start)
        answer = said(f"My last word is {name}: {why}. It is easy to call over the water.", total=140 + len(why))
        session.append_message(answer, parent=prompt)
    session.move_to(start)
    return session


def broken() -> Session:
    """Return a session with an orphan, a cycle, a failed and an aborted answer."""
    session = hello()
    session.append_message({"role": "user", "content": "And a rowing boat?"})
    failed = {"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "overloaded_error: try later"}
    session.append_message(failed)
    half = {**said("Perhaps *Nutsh"), "stopReason": "aborted", "errorMessage": "aborted"}
    session.append_message(half)
    about = {"type": "message", "timestamp": "2026-05-04T10:00:00Z"}
    for id, parent, text in (
        ("0rphan00", "gone0000", "An orphan"),
        ("cyc1e001", "cyc1e002", "a"),
        ("cyc1e002", "cyc1e001", "b"),
    ):
        session.storage.append(
            parse_entry({**about, "id": id, "parentId": parent, "message": {"role": "user", "content": text}})
        )
    session.move_to(session.entries()[8].id)
    return session


def streaming(page: WidgetPage) -> None:
    """Let an answer grow."""
    page.view.set_status("running")
    page.view.set_live({"text": "Let me think of a name that is short, and easy to call over the wa", "model": "demo"})


def several(page: WidgetPage) -> None:
    """Let three answers grow, one of them anew."""
    prompts = [e.id for e in page.view.session.entries() if "last word?" in str(e.to_wire())]
    page.view.set_status("running")
    page.view.set_lives(
        {
            "1": {"text": "My last word is Io, because it is", "parent": prompts[0]},
            "2": {"text": "", "note": "again, try 2 of 4: overloaded", "parent": prompts[1]},
            "3": {"text": "Kon-Tiki, a raft", "parent": prompts[2]},
        }
    )


def keys(*names: str) -> Callable[[WidgetPage], None]:
    """Press keys in the tree."""
    return lambda page: page.press(*names)


def search(page: WidgetPage) -> None:
    """Search for a word."""
    page.page.locator(".pt-search").fill("apples")


def compare(page: WidgetPage) -> None:
    """Compare two branches."""
    page.page.locator(".pt-row.pt-t-assistant", has_text="word is Io").first.click(modifiers=["Control"])
    page.pump()
    page.page.locator(".pt-row.pt-t-assistant", has_text="Argo:").first.click(modifiers=["Control"])


def look_at_broken(page: WidgetPage) -> None:
    """Look at an entry without a context."""
    page.click("An orphan", modifiers=["Alt"])


def busy(page: WidgetPage) -> None:
    """Click and get no answer."""
    page.row("Nice to meet").locator(".pt-text").click()
    page.page.wait_for_timeout(500)


def gone(page: WidgetPage) -> None:
    """Lose the kernel and look around."""
    page.page.evaluate("() => { model.broken = true; model.fire('comm:close'); }")
    page.row("Nice to meet").locator(".pt-text").click()
    page.page.wait_for_timeout(300)


def name_theme(page: WidgetPage) -> None:
    """Give the page's theme the name that the high-contrast themes have."""
    page.page.evaluate("() => { document.body.dataset.jpThemeName = 'JupyterLab Dark High Contrast'; }")


def checkout(page: WidgetPage) -> None:
    """Move the leaf."""
    page.click("Nice to meet")


SHOTS: Final[dict[str, tuple[Callable[[], Session], dict[str, Any], Callable[[WidgetPage], None] | None]]] = {
    "size-0": (lambda: Session(InMemorySessionStorage()), {}, None),
    "size-5": (hello, {}, None),
    "size-200": (boats, {}, None),
    "size-10000": (lambda: boats(10_000), {}, None),
    "size-200-dark": (boats, {"dark": True}, None),
    "size-5-dark": (hello, {"dark": True}, None),
    "forced-dark": (boats, {"dark": True, "forced_colors": "active"}, None),
    "forced-light": (boats, {"forced_colors": "active"}, None),
    "contrast-more": (boats, {"contrast": "more"}, None),
    "contrast-more-dark": (boats, {"contrast": "more", "dark": True}, None),
    "lab-contrast-light": (boats, {"theme": LIGHT_CONTRAST}, name_theme),
    "lab-contrast-dark": (boats, {"theme": DARK_CONTRAST, "dark": True}, name_theme),
    "code-dark": (boats, {"theme": CODE_DARK, "dark": True}, None),
    "code-light": (boats, {"theme": CODE_LIGHT}, None),
    "code-contrast": (boats, {"theme": CODE_CONTRAST, "dark": True}, name_theme),
    "width-400": (boats, {"width": 432, "height": 900}, None),
    "width-400-dark": (hello, {"width": 432, "height": 900, "dark": True}, None),
    "width-1600": (boats, {"width": 1632}, None),
    "width-1600-dark": (boats, {"width": 1632, "dark": True}, None),
    "streaming": (hello, {}, streaming),
    "streaming-dark": (hello, {"dark": True}, streaming),
    "streaming-several": (fanned, {}, several),
    "compare-two": (fanned, {"width": 1400}, compare),
    "compare-three": (fanned, {"width": 1600}, keys("C")),
    "compare-three-dark": (fanned, {"width": 1600, "dark": True}, keys("C")),
    "compare-forced": (fanned, {"width": 1400, "forced_colors": "active"}, keys("C")),
    "compare-400": (fanned, {"width": 432, "height": 900}, keys("C")),
    "search": (boats, {}, search),
    "search-dark": (boats, {"dark": True}, search),
    "all-filter": (hello, {}, keys("5")),
    "folded": (boats, {}, keys("[", "[", "ArrowLeft")),
    "hoisted": (boats, {}, keys("[", "z")),
    "entry": (hello, {}, keys("e")),
    "help": (hello, {}, keys("?")),
    "label": (hello, {}, keys("ArrowUp", "l")),
    "checked-out": (hello, {}, checkout),
    "broken": (broken, {}, look_at_broken),
    "busy": (hello, {}, busy),
    "gone": (hello, {}, gone),
    "gone-dark": (hello, {"dark": True}, gone),
}


def main(folder: Path, names: list[str]) -> None:
    """Take the pictures."""
    made: dict[str, RecordingComm] = {}

    def create(**options: Any) -> RecordingComm:
        one = RecordingComm(**options)
        made[one.comm_id] = one
        return one

    comm.create_comm = create
    folder.mkdir(parents=True, exist_ok=True)
    with browser() as chrome:
        for name, (grow, options, act) in SHOTS.items():
            if names and not any(name.startswith(wanted) for wanted in names):
                continue
            began = time.monotonic()
            view = TreeView(grow())
            page = WidgetPage(chrome, view, made[view.model_id], **{"height": 640, **options})
            page.pump()
            if act is not None:
                act(page)
            if act not in (busy, gone):
                page.pump()
            page.page.wait_for_timeout(450)
            page.page.screenshot(path=str(folder / f"{name}.png"), full_page=True)
            print(f"{name}  {time.monotonic() - began:.1f} s  {page.faults or ''}")
            page.close()
            view.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])

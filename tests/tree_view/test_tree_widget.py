"""The Python side of the live tree, with real sessions, seen through its comm."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ipywidgets
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_nb.errors import PiError, SessionError, UserError
from pi_nb.session.memory import InMemorySessionStorage
from pi_nb.session.repo import SessionRepo
from pi_nb.session.tree import Session
from pi_nb.views import tree_rows
from pi_nb.views.tree_view import TreeView
from tests.tree_view.talk import HOSTILE, said, talk

Comms = dict[str, Any]


def view_of(session: Session, comms: Comms, **options: Any) -> tuple[TreeView, Any]:
    """Return a view and its comm."""
    view = TreeView(session, **options)
    return view, comms[view.model_id]


def ask(comm: Any, op: str, **payload: Any) -> Any:
    """Ask one thing and return the one answer."""
    (answer,) = comm.ask({"op": op, "id": 7, **payload})
    return answer


def settled(view: TreeView) -> None:
    """Wait until everything that was appended is published."""
    deadline = time.monotonic() + 5
    while view.rev != len(view.session) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert view.rev == len(view.session)


def test_a_page_gets_the_rows_it_lacks(session: Session, comms: Comms) -> None:
    """The first question is answered with all rows, the next with those that came since."""
    parts = talk(session)
    _, comm = view_of(session, comms)
    first = ask(comm, "sync", epoch="", have=0)
    assert [row["id"] for row in first["rows"]] == [entry.id for entry in session.entries()]
    assert [first[name] for name in ("op", "from", "to", "total", "leaf")] == ["delta", 0, 10, 10, parts.oslo_said]
    session.append_label(parts.rome, "sunny")
    more = ask(comm, "sync", epoch=first["epoch"], have=10)
    assert [row["type"] for row in more["rows"]] == ["label"]
    assert more["labels"] == {parts.rome: "sunny"}
    assert ask(comm, "sync", epoch="of a kernel that is gone", have=10)["from"] == 0
    assert ask(comm, "sync", epoch=first["epoch"], have=99)["from"] == 0


def test_rows_say_what_an_entry_is(memory: Session, comms: Comms) -> None:
    """A row previews text, calls, results, tokens, costs and failures, and leaves out what there is not."""
    talk(memory)
    memory.append_message({"role": "assistant", "content": [], "stopReason": "error", "errorMessage": "overloaded"})
    _, comm = view_of(memory, comms)
    rows = [{k: v for k, v in row.items() if k not in ("id", "parent", "time")} for row in ask(comm, "sync")["rows"]]
    base = {"type": "message", "role": "assistant", "model": "m-1", "tokens": 9, "cost": 0.0125}
    assert rows[0] == {"type": "model_change", "text": "p:m-1", "model": "m-1"}
    assert rows[1] == {"type": "message", "role": "user", "text": "Where to?", "tokens": 3}
    assert rows[2] == {**base, "text": "Rome or Oslo?"}
    assert rows[5]["type"] == "leaf"
    assert rows[7] == {**base, "text": "", "tools": ["bash"], "calls": ["ls -la fjord"]}
    assert rows[8] == {"type": "message", "role": "toolResult", "text": "bash → boats islands", "tokens": 4}
    assert rows[10]["error"] == "overloaded"


def test_a_row_names_the_cell_that_wrote_it(memory: Session, comms: Comms) -> None:
    """The number of the cell stands in the entry; what is not a number is left out."""
    row = {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "x"}}
    assert tree_rows.row_of({**row, "cell": {"id": "d4cd280e", "n": 7}})["cell"] == "7"
    assert "cell" not in tree_rows.row_of({**row, "cell": {"n": "<b>"}})
    assert "cell" not in tree_rows.row_of({**row, "cell": "7"})


def test_a_click_moves_the_leaf_and_tells_which_line_it_wrote(session: Session, comms: Comms) -> None:
    """Checking out an answer writes one leaf entry; the page is told that very line and where it is."""
    parts = talk(session)
    view, comm = view_of(session, comms)
    done = ask(comm, "checkout", entry=parts.rome_said)
    assert (done["op"], done["leaf"], done["previous"]) == ("ack", parts.rome_said, parts.oslo_said)
    assert session.leaf_id == view.leaf_id == parts.rome_said
    line = json.loads(done["line"])
    assert (line["type"], line["targetId"], line["parentId"]) == ("leaf", parts.rome_said, parts.oslo_said)
    if session.file:
        written = session.file.read_text("utf-8").splitlines()
        assert written[done["line_number"] - 1] == done["line"] == written[-1]
    else:
        assert done["line_number"] is None


def test_a_click_on_a_user_message_goes_before_it_with_its_text(session: Session, comms: Comms) -> None:
    """The leaf goes to the parent, and the text comes back to be edited."""
    parts = talk(session)
    _, comm = view_of(session, comms)
    done = ask(comm, "checkout", entry=parts.rome)
    assert (done["leaf"], done["editor_text"]) == (parts.answer, "Rome it is")
    assert ask(comm, "checkout", entry=None)["leaf"] is None


def test_a_click_on_the_leaf_writes_nothing(session: Session, comms: Comms) -> None:
    """The log stays as long as it was."""
    parts = talk(session)
    _, comm = view_of(session, comms)
    done = ask(comm, "checkout", entry=parts.oslo_said)
    assert "line" not in done
    assert len(session) == 10


def test_what_cannot_be_done_is_answered_with_a_sentence(memory: Session, comms: Comms) -> None:
    """An unknown entry, an unknown wish and a move during a run are refused, and nothing is written."""
    talk(memory)
    view, comm = view_of(memory, comms)
    assert ask(comm, "checkout", entry="nobody") == {"op": "nak", "id": 7, "error": "There is no entry nobody."}
    assert "does not know 'dance'" in ask(comm, "dance")["error"]
    assert "op" in ask(comm, "entry", entry=None)
    view.set_status("running")
    assert "running" in ask(comm, "checkout", entry=None)["error"]
    assert len(memory) == 10


def test_a_read_only_session_says_so(tmp_path: Path, comms: Comms) -> None:
    """The status of a session that somebody else is writing is read-only."""
    with SessionRepo(tmp_path).create(str(tmp_path)) as session:
        talk(session)
        assert session.file
        with SessionRepo(tmp_path).open(session.file) as other:
            view, comm = view_of(other, comms)
            assert view.status == "read-only"
            assert ask(comm, "checkout", entry=None)["op"] == "nak"


def test_a_label_is_an_entry(session: Session, comms: Comms) -> None:
    """Labelling writes a label entry; a blank label takes it away."""
    parts = talk(session)
    _, comm = view_of(session, comms)
    assert json.loads(ask(comm, "label", entry=parts.rome, label=" sunny ")["line"])["label"] == "sunny"
    assert session.labels == {parts.rome: "sunny"}
    ask(comm, "label", entry=parts.rome, label=None)
    assert session.labels == {}


def test_the_context_is_the_projection_with_reasons(session: Session, comms: Comms) -> None:
    """Messages come with source, tokens and reason; what a compaction replaced is listed as left out."""
    parts = talk(session)
    _, comm = view_of(session, comms)
    plain = ask(comm, "context", entry=parts.oslo_said)
    assert [item["text"] for item in plain["items"]][:3] == ["Where to?", "Rome or Oslo?", "Oslo please"]
    assert plain["items"][3]["calls"] == ["bash: ls -la fjord"]
    assert (plain["total"], plain["tokens"], plain["model"], plain["left_out"]) == (6, 120, "p:m-1", [])
    compaction = session.append_compaction("We chose Oslo.", parts.result, 999)
    short = ask(comm, "context", entry=compaction)
    assert [item["role"] for item in short["items"]] == ["compactionSummary", "toolResult", "assistant"]
    assert short["tokens"] < 20  # what the provider counted before the compaction does not count any more
    left = {item["id"]: item["why"] for item in short["left_out"]}
    assert left[parts.question] == f"summarised by {compaction}"
    assert set(left) == {parts.question, parts.answer, parts.oslo, parts.tool}
    assert ask(comm, "context", entry=None)["total"] == 0


def test_two_contexts_are_compared(session: Session, comms: Comms) -> None:
    """What they begin with in common is counted, what follows is given for each; a compaction changes that."""
    parts = talk(session)
    _, comm = view_of(session, comms)
    two = ask(comm, "compare", entries=[parts.oslo_said, parts.rome_said])
    one, other = two["sides"]
    assert (two["common"], two["common_tokens"], one["total"], other["total"]) == (2, 40, 4, 2)
    assert [item["text"] for item in other["items"]] == ["Rome it is", "Then see the Forum."]
    assert [(side["tokens"], side["cost"], side["shared"]) for side in (one, other)] == [
        (120, 0.025, 6),
        (40, 0.0125, 2),
    ]
    same = ask(comm, "compare", entries=[parts.oslo_said, parts.oslo_said])
    assert (same["common"], same["sides"][0]["items"]) == (6, [])
    assert ask(comm, "compare", entries=[None, parts.rome])["common"] == 0
    compaction = session.append_compaction("We chose Oslo.", parts.result, 999)
    assert ask(comm, "compare", entries=[compaction, parts.oslo_said])["common"] == 0
    assert ask(comm, "compare", entries=[compaction, "nobody"])["op"] == "nak"


def test_many_contexts_are_compared_with_the_first(session: Session, comms: Comms) -> None:
    """Each side tells how far the first one's cache would serve it; nothing and too many are refused."""
    parts = talk(session)
    again = [session.append_message(said(f"Opera {n}."), parent=parts.oslo) for n in range(3)]
    _, comm = view_of(session, comms)
    found = ask(comm, "compare", entries=[parts.oslo_said, *again, parts.rome_said])
    assert (found["common"], [side["shared"] for side in found["sides"]]) == (2, [6, 3, 3, 3, 2])
    assert [side["items"][-1]["text"] for side in found["sides"][1:4]] == ["Opera 0.", "Opera 1.", "Opera 2."]
    assert "not 0" in ask(comm, "compare", entries=[])["error"]
    assert "not 17" in ask(comm, "compare", entries=[None] * 17)["error"]
    assert ask(comm, "compare", entries="ab")["op"] == "nak"


def test_long_texts_are_cut_and_said_to_be(memory: Session, comms: Comms) -> None:
    """A row holds 200 characters, a message of a context 4,000, a context its last 60 messages."""
    for _ in range(70):
        last = memory.append_message({"role": "user", "content": "long " * 5000})
    _, comm = view_of(memory, comms)
    assert max(len(row["text"]) for row in ask(comm, "sync")["rows"]) == 200
    context = ask(comm, "context", entry=last)
    assert (len(context["items"]), context["total"], len(context["items"][0]["text"])) == (60, 70, 4000)
    assert context["items"][0]["more"] is True


def test_an_entry_is_given_as_its_line(session: Session, comms: Comms) -> None:
    """The entry tab shows the bytes of the log, cut only when they are very many."""
    parts = talk(session)
    _, comm = view_of(session, comms)
    answer = ask(comm, "entry", entry=parts.tool)
    assert json.loads(answer["raw"]) == session.entry(parts.tool).to_wire()
    assert (answer["position"], answer["cut"]) == (7, False)
    big = session.append_message({"role": "user", "content": "x" * 500_000})
    assert ask(comm, "entry", entry=big)["cut"] is True


def test_the_log_may_grow_faster_than_it_is_published(memory: Session, comms: Comms) -> None:
    """Hundreds of appends make few messages, only of the trait ``rev``, and the last one is told."""
    view, comm = view_of(memory, comms)
    comm.take()
    began = time.monotonic()
    for number in range(400):
        memory.append_message({"role": "user", "content": str(number)})
    settled(view)
    sent = comm.take()
    assert {tuple(message["state"]) for message in sent} == {("rev",)}
    assert len(sent) <= (time.monotonic() - began) / 0.05 + 2


def test_an_appended_entry_costs_few_bytes(memory: Session, comms: Comms) -> None:
    """An entry of 2,000 characters costs the wire well under 2 KB, the raised revision included."""
    talk(memory)
    view, comm = view_of(memory, comms)
    before = comm.bytes
    for have in range(10, 60):
        memory.append_message(said("word " * 400))
        view._publish()
        comm.ask({"op": "sync", "id": have, "epoch": view.epoch, "have": have})
    assert (comm.bytes - before) / 50 < 1024


def test_a_handler_only_submits(memory: Session, comms: Comms, capsys: pytest.CaptureFixture[str]) -> None:
    """What the page asks is put on the owner thread; before it runs there nothing happens; nothing is ever printed."""
    parts = talk(memory)
    todo: list[tuple[Any, ...]] = []
    _, comm = view_of(memory, comms, submit=lambda fn, *args: todo.append((fn, *args)))
    assert comm.ask({"op": "checkout", "id": 1, "entry": parts.answer}) == []
    assert (len(memory), len(todo)) == (10, 1)
    fn, *args = todo.pop(0)
    fn(*args)
    assert memory.leaf_id == parts.answer
    assert capsys.readouterr() == ("", "")


def test_clicks_and_appends_from_several_threads(session: Session, comms: Comms) -> None:
    """With an owner thread, appends there and clicks from two others all arrive, each answered once."""
    parts = talk(session)
    with ThreadPoolExecutor(1) as owner:
        view, comm = view_of(session, comms, submit=owner.submit)

        def click() -> None:
            for number in range(30):
                content = {"op": "context", "id": number, "entry": parts.rome_said}
                comm.handle_msg({"content": {"data": {"method": "custom", "content": content}}, "buffers": []})

        threads = [threading.Thread(target=click) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(50):
            owner.submit(session.append_message, {"role": "user", "content": str(number)}).result()
        for thread in threads:
            thread.join()
        settled(view)
        owner.submit(lambda: None).result()
        view.close()
    answers = [m["content"]["id"] for m in comm.take() if m["method"] == "custom" and m["content"]["op"] == "ack"]
    assert sorted(answers) == sorted([*range(30)] * 2)


def test_a_checkout_may_take_its_time(memory: Session, comms: Comms) -> None:
    """A checkout that is awaited (the harness's) is answered when it is done; a cancelled one is refused."""
    parts = talk(memory)
    calls: list[str | None] = []

    async def navigate(entry: str | None) -> Any:
        await asyncio.sleep(0)
        calls.append(entry)
        if entry is None:
            return SimpleNamespace(cancelled=True, editor_text=None)
        memory.move_to(entry)
        return SimpleNamespace(cancelled=False, editor_text="Where to?")

    _, comm = view_of(memory, comms, checkout=navigate)
    done = ask(comm, "checkout", entry=parts.answer)
    assert (done["leaf"], done["editor_text"], calls) == (parts.answer, "Where to?", [parts.answer])
    assert ask(comm, "checkout", entry=None) == {"op": "nak", "id": 7, "error": "A hook cancelled it."}


def test_a_checkout_is_awaited_on_the_loop_that_runs(memory: Session, comms: Comms) -> None:
    """On the owner thread's loop the answer comes later, and that thread is not held up."""
    parts = talk(memory)

    async def navigate(entry: str | None) -> Any:
        await asyncio.sleep(0.01)
        return memory.checkout(entry)

    async def run() -> list[Any]:
        _, comm = view_of(memory, comms, checkout=navigate)
        assert comm.ask({"op": "checkout", "id": 1, "entry": parts.answer}) == []
        answers: list[Any] = []
        for _ in range(500):
            await asyncio.sleep(0.02)
            answers += [message["content"] for message in comm.take() if message["method"] == "custom"]
            if answers:
                break
        return answers

    (answer,) = asyncio.run(run())
    assert (answer["op"], answer["leaf"]) == ("ack", parts.answer)


def test_other_cells_can_watch_leaf_focus_and_selection(memory: Session, comms: Comms) -> None:
    """The three are traits; what Python sets as focus goes to the page, what the page says does not go back."""
    parts = talk(memory)
    view, comm = view_of(memory, comms)
    seen: list[Any] = []
    view.observe(lambda change: seen.append((change["name"], change["new"])), ["leaf_id", "focus_id", "selected"])
    assert comm.ask({"op": "focus", "id": 1, "entry": parts.rome, "selected": [parts.rome]}) == []
    memory.move_to(parts.answer)
    settled(view)
    view.focus_id = parts.oslo
    told = {"focus_id": parts.rome, "selected": [parts.rome], "leaf_id": parts.answer}
    assert seen == [*told.items(), ("focus_id", parts.oslo)]
    custom = [message["content"] for message in comm.take() if message["method"] == "custom"]
    assert custom == [{"op": "focus", "entry": parts.oslo}]


def test_places_can_be_named_in_code(memory: Session, comms: Comms) -> None:
    """A view gives places by label, id or any other reference, with their context, path and children."""
    parts = talk(memory)
    memory.append_label(parts.answer, "fork")
    view, _ = view_of(memory, comms)
    fork = view["fork"]
    assert (fork.id, fork.label, fork.entry) == (parts.answer, "fork", memory.entry(parts.answer))
    assert [item.entry_id for item in fork.context().items] == [parts.question, parts.answer]
    assert [entry.id for entry in fork.path()][-1] == parts.answer
    assert [place.id for place in fork.children()] == [parts.rome, parts.oslo]
    assert (view["root"].id, view["root"].entry, view["root"].label) == (None, None, None)
    assert repr(fork) == f"<Place {parts.answer} of {memory!r}>"
    with pytest.raises(UserError):
        view["nowhere"]


def test_a_growing_answer_sends_its_end(memory: Session, comms: Comms) -> None:
    """A live row carries the last 200 characters for the row and the last 2,000 for the panel."""
    view, comm = view_of(memory, comms)
    view.set_live({"text": "a" * 3000 + "\n\nend", "tokens": 5})
    view.set_live(None)
    one, none = [message["content"] for message in comm.take()]
    row = one["rows"][""]
    assert (row["text"][:2], row["text"][-5:], len(row["tail"])) == ("…a", "a end", 2000)
    assert none == {"op": "live", "rows": {"": None}}


def test_closing_leaves_nothing_alive(session: Session, comms: Comms) -> None:
    """Twenty views are made, used and closed; none of them, no layout of theirs and no thread is left."""
    talk(session)
    before = set(ipywidgets.widget_list()) if hasattr(ipywidgets, "widget_list") else None
    threads = threading.active_count()
    gone = []
    for _ in range(20):
        view, comm = view_of(session, comms)
        ask(comm, "sync", epoch="", have=0)
        session.append_message({"role": "user", "content": "x"})
        gone += [weakref.ref(view), weakref.ref(view.layout)]
        view.close()
        view.close()
    del view, comm
    comms.clear()
    gc.collect()
    assert [ref() for ref in gone if ref() is not None] == []
    assert threading.active_count() <= threads
    assert before is None or set(ipywidgets.widget_list()) == before
    session.append_message({"role": "user", "content": "still works"})


def test_a_closed_view_answers_nothing(memory: Session, comms: Comms) -> None:
    """After close neither an append nor a late message reaches the page."""
    view, comm = view_of(memory, comms)
    view.close()
    comm.take()
    memory.append_message({"role": "user", "content": "x"})
    view._answer({"op": "sync", "id": 1, "epoch": "", "have": 0})
    view.set_live({"text": "x"})
    assert comm.take() == []


def test_a_view_that_is_left_says_goodbye(memory: Session, comms: Comms) -> None:
    """When the kernel ends the page is told and keeps its tree: the comm is not closed, and nothing more is said."""
    view, comm = view_of(memory, comms)
    comm.take()
    view.leave()
    memory.append_message({"role": "user", "content": "x"})
    view.leave()
    assert comm.take() == [{"method": "custom", "content": {"op": "bye"}}]
    assert view.comm is comm


def test_clicks_keep_the_subshell_the_page_names(memory: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """ipykernel 7.4's rerouting of comm messages is switched off; a comm without it is left alone."""
    from tests.tree_view.widget_page import RecordingComm

    class Rerouting(RecordingComm):
        def _reply_subshell_for(self, data: Any, default: Any) -> Any:
            return default

    made: list[Any] = []
    monkeypatch.setattr("comm.create_comm", lambda **options: made.append(Rerouting(**options)) or made[-1])
    TreeView(memory)
    assert made[-1]._reply_subshell_for is None  # the first is that of its layout
    assert not hasattr(RecordingComm(), "_reply_subshell_for")


def test_state_is_small_and_the_bundle_is_text(memory: Session, comms: Comms) -> None:
    """No entry is in the widget's state; script and style are strings, so that nothing watches files."""
    talk(memory)
    view, comm = view_of(memory, comms)
    state = {name: value for name, value in comm.state.items() if not name.startswith("_")}
    assert set(state) >= {"rev", "status", "epoch", "key"}
    assert len(json.dumps(state)) < 600
    assert isinstance(view._esm, str)
    assert isinstance(view._css, str)


def test_a_saved_notebook_reads_without_a_kernel(memory: Session, comms: Comms) -> None:
    """The bundle holds a static picture, as HTML with every text escaped, and as plain text."""
    for text in HOSTILE:
        memory.append_message(said(text))
    view, _ = view_of(memory, comms)
    data = view._repr_mimebundle_()[0]
    assert set(data) >= {"application/vnd.jupyter.widget-view+json", "text/html", "text/plain"}
    assert "<img src=x" not in data["text/html"]
    assert "<script>alert" not in data["text/html"]


def test_the_still_picture_is_an_output_of_its_own(
    memory: Session, comms: Comms, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The picture comes before the widget, in an output that is redrawn when the session has grown, not in a run."""
    shown: list[dict[str, Any]] = []
    drawn: list[dict[str, Any]] = []
    monkeypatch.setattr("pi_nb.views.still.display", lambda data, **options: shown.append({**data, **options}))
    monkeypatch.setattr("pi_nb.views.tree_view.display", lambda data, **options: shown.append(data))
    monkeypatch.setattr("pi_nb.views.still.publish_display_data", lambda data, **options: drawn.append(data))
    monkeypatch.setattr("pi_nb.views.still._EVERY", 0)
    talk(memory)
    view, _ = view_of(memory, comms)
    memory.append_message(said("Nobody looks yet."))
    view._ipython_display_()
    still, widget = shown
    assert still["display_id"] == view.key
    assert f"pi-nb-still-{view.key}" in still["text/html"]
    assert re.search(r"<small>Picture of [\d-]+ \d\d:\d\d; run the cell to make it live\.</small>", still["text/html"])
    assert set(widget) == {"application/vnd.jupyter.widget-view+json", "text/plain"}
    assert drawn == []
    view.set_status("running")
    memory.append_message(said("Growing."))
    settled(view)
    assert drawn == []
    view.set_status("idle")
    settled(view)
    assert "Growing." in drawn[-1]["text/html"]
    view.close()


def test_a_terminal_shows_the_tree_as_text(tmp_path: Path) -> None:
    """In IPython without a notebook there are the rows, and no word of a widget that cannot be."""
    code = (
        "from pi_nb import InMemorySessionStorage, Session, TreeView\n"
        "s = Session(InMemorySessionStorage())\n"
        "s.append_message({'role': 'user', 'content': 'Hi'})\n"
        "display(TreeView(s))\n"
    )
    (tmp_path / "cell.ipy").write_text(code)
    command = [sys.executable, "-m", "IPython", "--no-banner", "--colors=NoColor", str(tmp_path / "cell.ipy")]
    env = {**os.environ, "IPYTHONDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    shown = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    ).stdout
    assert re.search(r"● user: Hi ◀ leaf\n$", shown.rstrip() + "\n")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMES = ["targetId", "label", "name", "summary", "content", "data", "usage", "modelId", "activeToolNames", "customType"]
BLOCKS = st.lists(st.fixed_dictionaries({"type": st.sampled_from(["text", "toolCall", "image"])}), max_size=3)
KINDS = [*tree_rows._KINDS, "rabbit", ""]
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from([*tree_rows._ROLES, "user", "rabbit"]) | JSON},
    optional={
        "content": JSON | BLOCKS,
        "usage": JSON,
        "stopReason": st.sampled_from(["error", "aborted", "stop"]) | JSON,
        "errorMessage": JSON,
        "toolName": JSON,
        "isError": JSON,
        "command": JSON,
        "summary": JSON,
    },
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(KINDS), st.dictionaries(st.sampled_from(NAMES), JSON), MESSAGES | JSON)
def test_any_fields_make_a_row(kind: str, fields: dict[str, Any], message: Any) -> None:
    """Whatever an entry's fields hold, the row has its id, fits, and can travel as JSON."""
    row = tree_rows.row_of({**fields, "message": message, "type": kind, "id": "x", "parentId": None, "timestamp": "t"})
    assert (row["id"], row["parent"], row["type"]) == ("x", None, kind)
    assert isinstance(row["text"], str)
    assert len(row["text"]) <= 300
    json.loads(json.dumps(row))


def test_every_session_that_opens_can_be_shown(shared: Path, comms: Comms) -> None:
    """Real sessions and broken ones: all rows are made, and each entry's context is given or refused in a sentence."""
    shown = 0
    for file in sorted(shared.glob("sessions/*.jsonl")) + sorted(shared.glob("cases/*/*.jsonl")):
        try:
            session = SessionRepo(file.parent).open(file)
        except (PiError, ValueError):
            continue
        with session:
            view, comm = view_of(session, comms)
            delta = ask(comm, "sync", epoch="", have=0)
            assert len(delta["rows"]) == min(len(session), 4000)
            for row in delta["rows"][-30:]:
                assert ask(comm, "context", entry=row["id"])["op"] in ("ack", "nak")
                assert ask(comm, "entry", entry=row["id"])["op"] == "ack"
            view.close()
            shown += 1
    assert shown > 20


def test_errors_of_a_broken_tree_are_told(comms: Comms) -> None:
    """An entry whose parent is missing can be seen as JSON; its context is refused with the reason."""
    session = Session(InMemorySessionStorage())
    first = session.append_message({"role": "user", "content": "a"})
    entry = session.entry(first).model_copy(update={"id": "lost", "parent_id": "nobody"})
    session.storage.append(entry)
    _, comm = view_of(session, comms)
    refused = ask(comm, "context", entry="lost")
    assert refused["op"] == "nak"
    with pytest.raises(SessionError) as caught:
        session.context("lost")
    assert refused["error"].startswith(str(caught.value))

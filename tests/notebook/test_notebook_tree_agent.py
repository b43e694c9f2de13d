"""The agent behind the tree in a real kernel: what a page asks for, asked for by the test."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HELP = """
import asyncio, json, time
rt = _nb.current()
view = rt.tree_view
agent = view.tree_agent
def do(work, timeout=20):
    return rt.submit(work).result(timeout)
def until(test, seconds=20):
    end = time.monotonic() + seconds
    while not test():
        assert time.monotonic() < end, (view.agent, view.status)
        time.sleep(0.02)
def idle():
    until(lambda: not rt.busy and view.agent["phase"] == "")
def said():
    from pi_nb.messages import text_of
    path = (entry for entry in rt.session.path() if entry.type == "message")
    return [(e.message.role, text_of(e.message.content)) for e in path]
def refused(work):
    try:
        do(work)
    except Exception as error:
        return f"{error} {getattr(error, 'hint', '') or ''}".strip()
"""


def python(kernel: Any, code: str, **options: Any) -> str:
    """Run code in the kernel and return what it printed."""
    result = kernel.run(HELP + textwrap.dedent(code), **options)
    assert result.status == "ok", result.error
    return str(result.stream)


def test_a_prompt_from_the_tree_is_a_run_without_a_cell(kernel: Any) -> None:
    """It is acknowledged when it is written, streams into the tree, keeps the kernel free, and is the last reply."""
    out = python(
        kernel,
        """
        script(Reply("Well, " + "boats " * 20 + "it is."), tokens_per_second=40)
        seen = []
        view.observe(lambda change: seen.append(change["new"]["phase"]), "agent")
        do(agent.prompt("Which?"))
        print(rt.session.path()[-1].message.role, view.status, rt.busy)
        idle()
        print(said()[-1][1][:5], rt.reply.text[-5:], seen[0], seen[-1], view.status)
        print("cell" in (rt.session.path()[-2].model_extra or {}))
        """,
    )
    assert out.splitlines() == ["user running True", "Well, t is. run  idle", "False"]


def test_it_steers_follows_up_and_stops(kernel: Any) -> None:
    """What is said to a run of the tree is heard in order; what was not said any more comes back, once."""
    out = python(
        kernel,
        """
        script(Reply("one " * 30), Reply("two"), Reply("three"), tokens_per_second=60)
        do(agent.prompt("Begin"))
        do(agent.steer("sooner"))
        do(agent.follow_up("later"))
        do(agent.next_turn("in front"))
        print(view.agent["steer"], view.agent["follow_up"])
        idle()
        print([text for role, text in said() if role == "user"], view.agent["steer"], view.agent["returned"])
        print(view.agent["next_turn"])
        script(Reply("four " * 200), tokens_per_second=20)
        do(agent.prompt("Again"))
        print([text for role, text in said() if role == "user"][3:], view.agent["next_turn"])
        do(agent.follow_up("never said"))
        time.sleep(0.5)
        do(agent.abort())
        idle()
        print(said()[-1][1][:4], rt.session.path()[-1].message.stop_reason, view.agent["returned"])
        number = view.agent["returned_number"]
        rt.owner.call(agent.taken, number).result()
        print(view.agent["returned"], refused(agent.steer("too late")))
        """,
    )
    assert out.splitlines() == [
        "['sooner'] ['later']",
        "['Begin', 'sooner', 'later'] [] []",
        "['in front']",
        "['in front', 'Again'] []",
        "four aborted ['never said']",
        "[] There is no run to steer. Use prompt().",
    ]


def test_a_run_that_fails_says_so_and_gives_back_what_waited(kernel: Any) -> None:
    """The reason is one line in the view; what was queued is in the box again."""
    out = python(
        kernel,
        """
        from pi_nb.errors import ProviderError
        script(Reply("so far " * 10, error=ProviderError("The account is empty.", code="auth")), tokens_per_second=30)
        do(agent.prompt("Go"))
        do(agent.follow_up("and then"))
        until(lambda: view.agent["returned"])
        idle()
        print(view.agent["returned"], view.agent["problem"])
        script(Reply("fine"))
        do(agent.prompt("Go on"))
        idle()
        print(repr(view.agent["problem"]), view.agent["follow_up"])
        """,
    )
    first, second = out.splitlines()
    assert first.startswith("['and then'] No answer: The account is empty.")
    assert second == "'' []"


def test_what_cannot_be_asked_is_refused_in_a_sentence(kernel: Any) -> None:
    """While a run goes on, with an unknown model, with nothing to say; nothing is written."""
    out = python(
        kernel,
        """
        script(Reply("slow " * 50), tokens_per_second=30)
        do(agent.prompt("Go"))
        before = len(rt.session)
        print(refused(agent.prompt("Me too"))[:27])
        print(refused(agent.summarise("x", rt.session.leaf_id, None))[:27])
        do(agent.abort())
        idle()
        print(refused(agent.prompt("  ")))
        print(refused(agent.summarise("x", "elsewhere", None)))
        print(refused(agent.fork(None, "at")))
        """,
    )
    assert out.splitlines() == [
        "A run is still going on. %p",
        "A run is still going on. %p",
        "The prompt is empty. Write it below %%pi, or after %pi.",
        "The leaf has moved on since. Go there again, then summarise.",
        "There is nothing to copy yet.",
    ]


def test_a_prompt_of_the_tree_is_answered_while_a_cell_computes(kernel: Any) -> None:
    """The cell needs the main thread, the run does not."""
    out = python(
        kernel,
        """
        script(Reply("done"))
        do(agent.prompt("Go"))
        total = 0
        end = time.monotonic() + 20
        while rt.busy and time.monotonic() < end:
            total += sum(range(1000))
        print(said()[-1])
        """,
    )
    assert out == "('assistant', 'done')\n"


def test_a_summary_of_what_was_left_is_written_where_the_leaf_is(kernel: Any) -> None:
    """The leaf does not move before it is there; the log has one more entry; a second branch is not touched."""
    out = python(
        kernel,
        """
        script(Reply("a1"), Reply("a2"), Reply("- they spoke of boats"))
        do(agent.prompt("q1")); idle()
        first = rt.session.leaf_id
        do(agent.prompt("q2")); idle()
        second = rt.session.leaf_id
        do(rt.harness.navigate_tree(first))
        before = len(rt.session)
        made = do(agent.summarise(second, first, "the boats"))
        entry = rt.session.entry(made["entry"])
        print(entry.type, entry.parent_id == first, entry.from_id == second, "boats" in entry.summary)
        print(len(rt.session) - before, rt.session.leaf_id == entry.id, view.status, repr(view.agent["phase"]))
        asked = str(rt.registry.get("scripted").requests[-1].messages)
        print("the boats" in asked, "a2" in asked, "a1" in asked)
        """,
    )
    assert out.splitlines() == ["branch_summary True True True", "1 True idle ''", "True True False"]


def test_a_summary_can_be_stopped_and_writes_nothing_then(kernel: Any) -> None:
    """Stopping says so; the leaf is where it was and the agent is free again."""
    out = python(
        kernel,
        """
        script(Reply("a1"), Reply("a2"), Reply("word " * 500), tokens_per_second=50)
        do(agent.prompt("q1")); idle()
        first = rt.session.leaf_id
        do(agent.prompt("q2")); idle()
        second = rt.session.leaf_id
        do(rt.harness.navigate_tree(first))
        before = len(rt.session)
        work = rt.submit(agent.summarise(second, first, None))
        until(lambda: view.agent["phase"] == "summary")
        until(lambda: "summarising" in view.agent["doing"])
        do(agent.abort())
        try:
            work.result(20)
        except Exception as error:
            print(error)
        print(len(rt.session) - before, rt.session.leaf_id == first, view.status, repr(view.agent["phase"]))
        """,
    )
    assert out.splitlines() == ["Stopped. No summary was written; the leaf is where it was.", "0 True idle ''"]


def test_the_kernel_tool_runs_between_cells_for_the_tree(kernel: Any) -> None:
    """The question is asked in the tree, no cell runs, and the code reaches the user's namespace."""
    python(
        kernel,
        """
        from pi_nb.messages import ToolCall
        call = ToolCall(id="c1", name="python", arguments={"code": "made_by_the_tree = 6 * 7\\nprint('hello')"})
        script(Reply((call,), stop_reason="toolUse"), Reply("It ran."))
        do(rt.harness.set_active_tools(["python"]))
        asked = None
        do(agent.prompt("Run it"))
        def answer():
            until(lambda: view.agent["question"])
            global asked
            asked = view.agent["question"]
            rt.owner.call(lambda: agent.answer(asked["call"], allowed=True, always=False, reason="")).result(5)
        import threading
        threading.Thread(target=answer).start()
        """,
    )
    out = python(kernel, "until(lambda: asked)\nprint(asked['tool'], asked['blocks'][0]['text'][:16])")
    kernel.run("import asyncio; await asyncio.sleep(1)")  # between cells for a second
    out += python(
        kernel,
        """
        idle()
        print(made_by_the_tree, said()[-1], view.agent["question"])
        print([text for role, text in said() if role == "toolResult"])
        """,
    )
    assert out.splitlines() == [
        "python made_by_the_tree",
        "42 ('assistant', 'It ran.') None",
        "['hello']",
    ]


def test_a_call_that_is_denied_in_the_tree_is_a_result(kernel: Any) -> None:
    """The model is told why; an answer that comes too late is refused; a stop takes the question away."""
    out = python(
        kernel,
        """
        from pi_nb.messages import ToolCall
        call = lambda n: Reply((ToolCall(id=n, name="bash", arguments={"command": "ls"}),), stop_reason="toolUse")
        script(call("c1"), Reply("Then not."), call("c2"), Reply("?"))
        do(rt.harness.set_active_tools(["bash"]))
        do(agent.prompt("List"))
        until(lambda: view.agent["question"])
        rt.owner.call(lambda: agent.answer("c1", allowed=False, always=False, reason="rather not")).result(5)
        idle()
        print(["rather not" in text for role, text in said() if role == "toolResult"], said()[-1][1])
        try:
            rt.owner.call(lambda: agent.answer("c1", allowed=True, always=False, reason="")).result(5)
        except Exception as error:
            print(error)
        do(agent.prompt("List again"))
        until(lambda: view.agent["question"])
        do(agent.abort())
        idle()
        until(lambda: view.agent["question"] is None)
        print(rt.approvals.question)
        """,
    )
    assert out.splitlines() == ["[True] Then not.", "That question is not open any more.", "None"]


def test_forks_and_pages_of_the_tree(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """A fork is a file of its own that can be opened by the name it is told by; a restart still comes back here."""
    (tmp_path / "boats.ipynb").write_text("{}")
    kernel = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "boats.ipynb"))
    from tests.notebook.conftest import SCRIPT

    assert kernel.run("%load_ext pi_nb\n" + SCRIPT).status == "ok"
    out = python(
        kernel,
        """
        script(Reply("a1"), Reply("a2"))
        do(agent.prompt("q1")); idle()
        first = rt.session.leaf_id
        do(agent.prompt("q2")); idle()
        prompts = [e.id for e in rt.session.path() if getattr(getattr(e, "message", None), "role", "") == "user"]
        whole = do(agent.fork(None, "whole"))
        at = do(agent.fork(first, "at"))
        before = do(agent.fork(prompts[1], "before"))
        print(refused(agent.fork(prompts[0], "before")))
        print(refused(agent.fork("nowhere", "at")))
        written = do(agent.export())
        print(json.dumps([rt.session.id, len(rt.session), whole, at, before, written]))
        """,
    )
    refused, unknown, told = out.splitlines()
    assert refused == "There is nothing before this prompt. %pi_session new begins an empty session."
    assert unknown == "There is no entry nowhere."
    here, size, whole, at, before, written = json.loads(told)
    assert (whole["entries"], at["entries"], before["entries"]) == (size, size - 2, size - 2)
    assert len({here, whole["session"], at["session"], before["session"]}) == 4
    page = Path(written["file"])
    assert page.parent == tmp_path
    assert page.name == f"boats-{here[-8:]}.html"
    assert "a2" in page.read_text("utf-8")
    kernel.restart()
    assert here[-8:] in kernel.run("%load_ext pi_nb").stream
    opened = kernel.run(f"{at['open']}\n%pi_log")
    assert "a1" in opened.stream
    assert "a2" not in opened.stream


def test_the_agent_follows_a_cells_run(kernel: Any) -> None:
    """A prompt in a cell can be steered and stopped from the tree; the cell says that it was stopped."""
    assert kernel.run("_ = _nb.current().tree_view").status == "ok"
    out = kernel.run(
        HELP
        + textwrap.dedent(
            """
            import threading
            script(Reply("word " * 30), Reply("steered"), Reply("x " * 400), tokens_per_second=50)
            def speak():
                until(lambda: view.agent["phase"] == "run")
                do(agent.steer("sooner"))
            threading.Thread(target=speak).start()
            get_ipython().run_cell_magic("pi", "", "Go")
            def stop():
                until(lambda: view.agent["phase"] == "run")
                do(agent.follow_up("unsaid"))
                time.sleep(0.5)
                do(agent.abort())
            threading.Thread(target=stop).start()
            get_ipython().run_cell_magic("pi", "", "Again")
            """
        )
    )
    assert out.status == "ok", out.error
    assert "stopped" in str(out.shown[-1])
    told = python(kernel, "idle(); print([t for r, t in said() if r == 'user'], view.agent['returned'])")
    assert told == "['Go', 'sooner', 'Again'] ['unsaid']\n"


@pytest.mark.parametrize("line", ["%unload_ext pi_nb", "%reload_ext pi_nb"])
def test_unloading_leaves_no_agent(make_kernel: Callable[..., Any], line: str) -> None:
    """A run of the tree is stopped with the extension; no thread, view or task of it is left."""
    from tests.notebook.conftest import SCRIPT

    kernel = make_kernel()
    assert kernel.run("%load_ext pi_nb\n" + SCRIPT).status == "ok"
    python(kernel, "script(Reply('slow ' * 500), tokens_per_second=20)\ndo(agent.prompt('Go'))")
    result = kernel.run(
        f"import gc, threading, weakref\nseen = weakref.ref(view), weakref.ref(agent)\ndel view, agent, rt\n{line}\n"
        "gc.collect(); print([s() is None for s in seen], [t.name for t in threading.enumerate() if 'pi_nb' in t.name])"
    )
    assert result.status == "ok", result.error
    assert result.stream.splitlines()[-1] == "[True, True] []"

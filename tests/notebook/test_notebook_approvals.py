"""Questions before a tool runs, in a real kernel: buttons, lines, nobody there, rules that are kept."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import UserError
from pi_nb.notebook import saved_rules
from pi_nb.notebook.asking import read_answer
from pi_nb.notebook.questions import as_html, as_text, show_question, visible
from pi_nb.tools.policy import Answer, Question
from pi_nb.tools.rules import Rule
from tests.notebook.asked import SETUP, Page, type_answer


@pytest.fixture
def kernel(kernel: Any) -> Any:
    """Return a kernel whose model calls what it is told to, in a session where nothing was decided."""
    kernel.run(SETUP + "_nb.current().approvals._asking._patience = 1.0  # a test's page is there at once, or never")
    chosen = kernel.run("%pi_tools bash,write,edit,read")
    assert chosen.status == "ok", chosen.error
    return kernel


def ask(kernel: Any, call: str, **options: Any) -> str:
    """Start a prompt whose model makes one call; return the request."""
    kernel.run(f"provider = script({call}, Reply('done'))")
    return str(kernel.start("%pi go", **options))


def texts(result: Any) -> list[str]:
    """Return the outputs of a cell, as they ended, as text."""
    return [data["text/plain"] for data in result.shown]


def test_a_typed_yes_lets_one_call_run(kernel: Any, tmp_path: Path) -> None:
    """Where no page answers, a line is asked for; the whole command is shown; the next call is asked about again."""
    for name in ("one", "two"):
        file = tmp_path / name
        request = ask(kernel, f"call('bash', command='touch {file}')")
        assert type_answer(kernel, "y").startswith("Run bash?")
        result = kernel.finish(request)
        assert file.exists()
        assert any(f"touch {file}" in data.get("text/html", "") for data in result.history)
        assert texts(result)[-1] == f"[✓ you allowed bash touch {file}]"
        assert texts(result)[0].startswith(f"[bash(touch {file}) ✓ done")


def test_a_typed_no_is_a_result_for_the_model(kernel: Any, tmp_path: Path) -> None:
    """The call does not run, the model is told why, and goes on."""
    request = ask(kernel, f"call('write', path={str(tmp_path / 'x')!r}, content='text')")
    type_answer(kernel, "n not there")
    result = kernel.finish(request)
    assert result.status == "ok"
    assert not (tmp_path / "x").exists()
    assert "Not run: the user said no: not there" in texts(result)[0]
    assert "✗ not run" in texts(result)[0]
    assert "done" in texts(result)[0]
    sent = kernel.run("print(provider.requests[-1].messages[-1].content[0].text)").stream
    assert sent == "Not run: the user said no: not there\n"


def test_always_is_for_the_session(kernel: Any) -> None:
    """After "always" nothing more is asked; another session asks again."""
    type_later = ask(kernel, "call('bash', command='true')")
    type_answer(kernel, "a")
    kernel.finish(type_later)
    assert "✓ done" in texts(kernel.run("script(call('bash', command='true'), Reply('x'))\n%pi go"))[0]
    kernel.run("%pi_session new elsewhere\n%pi_tools bash")
    request = ask(kernel, "call('bash', command='true')")
    type_answer(kernel, "n")
    assert "Not run" in texts(kernel.finish(request))[0]


def test_a_button_answers_while_the_cell_runs(kernel: Any, tmp_path: Path) -> None:
    """A page that says it shows the question keeps the line away; its answer lets the call run."""
    page = Page(kernel)
    request = ask(kernel, f"call('bash', command='touch {tmp_path / 'x'}')")
    widget, state = page.question(request)
    assert state["question"]["blocks"] == [{"label": "command", "kind": "bash", "text": f"touch {tmp_path / 'x'}"}]
    page.say(widget, op="ready", call="c1")
    page.say(widget, op="answer", call="other", allowed=False)
    page.say(widget, op="answer", call="c1", allowed="yes")
    page.say(widget, op="answer", call="c1", allowed=True, always=False)
    result = kernel.finish(request)
    assert result.status == "ok"
    assert (tmp_path / "x").exists()
    assert "application/vnd.jupyter.widget-view+json" not in result.shown[-1]
    assert not kernel.client.stdin_channel.msg_ready()


def test_a_button_denies_with_a_reason(kernel: Any) -> None:
    """What was written beside Deny is told to the model; the receipt stays as text."""
    page = Page(kernel)
    request = ask(kernel, "call('bash', command='false')")
    widget, _ = page.question(request)
    page.say(widget, op="answer", call="c1", allowed=False, always=True, reason="<b>no</b>")
    result = kernel.finish(request)
    assert result.status == "ok"
    assert "&lt;b&gt;no&lt;/b&gt;" in result.shown[-1]["text/html"]
    assert "<b>no</b>" not in result.shown[-1]["text/html"]


def test_the_first_answer_counts(kernel: Any, tmp_path: Path) -> None:
    """A page that comes late, when a line is asked for already, may answer too; the line gives way."""
    page = Page(kernel)
    request = ask(kernel, f"call('bash', command='touch {tmp_path / 'x'}')")
    widget, _ = page.question(request)
    kernel.client.get_stdin_msg(timeout=30)
    page.say(widget, op="ready", call="c1")
    page.say(widget, op="answer", call="c1", allowed=True, always=False)
    result = kernel.finish(request)
    assert (result.status, result.error) == ("ok", "")
    assert (tmp_path / "x").exists()
    kernel.client.input("n")
    assert kernel.run("1 + 1").shown[0]["text/plain"] == "2"


def test_a_button_answers_in_the_background(kernel: Any, tmp_path: Path) -> None:
    """A run that was left to itself asks with buttons, while the kernel is idle and while it computes."""
    page = Page(kernel)
    for busy in ("", "\nimport time; time.sleep(2)"):
        kernel.run(f"provider = script(call('bash', command='touch {tmp_path / 'x'}'), Reply('done'))")
        request = kernel.start("%pi --bg --out run go" + busy)
        widget, _ = page.question(request)
        page.say(widget, op="answer", call="c1", allowed=True, always=False)
        kernel.run("run.wait(20) if hasattr(run, 'wait') else None")
        assert (tmp_path / "x").exists()
        (tmp_path / "x").unlink()


def test_questions_leave_no_widgets_behind(kernel: Any) -> None:
    """However many were asked, one widget stays, for JupyterLab to keep its subshell; unloaded there is none."""
    count = "import ipywidgets, gc; gc.collect(); print(len(ipywidgets.widget._instances))"
    kernel.run("%reload_ext pi_nb")
    before = int(kernel.run(count).stream)
    page, counts = Page(kernel), []
    for _ in range(3):
        request = ask(kernel, "call('bash', command='true')")
        widget, _ = page.question(request)
        page.say(widget, op="answer", call="c1", allowed=True, always=False)
        kernel.finish(request)
        counts.append(int(kernel.run(count).stream))
    assert counts == [before + 1] * 3
    kernel.run("%reload_ext pi_nb")
    assert int(kernel.run(count).stream) == before


def test_questions_outlive_the_end_of_all_widgets(kernel: Any, tmp_path: Path) -> None:
    """Who closes all widgets is asked again, whether that happens between two questions or while one is open."""
    page, close_all = Page(kernel), "import ipywidgets; ipywidgets.Widget.close_all()"
    for name in ("one", "two"):
        request = ask(kernel, f"call('bash', command='touch {tmp_path / name}')")
        widget, _ = page.question(request)
        page.say(widget, op="answer", call="c1", allowed=True, always=False)
        kernel.finish(request)
        assert (tmp_path / name).exists()
        assert kernel.run(close_all).status == "ok"
    kernel.run(f"provider = script(call('bash', command='touch {tmp_path / 'three'}'), Reply('done'))")
    page.question(kernel.start("%pi --bg --out run go"))
    assert kernel.run(f"{close_all}\n%pi_approve yes").status == "ok"
    assert kernel.run("run.wait(20) if hasattr(run, 'wait') else None").status == "ok"
    assert (tmp_path / "three").exists()


def test_an_interrupt_while_asking_stops_the_run(kernel: Any, tmp_path: Path) -> None:
    """Nothing runs, the kernel lives, the question is closed: with buttons and with a line."""
    page = Page(kernel)
    for buttons in (True, False):
        request = ask(kernel, f"call('bash', command='touch {tmp_path / 'x'}')")
        if buttons:
            widget, _ = page.question(request)
            page.say(widget, op="ready", call="c1")
        else:
            kernel.client.get_stdin_msg(timeout=30)
        kernel.interrupt()
        result = kernel.finish(request)
        assert result.error.startswith("Stopped.")
        assert not (tmp_path / "x").exists()
        assert kernel.run("1 + 1").shown[0]["text/plain"] == "2"


def test_a_page_that_goes_away_frees_the_kernel(kernel: Any, tmp_path: Path) -> None:
    """The cell ends and says what to do; the run waits; status, the next prompt and %pi_approve tell of it."""
    page = Page(kernel)
    request = ask(kernel, f"call('bash', command='touch {tmp_path / 'x'}')")
    widget, _ = page.question(request)
    page.say(widget, op="ready", call="c1")
    for other in ("p1", "p2"):
        page.say(widget, op="here", call="c1", page=other)
    page.say(widget, op="gone", call="c1", page="p1")
    time.sleep(1)
    page.say(widget, op="gone", call="c1", page="p2")
    left = kernel.finish(request)
    assert left.error.splitlines() == [
        "The page went away with a question open. The run waits for the answer, in the background.",
        "%pi_approve shows the question again; %pi_abort stops the run.",
    ]
    assert "May bash run? %pi_approve shows all of it" in kernel.run("%pi").answer["text/plain"]
    refused = kernel.run("%pi more").error
    assert refused.startswith("A run is still going on, and waits for an answer.\n%pi_approve shows the question")
    again = kernel.run("%pi_approve").answer
    assert again["application/vnd.jupyter.widget-view+json"]["model_id"] == widget
    assert "touch" in again["text/plain"]
    assert kernel.run("%pi_approve maybe").error.startswith("'maybe' is no answer.")
    assert kernel.run("%pi_approve yes").stream.startswith("Allowed, once. bash touch")
    assert kernel.run("print(_nb.current().background.wait(20).text)").stream == "done\n"
    assert (tmp_path / "x").exists()
    assert kernel.run("%pi_approve yes").error.startswith("No question is open.")


def test_a_page_that_falls_silent_is_gone(kernel: Any) -> None:
    """A browser that was killed cannot say so; what it shows then is denied from a cell, with a reason as typed."""
    kernel.run("import pi_nb.views.ask_view as _view; _view.SILENCE = 1.5")
    page = Page(kernel)
    request = ask(kernel, "call('bash', command='false')")
    widget, _ = page.question(request)
    page.say(widget, op="ready", call="c1")
    page.say(widget, op="here", call="c1", page="p1")
    assert kernel.finish(request, timeout=20).error.startswith("The page went away")
    assert kernel.run("%pi_approve no don't {do} that").stream == "Denied. bash false\n"
    kernel.run("_nb.current().background.wait(20); _view.SILENCE = 150.0")
    sent = kernel.run("print(provider.requests[-1].messages[-1].content[0].text)").stream
    assert sent == "Not run: the user said no: don't {do} that\n"


def test_columns_ask_in_their_own_name(kernel: Any, tmp_path: Path) -> None:
    """Each of several answers asks for itself, one after the other, and is answered for itself."""
    kernel.run(
        "def same(request):\n"
        "    asked = request.messages[-1].role == 'toolResult'\n"
        f"    return Reply('done') if asked else call('bash', command='echo x >> {tmp_path / 'x'}')\n"
        "provider = script(*[same] * 6)"
    )
    page = Page(kernel)
    request = kernel.start("%pi --n 3 --out answers go")
    names = []
    for allowed in (True, False, True):
        widget, state = page.question(request)
        names.append(state["question"]["by"])
        page.say(widget, op="answer", call="c1", allowed=allowed, always=False, reason="not you")
    result = kernel.finish(request)
    assert (result.status, sorted(names)) == ("ok", ["answer 1", "answer 2", "answer 3"])
    receipts, columns = sorted(texts(result), key=lambda text: "──" in text)
    assert [f" for {name}]" in receipts for name in names] == [True, False, True]
    assert receipts.count("[✓ you allowed bash echo x") == 2
    assert f" for {names[1]} (not you)]" in receipts
    assert columns.count("Not run: the user said no: not you") == 1
    assert columns.count("done") >= 3
    assert (tmp_path / "x").read_text() == "x\nx\n"
    held = [data["text/html"] for data in result.history if "may it run?" in data.get("text/html", "")]
    assert held, "a column says that it waits"
    kernel.run("%pi_tools bash")


def test_a_line_names_its_column_and_an_interrupt_ends_all(kernel: Any, tmp_path: Path) -> None:
    """Where no page answers the line says who asks; stopping there stops every column, and nothing runs."""
    kernel.run(f"provider = script(*[lambda request: call('bash', command='touch {tmp_path / 'x'}')] * 9)")
    for _ in range(2):
        request = kernel.start("%pi --models scripted:a,scripted:b go")
        prompt = kernel.client.get_stdin_msg(timeout=30)["content"]["prompt"]
        assert prompt.startswith(("Run bash for answer 1 · scripted:a?", "Run bash for answer 2 · scripted:b?"))
        kernel.interrupt()
        result = kernel.finish(request)
        assert result.error.startswith("Stopped.")
        assert not (tmp_path / "x").exists()
    page = Page(kernel)
    request = kernel.start("%pi --n 2 go")
    widget, _ = page.question(request)
    page.say(widget, op="ready", call="c1")
    kernel.interrupt()
    assert kernel.finish(request).error.startswith("Stopped.")
    request = kernel.start("%pi --n 2 --bg --out run go")
    page.question(request)
    assert kernel.run("%pi_abort").stream.startswith("Stopped.")
    kernel.run("run.wait(20) if hasattr(run, 'wait') else None")
    assert kernel.run("print(_nb.current().approvals.question, _nb.current().busy)").stream == "None False\n"
    assert not (tmp_path / "x").exists()


def test_with_nobody_there_a_call_is_denied_at_once(kernel: Any, tmp_path: Path) -> None:
    """A run without stdin never waits; the model and the reader see how to allow it, and that works."""
    result = kernel.finish(ask(kernel, f"call('bash', command='touch {tmp_path / 'x'}')", stdin=False), timeout=10)
    assert result.status == "ok"
    assert "%pi_tools --allow bash" in texts(result)[0]
    assert kernel.run("%pi_tools --allow bash").stream == "Runs without asking: bash.\n"
    kernel.finish(ask(kernel, f"call('bash', command='touch {tmp_path / 'x'}')", stdin=False), timeout=10)
    assert (tmp_path / "x").exists()


def test_rules_are_for_tools_and_paths(kernel: Any, tmp_path: Path) -> None:
    """Allow below a folder, deny a tool, ask again; each says what it did and the overview shows it."""
    kernel.run(f"%pi_tools --allow write:{tmp_path} --deny bash")
    kernel.finish(ask(kernel, f"call('write', path={str(tmp_path / 'x')!r}, content='y')", stdin=False))
    assert (tmp_path / "x").read_text() == "y"
    assert "denied here" in texts(kernel.finish(ask(kernel, "call('bash', command='true')")))[0]
    overview = kernel.run("%pi_tools").answer["text/plain"]
    assert "● bash    never" in overview
    assert f"asks; runs in {tmp_path}" in overview
    assert kernel.run("%pi_tools --reset").stream == "The default rules count again.\n"
    assert "● bash    asks" in kernel.run("%pi_tools").answer["text/plain"]
    assert "There is no tool 'bahs'" in kernel.run("%pi_tools --allow bahs").error


def test_saved_rules_come_back(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """What was saved counts after a restart, for this notebook only; a reset forgets it."""
    names = {"JPY_SESSION_NAME": str(tmp_path / "a.ipynb"), "PI_NB_CONFIG_DIR": str(tmp_path / "config")}
    kernel = make_kernel(tmp_path, **names)
    load = "%load_ext pi_nb\n%pi_tools"
    assert "Saved for this notebook, in " in kernel.run("%load_ext pi_nb\n%pi_tools --allow bash --save").stream
    saved = json.loads((tmp_path / "config" / "approvals.json").read_text())
    assert saved == {str(tmp_path / "a.ipynb"): [{"verdict": "allow", "tool": "bash"}]}
    kernel.restart()
    assert "bash    runs" in kernel.run(load).answer["text/plain"]
    assert not list(tmp_path.glob("*.json")), "nothing is put beside the notebook"
    assert "What was saved is forgotten." in kernel.run("%pi_tools --reset").stream
    kernel.restart()
    assert "bash    asks" in kernel.run(load).answer["text/plain"]


# ---------------------------------------------------------------- without a kernel


def shown(tmp_path: Path, tool: str, leads_to: Path | None = None, **arguments: Any) -> Any:
    """Return a question as it is shown."""
    return show_question(Question("c", tool, arguments, leads_to, "It might.", f"{tool}, always"), tmp_path)


def test_nothing_hides_in_a_question(tmp_path: Path) -> None:
    """Controls, invisible characters and marks that turn the text round are written out; markup is text."""
    question = shown(tmp_path, "bash", command="ls \u202e\u200b\r\x1b[8m hidden\xa0<img src=x>\nrm -rf x")
    text = question.blocks[0].text
    assert text == "ls \\u202e\\u200b\\x0d\\x1b[8m hidden\\xa0<img src=x>\nrm -rf x"
    assert "<img" not in as_html(question)
    assert "rm -rf x" in as_text(question)
    assert visible("ünï 漢字 \U0001f600\u3000") == "ünï 漢字 \U0001f600\u3000"
    assert visible("\u115f\U000e0041\ud800") == "\\u115f\\U000e0041\\ud800"


def test_a_change_is_shown_as_one(tmp_path: Path) -> None:
    """Write and edit show what they would do to the file; what cannot be told shows the arguments."""
    file = tmp_path / "a.txt"
    new = shown(tmp_path, "write", file, path="a.txt", content="one\ntwo\n")
    assert [(b.label, b.kind, b.text) for b in new.blocks] == [("a.txt (new file)", "diff", "+one\n+two\n")]
    file.write_text("one\ntwo\n")
    edit = shown(tmp_path, "edit", file, path="a.txt", edits=[{"oldText": "two", "newText": "zwei"}])
    assert edit.blocks[0].text == "@@ -1,2 +1,2 @@\n one\n-two\n+zwei\n"
    wrong = shown(tmp_path, "edit", file, path="a.txt", edits=[{"oldText": "three", "newText": "drei"}])
    assert [b.label for b in wrong.blocks] == ["path", "edits"]
    file.write_bytes(b"\xff\x00")
    assert [b.label for b in shown(tmp_path, "write", file, path="a.txt", content="x").blocks] == ["path", "content"]


def test_a_question_shows_very_much_and_says_what_it_does_not(tmp_path: Path) -> None:
    """Beyond two hundred thousand characters the rest is counted."""
    text = shown(tmp_path, "write", None, content="x" * 300_000).blocks[0].text
    assert text.endswith("… 100,000 more characters are not shown")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        (["y"], Answer(True)),
        (["Yes"], Answer(True)),
        (["a"], Answer(True, always=True)),
        (["n"], Answer(False)),
        (["n, use git"], Answer(False, reason="use git")),
        (["", "what", "yes please", "y"], Answer(True)),
    ],
)
def test_what_can_be_typed(tmp_path: Path, typed: list[str], answer: Answer) -> None:
    """Yes, always, no and why; anything else is asked for again, and never means yes."""
    lines = iter(typed)
    assert read_answer(shown(tmp_path, "bash", command="x"), "", lambda _prompt: next(lines)) == answer


def test_the_end_of_input_is_no(tmp_path: Path) -> None:
    """Ctrl-D denies."""

    def end(_prompt: str) -> str:
        raise EOFError

    assert read_answer(shown(tmp_path, "bash", command="x"), "", end) == Answer(False)


def test_a_broken_file_of_rules_allows_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not ours is left aside; saving writes what can be read again."""
    monkeypatch.setenv("PI_NB_CONFIG_DIR", str(tmp_path))
    file = tmp_path / "approvals.json"
    for text in ("{", "[]", '{"/n": [{"verdict": "permit", "tool": "bash"}]}', '{"/n": [{"tool": 3}]}', '{"/n": 1}'):
        file.write_text(text)
        assert saved_rules.load_rules("/n") == []
    rules = [Rule("allow", "bash"), Rule("deny", "*", tmp_path / "s")]
    saved_rules.save_rules("/n", rules)
    saved_rules.save_rules("/m", rules[:1])
    assert saved_rules.load_rules("/n") == rules
    assert saved_rules.forget_rules("/n")
    assert not saved_rules.forget_rules("/n")
    assert saved_rules.load_rules("/m") == rules[:1]
    monkeypatch.setenv("PI_NB_CONFIG_DIR", str(file))
    with pytest.raises(UserError, match="cannot be written"):
        saved_rules.save_rules("/n", rules)

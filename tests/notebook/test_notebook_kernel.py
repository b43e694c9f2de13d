"""Prompts in a real kernel: streaming, stopping, running again, hostile answers."""

from __future__ import annotations

import json
import time
from typing import Any

import mistune
import pytest


def entries(kernel: Any) -> list[dict[str, Any]]:
    """Return the entries of the kernel's session."""
    code = "import json as _json; print(_json.dumps([e.to_wire() for e in _nb.current().session.entries()]))"
    return list(json.loads(kernel.run(code).stream))


def roles(kernel: Any) -> list[str]:
    """Return the kinds of the entries, messages by role."""
    return [e["message"]["role"] if e["type"] == "message" else e["type"] for e in entries(kernel)]


def test_an_answer_streams_into_its_cell(kernel: Any) -> None:
    """The one output of the cell grows, and ends as plain Markdown, HTML and text with what identifies it."""
    kernel.run("script(Reply('# Title\\n\\n' + 'word ' * 40), tokens_per_second=30)")
    result = kernel.run("%%pi\nhello", cell="c1")
    texts = [data["text/markdown"] for data in result.history]
    assert result.status == "ok"
    assert len(texts) > 3  # of about 30, on a machine that has time
    assert any("word" in text and len(text) < len(texts[-1]) / 2 for text in texts)
    assert set(result.answer) == {"text/html", "text/markdown", "text/plain"}
    assert ">Title</h1>" in result.answer["text/html"]
    assert result.answer["text/plain"].startswith("# Title\n\nword word")
    found = result.metadata[0]["pi_nb"]
    assert found["model"] == "scripted:any"
    assert found["entries"] == [e["id"] for e in entries(kernel) if e["type"] == "message"]
    assert found["usage"]["output"] > 0


def test_redraws_are_few_at_any_token_rate(kernel: Any) -> None:
    """Twenty redraws a second at most, although thousands of pieces arrive."""
    kernel.run("script(Reply('word ' * 4000), tokens_per_second=4000)")
    began = time.monotonic()
    result = kernel.run("%pi go")
    assert len(result.history) <= 22 * (time.monotonic() - began) + 3


@pytest.mark.parametrize(
    "text", ["{x} {{}} {0!r} $HOME %d %(a)s `b` ''' \"\"\" \\n \\\\", ">>> 1\n  In [2]: y\n\ttab", "ü€😀 ?"]
)
def test_prompts_arrive_byte_for_byte(kernel: Any, text: str) -> None:
    """What stands in the cell is what the model is sent."""
    kernel.run("provider = script(Reply('ok'))")
    assert kernel.run(f"%%pi\n{text}").status == "ok"
    assert entries(kernel)[-2]["message"]["content"] == [{"type": "text", "text": text}]
    sent = kernel.run("print(repr(provider.requests[0].messages[0].content[0].text))").stream
    assert sent.strip() == repr(text)


def test_a_question_mark_is_no_request_for_help(kernel: Any) -> None:
    """A line prompt that ends in a question mark is a prompt."""
    kernel.run("script(Reply('a function'))")
    assert "a function" in kernel.run("%pi what is a closure?").answer["text/plain"]
    assert entries(kernel)[-2]["message"]["content"][0]["text"] == "what is a closure?"


def test_only_dollar_backtick_is_evaluated(kernel: Any) -> None:
    """Values come from the notebook; a failing expression sends nothing."""
    kernel.run("script(Reply('ok'), Reply('ok'))\nx = 3")
    kernel.run("%pi $`x + 1` {x}")
    assert entries(kernel)[-2]["message"]["content"][0]["text"] == "4 {x}"
    before = len(entries(kernel))
    failed = kernel.run("%pi $`nope`")
    assert (failed.status, len(entries(kernel))) == ("error", before)
    assert failed.error.splitlines()[0] == "$`nope` could not be evaluated: NameError: name 'nope' is not defined"
    kernel.run("%pi --raw $`nope`")
    assert entries(kernel)[-2]["message"]["content"][0]["text"] == "$`nope`"


def test_an_interrupt_keeps_what_had_arrived(kernel: Any) -> None:
    """The stop button ends the run at once; the partial answer is in the cell and in the session, the kernel lives."""
    kernel.run("script(Reply('begun ' * 2000), Reply('fine'), tokens_per_second=100)")
    request = kernel.start("%%pi\nlong", cell="c1")
    kernel.finish(request, until=lambda r: any("begun" in d["text/plain"] for d in r.history))
    began = time.monotonic()
    kernel.interrupt()
    result = kernel.finish(request)
    took = time.monotonic() - began
    assert result.status == "error"
    assert result.error == "Stopped. What had arrived is kept in the tree; it is not sent to the model when you go on."
    assert "begun" in result.history[-1]["text/plain"]
    assert "stopped" in result.history[-1]["text/plain"]
    last = entries(kernel)[-1]["message"]
    assert (last["stopReason"], "begun" in last["content"][0]["text"]) == ("aborted", True)
    assert took < 5, "the run did not stop"
    assert kernel.run("1 + 1").shown[0]["text/plain"] == "2"
    assert "fine" in kernel.run("%pi again").answer["text/plain"]


def test_a_second_interrupt_gives_the_prompt_back(kernel: Any) -> None:
    """Even if a run does not end when it is told to, the user is not kept waiting."""
    kernel.run(
        "import time\n@pi_nb.tool\ndef stubborn() -> str:\n    'Never listens.'\n    time.sleep(8)\n    return 'x'\n"
        "from pi_nb.messages import ToolCall\n"
        "script(Reply([ToolCall(id='1', name='stubborn', arguments={})]), Reply('done'))\n"
        "async def never(self): import asyncio; await asyncio.sleep(30)\n"
        "_real, pi_nb.AgentHarness.abort = pi_nb.AgentHarness.abort, never"
    )
    request = kernel.start("%pi --tools stubborn go")
    kernel.finish(request, until=lambda r: any("running" in d["text/plain"] for d in r.history))
    kernel.interrupt()
    time.sleep(0.3)
    kernel.interrupt()
    result = kernel.finish(request, timeout=5)
    assert result.status == "error"
    assert "still going on" in kernel.run("%pi more").error
    kernel.run("pi_nb.AgentHarness.abort = _real")
    assert kernel.run("%pi_abort").stream.startswith("Stopped.")
    assert kernel.run("%pi_abort").stream == "Nothing is running.\n"


def test_running_a_cell_again_makes_a_sibling(kernel: Any) -> None:
    """The leaf goes before the cell's own prompt; what was below stays; a cell that is off the path appends."""
    kernel.run("script(*[Reply(f'answer {n}') for n in range(9)])")
    kernel.run("%%pi\nfirst", cell="one")
    kernel.run("%%pi\nsecond", cell="two")
    again = kernel.run("%%pi\nfirst, better", cell="one")
    assert "‹2/2›" in again.answer["text/plain"]
    assert "a new branch beside the earlier answer" in again.answer["text/plain"]
    two = kernel.run("%%pi\nsecond", cell="two")
    assert "‹" not in two.answer["text/plain"]
    tree = {e["id"]: e["parentId"] for e in entries(kernel) if e["type"] == "message"}
    prompts = [e for e in entries(kernel) if e.get("message", {}).get("role") == "user"]
    assert [p["message"]["content"][0]["text"] for p in prompts] == ["first", "second", "first, better", "second"]
    assert prompts[0]["parentId"] == prompts[2]["parentId"]
    assert tree[prompts[3]["parentId"]] == prompts[2]["id"]
    assert [p["cell"]["id"] for p in prompts] == ["one", "two", "one", "two"]


def test_append_always_appends(kernel: Any) -> None:
    """With --append a cell goes on from the leaf, however often it is run."""
    kernel.run("script(Reply('a'), Reply('b'))")
    kernel.run("%%pi --append\nmore", cell="one")
    kernel.run("%%pi --append\nmore", cell="one")
    assert roles(kernel) == ["session_info", "user", "assistant", "user", "assistant"]


def test_from_and_label_and_out(kernel: Any) -> None:
    """A prompt can begin elsewhere, name its answer, and leave it in a variable."""
    kernel.run("script(Reply('one'), Reply('two'), Reply('```json\\n{\"n\": 3}\\n```'))")
    kernel.run("%pi --label start a")
    kernel.run("%pi b")
    kernel.run("%pi --from start --out ans c")
    assert kernel.run("print(ans.json()['n'], ans.stop_reason, ans.model)").stream == "3 stop scripted:any\n"
    labelled = next(e for e in entries(kernel) if e["type"] == "label")["targetId"]
    assert entries(kernel)[-2]["parentId"] == labelled


HOSTILE = (
    "<img src=x onerror=alert(1)> <script>alert(2)</script> [x](javascript:alert(3))\n\n"
    "```html\n<b>kept</b>\n```\n\x1b[31m"
)


def test_hostile_answers_are_text_in_every_format(kernel: Any) -> None:
    """Answer, thinking, tool names, arguments and results are shown, not run."""
    code = f"""
    from pi_nb.messages import ToolCall, ThinkingContent
    hostile = {HOSTILE!r}
    @pi_nb.tool
    def evil(text: str) -> str:
        "Return it."
        return text
    script(Reply([ThinkingContent(thinking=hostile), ToolCall(id='1', name='evil', arguments={{'text': hostile}})]),
           Reply(hostile))
    """
    kernel.run("\n".join(line[4:] for line in code.splitlines()))
    result = kernel.run("%pi --tools evil " + "go")
    assert result.status == "ok", result
    html, markdown, text = (result.answer[f"text/{kind}"] for kind in ("html", "markdown", "plain"))
    for shown in (html, mistune.create_markdown(escape=False)(markdown)):
        assert "<img" not in shown
        assert "<script" not in shown
        assert 'href="javascript' not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "<b>kept</b>" in markdown
    assert "<img src=x onerror=alert(1)>" in text
    assert "\x1b" not in result.everything.replace("\\x1b", "\x1b")


def test_keys_never_reach_an_output(kernel: Any) -> None:
    """A key from the environment is hidden even where a model repeats it."""
    key = "sk-test-0123456789abcdef"
    kernel.run(f"import os; key = os.environ['ANTHROPIC_API_KEY'] = '{key}'; script(Reply('it is ' + key))")
    result = kernel.run("%pi tell")
    assert "[ANTHROPIC_API_KEY hidden]" in result.answer["text/plain"]
    assert key not in result.everything
    assert key not in kernel.run("%pi").everything


def test_a_failed_answer_is_one_line(kernel: Any) -> None:
    """A provider's error ends the cell with one line, no traceback; the session stays usable."""
    kernel.run("from pi_nb import ProviderError; script(Reply('half', error='overloaded, try later'), Reply('fine'))")
    result = kernel.run("%pi hi")
    assert result.status == "error"
    assert "overloaded, try later" in result.error
    assert len(result.error.splitlines()) <= 2
    assert "fine" in kernel.run("%pi hi").answer["text/plain"]


def test_checkout_gives_a_prompt_back(kernel: Any) -> None:
    """Checking out a prompt moves before it and offers its text as the next cell."""
    kernel.run("script(Reply('a'), Reply('b'))")
    kernel.run("%pi first")
    kernel.run("%%pi\nsecond {x}\nline", cell="two")
    second = entries(kernel)[-2]["id"]
    result = kernel.run(f"%pi_checkout {second}")
    assert result.payload == [{"source": "set_next_input", "text": "%%pi\nsecond {x}\nline", "replace": False}]
    assert "Leaf: " in result.stream
    assert entries(kernel)[-1]["type"] == "leaf"
    assert kernel.run("%pi_checkout @").stream.startswith("The leaf is there already")


def test_what_a_cell_wrote(kernel: Any) -> None:
    """cell:7 is the answer that cell [7] got."""
    kernel.run("script(Reply('a'), Reply('b'))")
    kernel.run("%pi first")
    number = kernel.run("print(len(In) - 2)").stream.strip()
    kernel.run("%pi second")
    assert "assistant: a" in kernel.run(f"%pi_checkout cell:{number}").stream
    assert "has written no prompt" in kernel.run("%pi_checkout cell:9999").error


def test_unknown_things_name_what_is_near(kernel: Any) -> None:
    """A mistake is one line and a suggestion, and writes nothing."""
    kernel.run("script(Reply('a'))")
    kernel.run("%pi --label serious hi")
    before = len(entries(kernel))
    for line, message in {
        "%pi_checkout seriuos": "Did you mean serious?",
        "%pi --from seriuos x": "Did you mean serious?",
        "%pi --modle a:b x": "Did you mean --model or --models?",
        "%pi --model nowhere:x x": "There is no provider 'nowhere'.",
        "%pi --thinking hihg x": "Did you mean high",
        "%pi --tools nope x": "There is no tool 'nope'.",
        "%pi --out 1x x": "cannot be the name of a variable",
        "%pi_session opne": "Did you mean open or clone?",
        "%pi_model nonsense": "is not a model reference",
        "%%pi\n  \n": "The prompt is empty.",
        '%pi ""': "The prompt is empty.",
        "%pi --model anthropc:x x": "There is no provider 'anthropc'.",
        "%pi --bogus x": "%pi has no option --bogus.\nusage: %pi",
        "%pi_checkout qqqqq": "Labels here: serious.",
        "%pi_label root": "'root' has a meaning of its own",
        "%pi --label @x hi": "'@x' has a meaning of its own",
        "%pi_label ' a'": "begins or ends with a space",
        "%pi_session open nosuch": "There is no session 'nosuch'",
    }.items():
        result = kernel.run(line)
        assert (result.status, message in result.error) == ("error", True), (line, result.error)
        assert len(result.error.splitlines()) <= 2, result.error
        assert "Error" not in result.error
    assert len(entries(kernel)) == before


def test_a_label_that_is_used_again_says_where_it_was(kernel: Any) -> None:
    """It names one place; the output says which it named before."""
    kernel.run("script(Reply('a'), Reply('b'))")
    kernel.run("%pi --label here one")
    first = next(e["targetId"] for e in entries(kernel) if e["type"] == "label")
    moved = f"The label here has moved here from {first[:8]}."
    assert moved in kernel.run("%pi --label here two").answer["text/plain"]
    assert "has moved here from" in kernel.run("%pi_label here @~1").stream


def test_a_dry_run_sends_and_writes_nothing(kernel: Any) -> None:
    """What would be sent is shown, the prompt included."""
    kernel.run("provider = script(Reply('a'))")
    result = kernel.run("%pi --dry-run --system 'Be brief' hello <b>")
    assert "hello &lt;b&gt;" in result.answer["text/html"]
    assert "system prompt: Be brief" in result.answer["text/plain"]
    assert kernel.run("print(len(provider.requests))").stream == "0\n"
    assert roles(kernel) == ["session_info"]


def test_what_is_not_sent_is_marked(kernel: Any) -> None:
    """A stopped answer is in the context, marked and not counted; the request does not have it."""
    kernel.run("script(Reply('word ' * 4000, stop_reason='aborted', error='Request was aborted'), Reply('fine'))")
    kernel.run("%pi one")
    stopped = entries(kernel)[-1]["id"]
    context = kernel.run("%pi_context").answer
    assert f"{stopped[:8]}  assistant" in context["text/plain"]
    assert "(not sent: the answer was stopped)" in context["text/plain"]
    assert "2 messages, 1 of them sent" in context["text/plain"]
    assert "not sent: the answer was stopped" in context["text/html"]
    assert "tokens: about 1\n" in context["text/plain"]
    kernel.run("%pi_next also this")
    dry = kernel.run("%pi --dry-run two").answer["text/plain"]
    assert "Messages 1 and the prompt follow one another" in dry
    request = dry.split("the request, keys left out")[1]
    assert "word word" not in request
    assert [text in request for text in ("one", "also this", "two")] == [True] * 3


def test_a_dry_run_elsewhere_asks_the_model_of_that_place(kernel: Any) -> None:
    """The root names no model, so it is the default that would be asked there."""
    kernel.run("script(Reply('a'))")
    kernel.run("%pi --model scripted:other --thinking high one")
    dry = kernel.run("%pi --dry-run --from root two").answer["text/plain"]
    assert '"model": "scripted:any"' in dry
    assert '"thinking": "off"' in dry


def test_options_that_stay_and_options_that_do_not(kernel: Any) -> None:
    """Model and thinking level belong to the branch from here on; system prompt and turn limit to one run."""
    kernel.run("provider = script(Reply('a'), Reply('b'))")
    kernel.run("%pi --model scripted:other --thinking high --system once --max-turns 1 hi")
    kernel.run("%pi again")
    seen = kernel.run("print([(str(r.model), r.thinking_level, r.system) for r in provider.requests])").stream
    assert seen.strip() == "[('scripted:other', 'high', 'once'), ('scripted:other', 'high', '')]"
    assert roles(kernel).count("model_change") == 1


def test_a_tool_of_the_notebook(kernel: Any) -> None:
    """A function that was added is offered and called as it is defined now; its card shows arguments and result."""
    kernel.run(
        "from pi_nb.messages import ToolCall\n@pi_nb.tool\ndef twice(n: int) -> int:\n    'Double.'\n    return 2 * n"
    )
    kernel.run("%pi_tools --add twice")
    call = "Reply([ToolCall(id='c', name='twice', arguments={'n': 21})])"
    kernel.run(f"provider = script({call}, Reply('done'))")
    result = kernel.run("%pi use it")
    assert "[twice(n=21) ✓ done" in result.answer["text/plain"]
    assert "42" in result.answer["text/html"]
    assert kernel.run("print([t.name for t in provider.requests[0].tools])").stream.strip() == "['twice']"
    kernel.run("@pi_nb.tool\ndef twice(n: int) -> int:\n    'Double.'\n    return n + n + 1")
    kernel.run(f"provider = script({call}, Reply('done'))")
    assert "43" in kernel.run("%pi use it again").answer["text/html"]
    assert kernel.run("%pi_tools --none").stream.startswith("Active on this branch: none.")
    assert kernel.run("%pi_tools twice").stream.startswith("Active on this branch: twice.")
    assert kernel.run("%pi_tools --remove twice").stream.startswith("Active on this branch: none.")
    kernel.run("def plain(): pass")
    assert "@pi_nb.tool" in kernel.run("%pi_tools --add plain").error


def test_status_says_where_and_why(kernel: Any) -> None:
    """%pi alone names session, leaf, model with the reason, tools, tokens and cost."""
    kernel.run("script(Reply('a'))")
    text = kernel.run("%pi").answer["text/plain"]
    assert "PI_NB_MODEL is set" in text
    assert "not written before the first prompt" in text
    kernel.run("%pi hi")
    assert "2 messages, about " in kernel.run("%pi").answer["text/plain"]
    assert " as the provider counted" in kernel.run("%pi").answer["text/plain"]
    kernel.run("script(Reply('word ' * 400, stop_reason='aborted', error='Request was aborted'))\n%pi more")
    status = kernel.run("%pi").answer["text/plain"]
    assert "4 messages, 3 of them sent, about " in status
    assert " of them counted by the provider" in status


def test_completion(kernel: Any) -> None:
    """Tab offers options, models, levels, labels and entries with their beginning, and nothing of Python's."""
    kernel.run("script(Reply('Apples are red.'))")
    kernel.run("%pi --label fruit hi")
    answer = entries(kernel)[-2]
    assert answer["message"]["role"] == "assistant"
    assert [c["text"] for c in kernel.complete("%%pi --mo")] == ["--model", "--models"]
    assert [c["text"] for c in kernel.complete("%pi --thinking h")] == ["high"]
    assert [c["text"] for c in kernel.complete("%pi_checkout fr")] == ["fruit"]
    found = kernel.complete(f"%pi_checkout {answer['id'][:4]}")
    assert [(c["text"], "Apples\u00a0are" in c["type"]) for c in found] == [(answer["id"], True)]
    assert "scripted:demo" in [c["text"] for c in kernel.complete("%pi_model scr")]
    assert [c["text"] for c in kernel.complete("%pi_session fo")] == ["fork"]


def test_help_comes_from_the_parser(kernel: Any) -> None:
    """A magic's ? and --help list its options."""
    assert "--max-turns" in kernel.run("%pi --help").stream
    assert "--max-turns" in json.dumps(kernel.run("%pi?").payload)
    assert "cell:7" in kernel.run("%pi_checkout --help").stream


def test_a_label_is_no_branch(kernel: Any) -> None:
    """What ``%pi`` counts as branches are those that the tree shows, not the stubs that labels are."""
    kernel.run("script(Reply('an answer'), Reply('another'))")
    kernel.run("%pi --label one a question")
    kernel.run("%pi_checkout one")
    kernel.run("%pi a second question")
    assert ", 1 branch" in kernel.run("%pi").everything
    assert " · 1 branch · " in kernel.run("%pi_tree --text").answer["text/plain"]


def test_tree_log_and_context(kernel: Any) -> None:
    """The tree is a static picture and a live widget that takes its place; log and context read as text."""
    kernel.run("script(Reply('an answer'))")
    kernel.run("%pi a question")
    view = "application/vnd.jupyter.widget-view+json"
    still, tree = kernel.run("%pi_tree").shown
    assert set(still) == {"text/html", "text/plain"}
    assert "<style" not in still["text/html"]
    assert set(tree) == {view, "text/plain"}
    _, again = kernel.run("%pi_tree").shown
    assert again[view]["model_id"] == tree[view]["model_id"]
    assert kernel.run("%pi_tree --svg").answer["image/svg+xml"].startswith("<svg")
    assert "digraph" in kernel.run("%pi_tree --dot").answer["text/plain"]
    assert "user: a question" in kernel.run("%pi_tree --text").answer["text/plain"]
    assert "user: a question" in kernel.run("%pi_log").stream
    assert "an answer" in kernel.run("%pi_context").answer["text/html"]


def test_sessions(kernel: Any) -> None:
    """New, name, list, open, fork, delete; the current one cannot be deleted."""
    kernel.run("script(Reply('a'), Reply('b'))")
    kernel.run("%pi hi")
    assert kernel.run("%pi_session name Boats").stream == "This session is called 'Boats'.\n"
    forked = kernel.run("%pi_session fork")
    assert "stays as it is" in forked.stream
    kernel.run("%pi_session name Copy")
    listed = kernel.run("%pi_session list").stream
    assert "Boats" in listed
    assert "▸" in listed
    assert "Boats" in kernel.run("%pi_session open Boats").stream
    assert "Boats" in kernel.run("%pi_session open Boats").stream  # again, and it can be written
    assert kernel.run("%pi_checkout root").stream.startswith("Leaf: root")
    assert "you are in" in kernel.run("%pi_session delete Boats --yes").error
    assert kernel.run("%pi_session delete Copy --yes").stream.startswith("Deleted ")
    assert "Copy" not in kernel.run("%pi_session list").stream

"""Around runs: compacting, summaries, comparing, tracing, requests that are not sent, settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.notebook.reading import entries, roles


def test_compacting_is_seen_and_told(kernel: Any) -> None:
    """The cell says what goes on, and what came of it; instructions reach the model."""
    kernel.run("script(*[Reply('word ' * 20_000)] * 3)")
    for n in range(3):
        kernel.run(f"%pi question {n}")
    kernel.run("provider = script(Reply('The gist.', delay=1.5), Reply('More of it.'))")
    result = kernel.run("%pi_compact -m 'the boats'")
    assert result.status == "ok", result
    texts = [data["text/plain"] for data in result.history]
    assert any("summarises the older part of the conversation …" in text for text in texts[:-1])
    assert texts[-1].startswith("Summarised: about ")
    assert roles(kernel)[-1] == "compaction"
    assert "the boats" in kernel.run("print(provider.requests[0].messages[-1].content[0].text)").stream
    assert "The gist." in kernel.run("%pi_context").answer["text/plain"]


def test_an_interrupt_stops_a_compaction_and_writes_nothing(kernel: Any) -> None:
    """One line, and the session is as before."""
    kernel.run("script(*[Reply('word ' * 20_000)] * 3)")
    for n in range(3):
        kernel.run(f"%pi question {n}")
    before = entries(kernel)
    kernel.run("script(Reply('The gist.', delay=60))")
    request = kernel.start("%pi_compact")
    kernel.finish(request, until=lambda r: bool(r.history))
    kernel.interrupt()
    result = kernel.finish(request, timeout=10)
    assert result.error == "Stopped. Nothing was written, the leaf is where it was."
    assert entries(kernel) == before
    assert "nothing to compact" in kernel.run("%pi_session new\n%pi_compact").error


def test_leaving_a_branch_with_a_summary(kernel: Any) -> None:
    """The summary hangs under the place that is gone to, and says where it came from."""
    kernel.run("provider = script(Reply('one'), Reply('two'), Reply('They spoke of two.', delay=1))")
    kernel.run("%pi --label start a")
    kernel.run("%pi b")
    result = kernel.run("%pi_checkout start --summarize -m briefly")
    texts = [data["text/plain"] for data in result.history]
    assert any("summarises the branch that is left …" in text for text in texts)
    assert "A summary of the branch that was left is there" in texts[-1]
    last = entries(kernel)[-1]
    assert (last["type"], "They spoke of two." in last["summary"]) == ("branch_summary", True)
    assert "briefly" in kernel.run("print(provider.requests[-1].messages[-1].content[0].text)").stream


def test_a_retry_is_seen_in_the_cell(kernel: Any) -> None:
    """While it waits to try again the output says so, and afterwards that it did."""
    kernel.run(
        "from pi_nb import ProviderError\n"
        "busy = ProviderError('overloaded', code='overloaded', retryable=True, retry_after=1.5)\n"
        "script(Reply(error=busy), Reply('at last'))"
    )
    result = kernel.run("%pi go")
    texts = [data["text/plain"] for data in result.history]
    assert any("waiting to try again" in text for text in texts)
    assert any("waiting to try again" in data["text/html"] for data in result.history)
    assert any("overloaded. Try 2 of 3 in 2 s." in text for text in texts)
    assert "overloaded. Try 2 went well." in texts[-1]
    assert "at last" in texts[-1]


def test_an_answer_that_breaks_off_is_replaced(kernel: Any) -> None:
    """While it waits the half answer is gone and the output says why; then the whole one stands there, once."""
    kernel.run(
        "from pi_nb import ProviderError\n"
        "lost = ProviderError('The connection was lost', code='connection', retryable=True, retry_after=1.5)\n"
        "script(Reply('half ' * 30, error=lost), Reply('half and the whole'), tokens_per_second=60)"
    )
    result = kernel.run("%pi go")
    texts = [data["text/plain"] for data in result.history]
    assert any("half half" in text for text in texts)
    waiting = [text for text in texts if "waiting to try again" in text]
    assert waiting
    assert not any("half half" in text for text in waiting)
    assert all("The answer broke off: The connection was lost. Try 2 of 3 in 2 s." in text for text in waiting)
    assert "half half" not in texts[-1]
    assert "half and the whole" in texts[-1]
    assert "The connection was lost. Try 2 went well." in texts[-1]
    assert roles(kernel).count("assistant") == 1


def test_a_retry_is_seen_in_status_and_while_summarising(kernel: Any) -> None:
    """%pi says of a run in the background that it waits; %pi_compact says of itself that it tries again."""
    kernel.run(
        "from pi_nb import ProviderError\n"
        "busy = ProviderError('overloaded', code='overloaded', retryable=True, retry_after=1.5)\n"
        "script(Reply('old ' * 30000), Reply(error=busy), Reply('at last ' * 9000), Reply(error=busy), Reply('gist'))"
    )
    kernel.run("%pi one")
    kernel.run("%pi --bg --out run two")
    seen = ""
    for _ in range(40):
        seen += kernel.run("%pi").answer["text/plain"]
        if "waiting to try again; %pi_steer" in seen:
            break
    assert "waiting to try again; %pi_steer" in seen
    kernel.run("run.wait(20)")
    result = kernel.run("%pi_compact")
    texts = [data["text/plain"] for data in result.history]
    assert any("summarises the older part" in text and "overloaded. Try 2 of 3 in 2 s." in text for text in texts)
    assert "Summarised" in texts[-1]


def test_comparing_two_branches(kernel: Any) -> None:
    """What is common, then side by side, words marked; hostile text is text."""
    evil = "<img src=x onerror=alert(1)>"
    kernel.run(f"script(Reply('start'), Reply('the boat is green {evil}'), Reply('the boat is a red tub'))")
    kernel.run("%pi --label start hello")
    kernel.run("%pi --label left what boat?")
    kernel.run("%pi --from start --label right --thinking high what boat?")
    shown = kernel.run("%pi_diff left right").answer
    text, html = shown["text/plain"], shown["text/html"]
    assert text.startswith("2 messages in common, the last: ")
    assert "│   the boat is a red tub" in text
    assert "thinking    off" in text
    assert "(+" in text or "(-" in text
    assert re.search(r"<del[^>]*> ?green", html)
    assert "<ins" in html
    assert "<img" not in html
    assert "&lt;" in html
    words = kernel.run("%pi_diff left right --text").answer["text/plain"]
    assert "the boat is [-green" in words
    assert "{+" in words
    assert "Did you mean left" in kernel.run("%pi_diff lfet right").error


def test_tracing_shows_what_each_step_wrote(kernel: Any) -> None:
    """Nested, with save points and the line of the file; off again when told."""
    kernel.run("script(*[Reply('an answer')] * 4)")
    kernel.run("%pi_trace on")
    result = kernel.run("%pi hello <b>")
    lines = result.shown[1]["text/plain"].splitlines()
    assert lines[:4] == ["agent_start", "  turn_start", "    message_start user", lines[3]]
    assert lines[3].startswith('      → line 3 {"type":"message"')
    assert [line for line in lines if line.startswith("  save_point")] == ["  save_point nothing waited to be written"]
    assert lines[-2:] == ["agent_end 2 messages", "settled"]
    assert any(line.startswith("      message_update x 3: text_start 1, text_delta 1") for line in lines)
    file = kernel.run("print(_nb.current().session.file.read_text().splitlines()[2])").stream
    assert file.startswith(lines[3].partition("{")[1] + lines[3].partition("{")[2][:100])
    assert "<b>" not in result.shown[1]["text/html"].replace("<b>", "", 0).replace("&lt;b&gt;", "")
    assert kernel.run("%pi_trace").stream == "Runs are traced.\n"
    assert kernel.run("%pi_trace off").stream == "Runs are not traced.\n"
    assert len(kernel.run("%pi again").shown) == 1


def test_the_exact_request_without_keys(kernel: Any) -> None:
    """A dry run shows address, headers and body as the provider sends them; the key is nowhere."""
    key = "sk-ant-test-0123456789"
    kernel.run(
        f"import os; os.environ['ANTHROPIC_API_KEY'] = '{key}'\n"
        "from pi_nb.providers.registry import default_registry\n_nb.current().registry = default_registry()"
    )
    result = kernel.run(f"%pi --dry-run --model anthropic:claude-sonnet-4-5 --system 'Be brief' hello {key}")
    text = result.answer["text/plain"]
    assert "POST https://api.anthropic.com/v1/messages" in text
    assert "x-api-key: [key hidden]" in text
    assert '"text": "Be brief"' in text
    assert '"cache_control"' in text
    assert key not in result.everything
    kernel.run("del os.environ['ANTHROPIC_API_KEY']")
    assert roles(kernel) == ["session_info"]


def test_settings_say_where_they_come_from(make_kernel: Any, tmp_path: Any) -> None:
    """Config file, %config, environment and default; keys are told of, not shown. A changed setting counts at once."""
    (tmp_path / "profile_default").mkdir()
    (tmp_path / "profile_default" / "ipython_config.py").write_text("c.PiMagics.max_turns = 7\n")
    key = "sk-ant-test-0123456789"
    env = {"IPYTHONDIR": str(tmp_path), "PI_NB_THINKING": "low", "ANTHROPIC_API_KEY": key, "PI_NB_REPLAY": "nonsense"}
    env["PI_NB_MODEL"] = "scripted:demo"
    kernel = make_kernel(**env)
    kernel.run("%load_ext pi_nb\n%config PiMagics.system_prompt = 'Be brief'")
    result = kernel.run("%pi_config")
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in result.answer["text/plain"].splitlines() if line}
    assert rows["PiMagics.max_turns"].startswith("7 config file")
    assert rows["PiMagics.thinking"].startswith("'low' environment")
    assert rows["PiMagics.system_prompt"].startswith("'Be brief' %config")
    assert rows["PiMagics.session_root"].startswith("'' default")
    assert rows["PiMagics.model"].startswith("'scripted:demo' environment")
    assert rows["ANTHROPIC_API_KEY"].startswith("set, hidden environment")
    assert key not in result.everything
    assert "system prompt: Be brief" in kernel.run("%pi --dry-run hi").answer["text/plain"]
    kernel.run("%config PiMagics.system_prompt = 'Be long'")
    assert "system prompt: Be long" in kernel.run("%pi --dry-run hi").answer["text/plain"]
    assert "PiMagics.max_turns=<Int>" in kernel.run("%config PiMagics").stream


@pytest.mark.parametrize("made", ["bytes", "figure", "axes", "pil", "array", "path", "display"])
def test_pictures_of_all_kinds(kernel: Any, made: str) -> None:
    """A figure, axes, image, array, path, bytes or anything that shows itself goes along as a picture."""
    kernel.run(
        "import io, pathlib, numpy, PIL.Image, matplotlib; matplotlib.use('agg')\n"
        "from matplotlib.figure import Figure; from IPython.display import Image\n"
        "pil = PIL.Image.new('RGB', (3, 2), 'red'); stream = io.BytesIO(); pil.save(stream, 'PNG')\n"
        "bytes_ = stream.getvalue(); path = pathlib.Path('red.png'); path.write_bytes(bytes_)\n"
        "figure = Figure(); axes = figure.add_subplot(); array = numpy.zeros((2, 3, 3)); display_ = Image(bytes_)\n"
        "provider = script(Reply('red'))"
    )
    name = {"bytes": "bytes_", "display": "display_"}.get(made, made)
    result = kernel.run(f"%pi --image {name} what is it?")
    assert result.status == "ok", result.error
    seen = "print([(b.type, getattr(b, 'mime_type', '')) for b in provider.requests[0].messages[0].content])"
    assert kernel.run(seen).stream == "[('text', ''), ('image', 'image/png')]\n"


def test_attachments_and_their_mistakes(kernel: Any, tmp_path: Any) -> None:
    """Files and values come after the prompt, each under its name; what cannot be attached sends nothing."""
    (tmp_path / "notes.txt").write_text("line {x} $`y`\n")
    (tmp_path / "blob.bin").write_bytes(b"\xff\xfe\x00\x81")
    kernel.run("provider = script(Reply('ok'))\nimport pandas\ndf = pandas.DataFrame({'a': [1, 2]})")
    kernel.run(f"%pi --attach df --attach '{tmp_path}/notes.txt' --attach 1+1 read")
    said = kernel.run("print(repr([b.text for b in provider.requests[0].messages[0].content]))").stream
    assert "'read', '<file name=\"df\">\\n|  | a |\\n| --- | --- |" in said
    assert "notes.txt\">\\nline {x} $`y`\\n\\n</file>'" in said
    assert "'<file name=\"1+1\">\\n2\\n</file>'" in said
    for line, message in {
        "%pi --attach nope x": "no such file, and it cannot be evaluated: NameError",
        f"%pi --attach '{tmp_path}/blob.bin' x": "neither text nor a picture",
        "%pi --attach 'str(9) * 500_000' x": "characters long",
        "%pi --image 5 x": "int is no picture that models can see",
        f"%pi --image '{tmp_path}/notes.txt' x": "is no picture",
    }.items():
        result = kernel.run(line)
        assert (result.status, message in result.error) == ("error", True), (line, result.error)
        assert len(result.error.splitlines()) <= 2
    assert roles(kernel).count("user") == 1


def test_sessions_are_cloned_exported_imported_and_searched(kernel: Any, tmp_path: Any) -> None:
    """Copies are whole and keep the leaf; pages and Markdown are harmless; what was said is found."""
    evil = "<img src=x onerror=alert(1)>"
    kernel.run(f"script(Reply('apples {evil}'), Reply('pears'), Reply('plums'))")
    kernel.run("%pi --label start a question")
    kernel.run("%pi another")
    kernel.run("%pi_checkout start")
    leaf = kernel.run("print(_nb.current().session.leaf_id)").stream
    for name in ("page.html", "text.md", "all.jsonl"):
        assert kernel.run(f"%pi_session export {tmp_path}/{name}").stream.startswith("Written: ")
    page, text = (tmp_path / "page.html").read_text(), (tmp_path / "text.md").read_text()
    assert "<img" not in page
    assert "apples" in page
    assert "pears" in page
    assert 'id="session"' in page
    assert "pears" not in text
    assert "> a question" in text
    file = kernel.run("print(_nb.current().session.file)").stream.strip()
    assert (tmp_path / "all.jsonl").read_text() == Path(file).read_text()
    assert "own file" in kernel.run(f"%pi_session export {file}").error
    count = len(entries(kernel))
    assert "a copy of all of" in kernel.run("%pi_session clone").stream
    assert kernel.run("print(_nb.current().session.leaf_id)").stream == leaf
    assert len(entries(kernel)) >= count
    assert "a copy of all.jsonl" in kernel.run(f"%pi_session import {tmp_path}/all.jsonl").stream
    found = kernel.run("%pi_session search APPLES").stream
    assert found.count("apples") >= 3
    assert "Nobody said 'zebra'" in kernel.run("%pi_session search zebra").stream
    assert "does not say what to write" in kernel.run("%pi_session export x.pdf").error


def test_handing_over_to_the_terminal(kernel: Any) -> None:
    """The file's last line is then below the leaf, and the command to go on with is printed."""
    assert "not written before" in kernel.run("%pi_session new\n%pi_session handoff").error
    kernel.run("script(Reply('one'), Reply('two'))")
    kernel.run("%pi --label start a")
    kernel.run("%pi b")
    kernel.run("%pi_checkout start")
    result = kernel.run("%pi_session handoff")
    file = kernel.run("print(_nb.current().session.file)").stream.strip()
    assert result.stream.startswith(f"pi --session {file}\n")
    last = entries(kernel)[-1]
    assert last["type"] == "custom"
    parent = next(e for e in entries(kernel) if e["id"] == last["parentId"])
    assert parent["message"]["content"][0]["text"] == "one"


COUNTING = """
import comm, cProfile, gc, ipywidgets, psutil, pstats, threading, pi_nb.messages
_used = pi_nb.messages.Usage(input=9, output=9, total_tokens=18)
script(*[lambda request: Reply("a **short** answer", usage=_used)] * 999)
async def _turn(profile, on):
    (profile.enable if on else profile.disable)()
def calls(text):
    "Return how many functions a prompt calls, on the cell's thread and on the owner's."
    runtime, profiles = _nb.current(), [cProfile.Profile() for _ in range(2)]
    runtime.submit(_turn(profiles[1], True)).result()
    profiles[0].enable()
    get_ipython().run_cell_magic("pi", "", text)
    profiles[0].disable()
    runtime.submit(_turn(profiles[1], False)).result()
    return sum(pstats.Stats(profile).total_calls for profile in profiles)
def state():
    gc.collect()
    print(len([t for t in threading.enumerate() if "pi_nb" in t.name]), len(_nb.current().harness._listeners),
        len(comm.get_comm_manager().comms), len(ipywidgets.widget._instances),
        psutil.Process().memory_info().rss // 1024)
"""


def test_two_hundred_cells(kernel: Any) -> None:
    """The last ones call as many functions as the first, and no thread, listener, channel or memory piles up."""
    kernel.run(COUNTING)
    kernel.run("%pi_tree")

    def look(number: int) -> list[int]:
        for k in range(3):
            counted = kernel.run(f"n = calls('counted {number} {k}')", cell=f"counted-{number}-{k}")
            assert counted.status == "ok", counted.error
        return [int(word) for word in kernel.run("print(n)\nstate()").stream.split()]

    seen = []
    for n in range(200):
        assert kernel.run(f"%%pi\nquestion {n}", cell=f"c{n}").status == "ok"
        if n in (19, 199):
            seen.append(look(n))
    (first, *before), (last, *after) = seen
    assert last < 1.4 * first
    assert before[:-1] == after[:-1]
    assert after[-1] - before[-1] < 30_000, "kilobytes"


def test_a_compaction_within_a_run_is_seen(kernel: Any) -> None:
    """While the older part is summarised to make room the output says so, and afterwards that it was done."""
    kernel.run(
        "from pi_nb.models import Model\n"
        "tiny = Model('scripted', 'tiny', api='scripted', context_window=2000, max_tokens=500)\n"
        "long = 'word ' * 620\n"
        "replies = [Reply(long)] * 2 + [Reply('gist', delay=1.3)] * 9\n"
        "script(*replies, models=[tiny, Model('scripted', 'any', api='scripted')])"
    )
    kernel.run("%pi_model scripted:tiny")
    seen = []
    for n in range(3):
        result = kernel.run(f"%pi question {n}")
        seen += [data["text/plain"] for data in result.history]
    assert any("summarising the older part of the conversation … " in text for text in seen)
    assert any("was summarised to make room" in text for text in seen)


def test_a_full_window_is_seen_to_be_mended(kernel: Any) -> None:
    """The provider says that the context is too long: that is told, then the summary, then the answer."""
    kernel.run(
        "from pi_nb import ProviderError\n"
        "full = ProviderError('prompt is too long: 9 tokens > 8 maximum', code='context_overflow')\n"
        "long = Reply('word ' * 30000)\n"
        "def then(request):\n"
        "    return Reply('gist', delay=1.3) if 'conversation>' in str(request.messages) else Reply('the answer')\n"
        "script(long, long, Reply(error=full), then, then, then)"
    )
    kernel.run("%pi one")
    kernel.run("%pi two")
    result = kernel.run("%pi three")
    texts = [data["text/plain"] for data in result.history]
    assert any("summarising the older part of the conversation … " in text for text in texts), texts
    assert "was summarised to make room" in texts[-1], texts[-1][:2000]
    assert "the answer" in texts[-1]
    assert "too long" not in texts[-1].split("summarised")[1]


def test_after_a_stop_the_next_prompt_is_taken_at_once(kernel: Any) -> None:
    """A background run that was stopped is over when the magic says so: the same cell may go on to ask."""
    kernel.run("script(Reply('word ' * 2000), Reply('fine'), tokens_per_second=50)")
    assert kernel.run("%%pi --bg\ngo", cell="c1").status == "ok"
    again = kernel.run("%pi_abort\n%pi again", cell="c2")
    assert again.status == "ok", again.error
    assert again.stream.startswith("Stopped.")
    assert "fine" in again.shown[-1]["text/plain"]

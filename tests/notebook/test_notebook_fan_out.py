"""One prompt along several branches: beside each other, apart from each other, one picked."""

from __future__ import annotations

import re
from typing import Any

from tests.notebook.reading import entries, roles

SCRIPTS = """
def by_model(request):
    if request.model.id == "bad":
        return Reply(error="overloaded")
    return Reply(f"{request.model.id} at {request.thinking_level}: " + "word " * 30)
provider = script(*[by_model] * 20, tokens_per_second=100)
"""


def where(kernel: Any) -> str:
    """Return where the leaf is."""
    return str(kernel.run("print(_nb.current().session.leaf_id)").stream.strip())


def test_several_answers_stream_side_by_side(kernel: Any) -> None:
    """Siblings at one place, all growing at once in one output; the leaf waits before the prompt and says so."""
    kernel.run(SCRIPTS)
    kernel.run("%pi first")
    leaf = where(kernel)
    result = kernel.run("%%pi --n 3\nwhat then?", cell="c")
    assert result.status == "ok"
    text, html = result.answer["text/plain"], result.answer["text/html"]
    assert html.count("<section") == 3
    assert [f"── {n} ──" in text for n in (1, 2, 3)] == [True] * 3
    early = [data["text/plain"] for data in result.history[1:-1]]
    assert any(shown.count("any at off") == 3 and len(shown) < len(text) for shown in early)
    assert "Nothing is picked yet; the leaf is before the prompt:" in text
    way = r"%pi_checkout (cell:\d+)\.2 goes on with answer 2 \(\1\.1, \1\.3: with the others\); --pick 2 does so"
    assert re.search(way, text)
    assert len(result.metadata[0]["pi_nb"]["columns"]) == 3
    assert where(kernel) == leaf
    prompts = [e for e in entries(kernel) if e.get("message", {}).get("role") == "user"][1:]
    assert {p["parentId"] for p in prompts} == {leaf}
    assert [p["cell"]["branch"] for p in prompts] == [1, 2, 3]


def test_picking_one(kernel: Any) -> None:
    """At once by number, or later by cell and number; the next prompt goes on there."""
    kernel.run(SCRIPTS)
    result = kernel.run("%%pi --models scripted:a,scripted:b --pick 2 --out both\nhi", cell="c")
    assert "That is answer 2." in result.answer["text/plain"]
    ids = kernel.run("print(*[reply.entry_id for reply in both])").stream.split()
    assert where(kernel) == ids[1]
    assert "1 · scripted:a" in result.answer["text/plain"]
    number = kernel.run("print(len(In) - 1)").stream.strip()
    kernel.run(f"%pi_checkout cell:{int(number) - 3}.1")
    assert where(kernel) == ids[0]
    assert "has written no branch 9" in kernel.run(f"%pi_checkout cell:{int(number) - 3}.9").error
    assert "a at off" in kernel.run("%pi more").answer["text/plain"]


def test_one_failure_does_not_hurt_the_others(kernel: Any) -> None:
    """Its column says why; the others have their answers, and the cell ends well."""
    kernel.run(SCRIPTS)
    result = kernel.run("%%pi --models scripted:a,scripted:bad,scripted:b\nhi")
    assert result.status == "ok"
    text = result.answer["text/plain"]
    assert "── 2 · scripted:bad ──\nfailed: overloaded" in text
    assert "a at off" in text
    assert "b at off" in text
    assert re.search(r"%pi_checkout (cell:\d+)\.3 goes on with answer 3 \(\1\.1: with the other\)", text)
    none = kernel.run("%pi --models scripted:bad,scripted:bad x").answer["text/plain"]
    assert "None of the answers is whole." in none


def test_levels_labels_and_scores(kernel: Any) -> None:
    """Thinking levels are crossed with models; each answer has its label and what the scorer says of it."""
    kernel.run(SCRIPTS)
    kernel.run("def length(reply): return len(reply.text) / 7 if 'high' in reply.text else 1 / 0")
    result = kernel.run("%%pi --models scripted:a --thinking low,high --label v --score length\nhi")
    text = result.answer["text/plain"]
    assert "── 1 · scripted:a, thinking low · score ZeroDivisionError: division by zero ──" in text
    assert "── 2 · scripted:a, thinking high · score 23" in text
    assert "a at low" in kernel.run("%pi_context v-1").answer["text/plain"]
    assert kernel.run("%pi_label").stream.count("v-") == 2


def test_an_interrupt_stops_all_and_keeps_what_there_is(kernel: Any) -> None:
    """Every branch has its partial answer; the kernel goes on."""
    kernel.run("script(*[Reply('word ' * 4000)] * 3, Reply('fine'), tokens_per_second=100)")
    request = kernel.start("%pi --n 3 go")
    kernel.finish(request, until=lambda r: any(d["text/plain"].count("word word") >= 3 for d in r.history))
    kernel.interrupt()
    result = kernel.finish(request)
    assert result.error.startswith("Stopped.")
    answers = [e["message"] for e in entries(kernel) if e.get("message", {}).get("role") == "assistant"]
    assert [a["stopReason"] for a in answers] == ["aborted"] * 3
    assert all("word" in a["content"][0]["text"] for a in answers)
    assert "fine" in kernel.run("%pi go on").answer["text/plain"]


def test_in_the_background_and_again(kernel: Any) -> None:
    """--bg gives the prompt back; run again, the branches are further siblings; --replay asks nobody."""
    kernel.run(SCRIPTS)
    kernel.run("%%pi --n 2 --bg --out two\nhi", cell="c")
    assert "still going on" in kernel.run("%pi more").error
    assert kernel.run("print(len(two.wait(20)))").stream == "2\n"
    kernel.run("%%pi --n 2 --replay --pick 1\nhi", cell="c")
    assert roles(kernel).count("user") == 2
    result = kernel.run("%%pi --n 2\nhi", cell="c")
    assert "Run again" in result.answer["text/plain"]
    users = [e for e in entries(kernel) if e.get("message", {}).get("role") == "user"]
    assert len(users) == 4
    assert len({e["parentId"] for e in users}) == 1


def test_each_branch_has_its_own_trace(kernel: Any) -> None:
    """Although they go on at the same time, every line of the file stands in the trace of the run that wrote it."""
    kernel.run(SCRIPTS)
    kernel.run("%pi_trace on")
    result = kernel.run("%pi --models scripted:a,scripted:b hi")
    kernel.run("%pi_trace off")
    first, second = result.shown[1]["text/plain"].split("trace of answer 2")
    for text, mine, other in ((first, "a", "b"), (second, "b", "a")):
        assert text.count('"type":"message"') == 2
        assert f'"modelId":"{mine}"' in text
        assert f'"modelId":"{other}"' not in text
        assert text.count("  save_point ") == 1


def test_mistakes_write_nothing(kernel: Any) -> None:
    """One line each."""
    kernel.run(SCRIPTS)
    for line, message in {
        "%pi --n 99 x": "too many",
        "%pi --n 0 x": "too small",
        "%pi --n 2 --pick 3 x": "no branch 3",
        "%pi --pick 1 x": "need several answers",
        "%pi --models a:b,scripted:x x": "There is no provider 'a'.",
        "%pi --thinking low,loud x": "'loud' is not a thinking level",
        "%pi --n 2 --score 5 x": "is no function",
        "%pi --n 2 --score nope x": "cannot be evaluated",
    }.items():
        result = kernel.run(line)
        assert (result.status, message in result.error) == ("error", True), (line, result.error)
        assert len(result.error.splitlines()) <= 2, result.error
    assert roles(kernel) == ["session_info"]


def test_a_missing_key_is_that_columns_matter(kernel: Any) -> None:
    """One model without its key says so beside the others' answers; if all lack theirs, nothing is written."""
    kernel.run(
        SCRIPTS + "import os; os.environ.pop('ANTHROPIC_API_KEY', None)\n"
        "from pi_nb.providers.registry import default_registry\n"
        "registry = default_registry(); registry.register(provider); _nb.current().registry = registry"
    )
    result = kernel.run("%pi --models scripted:a,anthropic:claude-sonnet-4-5 hi")
    assert result.status == "ok", result.error
    assert "a at off" in result.answer["text/plain"]
    assert "ANTHROPIC_API_KEY" in result.answer["text/plain"]
    before = len(entries(kernel))
    refused = kernel.run("%pi --models anthropic:claude-sonnet-4-5 hi")
    assert (refused.status, "ANTHROPIC_API_KEY" in refused.error, len(entries(kernel))) == ("error", True, before)

"""Runs that are left to themselves: the prompt is back at once, the answer goes on coming into its cell."""

from __future__ import annotations

import json
import queue
import time
from pathlib import Path
from typing import Any

from tests.notebook.reading import entries, roles


def drain(kernel: Any, seconds: float) -> list[dict[str, Any]]:
    """Return the display updates that arrive in some seconds."""
    found, deadline = [], time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            message = kernel.client.get_iopub_msg(timeout=0.1)
        except queue.Empty:
            continue
        if message["msg_type"] == "update_display_data":
            found.append(message["content"])
    return found


def wait(kernel: Any) -> str:
    """Wait in the kernel until the background run is over; return its state."""
    return str(kernel.run("_nb.current().background.wait(30); print(_nb.current().background)").stream)


def test_the_prompt_is_back_at_once_and_the_cell_goes_on(kernel: Any) -> None:
    """The output is updated by its display id while a blocking cell of the user runs; the entries land."""
    kernel.run("script(Reply('word ' * 200), tokens_per_second=100)")
    began = kernel.run("%%pi --bg\ngo", cell="c1")
    assert began.status == "ok"
    assert len(began.shown) == 1
    assert "word word" not in began.answer["text/plain"]
    request = kernel.start("import time; time.sleep(3.5)")
    updates = drain(kernel, 4)
    texts = [content["data"]["text/plain"] for content in updates]
    assert len({content["transient"]["display_id"] for content in updates}) == 1
    assert len(texts) > 8
    assert texts[-1].startswith("word " * 200)
    assert updates[-1]["metadata"]["pi_nb"]["entries"]
    kernel._reply(request, began)
    assert roles(kernel)[-2:] == ["user", "assistant"]
    assert wait(kernel) == "<Background done>\n"


def test_a_second_prompt_says_what_can_be_done(kernel: Any) -> None:
    """While a run goes on, another prompt, a checkout and another session are refused in one line."""
    kernel.run("script(Reply('word ' * 400), Reply('next'), tokens_per_second=100)")
    kernel.run("%pi --bg go")
    for line in ("%pi more", "%pi_checkout root", "%pi_session new"):
        refused = kernel.run(line)
        assert refused.status == "error"
        assert "A run is still going on. %pi_steer TEXT speaks to it" in " ".join(refused.error.splitlines())
        assert len(refused.error.splitlines()) <= 2
    assert kernel.run("%pi_abort").stream.startswith("Stopped. What had arrived is kept in the tree")
    assert wait(kernel) == "<Background done>\n"
    assert entries(kernel)[-1]["message"]["stopReason"] == "aborted"
    assert "next" in kernel.run("%pi more").answer["text/plain"]


def test_speaking_to_a_run(kernel: Any) -> None:
    """Steering enters before the next answer, a follow-up when the run would stop, next in front of the next prompt."""
    code = """
    import asyncio
    from pi_nb.messages import ToolCall
    @pi_nb.tool
    async def pause() -> str:
        "Wait."
        await asyncio.sleep(1.5)
        return "waited"
    call = ToolCall(id='1', name='pause', arguments={})
    provider = script(Reply([call]), Reply('two'), Reply('three'), Reply('four'))
    """
    kernel.run("\n".join(line[4:] for line in code.splitlines()))
    assert kernel.run("%pi_steer hello").error.startswith("Nothing is running.")
    kernel.run("x = 7")
    kernel.run("%pi --bg --tools pause go")
    assert kernel.run("%pi_steer is it $`x`?").stream == "It will be told before its next answer.\n"
    assert kernel.run("%%pi_followup\nand\nthen {x}").stream == "It will be asked when the run would stop.\n"
    assert kernel.run("%pi_next before all").stream == "It goes in front of the next prompt.\n"
    assert "nothing to say" in kernel.run("%pi_steer").error
    wait(kernel)
    kernel.run("%pi last")
    users = [e["message"]["content"][0]["text"] for e in entries(kernel) if e.get("message", {}).get("role") == "user"]
    assert users == ["go", "is it 7?", "and\nthen {x}", "before all", "last"]
    assert [r for r in roles(kernel) if r in ("user", "assistant", "toolResult")] == [
        *("user", "assistant", "toolResult", "user", "assistant", "user", "assistant"),
        *("user", "user", "assistant"),
    ]


def test_a_failure_in_the_background_is_told_in_its_cell(kernel: Any) -> None:
    """No cell fails; the output says why there is no answer."""
    kernel.run("script(Reply('half', error='overloaded, try later'))")
    result = kernel.run("%pi --bg go")
    assert result.status == "ok"
    later = [content["data"] for content in drain(kernel, 2)]  # nothing, if the run was over before its cell
    assert "No answer: overloaded, try later" in [*result.history, *later][-1]["text/plain"]


def test_the_reply_of_a_background_run(kernel: Any) -> None:
    """--out holds what can be waited for, and the reply once it is there; what was assigned meanwhile stays."""
    kernel.run("script(Reply('word ' * 20), Reply('b ' * 40), tokens_per_second=100)")
    kernel.run("%pi --bg --out ans go")
    assert kernel.run("print(ans.wait(20).text[:4], type(ans).__name__)").stream == "word Reply\n"
    kernel.run("%pi --bg --out ans go")
    kernel.run("ans = 5")
    wait(kernel)
    assert kernel.run("print(ans)").stream == "5\n"
    kernel.run("script(Reply('a'), Reply('a'), Reply('a'))\n%pi --bg --out one go")
    wait(kernel)
    kernel.run("%pi --bg --n 2 --out two go")
    wait(kernel)
    assert kernel.run("print(one.wait().text, [reply.text for reply in two.wait(5)])").stream == "a ['a', 'a']\n"


def test_unloading_ends_a_background_run(kernel: Any) -> None:
    """What had arrived is kept, no thread and no session is left open."""
    kernel.run("script(Reply('word ' * 2000), tokens_per_second=50)")
    kernel.run("%pi --bg go")
    file = kernel.run("print(_nb.current().session.file)").stream.strip()
    kernel.run("%unload_ext pi_nb")
    threads = kernel.run("import threading; print([t.name for t in threading.enumerate() if 'pi_nb' in t.name])").stream
    assert threads == "[]\n"
    assert json.loads(Path(file).read_text().splitlines()[-1])["message"]["stopReason"] == "aborted"
    kernel.run("%load_ext pi_nb")

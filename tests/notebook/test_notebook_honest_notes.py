"""What the magics say of settings that change with the place, of cells that are run again, and of missing keys."""

from __future__ import annotations

from typing import Any

from tests.notebook.reading import entries, roles


def test_a_move_says_which_settings_are_other_there(kernel: Any) -> None:
    """Model, thinking level and tools belong to a branch; leaving it says what counts now."""
    kernel.run("script(Reply('a'), Reply('b'))")
    kernel.run("%pi --label plain one")
    kernel.run("%pi_model scripted:other")
    kernel.run("%pi_thinking high")
    kernel.run("%pi_tools read")
    kernel.run("%pi --label other two")
    back = kernel.run("%pi_checkout plain").stream
    assert len(back.splitlines()) == 1
    for said in ("model is scripted:any here", "thinking is off here", "tools are none here"):
        assert said in back
    there = kernel.run("%pi_checkout other").stream
    for said in ("model is scripted:other here", "thinking is high here", "tools are read here"):
        assert said in there
    assert " here" not in kernel.run("%pi_checkout @").stream


def test_the_default_of_the_root_is_told_as_such(kernel: Any) -> None:
    """A chosen model is not the root's; after it was chosen nobody is told that there is no key."""
    kernel.run("script(Reply('a'), Reply('b'))")
    kernel.run("%pi_model scripted:other")
    kernel.run("%pi one")
    assert "model is scripted:any here, the default" in kernel.run("%pi_checkout root").stream
    status = kernel.run("%pi").answer["text/plain"]
    assert "%pi_model scripted:other chooses the one named elsewhere" in status
    assert "Chosen because" not in status
    answer = kernel.run("%pi --from root again").answer["text/plain"]
    assert "Chosen because" not in answer
    assert "this place of the tree names no model" in answer


def test_a_prompt_sent_from_another_place_says_what_counts_there(kernel: Any) -> None:
    """The note above the answer has what %pi_checkout would have said."""
    kernel.run("script(Reply('a'), Reply('b'), Reply('c'))")
    kernel.run("%pi --label plain one")
    kernel.run("%pi --model scripted:other two")
    assert "Model is scripted:any here." in kernel.run("%pi --from plain three").answer["text/plain"]


def test_a_cell_whose_answer_is_on_another_branch_says_so(kernel: Any) -> None:
    """The prompt is added at the leaf, and the way to the earlier answer is told by its label or id."""
    kernel.run("script(*(Reply(f'answer {n}') for n in range(9)))")
    kernel.run("%pi --label start one", cell="a")
    kernel.run("%pi two", cell="b")
    earlier = entries(kernel)[-1]["id"]
    kernel.run("%pi_checkout start")
    again = kernel.run("%pi two", cell="b").answer["text/plain"]
    assert f"%pi_checkout {earlier[:8]} goes there." in again
    assert "assistant: answer 1" in kernel.run(f"%pi_checkout {earlier[:8]}").stream
    kernel.run("%pi_checkout start")
    assert "another branch" not in kernel.run("%pi --append two", cell="b").answer["text/plain"]
    kernel.run("%pi_label named")
    kernel.run("%pi_checkout start")
    assert "%pi_checkout named goes there." in kernel.run("%pi two", cell="b").answer["text/plain"]
    assert roles(kernel)[-1] == "assistant"


def test_a_label_that_moves_along_does_not_lead_back(kernel: Any) -> None:
    """Run again with its label, the cell names the earlier answer by id; places are named by what trees show."""
    kernel.run("script(*[Reply(f'answer {n}') for n in range(9)])\n%pi --label start one")
    kernel.run("%pi --label named two", cell="b")
    earlier = kernel.run("print(_nb.current().reply.entry_id)").stream.strip()
    moved = kernel.run("%pi_checkout start").stream
    assert moved.startswith("Leaf: ")
    assert ", after " not in moved
    again = kernel.run("%pi --label named two", cell="b").answer["text/plain"]
    assert f"%pi_checkout {earlier[:8]} goes there." in again
    latest = kernel.run("print(_nb.current().reply.entry_id)").stream.strip()
    assert kernel.run("print(_nb.current().session.leaf_id)").stream.strip() != latest
    assert f"{latest[:8]} [named] assistant" in kernel.run("%pi_session").stream
    once_more = kernel.run("%pi --label named two", cell="b").answer["text/plain"]
    assert f"%pi_checkout {latest[:8]} returns to it." in once_more


NO_KEYS = "import os\nfor name in [n for n in os.environ if n.endswith('_API_KEY')]: del os.environ[name]"
REAL = "from pi_nb.providers.registry import default_registry\n_nb.current().registry = default_registry()"


def test_a_missing_key_is_told_at_once_and_refuses_prompts(kernel: Any) -> None:
    """%pi_model warns with the variable and how to set it; a prompt writes nothing; with a key both are content."""
    kernel.run("script(Reply('a'))")
    kernel.run("%pi one")
    kernel.run(f"{NO_KEYS}\n{REAL}")
    said = kernel.run("%pi_model openai:gpt-5").stream
    assert said.startswith("openai:gpt-5, on this branch.\nopenai: no key: OPENAI_API_KEY is not set.\n")
    assert 'os.environ["OPENAI_API_KEY"] = getpass.getpass()' in said
    before = entries(kernel)
    for line in (
        "%pi two",
        "%pi --model anthropic:claude-opus-5 two",
        "%pi --models openai:gpt-5,google:gemini-3.8-flash two",
    ):
        refused = kernel.run(line)
        assert refused.error.partition("\n")[0].endswith("_API_KEY is not set."), refused
    assert entries(kernel) == before
    assert "gpt-5" in kernel.run("%pi --dry-run two").answer["text/plain"]
    kernel.run("os.environ['OPENAI_API_KEY'] = 'sk-0123456789'")
    assert kernel.run("%pi_model openai:gpt-5").stream == "openai:gpt-5, on this branch.\n"
    kernel.run("del os.environ['OPENAI_API_KEY']\n_nb.current().registry = Registry([ScriptedProvider()])")


def test_trying_again_is_advised_only_where_it_can_help(kernel: Any) -> None:
    """A failure that passes says so; one that does not says only what it is, and once."""
    kernel.run("from pi_nb import ProviderError\nscript(Reply(error=ProviderError('You may not.', code='auth')))")
    assert kernel.run("%pi go").error == "No answer: You may not."
    kernel.run(
        "busy = ProviderError('All lines are busy.', code='overloaded', retryable=True, retry_after=0)\n"
        "script(*[Reply(error=busy)] * 9)"
    )
    result = kernel.run("%pi go")
    assert result.error == "No answer: All lines are busy.\nRun the cell to try again."
    last = result.shown[0]["text/plain"]
    assert "busy" not in last
    assert "Tried 3 times." in last


def test_a_stopped_answer_is_said_to_be_kept_and_not_sent(kernel: Any) -> None:
    """The line under it says both."""
    kernel.run("script(Reply('word ' * 400), tokens_per_second=50)")
    request = kernel.start("%pi go")
    kernel.finish(request, until=lambda r: any("word" in data["text/plain"] for data in r.history))
    kernel.interrupt()
    result = kernel.finish(request, timeout=10)
    assert "not sent to the model when you go on" in result.error
    assert "kept in the tree, and not sent to the model when you go on" in result.history[-1]["text/plain"]

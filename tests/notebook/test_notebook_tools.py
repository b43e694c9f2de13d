"""Choosing tools: what there is, what is active on which branch, what completes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

NAMES = ["read", "bash", "edit", "write", "grep", "find", "ls", "python"]


def test_to_begin_with_none_is_active(kernel: Any) -> None:
    """A first %pi_tools says what there is and how to choose; a model is offered nothing."""
    kernel.run("provider = script(Reply('a'))")
    overview = kernel.run("%pi_tools").answer["text/plain"]
    assert overview.startswith("No tool is active")
    assert all(f"  {name} " in overview for name in NAMES)
    kernel.run("%pi hi")
    assert kernel.run("print(provider.requests[0].tools)").stream == "()\n"


def test_choosing_is_an_entry_on_the_branch(kernel: Any) -> None:
    """The choice is offered to the model, belongs to its branch, and comes back with it."""
    kernel.run("provider = script(*[Reply('x') for _ in range(4)])")
    kernel.run("names = lambda: [t.name for t in provider.requests[-1].tools]")
    kernel.run("%pi --label plain hi")
    assert kernel.run("%pi_tools read,grep").stream == "Active on this branch: read, grep.\n"
    kernel.run("%pi --label tools look")
    assert kernel.run("print(names())").stream == "['read', 'grep']\n"
    kernel.run("%pi_checkout plain")
    assert kernel.run("%pi_tools").answer["text/plain"].startswith("No tool is active")
    kernel.run("%pi_checkout tools")
    kernel.run("%pi_tools --add python --remove grep")
    kernel.run("%pi --tools ls,read again")
    assert kernel.run("print(names())").stream == "['ls', 'read']\n"
    assert kernel.run("%pi_tools --none").stream == "Active on this branch: none.\n"


def test_the_choice_survives_a_restart(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """A new kernel offers the built-in tools that the branch has."""
    kernel = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "a.ipynb"), PI_NB_MODEL="scripted:demo")
    kernel.run("%load_ext pi_nb\n%pi_tools read,python")
    assert kernel.run("%pi hi").status == "ok"
    kernel.restart()
    kernel.run("%load_ext pi_nb")
    assert "● read " in kernel.run("%pi_tools").answer["text/plain"]
    assert "● python " in kernel.run("%pi_tools").answer["text/plain"]


def test_a_default_can_be_configured(make_kernel: Callable[..., Any], tmp_path: Path) -> None:
    """PiMagics.tools is what is active where a branch chooses nothing; a branch may choose none."""
    kernel = make_kernel(tmp_path, JPY_SESSION_NAME=str(tmp_path / "b.ipynb"))
    kernel.run("%load_ext pi_nb\n%config PiMagics.tools = 'read, nope, ls'")
    assert "● ls " in kernel.run("%pi_tools").answer["text/plain"]
    kernel.run("%pi_tools --none")
    assert kernel.run("%pi_tools").answer["text/plain"].startswith("No tool is active")


def test_mistakes_name_what_is_near(kernel: Any) -> None:
    """A wrong name, a contradiction or a function that is no tool is one line, and changes nothing."""
    kernel.run("def plain(): pass\n@pi_nb.tool\ndef read(x: int) -> int:\n    'Taken.'\n    return x\nbash = read")
    for line, message in {
        "%pi_tools gerp": "Did you mean grep?",
        "%pi_tools --add plain": "Put @pi_nb.tool above its definition",
        "%pi_tools --add bsh": "Did you mean bash",
        "%pi_tools --none read": "contradict each other",
        "%pi_tools --remove read": "There is no tool 'read'",
        "%pi_tools --allow :x": "There is no tool ''",
        "%pi_tools --save": "Nothing was decided yet.",
    }.items():
        result = kernel.run(line)
        assert (result.status, message in result.error) == ("error", True), (line, result.error)
        assert len(result.error.splitlines()) <= 2
    assert kernel.run("%pi_tools").answer["text/plain"].startswith("No tool is active")
    kernel.run("del read, bash")


def test_names_are_completed_also_after_a_comma(kernel: Any) -> None:
    """Tools, options and the user's own functions are offered; after --remove only those that are active."""
    kernel.run("@pi_nb.tool\ndef readings(n: int) -> int:\n    'Mine.'\n    return n\n")
    kernel.run("%pi_tools read,grep")
    offered = lambda text: [c["text"] for c in kernel.complete(text)]  # noqa: E731
    assert offered("%pi_tools re") == ["read", "readings"]
    assert offered("%pi_tools read,gr") == ["read,grep"]
    assert offered("%%pi --tools py") == ["python"]
    assert offered("%pi_tools --remove ") == ["read", "grep"]
    assert offered("%pi_tools --al") == ["--allow"]
    assert offered("%pi_tools --allow ba") == ["bash"]
    kernel.run("%pi_tools --none\ndel readings")


def test_a_function_of_the_users_runs_unless_a_rule_says_otherwise(kernel: Any) -> None:
    """Adding one is consent enough, which is said; --ask takes that back."""
    kernel.run(
        "from pi_nb.messages import ToolCall\n@pi_nb.tool\ndef own(n: int) -> int:\n    'Mine.'\n    return n + 1"
    )
    assert "\nown runs without asking; %pi_tools --ask own changes that.\n" in kernel.run("%pi_tools --add own").stream
    code = "script(Reply([ToolCall(id='c', name='own', arguments={'n': 1})]), Reply('done'))"
    kernel.run(code)
    assert "✓ done" in kernel.run("%pi go", stdin=False).answer["text/plain"]
    kernel.run(code)
    kernel.run("%pi_tools --ask own")
    assert kernel.run("%pi_tools own").stream == "Active on this branch: own.\n"
    assert "✗ not run" in kernel.run("%pi go", stdin=False).answer["text/plain"]

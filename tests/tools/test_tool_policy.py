"""Whether a tool may run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pi_nb.errors import HarnessError, UserError
from pi_nb.harness.hooks import Hooks, ToolCallDecision, ToolCallHook
from pi_nb.tools.policy import Answer, Question, ToolPolicy
from pi_nb.tools.rules import Rule

ALLOWED = ToolCallDecision()


class Person:
    """Answers what is asked, and remembers it."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.questions: list[Question] = []

    async def __call__(self, question: Question) -> Any:
        """Answer a question with what is next."""
        self.questions.append(question)
        await asyncio.sleep(0)
        return self.answers.pop(0)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home folder with a working directory and something private in it."""
    folder = tmp_path / "home"
    (folder / "work/sub").mkdir(parents=True)
    (folder / "work/a.txt").write_text("a")
    (folder / ".ssh").mkdir()
    (folder / ".ssh/id").write_text("key")
    (folder / "other.txt").write_text("o")
    monkeypatch.setenv("HOME", str(folder))
    return folder


def decide(policy: ToolPolicy, tool: str, **args: Any) -> ToolCallDecision:
    """Ask the policy through a harness's hook."""
    hooks = Hooks()
    hooks.add("tool_call", policy)
    return asyncio.run(hooks.tool_call(ToolCallHook("call-1", tool, args)))


def verdict(policy: ToolPolicy, tool: str, **args: Any) -> str:
    """Return what the rules say."""
    return policy.rule_for(tool, args).verdict


@pytest.mark.parametrize(
    ("tool", "args", "expected"),
    [
        ("read", {"path": "a.txt"}, "allow"),
        ("read", {"path": "sub/../a.txt"}, "allow"),
        ("read", {"path": "not there"}, "allow"),
        ("grep", {"pattern": "x"}, "allow"),
        ("find", {"pattern": "x", "path": "sub"}, "allow"),
        ("ls", {}, "allow"),
        ("read", {"path": "../other.txt"}, "ask"),
        ("read", {"path": "/etc/passwd"}, "ask"),
        ("read", {"path": "~/other.txt"}, "ask"),
        ("read", {"path": "sub/../../other.txt"}, "ask"),
        ("ls", {"path": ".."}, "ask"),
        ("read", {}, "ask"),
        ("write", {"path": "a.txt", "content": ""}, "ask"),
        ("edit", {"path": "a.txt"}, "ask"),
        ("bash", {"command": "ls"}, "ask"),
        ("anything", {"path": "a.txt"}, "ask"),
    ],
)
def test_to_begin_with(home: Path, tool: str, args: Mapping[str, Any], expected: str) -> None:
    """Reading inside the working directory is allowed, everything else is asked about."""
    assert verdict(ToolPolicy(home / "work"), tool, **args) == expected


def test_links_are_followed_first(home: Path) -> None:
    """A link is judged by where it leads, also when it is in the midst of a path or goes round."""
    work = home / "work"
    (work / "out").symlink_to(home / "other.txt")
    (work / "up").symlink_to(home)
    (work / "in").symlink_to("sub")
    (work / "loop").symlink_to("loop")
    (home / "alias").symlink_to(work)
    policy = ToolPolicy(work)
    assert verdict(policy, "read", path="out") == "ask"
    assert verdict(policy, "read", path="up/other.txt") == "ask"
    assert verdict(policy, "read", path="up/work/a.txt") == "allow"
    assert verdict(policy, "ls", path="in") == "allow"
    assert verdict(policy, "read", path="in/../../x") == "ask"
    assert verdict(ToolPolicy(home / "alias"), "read", path="a.txt") == "allow"
    assert decide(policy, "read", path="loop").block


def test_private_places_at_home(home: Path) -> None:
    """Where the working directory is the home folder, keys are asked about, and searches that would show them."""
    policy = ToolPolicy(home)
    assert verdict(policy, "read", path="other.txt") == "allow"
    assert verdict(policy, "read", path=".ssh/id") == "ask"
    assert verdict(policy, "grep", pattern="x", path=".ssh") == "ask"
    assert verdict(policy, "grep", pattern="x") == "ask"
    assert verdict(policy, "grep", pattern="x", path="work") == "allow"
    assert verdict(policy, "find", pattern="x") == "allow"
    assert verdict(policy, "ls") == "allow"


def test_rules(home: Path) -> None:
    """The last rule that fits decides; a rule for a folder is for what is below it."""
    policy = ToolPolicy(home / "work")
    policy.allow("write", "build")
    policy.allow("bash")
    policy.deny("*", "build/secret")
    assert verdict(policy, "write", path="build/x") == "allow"
    assert verdict(policy, "write", path="buildings/x") == "ask"
    assert verdict(policy, "write", path="build/secret/x") == "deny"
    assert verdict(policy, "read", path="build/secret") == "deny"
    assert verdict(policy, "bash", command="rm -r x") == "allow"
    policy.ask("bash")
    assert verdict(policy, "bash", command="rm -r x") == "ask"
    assert str(policy.rules[-1]) == "ask bash"
    assert repr(policy).startswith(f"<ToolPolicy cwd={home}/work rules=")


def test_searches_above_a_denied_folder(home: Path) -> None:
    """What is denied does not come out through a search of the folder above it."""
    (home / "work/secret").mkdir()
    policy = ToolPolicy(home / "work")
    policy.deny("*", "secret")
    assert verdict(policy, "grep", pattern="x") == "deny"
    assert verdict(policy, "find", pattern="x") == "deny"
    assert verdict(policy, "ls") == "allow"
    assert verdict(policy, "grep", pattern="x", path="sub") == "allow"


def test_another_name_for_a_denied_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that the file system has under another spelling is denied under that too."""
    work = home / "work"
    (work / "secret").mkdir()
    policy = ToolPolicy(work)
    policy.deny("read", "secret")
    monkeypatch.setattr("pi_nb.tools.rules._identity", lambda path: (1, len(str(path))) if path != work else None)
    assert verdict(policy, "read", path="SECRET/x") == "deny"


def test_no_such_verdict(home: Path) -> None:
    """A verdict that is none is a mistake of the user's."""
    with pytest.raises(UserError, match="maybe"):
        ToolPolicy(home).set("maybe", "bash")  # type: ignore[arg-type]


def test_nobody_to_ask(home: Path) -> None:
    """Without anybody to ask the call is denied, with the reason and the way to allow it."""
    policy = ToolPolicy(home / "work", how_to_allow=lambda tool: f"%pi_tools --allow {tool}")
    decision = decide(policy, "write", path="a.txt", content="x")
    assert decision.block
    assert decision.reason == (
        "Not run: write would change a.txt. That needs the user's consent, and there is nobody to ask here."
        " The user can allow it beforehand: %pi_tools --allow write"
    )
    assert decide(ToolPolicy(home / "work", ask=Person(None)), "bash", command="x").reason.endswith(
        "policy.allow('bash')"
    )


def test_denied_by_rule(home: Path) -> None:
    """A denial names its rule."""
    policy = ToolPolicy(home / "work", ask=Person())
    policy.deny("bash")
    assert decide(policy, "bash", command="x").reason == "Not run: bash is denied here (rule: deny bash)."


def test_asked(home: Path) -> None:
    """A person is asked with all there is to know, and the answer decides."""
    person = Person(True, False, Answer(False, reason="use the test folder"))
    policy = ToolPolicy(home / "work", ask=person)
    call = {"command": "make\n" * 500}
    assert decide(policy, "bash", **call) == ALLOWED
    assert decide(policy, "read", path="~/other.txt").reason == "Not run: the user said no."
    assert decide(policy, "write", path="x", content="").reason == "Not run: the user said no: use the test folder"
    assert person.questions == [
        Question("call-1", "bash", call, None, "bash may do anything.", "bash, whatever it does"),
        Question(
            "call-1",
            "read",
            {"path": "~/other.txt"},
            home / "other.txt",
            f"read would show {home}/other.txt, which is outside the working directory.",
            f"read on {home}/other.txt",
        ),
        Question(
            "call-1",
            "write",
            {"path": "x", "content": ""},
            home / "work/x",
            "write would change x.",
            f"write below {home}/work",
        ),
    ]


def test_always(home: Path) -> None:
    """ "Always" holds for the tool in the working directory, until it is forgotten."""
    person = Person(Answer(True, always=True), False, False)
    policy = ToolPolicy(home / "work", ask=person)
    assert decide(policy, "write", path="x", content="") == ALLOWED
    assert decide(policy, "write", path="sub/y", content="") == ALLOWED
    assert len(person.questions) == 1
    assert decide(policy, "write", path="../y", content="").block
    policy.forget()
    assert decide(policy, "write", path="x", content="").block
    assert len(person.questions) == 3


def test_always_is_less_than_a_rule(home: Path) -> None:
    """ "Always" opens neither what is denied nor what has a rule of its own, and a later "ask" takes it back."""
    person = Person(Answer(True, always=True), False, Answer(True, always=True), False)
    policy = ToolPolicy(home, ask=person)
    policy.deny("write", "work/keep")
    assert decide(policy, "write", path="work/x", content="") == ALLOWED
    assert decide(policy, "write", path="work/keep/x", content="").reason.startswith("Not run: write is denied here")
    assert decide(policy, "write", path=".ssh/id", content="").block
    assert decide(policy, "write", path=".ssh/id", content="") == ALLOWED
    assert decide(policy, "write", path=".ssh/id", content="") == ALLOWED
    assert policy.granted == [Rule("allow", "write", home), Rule("allow", "write", home / ".ssh/id")]
    policy.ask("write")
    assert decide(policy, "write", path="work/x", content="").block


def test_one_question_at_a_time(home: Path) -> None:
    """Of calls that run beside each other only the first is asked about if the answer is for all."""
    person = Person(Answer(True, always=True))
    policy = ToolPolicy(home / "work", ask=person)

    async def both() -> list[ToolCallDecision]:
        calls = [ToolCallHook(str(n), "bash", {"command": "x"}) for n in range(5)]
        return await asyncio.gather(*(policy(call) for call in calls))

    assert asyncio.run(both()) == [ALLOWED] * 5
    assert len(person.questions) == 1


def test_plain_askers(home: Path) -> None:
    """Who is asked may answer without waiting, and may fail: then nothing runs."""
    assert decide(ToolPolicy(home, ask=lambda question: True), "bash", command="x") == ALLOWED

    def broken(question: Question) -> bool:
        raise OSError("no window")

    with pytest.raises(HarnessError, match="no window"):
        decide(ToolPolicy(home, ask=broken), "bash", command="x")


@pytest.mark.parametrize("path", ["", "\ud800", "a\0b", "~nobody-at-all/x"])
def test_impossible_paths(home: Path, path: str) -> None:
    """A path that cannot be is a denial with the reason."""
    decision = decide(ToolPolicy(home, ask=Person()), "read", path=path)
    assert decision.block
    assert decision.reason

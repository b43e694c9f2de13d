import asyncio

import pytest

from pi_nb.errors import HarnessError
from pi_nb.harness.resources import PromptTemplate, Resources, Skill
from tests.harness.bench import bench

SKILL = Skill("tidy", "Tidies up.", "Put things away.", "/skills/tidy/SKILL.md")
TEMPLATE = PromptTemplate("compare", "Compare $1 with $2. All: $@. Rest: ${@:2}. One: ${@:1:1}. $ARGUMENTS $9")


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (["a", "b", "c"], "Compare a with b. All: a b c. Rest: b c. One: a. a b c "),
        ([], "Compare  with . All: . Rest: . One: .  "),
        (["$2", "x"], "Compare $2 with x. All: $2 x. Rest: x. One: $2. $2 x "),
    ],
)
def test_a_template_is_filled_in(args, text):
    """Every place gets its argument or nothing; what an argument contains is not filled in again."""
    assert TEMPLATE.invocation(args) == text


MANY = "1" * 5_000


@pytest.mark.parametrize(
    ("place", "text"),
    [
        *((f"${MANY}", ""), (f"${{@:{MANY}}}", ""), (f"${{@:1:{MANY}}}", "a b"), (f"${{@:{MANY}:{MANY}}}", "")),
        *(("$" + "0" * 5_000 + "2", "b"), ("$0", ""), ("${@:0}", "a b"), ("${@:0:0}", "")),
    ],
)
def test_numbers_of_any_length(place, text):
    """A place with a number nobody could mean has no argument."""
    assert PromptTemplate("t", f"<{place}>").invocation("a b") == f"<{text}>"


def test_a_skill_is_wrapped():
    """A skill names itself and the place its relative paths start at, and ends with what the user adds."""
    assert SKILL.invocation("Now.") == (
        '<skill name="tidy" location="/skills/tidy/SKILL.md">\n'
        "Relative paths in this skill start at /skills/tidy.\n\nPut things away.\n</skill>\n\nNow."
    )
    assert Skill("s", "", "Text.").invocation() == '<skill name="s">\nText.\n</skill>'


def test_skills_and_templates_are_prompts():
    """Both are called by name, and unknown names are refused with those there are."""
    made = bench("one", "two")

    async def work():
        harness = made.harness
        await harness.set_resources(Resources((SKILL,), (TEMPLATE,)))
        await harness.skill("tidy")
        await harness.prompt_from_template("compare", ["a", "b"])
        for attempt in (harness.skill("nope"), harness.prompt_from_template("nope")):
            with pytest.raises(HarnessError) as caught:
                await attempt
            assert caught.value.code == "invalid_argument"
            assert caught.value.hint in {"Known: tidy.", "Known: compare."}

    asyncio.run(work())
    first, _, second, _ = made.said()
    assert first.startswith('user: <skill name="tidy"')
    assert second.startswith("user: Compare a with b.")
    assert made.types[0] == "resources_update"

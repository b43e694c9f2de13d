import asyncio
import os

import pytest

from pi_nb.harness.front_matter import read_front_matter
from pi_nb.harness.resource_files import load_prompt_templates, load_resources, load_skills
from pi_nb.harness.resources import PromptTemplate, Resources, Skill
from tests.harness.bench import bench

TIDY = "---\nname: tidy\ndescription: Tidies up.\n---\n\nPut things away.\n"


def write(folder, **files):
    """Write files into a folder; ``__`` in a name is a slash."""
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def named(loaded):
    return [skill.name for skill in loaded.resources.skills]


def faults(loaded, folder):
    return [str(fault).replace(f"{folder}/", "") for fault in loaded.faults]


def test_skills_and_templates_are_found(tmp_path):
    """A folder has skills and prompts; the harness calls both by name, and a list says what there is."""
    write(tmp_path, skills__tidy__SKILL=TIDY, skills__deep__er__look__SKILL=TIDY.replace("tidy", "look"))
    write(tmp_path, prompts__compare="---\ndescription: Compares.\nargument-hint: <a> <b>\n---\nCompare $1 with $2.\n")
    loaded = load_resources([tmp_path / "missing", tmp_path])
    assert loaded.faults == ()
    path = (tmp_path / "skills/tidy/SKILL.md").as_posix()
    assert loaded.resources.skill("tidy") == Skill("tidy", "Tidies up.", "Put things away.", path)
    assert named(loaded) == ["look", "tidy"]
    assert loaded.resources.prompt_templates == (
        PromptTemplate("compare", "Compare $1 with $2.", "Compares.", "<a> <b>"),
    )
    assert str(loaded).splitlines() == ["skill look: Tidies up.", "skill tidy: Tidies up.", "prompt compare: Compares."]
    made = bench("one", "two", resources=loaded.resources)

    async def work():
        await made.harness.skill("tidy", "Now.")
        await made.harness.prompt_from_template("compare", "'a b' c")

    asyncio.run(work())
    said = made.said()
    assert said[0].endswith("Put things away.\n</skill>\n\nNow.")
    assert said[2] == "user: Compare a b with c."


def test_nothing_is_not_an_error(tmp_path):
    """Folders that are missing or empty give nothing."""
    loaded = load_resources([tmp_path, tmp_path / "missing", "~/no-such-folder-of-mine"])
    assert (loaded.resources, loaded.faults) == (Resources(), ())
    assert str(loaded) == "no skills and no prompt templates"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Just text.", "it has no description, so nobody knows when it is useful; left out"),
        ("---\ndescription: x\nno end", "its front matter has no end (a line of ---); left out"),
        ("---\ndescription: x\n* what\n---\n", "line 3 is not 'name: value'; left out"),
        ("---\ndescription: 'x\n---\n", "description: its quote is not closed; left out"),
        ("---\ndescription: x\ndescription: y\n---\n", "description comes twice; left out"),
        (b"---\ndescription: \xff\n---\n", "it is not UTF-8 (byte 17); left out"),
        (b"x" * 1_000_001, "it is larger than 1 MB; left out"),
    ],
)
def test_what_cannot_be_used_is_left_out(tmp_path, text, fault):
    """A bad file is told of and costs nothing but itself."""
    write(tmp_path, good__SKILL=TIDY.replace("tidy", "good"), bad__SKILL=text)
    loaded = load_skills([tmp_path])
    assert named(loaded) == ["good"]
    assert faults(loaded, tmp_path) == [f"bad/SKILL.md: {fault}"]


@pytest.mark.parametrize(
    ("head", "name", "fault"),
    [
        ("name: other\ndescription: x", "other", "its name other is not tidy, what its folder is called"),
        ("name: [1\ndescription: 5", "[1", "its name [1 is not tidy, what its folder is called"),
        ("name:\n  - a\ndescription: x", "tidy", "its name is no text"),
        (f"description: {'x' * 1_025}", "tidy", "its description has 1025 characters, more than 1024"),
    ],
)
def test_what_is_odd_is_used_and_told(tmp_path, head, name, fault):
    """A skill that others would find odd can be called all the same."""
    write(tmp_path, tidy__SKILL=f"---\n{head}\n---\nText.")
    loaded = load_skills([tmp_path])
    assert named(loaded) == [name]
    assert f"tidy/SKILL.md: {fault}" in faults(loaded, tmp_path)


@pytest.mark.parametrize("name", ["a" * 65, "Tidy", "-tidy", "ti--dy", "ti dy"])
def test_odd_names(tmp_path, name):
    """Names that are too long or are not small letters, digits and hyphens are told."""
    write(tmp_path, **{f"{name}__SKILL": f"---\nname: {name}\ndescription: x\n---\nText."})
    loaded = load_skills([tmp_path])
    assert named(loaded) == [name]
    assert len(loaded.faults) == 1


def test_the_first_of_two_counts(tmp_path):
    """A name that comes twice is told with the place of the one that counts."""
    one, two = write(tmp_path / "1", tidy__SKILL=TIDY), write(tmp_path / "2", tidy__SKILL=TIDY.replace("Put", "Throw"))
    loaded = load_skills([one, two])
    assert loaded.resources.skill("tidy").content == "Put things away."
    assert faults(loaded, tmp_path) == ["2/tidy/SKILL.md: tidy is in 1/tidy/SKILL.md already; left out"]


def test_links(tmp_path):
    """Links are followed; those that lead in circles or nowhere are told, and the same folder is not read twice."""
    write(tmp_path / "a", tidy__SKILL=TIDY)
    (tmp_path / "a/circle").symlink_to(tmp_path)
    (tmp_path / "a/self").symlink_to(tmp_path / "a/self")
    (tmp_path / "a/gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    loaded = load_skills([tmp_path])
    assert named(loaded) == ["tidy"]
    assert sorted(faults(loaded, tmp_path)) == [
        "a/circle: this link leads round in circles",
        "a/gone: this link leads nowhere",
        "a/self: this link leads nowhere",
    ]


def test_where_skills_are_looked_for(tmp_path):
    """Markdown right in a folder is a skill; hidden folders, node_modules and skills inside are not searched."""
    write(tmp_path, alone=TIDY.replace("tidy", "alone"), sub__note=TIDY, tidy__SKILL=TIDY, tidy__inner__SKILL=TIDY)
    write(tmp_path, **{".hidden__SKILL": TIDY, "node_modules__x__SKILL": TIDY})
    loaded = load_skills([tmp_path])
    assert named(loaded) == ["alone", "tidy"]
    assert loaded.faults == ()


@pytest.fixture
def nobody(tmp_path):
    """Let the test go on as a user whom a folder can be closed to; ``tmp_path`` stays open."""
    if os.name != "posix":
        pytest.skip("folders are closed otherwise here")
    if os.geteuid() != 0:
        yield
        return
    above = [folder for folder in (tmp_path, *tmp_path.parents) if not folder.stat().st_mode & 0o001]
    modes = [folder.stat().st_mode for folder in above]
    for folder in above:
        folder.chmod(0o711)
    tmp_path.chmod(0o777)
    os.seteuid(65534)
    yield
    os.seteuid(0)
    for folder, mode in zip(above, modes, strict=True):
        folder.chmod(mode)


def test_a_folder_that_is_closed(tmp_path, nobody):
    """What may not be read is told."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    assert faults(load_skills([tmp_path]), tmp_path) == ["closed: cannot be read (Permission denied)"]


def test_a_folder_that_can_only_be_listed(tmp_path, nobody):
    """Where names can be read but nothing behind them, that is told, and the rest is loaded."""
    write(tmp_path, skills__tidy__SKILL=TIDY, skills__shut__SKILL=TIDY, skills__shut__in__x="x", prompts__p="Do it.")
    write(tmp_path, other__skills__x__SKILL=TIDY, other__prompts__x="x")
    shut = [tmp_path / "skills/shut", tmp_path / "other"]
    for folder in shut:
        folder.chmod(0o644)
    (tmp_path / "prompts/link.md").symlink_to(tmp_path / "other/prompts/x.md")
    loaded = load_resources([tmp_path / "other", tmp_path])
    for folder in shut:
        folder.chmod(0o755)
    assert named(loaded) == ["tidy"]
    assert [template.name for template in loaded.resources.prompt_templates] == ["p"]
    assert faults(loaded, tmp_path) == [
        f"{path}: cannot be read (Permission denied)"
        for path in ("other/skills", "skills/shut/SKILL.md", "skills/shut/in", "other/prompts", "prompts/link.md")
    ]


@pytest.mark.parametrize("load", [load_resources, load_skills, load_prompt_templates])
@pytest.mark.parametrize("folder", ["~nosuchuser/.pi", "/tmp/\0x", "x" * 5_000, "/\ud800"])
def test_a_path_that_can_be_none(tmp_path, load, folder):
    """A path that no system could have is told of and costs nothing but itself."""
    write(tmp_path, skills__tidy__SKILL=TIDY, tidy__SKILL=TIDY, p="Do it.", prompts__p="Do it.")
    loaded = load([folder, tmp_path])
    assert loaded.faults[0].text.startswith("cannot be read (")
    assert loaded.resources != Resources()
    str(loaded).encode()


def test_links_to_what_can_be_no_path(tmp_path):
    """A link to a name that is too long is told of, wherever it is met."""
    write(tmp_path, skills__tidy__SKILL=TIDY, prompts__p="Do it.")
    for place in ("skills/far", "skills/tidy2/SKILL.md", "prompts/far.md"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).symlink_to("x" * 300)
    loaded = load_resources([tmp_path])
    assert named(loaded) == ["tidy"]
    assert faults(loaded, tmp_path) == [
        f"{path}: cannot be read (File name too long)"
        for path in ("skills/far", "skills/tidy2/SKILL.md", "prompts/far.md")
    ]


def test_texts_that_cannot_be_encoded(tmp_path):
    """Halves of characters, in a head or in the name of a file, are replaced: all can be shown, sent and stored."""
    write(tmp_path, skills__tidy__SKILL='---\nname: "a\\ud800"\ndescription: "b\\udc00"\n---\nText.')
    odd = os.fsdecode(b"odd\xff")
    try:
        write(tmp_path, **{f"skills__{odd}__SKILL": TIDY, f"prompts__{odd}": "Do it."})
    except (OSError, UnicodeError):
        pytest.skip("no file can be called so here")
    loaded = load_resources([tmp_path])
    assert named(loaded) == ["tidy", "a�"]
    assert [template.name for template in loaded.resources.prompt_templates] == ["odd�"]
    f"{loaded} {loaded.resources} {loaded.resources.for_system_prompt()}".encode()


def test_templates(tmp_path):
    """Files by name and all of a folder; without a description the first line is one; empty ones are left out."""
    folder = write(tmp_path / "p", long="\ufeff" + "x" * 70, empty="---\ndescription: x\n---\n", other__deep="no")
    write(tmp_path, single="Do $ARGUMENTS.\r\nNow.")
    (folder / "note.txt").write_text("no")
    loaded = load_prompt_templates([folder, tmp_path / "single.md", tmp_path / "none.md"])
    assert [(t.name, t.description) for t in loaded.resources.prompt_templates] == [
        ("long", "x" * 59 + "…"),
        ("single", "Do $ARGUMENTS."),
    ]
    assert loaded.resources.prompt_template("single").invocation("it 'as is'") == "Do it as is.\nNow."
    assert faults(loaded, tmp_path) == ["p/empty.md: it is empty; left out"]


def test_skills_for_the_system_prompt(tmp_path):
    """A model is told of the skills it may use by itself, and of nothing if there are none."""
    alone = TIDY.replace("---\n\n", "disable-model-invocation: true\n---\n\n").replace("tidy", "alone")
    write(tmp_path, tidy__SKILL=TIDY, alone__SKILL=alone)
    resources = load_skills([tmp_path]).resources
    assert resources.for_system_prompt().endswith(f"\n- tidy ({tmp_path}/tidy/SKILL.md): Tidies up.")
    assert "alone" not in resources.for_system_prompt()
    assert Resources().for_system_prompt() == ""


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        ("a: plain text # note\nb: 'it''s'\nc: \"x\\ty\" # note", {"a": "plain text", "b": "it's", "c": "x\ty"}),
        ("a: Use when: always\nb: x#y", {"a": "Use when: always", "b": "x#y"}),
        (
            "a: one\n  two\n\n# note\nb: true\nc: no\nd: ~\ne:",
            {"a": "one two", "b": True, "c": "no", "d": None, "e": None},
        ),
        (
            "a: |\n  one\n    two\n\n  three\nb: >-\n  one\n  two\n\n  three",
            {"a": "one\n  two\n\nthree", "b": "one two\n\nthree"},
        ),
        ("a:\n  - one\n  - 'two'\nb:\n- three", {"a": ["one", "two"], "b": ["three"]}),
        ("a:\n  b: c\nd: [1, 2]", {"a": None, "d": "[1, 2]"}),
        ('a: "one\n  two"', {"a": "one two"}),
    ],
)
def test_front_matter(head, fields):
    """The part of YAML that such heads are made of is read as YAML reads it, colons in plain texts aside."""
    assert read_front_matter(f"---\n{head}\n---\nText.\n---\nMore.") == (fields, "Text.\n---\nMore.")


def test_no_front_matter():
    """A line further down is no front matter."""
    assert read_front_matter("Text.\n---\na: b\n---\n") == ({}, "Text.\n---\na: b\n---\n")
    assert read_front_matter("") == ({}, "")
    assert read_front_matter("----\na: b\n----\n") == ({}, "----\na: b\n----\n")


def test_ignored_skills(tmp_path):
    """Skills, and folders of them, that .gitignore or .ignore leave out are not loaded, without a word."""
    write(tmp_path, skills__tidy__SKILL=TIDY, skills__drafts__look__SKILL=TIDY, skills__note=TIDY, skills__old=b"\xff")
    write(tmp_path, skills__deep__a__SKILL=TIDY.replace("tidy", "a"), skills__deep__b__SKILL=TIDY)
    (tmp_path / "skills/.gitignore").write_text("drafts/\n/note.md\nold*\n")
    (tmp_path / "skills/old-link").symlink_to("nowhere")
    (tmp_path / "skills/deep/.ignore").write_text("b\n")
    loaded = load_resources([tmp_path])
    assert named(loaded) == ["a", "tidy"]
    assert loaded.faults == ()


def test_where_skills_are_ignored_from(tmp_path):
    """Files above the folder that is given have no say, nor have those that cannot be read."""
    write(tmp_path, skills__tidy__SKILL=TIDY)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("skills\ntidy\n")
    (tmp_path / "skills/.gitignore").mkdir()
    assert named(load_skills([tmp_path / "skills"])) == ["tidy"]


def test_a_skill_file_that_is_ignored(tmp_path):
    """A folder whose SKILL.md is ignored is no skill, and is looked through."""
    write(tmp_path, a__SKILL=TIDY, a__look__SKILL=TIDY.replace("tidy", "look"))
    (tmp_path / ".gitignore").write_text("/a/SKILL.md\n")
    assert named(load_skills([tmp_path])) == ["look"]

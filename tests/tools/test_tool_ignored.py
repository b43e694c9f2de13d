"""What ``find`` and ``grep`` leave out because of ``.gitignore``, ``.ignore`` and ``.git/info/exclude``."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_nb.errors import ToolError
from pi_nb.harness.ignore_rules import read_rules
from pi_nb.tools.files import stop_if_aborted
from pi_nb.tools.walk import Walk

HINT = "Give one as path to search it."
NOT_SEARCHED = "[Not searched, because ignored (.gitignore): "


def found(bench: Any, path: str = ".") -> list[str]:
    """Return the files with a line that are found, and check that grep searches the same."""
    listed = bench.text("find", pattern="**", path=path).split("\n")
    files = [name for name in listed if not name.startswith("[") and not name.endswith(("/", "ignore", ".git"))]
    lines = bench.text("grep", pattern="^line$", path=path).split("\n")
    assert [line.removesuffix(":1: line") for line in lines if not line.startswith("[")] == files
    return files


def put(bench: Any, files: str) -> None:
    """Make files with a line in each."""
    for name in files.split():
        bench.put(name, "line\n")


# ---------------------------------------------------------------- which files count


def test_ignored(bench: Any) -> None:
    """Files and folders are left out in both tools, and what is re-included is found."""
    put(bench, "a.py a.log keep.log build/x.py src/build/y.py src/b.log")
    bench.put(".gitignore", "*.log\n!keep.log\nbuild/\n")
    assert found(bench) == ["a.py", "keep.log"]


def test_no_file_in_an_ignored_folder_comes_back(bench: Any) -> None:
    """What is in a folder that is ignored cannot be re-included."""
    put(bench, "out/x out/keep")
    bench.put(".gitignore", "out/\n!out/keep\n")
    assert found(bench) == []


def test_deeper_files_win(bench: Any) -> None:
    """The nearest file decides, and .ignore over .gitignore; patterns are for the folder of their file."""
    put(bench, "x.log sub/x.log sub/top.txt sub/deep/top.txt other/x.log")
    bench.put(".gitignore", "*.log\n")
    bench.put("sub/.gitignore", "!*.log\n/top.txt\n")
    bench.put("other/.gitignore", "x.log\n")
    bench.put("other/.ignore", "!x.log\n")
    assert found(bench) == ["other/x.log", "sub/deep/top.txt", "sub/x.log"]


def test_files_of_the_repository_around(bench: Any) -> None:
    """In a repository the files above the folder count, and its own list; further up nothing does."""
    put(bench, "top.txt repo/src/a.py repo/src/a.log repo/src/a.tmp repo/src/deep/a.bin repo/deep/a.bin")
    bench.put(".gitignore", "*.py\n")
    bench.put("repo/.git/info/exclude", "*.tmp\n")
    bench.put("repo/.gitignore", "*.log\n/src/deep/*.bin\n")
    assert found(bench, "repo/src") == ["repo/src/a.py"]
    assert found(bench, "repo/deep") == ["repo/deep/a.bin"]


def test_without_a_repository_nothing_above_counts(bench: Any) -> None:
    """Outside of a repository only the folder searched and those below have a say."""
    put(bench, "sub/a.log sub/b.txt")
    bench.put(".gitignore", "*.log\n")
    assert found(bench, "sub") == ["sub/a.log", "sub/b.txt"]


def test_a_repository_inside(bench: Any) -> None:
    """In a repository that is met on the way only its own files count."""
    put(bench, ".git/HEAD x.log inner/.git/HEAD inner/x.log inner/y.tmp")
    bench.put(".gitignore", "*.log\n")
    bench.put("inner/.git/info/exclude", "*.tmp")
    assert found(bench) == ["inner/x.log"]


def test_a_repository_reached_by_a_link(bench: Any) -> None:
    """A folder that is named by a link is searched as what it is."""
    put(bench, "repo/.git/HEAD repo/src/a.log repo/src/a.py")
    bench.put("repo/.gitignore", "*.log\n")
    (bench.folder / "link").symlink_to("repo/src")
    assert found(bench, "link") == ["link/a.py"]


# ---------------------------------------------------------------- being asked for


@pytest.mark.parametrize("rule", ["build/", "build", "/build", "build/*", "build/**", "**/build/**"])
def test_a_folder_that_is_asked_for(bench: Any, rule: str) -> None:
    """A folder is searched when it is named, and so is one inside, whatever rule leaves it out."""
    put(bench, ".git/HEAD build/a build/deep/b build/b.log")
    bench.put(".gitignore", f"{rule}\n*.log\n")
    assert "build/a" not in found(bench)
    assert found(bench, "build") == ["build/a", "build/deep/b"]
    assert found(bench, "build/deep") == ["build/deep/b"]
    assert bench.text("grep", pattern="line", path="build/b.log") == "build/b.log:1: line"


def test_a_folder_that_ignores_all_of_itself(bench: Any) -> None:
    """Folders of caches, which ignore themselves from within, are left out, and searched when they are named."""
    put(bench, "a cache/b cache/deep/c")
    bench.put("cache/.gitignore", "*\n")
    assert found(bench) == ["a"]
    assert found(bench, "cache") == ["cache/b", "cache/deep/c"]


@pytest.mark.parametrize("rules", ["*\n!*/\n!*.py\n", "/*\n!/src\n!/a.py\n/src/*.txt\n"])
def test_a_list_of_what_counts(bench: Any, rules: str) -> None:
    """Files that ignore all but some are taken at their word."""
    put(bench, ".git/HEAD a.py a.txt src/b.py src/b.txt")
    bench.put(".gitignore", rules)
    assert found(bench) == ["a.py", "src/b.py"]
    assert found(bench, "src") == ["src/b.py"]


def test_what_is_said(bench: Any) -> None:
    """If nothing is found it is said what was not searched, as it can be given as path, and not otherwise."""
    put(bench, "sub/a.txt sub/1.log sub/2.log sub/3.log sub/out/x sub/node_modules/x")
    bench.put("sub/.gitignore", "*.log\nout\n")
    said = f"{NOT_SEARCHED}sub/1.log, sub/2.log, sub/3.log and 1 more. {HINT}]"
    assert bench.text("find", pattern="*.x", path="sub") == f"[Nothing found.]\n[Not searched: node_modules.]\n{said}"
    assert bench.text("grep", pattern="x", path="sub") == f"[No matches.]\n[Not searched: node_modules.]\n{said}"
    assert bench.text("grep", pattern="line", path="sub") == "sub/a.txt:1: line"
    assert bench.text("find", pattern="*.txt") == "sub/a.txt"
    assert bench.text("grep", pattern="x", path="sub/out") == "[No matches.]"


def test_what_models_are_told(bench: Any) -> None:
    """The descriptions of both tools name the files."""
    for name in ("find", "grep"):
        assert ".gitignore and .ignore" in bench.tools[name].description


# ---------------------------------------------------------------- files that cannot be used


def test_files_that_are_none(bench: Any, tmp_path: Path) -> None:
    """A pipe, a folder, a link and a file that is too large are passed over, and nothing waits for them."""
    put(bench, "a/x b/x c/x d/x e/x")
    os.mkfifo(bench.folder / "a/.gitignore")
    (bench.folder / "b/.gitignore").mkdir()
    (tmp_path / "rules").write_text("x\n")
    (bench.folder / "c/.gitignore").symlink_to(tmp_path / "rules")
    bench.put("d/.gitignore", "x\n" * 500_001)
    (bench.folder / "e/.gitignore").symlink_to(bench.folder / "a/.gitignore")
    names = bench.text("find", pattern="x").split("\n")
    assert names == ["a/x", "b/x", "c/x", "d/x", "e/x"]
    assert len(bench.text("grep", pattern="line").split("\n")) == 5


def test_a_repository_that_is_none(bench: Any) -> None:
    """``.git`` may be a file, a pipe or a link to nothing."""
    put(bench, "a/x.log b/x.log c/x.log")
    bench.put("a/.git", "gitdir: elsewhere\n")
    os.mkfifo(bench.folder / "b/.git")
    (bench.folder / "c/.git").symlink_to("nowhere")
    for name in "abc":
        bench.put(f"{name}/.gitignore", "*.log\n")
        assert found(bench, name) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="nothing is closed to this user")
def test_a_file_that_is_closed(bench: Any) -> None:
    """A file that may not be read is passed over."""
    put(bench, "x")
    bench.put(".gitignore", "x\n").chmod(0)
    assert bench.text("find", pattern="x") == "x"


@pytest.mark.parametrize(
    "rules",
    [
        b"\xff\xfe*\0.\0l\0o\0g\0",
        b"[\n*\\\n[z-a]\n[[:alpha:]]*\n![\n!\n/\n//\na//b\n**\\\n[]\n" + b"*" * 2000,
        b"#*.log\n   \n\\ \n\r\n",
    ],
)
def test_lines_that_cannot_be_used(bench: Any, rules: bytes) -> None:
    """Lines that mean nothing are passed over, and the rest counts."""
    put(bench, "a.log b")
    bench.put(".gitignore", rules)
    assert found(bench) == ["a.log", "b"]
    bench.put(".gitignore", rules + b"\n*.log")
    assert found(bench) == ["b"]


def test_names_that_are_no_text(bench: Any) -> None:
    """Bytes that are no UTF-8 are for names with the same bytes; a mark of UTF-8 in front is no part of one."""
    for name in (b"caf\xe9", b"caf\xc3\xa9"):
        Path(os.fsdecode(os.fsencode(bench.folder) + b"/" + name)).write_text("line\n")
    bench.put(".gitignore", b"\xef\xbb\xbfcaf\xe9\n")
    assert found(bench) == ["café"]
    bench.put(".gitignore", b"caf*\n")
    assert bench.text("grep", pattern="o") == f"[No matches.]\n{NOT_SEARCHED}café, caf\ufffd. {HINT}]"


@pytest.mark.parametrize(
    "line",
    [
        "*a" * 200 + "b",
        "**/a/" * 19 + "*b",
        "**/a/" * 19 + "*/b/*",
        "**/a/" * 100 + "*",
        "/".join(["*a*a*a*b"] * 40),
        "**a**a" * 100 + "b",
        "[ab]*" * 100 + "c",
        "a/**/" * 19 + "b*",
        "?*" * 200 + "/c",
    ],
)
def test_no_pattern_takes_long(bench: Any, line: str) -> None:
    """No pattern of many stars holds up a search."""
    bench.put("/".join(["a" * 120] * 20 + ["a" * 250]), "line\n")
    begun = time.monotonic()
    rules = read_rules(f"{line}\n" * 20)
    for _ in range(20):
        assert rules.last("a/" * 1000, "a" * 255, is_folder=False) is None
    bench.put(".gitignore", f"{line}\n" * 20)
    assert len(found(bench)) == 1
    assert time.monotonic() - begun < 30


def test_no_file_takes_long(bench: Any) -> None:
    """Nor does a file of very many lines, which is used as far as it goes."""
    put(bench, "a1 b2")
    bench.put(".gitignore", "a1\n" + "".join(f"*[{number}]?\n" for number in range(60_000)))
    begun = time.monotonic()
    assert bench.text("find", pattern="??") == "b2"
    assert time.monotonic() - begun < 30


def test_find_ends_among_ignored_things(bench: Any) -> None:
    """An aborted search ends also where everything is ignored."""
    put(bench, "b.py " + " ".join(f"{number}.log" for number in range(100)))
    bench.put(".gitignore", "*.log\n.*\n")
    bench.signal.abort()
    walk = Walk(str(bench.folder), partial(stop_if_aborted, bench.signal))
    with pytest.raises(ToolError, match="aborted"):
        next(iter(walk))
    assert walk.ignored == 1
    assert "aborted" in bench.error("find", pattern="*.log")


# ---------------------------------------------------------------- git's own answer


@pytest.fixture(scope="module")
def git() -> Any:
    """Return a function that asks git, without any settings of the user, which files are not ignored."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def run(folder: Path, *args: str) -> str:
        settings = {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
        env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))} | settings
        done = subprocess.run(["git", "-C", str(folder), *args], env=env, capture_output=True, check=True)
        return os.fsdecode(done.stdout)

    def seen(folder: Path) -> set[str]:
        if not (folder / ".git").exists():
            run(folder, "init", "-q")
        return set(run(folder, "ls-files", "--others", "--exclude-standard", "-z").split("\0")) - {""}

    return seen


FILES = """
    a b.o ab.o x.a.o dir/a dir/b.o dir/deep/a dir/deep/b.o other/dir/a other/dir/deep/a a.o/a #a !a *.o [a] a*
    dir/x-1.log dir/x.log deep/dir/a other/a
"""
RULES = r"""
a | *.o | a* | /a | /*.o | dir/ | dir | /dir/ | a/ | dir/a | /dir/a | dir/* | dir/** | dir/deep/ | dir/deep/** | **/a
**/dir | **/dir/a | **/deep/** | dir/**/a | other/**/a | **/**/a | ** | **/ | /** | /**/ | * | */ | /* | /*/ | ***
***/a | dir/***/a | **a | dir/**a | \#a | #a | \!a | !a | \*.o | *\.o | \a | \[a] | [a] | [[]a] | [!a] | [^a] | [a-b].o
[ab]* | ? | ?.o | ?? | x*g | x-?.log | dir/x-[0-9].log | [!x].o | dir/[!x] | / | // | dir// | /dir//a | dir/a/ | a\
* ; !a | * ; !*/ ; !*.o | /* ; !/dir | dir/ ; !dir/a | dir/* ; !dir/a | dir/** ; !dir/deep/ | *.o ; !b.o ; /b.o | !a ; a
dir ; !dir ; *.o | !* ; *.o | *.o ; !*.o | **/deep ; !other/**/deep | dir/deep ; !deep | *.* ; !?.*
[a&&b] | [z-a] | [][] | []a] | [!]a] | [a^] | [^^a] | [--z] | [a | \[[a]\] | \?.o | [[]a] ; !\[a\] | [a[^] | \^a
[ab][.]o
"""


@pytest.mark.parametrize("rule", [rule.strip() for line in RULES.strip().split("\n") for rule in line.split("|")])
def test_as_git_understands_it(git: Any, tmp_path: Path, rule: str) -> None:
    """Each pattern leaves out what git leaves out, with both kinds of line ends and spaces behind."""
    folder = tmp_path / "repository"
    for name in FILES.split():
        _touch(folder / name)
    lines = [part.strip() for part in rule.split(";")]
    for text in ("\n".join(lines), "".join(f"{line}  \r\n" for line in lines)):
        (folder / ".gitignore").write_text(text, newline="")
        expected = git(folder)
        assert _walked(folder) == expected


def _walked(folder: Path) -> set[str]:
    """Return the files found in a folder that was met on the way: one that is asked for may be ignored as a whole."""
    return {thing.path.partition("/")[2] for thing in Walk(str(folder.parent)) if thing.is_file}


NAMES = st.sampled_from(["a", "b", "ab", "a.o", "b.o", " a", "a ", "#a", "!a"])
PIECES = st.sampled_from([*"ab*?/!# a*", "**", "[ab]", "[!a]", "[a-b]", r"\a", r"\*", ".o", "/**", "**/", "/*", "*/"])
LINES = st.lists(st.lists(PIECES, min_size=1, max_size=4).map("".join), min_size=1, max_size=4)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files=st.lists(st.lists(NAMES, min_size=1, max_size=4).map("/".join), min_size=1, max_size=12),
    rules=st.dictionaries(st.sampled_from(["", "a/", "b/", "a/a/"]), LINES, min_size=1),
)
def test_any_tree_as_git_sees_it(git: Any, tmp_path: Path, files: list[str], rules: dict[str, list[str]]) -> None:
    """Whatever the tree and the patterns: what git sees is found, and nothing else."""
    with tempfile.TemporaryDirectory(dir=tmp_path) as made:
        folder = Path(made) / "repository"
        for name in [*(f"{where}.gitignore" for where in rules), *files]:
            _touch(folder / name)
        for where, lines in rules.items():
            (folder / where / ".gitignore").write_text("\n".join(lines))
        expected = git(folder)
        assert _walked(folder) == expected


def _touch(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    except (FileExistsError, NotADirectoryError, IsADirectoryError):  # a file has the name of a folder
        return

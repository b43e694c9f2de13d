"""The tools ``grep``, ``find`` and ``ls``."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_nb.errors import ToolError
from pi_nb.harness.tools import ToolContext
from pi_nb.tools.grep import grep_tool
from pi_nb.tools.patterns import PathPattern


@pytest.fixture
def project(bench: Any) -> Any:
    """Return a workbench with a small project in it."""
    bench.put("README.md", "Alpha\nbeta\ngamma alpha\n")
    bench.put("src/app.py", "import os\n\ndef alpha():\n    return os.getcwd()\n")
    bench.put("src/lib/deep.ts", "const alpha = 1;\r\n")
    bench.put(".hidden/notes.txt", "alpha hidden\n")
    bench.put("node_modules/x/index.js", "alpha\n")
    bench.put(".git/config", "alpha\n")
    bench.put("data.bin", b"alpha\0beta")
    return bench


# ---------------------------------------------------------------- grep


def test_grep(project: Any) -> None:
    """Matches come with path and line, in order of paths, hidden files included."""
    assert project.text("grep", pattern="alpha") == (
        ".hidden/notes.txt:1: alpha hidden\n"
        "README.md:3: gamma alpha\n"
        "src/app.py:3: def alpha():\n"
        "src/lib/deep.ts:1: const alpha = 1;"
    )


def test_grep_paths(project: Any) -> None:
    """A folder, a file and a folder that is left out otherwise can be searched by name."""
    assert project.text("grep", pattern="alpha", path="src").startswith("src/app.py:3: def")
    assert project.text("grep", pattern="alpha", path="README.md") == "README.md:3: gamma alpha"
    assert project.text("grep", pattern="alpha", path="node_modules") == "node_modules/x/index.js:1: alpha"
    assert (
        project.text("grep", pattern="alpha", path=str(project.folder / "src/lib"))
        == "src/lib/deep.ts:1: const alpha = 1;"
    )


def test_grep_options(project: Any) -> None:
    """Case, plain text, kinds of files and context are as asked for."""
    assert (
        project.text("grep", pattern="ALPHA", ignoreCase=True, glob="*.md")
        == "README.md:1: Alpha\nREADME.md:3: gamma alpha"
    )
    assert project.text("grep", pattern="alpha()", literal=True).startswith("src/app.py:3: def alpha():")
    assert project.text("grep", pattern="ALPHA()", literal=True, ignoreCase=True).startswith("src/app.py:3:")
    assert project.text("grep", pattern="^def", glob="src/**/*.py", context=1).startswith(
        "src/app.py-2- \nsrc/app.py:3: def alpha():\nsrc/app.py-4-     return os.getcwd()"
    )


def test_grep_context_of_neighbours(bench: Any) -> None:
    """Context that meets is not repeated, and gaps are marked."""
    bench.put("f", "".join(f"{c}\n" for c in "axbxcdefxg"))
    assert bench.text("grep", pattern="x", context=1) == (
        "f-1- a\nf:2: x\nf-3- b\nf:4: x\nf-5- c\n--\nf-8- f\nf:9: x\nf-10- g"
    )


def test_grep_limit(bench: Any) -> None:
    """Not more matches than asked for come, with the context of the last, and it is said that there are more."""
    bench.put("f", "x\na\nx\nb\n")
    bench.put("g", "x\n")
    result = bench("grep", pattern="x", limit=2, context=1)
    assert result.blocks[0].text == "f:1: x\nf-2- a\nf:3: x\nf-4- b"
    assert "The first 2 matches; there are more." in result.blocks[1].text
    assert result.details == {"matchLimitReached": 2}
    assert bench("grep", pattern="x", limit=3).details is None


def test_grep_long_lines(bench: Any) -> None:
    """Long lines are cut around what was found."""
    bench.put("f", "a" * 10_000 + "needle" + "b" * 10_000 + "\n")
    result = bench("grep", pattern="needle")
    assert "needle" in result.blocks[0].text
    assert len(result.blocks[0].text) < 520
    assert result.details == {"linesTruncated": True}


def test_grep_much(bench: Any) -> None:
    """What is longer than a result may be is cut at a line."""
    bench.put("f", f"{'x' * 400}\n" * 1000)
    result = bench("grep", pattern="x", limit=1000)
    assert len(result.blocks[0].text.encode()) <= 50 * 1024
    assert "of 1000 lines; narrow" in result.blocks[1].text


def test_limits_have_a_limit(bench: Any) -> None:
    """However many are asked for, not more come than are shown."""
    bench.put("f", "x\n" * 5000)
    for number in range(2100):
        bench.put(f"many/{number}")
    assert bench("grep", pattern="x", limit=10**9, context=10**9, path="f").details == {"matchLimitReached": 2000}
    assert bench("find", pattern="many/*", limit=10**9).details == {"resultLimitReached": 2000}


def test_grep_nothing(project: Any) -> None:
    """Finding nothing is a result, and no error."""
    assert project.text("grep", pattern="nowhere") == ("[No matches.]\n[Not searched: .git, node_modules.]")
    assert (
        project.text("grep", pattern="alpha", path="data.bin")
        == "[No matches.]\n[Not searched: what is there is not text.]"
    )


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"pattern": "("}, "'(' is not a regular expression: missing )"),
        ({"pattern": ""}, "pattern is empty"),
        ({"pattern": "a", "glob": "../*"}, "must stay within"),
        ({"pattern": "a", "limit": 0}, "at least 1"),
        ({"pattern": "a", "path": "sr"}, "Near it: src"),
        ({"pattern": "a", "path": "/dev/null"}, "neither a folder nor a regular file"),
    ],
)
def test_grep_refuses(project: Any, args: dict[str, Any], says: str) -> None:
    """Wrong calls are errors that say what is wrong."""
    assert says in project.error("grep", **args)


def test_grep_links(bench: Any, tmp_path: Path) -> None:
    """Links are not followed: neither out of the folder nor round in circles."""
    (tmp_path / "secret").write_text("alpha\n")
    bench.put("f", "alpha\n")
    (bench.folder / "out").symlink_to(tmp_path / "secret")
    (bench.folder / "loop").symlink_to(bench.folder)
    os.mkfifo(bench.folder / "pipe")
    assert bench.text("grep", pattern="alpha") == "f:1: alpha"


def test_grep_catastrophe(bench: Any, says: Any) -> None:
    """A pattern that takes for ever on a line stops the search, not the harness, and says where; the rest is kept."""
    bench.put("a", "aaa\n")
    bench.put("b", "a" * 60 + "!\n")

    async def timed() -> Any:
        ticks = 0
        work = asyncio.create_task(bench.run("grep", pattern="(a+)+$"))
        while not work.done():
            await asyncio.sleep(0.05)
            ticks += 1
        assert ticks > 10  # the loop went on
        return await work

    result = asyncio.run(timed())
    assert says(result).startswith("a:1: aaa\n\n[Stopped at b:1: the pattern takes longer than 2 s on that line.")


def test_grep_deadline(bench: Any) -> None:
    """A search that takes too long is stopped."""
    bench.put("b", "a" * 60 + "!\n")
    result = asyncio.run(grep_tool(bench.folder, deadline=0.3).run({"pattern": "(a+)+$"}))
    assert result.is_error
    assert result.blocks[0].text.startswith("[No matches.]\n[Stopped after 0.3 s; this is not all.")


def test_grep_abort(bench: Any) -> None:
    """An abort ends a search at once, and its process."""
    bench.put("b", "a" * 60 + "!\n")

    async def aborted() -> None:
        work = asyncio.create_task(bench.run("grep", pattern="(a+)+$"))
        await asyncio.sleep(0.2)
        bench.signal.abort()
        with pytest.raises(ToolError, match="aborted"):
            await asyncio.wait_for(work, 1.5)

    asyncio.run(aborted())


def test_grep_cancel(bench: Any) -> None:
    """Cancelling a search ends its process."""
    bench.put("b", "a" * 60 + "!\n")
    before = _children()

    async def cancelled() -> None:
        work = asyncio.create_task(bench.run("grep", pattern="(a+)+$"))
        await asyncio.sleep(0.2)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(cancelled())
    deadline = time.monotonic() + 20
    while _children() - before:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _children() -> set[str]:
    """Return the process ids of this process's children."""
    try:
        return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}
    except OSError:
        return set()


def test_grep_odd_names(bench: Any) -> None:
    """Names that are no text are shown, and can be stored."""
    Path(os.fsdecode(os.fsencode(bench.folder) + b"/caf\xe9")).write_text("alpha\n")
    assert bench.text("grep", pattern="alpha") == "caf\ufffd:1: alpha"
    assert bench.text("find", pattern="caf*") == "caf\ufffd"
    assert bench.text("ls") == "caf\ufffd"


# ---------------------------------------------------------------- find


def test_find(project: Any) -> None:
    """Patterns are for names at any depth, or for paths."""
    assert project.text("find", pattern="*.py") == "src/app.py"
    assert project.text("find", pattern="*.{py,ts}") == "src/app.py\nsrc/lib/deep.ts"
    assert project.text("find", pattern="src/**/*.ts") == "src/lib/deep.ts"
    assert project.text("find", pattern="lib") == "src/lib/"
    assert project.text("find", pattern="*.js") == "[Nothing found.]\n[Not searched: .git, node_modules.]"
    assert project.text("find", pattern="**/*.js", path="node_modules") == "node_modules/x/index.js"


def test_find_limit(bench: Any) -> None:
    """Not more paths than asked for come, and it is said that there are more."""
    for number in range(5):
        bench.put(f"{number}.txt")
    result = bench("find", pattern="*.txt", limit=3)
    assert result.blocks[0].text == "0.txt\n1.txt\n2.txt"
    assert "there are more" in result.blocks[1].text
    assert result.details == {"resultLimitReached": 3}


def test_find_links(bench: Any) -> None:
    """A link is found and not followed."""
    bench.put("a/f")
    (bench.folder / "a/loop").symlink_to(bench.folder)
    assert bench.text("find", pattern="**") == "a/\na/f\na/loop"


def test_find_deep(bench: Any) -> None:
    """A chain of folders far deeper than Python's stack is walked."""
    here = os.open(bench.folder, os.O_RDONLY)
    try:
        handle = here
        for _ in range(1500):
            os.mkdir("d", dir_fd=handle)
            deeper = os.open("d", os.O_RDONLY, dir_fd=handle)
            if handle != here:
                os.close(handle)
            handle = deeper
        os.close(handle)
        assert "there are more" in bench.text("find", pattern="d")
        _remove_chain(bench.folder)
    finally:
        os.close(here)


def _remove_chain(folder: Path) -> None:
    """Remove the chain, which is too deep for what removes the temporary folders."""
    top = folder / "d"
    while True:
        below = top / "d"
        if not below.exists():
            top.rmdir()
            return
        moved = folder / "next"
        below.rename(moved)
        top.rmdir()
        moved.rename(top)


def test_find_refuses(project: Any) -> None:
    """Patterns that lead out, and places that are no folders, are refused."""
    assert "must stay within" in project.error("find", pattern="../*")
    assert "is empty" in project.error("find", pattern="")
    assert "is not a folder" in project.error("find", pattern="*", path="README.md")
    assert "Near it: src" in project.error("find", pattern="*", path="srcs")


def test_find_abort(project: Any) -> None:
    """An aborted search ends, and so does a listing."""
    project.signal.abort()
    assert "aborted" in project.error("find", pattern="*")
    assert "aborted" in project.error("ls")


# ---------------------------------------------------------------- ls


def test_ls(project: Any) -> None:
    """Names come in order, folders and links marked, hidden ones too."""
    (project.folder / "link").symlink_to("src")
    assert project.text("ls").split("\n") == [
        ".git/",
        ".hidden/",
        "data.bin",
        "link@",
        "node_modules/",
        "README.md",
        "src/",
    ]
    assert project.text("ls", path="src") == "app.py\nlib/"


def test_ls_limit(bench: Any) -> None:
    """Not more names than asked for come."""
    for number in range(5):
        bench.put(str(number))
    result = bench("ls", limit=2)
    assert "".join(block.text for block in result.blocks) == "0\n1\n\n[2 of 5 names; set limit for more.]"
    assert result.details == {"entryLimitReached": 2}


def test_ls_refuses(bench: Any) -> None:
    """An empty folder says so; what is no folder is refused."""
    assert bench.text("ls") == "[. is empty.]"
    bench.put("f")
    assert "read shows a file" in bench.error("ls", path="f")
    assert "no such file" in bench.error("ls", path="nowhere")


# ---------------------------------------------------------------- patterns


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("*.py", "a.pyc", False),
        ("./*.py", "x/a.py", True),
        ("x/*.py", "x/a.py", True),
        ("x/*.py", "x/y/a.py", False),
        ("x/**/*.py", "x/a.py", True),
        ("x/**/*.py", "x/y/z/a.py", True),
        ("**/y/**", "x/y/z", True),
        ("**/y/**", "x/y", False),
        ("x/**", "x/y/z", True),
        ("x/**", "x", False),
        ("**", "x/y", True),
        ("?.py", "ab.py", False),
        ("[ab].py", "b.py", True),
        ("[!ab].py", "b.py", False),
        ("{a,b}.py", "b.py", True),
        ("{a,b/{c,d}}/*.py", "b/d/x.py", True),
        ("{a", "{a", True),
        ("{a}", "{a}", True),
        ("[", "[", True),
        (".*", ".hidden", True),
        ("A.py", "a.py", False),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    """Patterns mean what people take them to mean."""
    assert PathPattern(pattern).matches(path) is fits


def test_patterns_for_folders() -> None:
    """A pattern that ends in a slash is for folders only."""
    assert PathPattern("src/").matches("x/src", is_folder=True)
    assert not PathPattern("src/").matches("x/src", is_folder=False)


@pytest.mark.parametrize("pattern", ["{a,b}" * 20, "/etc/*", "a/../b", "/", ""])
def test_patterns_refused(pattern: str) -> None:
    """Patterns that lead out, or explode, are refused."""
    with pytest.raises(ValueError, match="the pattern"):
        PathPattern(pattern)


@given(st.text(alphabet="a*/?{},[]", min_size=1, max_size=40), st.text(alphabet="a/", max_size=40))
def test_patterns_are_quick(pattern: str, path: str) -> None:
    """No pattern fails in another way than by being refused, nor takes long."""
    try:
        compiled = PathPattern(pattern)
    except ValueError:
        return
    compiled.matches(path)


def test_pattern_of_many_stars() -> None:
    """Stars after stars do not take exponential time."""
    assert not PathPattern("/".join(["**", "a*a*a*a*a*a*b"] * 12)).matches("/".join(["a" * 100] * 60))


def test_context_is_used_without_cwd(bench: Any) -> None:
    """Tools that were bound to no folder work in that of the session."""
    bench.put("f", "alpha\n")
    result = asyncio.run(grep_tool().run({"pattern": "alpha"}, ToolContext(cwd=str(bench.folder))))
    assert result.blocks[0].text == "f:1: alpha"

"""The front end of the live tree: its pure parts, its types, and that what is committed is what its source gives."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

VIEWS = Path(__file__).parents[2] / "pi_nb" / "views"
FRONTEND = VIEWS / "frontend"
HERE = Path(__file__).parent
FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "fetch(")

pytestmark = pytest.mark.npm


def run(workshop: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script of package.json."""
    command = [str(shutil.which("npm")), "run", "--silent", script]
    return subprocess.run(command, cwd=workshop, capture_output=True, text=True, timeout=120, check=False)


def test_the_committed_bundle_is_what_its_source_gives(workshop: Path) -> None:
    """Building the source gives byte for byte the files that are committed and shipped."""
    done = run(workshop, "build")
    assert done.returncode == 0, done.stderr
    for name in ("tree.js", "tree.css", "page.js"):
        built = (workshop.parent / "static" / name).read_bytes()
        assert built == (VIEWS / "static" / name).read_bytes(), f"{name} is stale: npm run build in {FRONTEND.name}/"


def test_the_source_is_typed(workshop: Path) -> None:
    """The JSDoc types of the source hold, strictly."""
    done = run(workshop, "check")
    assert done.returncode == 0, done.stdout


def test_the_pure_parts(node: str) -> None:
    """Everything that needs no page passes under node's own test runner."""
    files = sorted(str(path) for path in HERE.glob("tree_*.test.mjs"))
    done = subprocess.run([node, "--test", *files], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout[-6000:]


def test_no_text_is_parsed_as_html() -> None:
    """The source has no way to turn a string into markup or code, and asks nothing of any other host."""
    source = {path.name: path.read_text("utf-8") for path in (FRONTEND / "src").iterdir()}
    for name, text in source.items():
        for word in FORBIDDEN:
            assert word not in text, f"{word} in {name}"
        found = [line for line in text.splitlines() if "http" in line and "www.w3.org/2000/svg" not in line]
        assert found == [], f"an address in {name}"
    assert not [name for name, text in source.items() if name.endswith(".css") and "url(" in text]

"""The house keeps its own rules: layers, names, imports, style, types."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import pi_nb

ROOT = Path(__file__).parents[1]


def run(*command: str) -> str:
    """Run a command in the checkout and return what it printed, with its exit status checked."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_import_is_light() -> None:
    """Importing pi_nb brings in neither IPython nor an HTTP client nor widgets."""
    heavy = ("IPython", "httpx", "ipywidgets", "anywidget", "graphviz", "pydantic")
    code = f"import sys, pi_nb; print([m for m in {heavy!r} if m in sys.modules])"
    assert run(sys.executable, "-c", code).strip() == "[]"


@pytest.mark.parametrize("name", [name for name in pi_nb.__all__ if not name.startswith("_")])
def test_public_names_exist(name: str) -> None:
    """Every public name can be had and is documented."""
    assert getattr(pi_nb, name).__doc__


def test_public_names_are_sorted_and_listed() -> None:
    """The list of public names is in order and is what completion shows."""
    assert pi_nb.__all__ == sorted(pi_nb.__all__) == dir(pi_nb)


def test_unknown_name_is_an_attribute_error() -> None:
    """A name that is not there says so."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pi_nb.nonsense


def modules() -> list[str]:
    """Return the dotted names of all modules of the package."""
    files = sorted((ROOT / "pi_nb").rglob("*.py"))
    return [".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for f in files]


@pytest.mark.parametrize("name", modules())
def test_modules_export_what_they_have(name: str) -> None:
    """A module's ``__all__`` names only what is in it."""
    module = import_module(name)
    for export in getattr(module, "__all__", ()):
        assert hasattr(module, export), f"{name}.{export}"


def test_layers() -> None:
    """The import contracts of pyproject.toml hold."""
    run(str(Path(sys.executable).with_name("lint-imports")), "--no-cache")


def test_style() -> None:
    """Ruff finds nothing and would format nothing."""
    run(sys.executable, "-m", "ruff", "check", "--no-cache", ".")
    run(sys.executable, "-m", "ruff", "format", "--no-cache", "--check", ".")


def test_types() -> None:
    """Mypy finds nothing."""
    run(sys.executable, "-m", "mypy", "--cache-dir", "/dev/null" if sys.platform != "win32" else "nul")

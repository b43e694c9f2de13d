"""What the README and the notebooks show, works as it stands there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def execute(cells: list[str] | nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """Run cells, or a notebook, in a real kernel without a front end."""
    notebook = cells
    if isinstance(cells, list):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    return notebook


def said(notebook: nbformat.NotebookNode) -> list[str]:
    """Return the plain text of each code cell's output."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return ["".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in c.outputs) for c in cells]


def test_the_python_example_does_what_it_says() -> None:
    """The example without a notebook answers twice, on two branches."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch(r"Paris\.\nRome\. \['\w{8}', '\w{8}'\]\n", done.stdout)


def test_the_usage_table_runs_from_top_to_bottom(tmp_path: Path) -> None:
    """Every line of the table is a cell that works, and together they grow two branches."""
    cells = re.findall(r"^\| `(%[^`]+)` \|", README, re.M)
    assert len(cells) == 10
    outputs = said(execute([*cells, "import pi_nb.notebook as n; print(len(n.current().session.roots()))"], tmp_path))
    assert all(outputs[2:])
    assert outputs[-1] == "2\n"


def test_the_two_commands_name_extras_that_exist() -> None:
    """Both commands install this checkout with extras that it has, and start something that it has."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    commands = re.findall(r"^pip install -e '\.\[(\w+)\]' && (\S+)", README, re.M)
    assert [extra in project["optional-dependencies"] for extra, _ in commands] == [True, True]
    assert commands[0][1] in project["scripts"]


def test_ci_runs_the_second_command_word_for_word() -> None:
    """The project's own check calls exactly the README's test command."""
    command = re.search(r"^(pip install -e '\.\[test\]' && python -m pytest)\b", README, re.M)
    assert command is not None
    assert command[1].replace("pip install", "pip install -q") in (ROOT / ".ci" / "run").read_text()


def test_the_picture_is_there() -> None:
    """The README shows a picture above the fold, and the file exists."""
    picture = re.search(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert picture is not None
    assert README[: picture.start()].count("\n") < 10
    assert (ROOT / picture[1]).stat().st_size > 20_000


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_run_and_are_kept_clean(path: Path, tmp_path: Path) -> None:
    """Every notebook runs without an error, and is kept in the repository without outputs."""
    notebook = nbformat.read(path, as_version=4)
    assert all(
        cell.outputs == [] and cell.execution_count is None for cell in notebook.cells if cell.cell_type == "code"
    )
    outputs = said(execute(notebook, tmp_path))
    assert "painted green" in outputs[2]
    assert "bathtub" in outputs[4]
    assert "green" not in outputs[4]


def test_what_the_readme_says_besides_works(tmp_path: Path) -> None:
    """Every magic it names is one, and a script of one's own answers as it says."""
    assert '.registry.register(ScriptedProvider([…], name="mine"))' in README
    magics = sorted(set(re.findall(r"%(pi\w*)", README)))
    script = 'from pi_nb import Reply, ScriptedProvider\nscript = ScriptedProvider([Reply("Mine.")], name="mine")'
    cells = ["%load_ext pi_nb", f"import pi_nb.notebook\n{script}\npi_nb.notebook.current().registry.register(script)"]
    missing = f"print([name for name in {magics} if not get_ipython().find_line_magic(name)])"
    cells += ["%pi_model mine:any", "%pi hello", missing]
    outputs = said(execute(cells, tmp_path))
    assert outputs[3].startswith("Mine.")
    assert outputs[4] == "[]\n"

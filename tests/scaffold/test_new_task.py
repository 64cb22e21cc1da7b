"""`vulcan task new`: what it writes passes, is installed, and is found; what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from console import Console
from effort import few

from vulcan.errors import UserError
from vulcan.scaffold import KINDS, write_task


def vulcan(where: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    ended = Console(where)(*arguments)
    assert ended.returncode == code, ended.stdout + ended.stderr
    assert "Traceback" not in ended.stderr
    return ended


@pytest.mark.parametrize("kind", few(KINDS, 1))
def test_what_is_written_passes_its_own_tests_and_can_be_searched(tmp_path: Path, kind: str) -> None:
    vulcan(tmp_path, "task", "new", "shiny", "--kind", kind)
    task = tmp_path / "tasks" / "shiny"
    names = {str(path.relative_to(task)) for path in task.rglob("*") if path.is_file()}
    assert {"README.md", "pyproject.toml", "task.py", "tests/test_shiny.py"} <= names
    assert {f"shiny_task/{name}" for name in ("task.py", "evaluator.py", "prompt.md.j2", "__init__.py")} <= names
    assert not any(re.search("@name@", path.read_text("utf-8"), re.I) for path in task.rglob("*") if path.is_file())
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tasks/shiny"],
        cwd=tmp_path, text=True, capture_output=True, check=False,
    )  # fmt: skip
    assert tests.returncode == 0, tests.stdout
    assert "21 passed" in tests.stdout
    made = vulcan(
        tmp_path, "search", "--task", "./tasks/shiny", "--executor", "local", "--workers", "1",
        "--budget-candidates", "3", "--tune", "0", "--simplify", "0", "--json",
    )  # fmt: skip
    summary = json.loads(made.stdout)
    assert summary["state"] == "finished"
    assert summary["proposals"] == 3


TABLE = "load,is_weekend,servers\n" + "".join(
    f"{50 + n % 17},{n % 7 > 4:d},{5 + n % 17 / 10 + n % 3}\n" for n in range(200)
)


def test_a_task_begins_from_a_table_of_decisions(tmp_path: Path) -> None:
    (tmp_path / "decisions.csv").write_text(TABLE, encoding="utf-8")
    vulcan(tmp_path, "task", "new", "sizing", "--from-csv", "decisions.csv")
    told = vulcan(tmp_path, "task", "validate", "./tasks/sizing").stdout
    assert "sizing keeps all 19 promises" in told
    made = vulcan(
        tmp_path, "search", "--task", "./tasks/sizing", "--executor", "local", "--workers", "1",
        "--budget-candidates", "3", "--tune", "0", "--simplify", "0", "--json",
    )  # fmt: skip
    assert json.loads(made.stdout)["state"] == "finished"


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ("", "two columns or more"),
        ("Load,servers\n1,2\n", "'Load' is no such name"),
        ("load,load\n1,2\n", "of different names"),
        ("load,servers\n1,2\n", "it has 1 rows"),
        (TABLE.replace("50,", "fifty,"), ":2: a number is needed in column 1"),
        ("load,servers\n" + "1,2\n" * 60, "no column but the decision changes"),
        ("load,servers\n" + "1,2\n2,2\n" * 30, "the decision is always 2"),
    ],
)
def test_an_unusable_table_is_told_in_a_line(tmp_path: Path, table: str, why: str) -> None:
    (tmp_path / "decisions.csv").write_text(table, encoding="utf-8")
    with pytest.raises(UserError) as error:
        write_task("sizing", "value", tmp_path / "mine", tmp_path / "decisions.csv")
    assert why in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("kind", [*KINDS, "csv"])
def test_what_is_written_is_clean(tmp_path: Path, kind: str) -> None:
    place, table = tmp_path / "mine", tmp_path / "decisions.csv"
    table.write_text(TABLE, encoding="utf-8")
    write_task("quite_new", *(("value", place, table) if kind == "csv" else (kind, place)))
    for tool in (["check", "--select", "E,F,W,UP,B,SIM"], ["format", "--check"]):
        ruff = [sys.executable, "-m", "ruff", *tool, "--isolated", "--line-length", "120", str(place)]
        ended = subprocess.run(ruff, text=True, capture_output=True, check=False)
        assert ended.returncode == 0, ended.stdout


@pytest.mark.skipif(shutil.which("pip", path=str(Path(sys.executable).parent)) is None, reason="there is no pip")
def test_an_installed_task_is_found_everywhere_by_its_entry_point(tmp_path: Path) -> None:
    """Into an environment of its own, that sees this one's packages; with no network and no isolated build."""
    pytest.importorskip("hatchling")
    vulcan(tmp_path, "task", "new", "shiny", "--directory", "mine")
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    python = environment / "bin" / "python"
    scheme = sysconfig.get_path("purelib", vars={"base": str(environment), "platbase": str(environment)})
    here = [path for path in sys.path if "site-packages" in path or path in site.getsitepackages()]
    lines = "".join(f"import site; site.addsitedir({path!r})\n" for path in here)
    (Path(scheme) / "of_the_tests.pth").write_text(lines, encoding="utf-8")
    install = [
        sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps",
        "--no-build-isolation", "--disable-pip-version-check", "-e", str(tmp_path / "mine"),
    ]  # fmt: skip
    ended = subprocess.run(install, text=True, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    code = "import sys; sys.argv[0] = 'vulcan'; from vulcan.cli.main import run; run()"
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def there(*arguments: str) -> str:
        run = [str(python), "-c", code, *arguments]
        done = subprocess.run(run, cwd=elsewhere, env=clean, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    tasks = {task["name"]: task["path"] for task in json.loads(there("tasks", "--json"))["tasks"]}
    assert tasks["shiny"] == "vulcan.tasks"
    assert there("search", "--task", "shiny", "--dry-run") != ""  # which loads its evaluator


@pytest.mark.parametrize("name", ["", "Shiny", "9lives", "a-b", "a b", "../up", "class", "x" * 51, "é", "shiny\n"])
def test_a_bad_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be a task's name"):
        write_task(name, "rank", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    line = vulcan(tmp_path, "task", "new", "cache_eviction", code=2).stderr
    assert "a task is called 'cache_eviction' already" in line
    vulcan(tmp_path, "task", "new", "shiny")
    assert "already" in vulcan(tmp_path, "task", "new", "shiny", code=2).stderr


def test_a_directory_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept").write_text("kept", encoding="utf-8")
    with pytest.raises(UserError, match="already exists; choose another --directory"):
        write_task("shiny", "rank", tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["kept"]


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    line = vulcan(tmp_path, "task", "new", "shiny", "--directory", "file/below", code=2).stderr
    assert len(line.splitlines()) == 1
    assert "file/below" in line


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    line = vulcan(tmp_path, "task", "new", "shiny", "--kind", "rnak", code=2).stderr
    assert "did you mean 'rank'" in line or "one of: rank, value" in line
    assert not (tmp_path / "tasks").exists()

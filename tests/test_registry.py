"""Tasks are found by path, among the built-in ones, and by entry point."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vulcan.errors import UserError
from vulcan.registry import find_task, known_tasks

DECLARATION = """
from pathlib import Path
from vulcan.task import Feature, Objective, Scalar, Task, Value

TASK = Task(
    name="{name}",
    summary="{summary}",
    signature=Value("value", (Scalar(Feature("x", "float", "m", 0.0, 1.0, "a length")),), "y"),
    evaluator="somewhere:Evaluator",
    objectives=(Objective("o", "m", "the m", lambda metrics, references: metrics["m"]),),
    directory=Path(__file__).parent,
)
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


def write_pack(directory: Path, name: str, summary: str = "from a file") -> Path:
    directory.mkdir(parents=True)
    (directory / "task.py").write_text(DECLARATION.format(name=name, summary=summary))
    return directory


@pytest.mark.parametrize("spelled", ["./packs/mine", "packs/mine/", "packs/mine/task.py"])
def test_a_task_is_found_by_its_path(here, spelled):
    write_pack(here / "packs" / "mine", "mine")
    assert find_task(spelled).name == "mine"


def test_a_pack_of_the_working_directory_is_named_by_its_path_alone(here):
    write_pack(here / "tasks" / "mine", "mine")
    write_pack(here / "tasks" / "cache_eviction", "cache_eviction", summary="a stranger's")
    assert find_task("./tasks/mine").summary == "from a file"
    assert find_task("cache_eviction").summary != "a stranger's"
    assert "mine" not in known_tasks()
    with pytest.raises(UserError, match=r"named \./tasks/mine"):
        find_task("mine")


def install(place: Path, name: str, target: str) -> None:
    """What pip leaves behind of a distribution with one task in the entry-point group."""
    information = place / "distribution_of_tasks-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: distribution-of-tasks\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[vulcan.tasks]\n{name} = {target}\n")
    sys.path.insert(0, str(place))


def test_an_installed_task_is_found_by_its_entry_point(here):
    (here / "installed_task_module.py").write_text(DECLARATION.format(name="installed", summary="by entry point"))
    install(here, "installed", "installed_task_module:TASK")
    assert known_tasks()["installed"] == "vulcan.tasks"
    assert find_task("installed").summary == "by entry point"


def test_an_entry_point_that_does_not_load_is_one_line(here):
    install(here, "broken", "no_such_module_at_all:TASK")
    with pytest.raises(UserError, match=r"task 'broken': its entry point .* does not load"):
        find_task("broken")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cache_evicton", "did you mean 'cache_eviction'"),
        ("./nowhere", "no task at nowhere"),
        ("./without", "no task at without"),
        ("./wrong", "defines no TASK"),
        ("./faulty", "does not load: SyntaxError"),
        ("./unread", "does not load: FileNotFoundError"),
    ],
)
def test_what_is_no_task_is_said_in_one_line(here, name, said):
    (here / "without").mkdir()
    for pack, text in (("wrong", "TASK = 3"), ("faulty", "def (:"), ("unread", "open('/nowhere')")):
        (here / pack).mkdir()
        (here / pack / "task.py").write_text(text)
    with pytest.raises(UserError, match=said) as caught:
        find_task(name)
    assert "\n" not in str(caught.value)

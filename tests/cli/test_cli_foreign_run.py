"""A run that somebody sent executes nothing, and what the user named once is executed without a question."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from console import MOOD_TASK, Console, one_line
from edited_log import configured, rewrite_log
from locations import TASKS

from vulcan.errors import UserError
from vulcan.mcp.server import Tools
from vulcan.registry import TaskNotTrusted, find_task, recorded_task
from vulcan.store.events import Entry, HeldOutMeasured

SEARCH = ("--budget-candidates", "6", "--executor", "local", "--workers", "1", "--tune", "0", "--simplify", "0")
SEARCH += ("--seed", "1")


def booby_trap(pack: Path, mark: Path) -> None:
    pack.mkdir(parents=True)
    (pack / "task.py").write_text(f"open({str(mark)!r}, 'a').write('ran')\nTASK = None\n")


@pytest.fixture(scope="module")
def own_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("own")
    return place / Console(place).document("search", "--task", MOOD_TASK, *SEARCH)["run"]


@pytest.fixture
def foreign(own_run: Path, tmp_path: Path) -> Path:
    """A run that names a pack in its own directory, which leaves a mark beside the run if it is executed."""
    run = tmp_path / "runs" / "foreign"
    shutil.copytree(own_run, run)
    booby_trap(run / "pack", tmp_path / "ran")
    configured(run / "run.db", task=str(run / "pack"))
    return run


@pytest.mark.parametrize(
    "command",
    [
        ("show", "{run}"),
        ("show", "{run}", "1"),
        ("report", "{run}", "-o", "page.html"),
        ("export", "{run}", "-o", "best.py"),
        ("export", "{run}", "--list"),
        ("search", "--replay", "{run}", "--executor", "local"),
        ("search", "--task", MOOD_TASK, "--start-from", "{run}", *SEARCH),
        ("resume", "{run}"),
    ],
    ids=" ".join,
)
def test_no_command_executes_the_pack_of_a_foreign_run(
    vulcan: Console, foreign: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    result = vulcan(*(word.format(run=foreign) for word in command))
    assert result.returncode == 2
    assert "not executed" in result.stderr.splitlines()[-1]
    assert not (tmp_path / "ran").exists()


def test_no_tool_for_agents_executes_it(foreign: Path, tmp_path: Path) -> None:
    tools = Tools(foreign.parent)
    reads: list[Callable[[], object]] = [
        lambda: tools.inspect("foreign"),
        lambda: tools.describe_task(str(foreign / "pack")),
        lambda: tools.open_study(str(foreign / "pack")),
    ]
    for read in reads:
        with pytest.raises(UserError):
            read()
    assert not (tmp_path / "ran").exists()


def test_a_pack_is_trusted_by_its_resolved_path_and_no_other_in_it(tmp_path: Path) -> None:
    shutil.copytree(TASKS / "mood_task", tmp_path / "mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    booby_trap(tmp_path / "mine" / "inner", tmp_path / "ran")
    with pytest.raises(TaskNotTrusted):
        recorded_task(str(tmp_path / "mine"))
    find_task(str(tmp_path / "link"))
    assert recorded_task(str(tmp_path / "mine")).name == recorded_task(str(tmp_path / "link")).name
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(tmp_path / "mine" / "inner")
    with pytest.raises(TaskNotTrusted):
        recorded_task(str(tmp_path / "link"))
    assert not (tmp_path / "ran").exists()


def test_a_run_of_a_pack_named_once_is_read_without_a_question(own_run: Path, tmp_path: Path) -> None:
    assert Console(tmp_path)("show", str(own_run)).returncode == 0


def test_an_address_that_only_the_run_names_gets_no_key(vulcan: Console, own_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "sent"
    shutil.copytree(own_run, run)
    configured(run / "run.db", api_base="http://127.0.0.1:9/v1")
    assert "--api-base" in one_line(vulcan("resume", run))


def test_a_directory_of_nothing_but_damage_is_not_one_without_runs(vulcan: Console, foreign: Path) -> None:
    (foreign / "run.db").write_bytes(b"damage")
    (foreign / "run.db.replies.jsonl").unlink()
    result = vulcan("runs", "--runs-dir", foreign.parent)
    assert result.returncode == 2
    assert "can be read" in result.stdout
    assert "no runs" not in result.stdout


def test_measurements_of_other_instances_are_damage(own_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "sent"
    shutil.copytree(own_run, run)

    def renamed(entry: Entry) -> Entry:
        if not isinstance(entry, HeldOutMeasured):
            return entry
        metrics = [
            (who, split, tuple((f"other {name}", of) for name, of in each)) for who, split, each in entry.metrics
        ]
        return replace(entry, metrics=tuple(metrics))

    rewrite_log(run / "run.db", renamed)
    assert "is damaged" in one_line(Console(tmp_path)("report", run, "-o", "page.html"))


@pytest.mark.parametrize("name", ["run.lock", "run.db.replies.jsonl"])
def test_a_link_in_a_run_is_not_written_through(vulcan: Console, own_run: Path, tmp_path: Path, name: str) -> None:
    run, victim = tmp_path / "sent", tmp_path / "victim"
    shutil.copytree(own_run, run)
    victim.write_text("precious")
    (run / name).unlink()
    (run / name).symlink_to(victim)
    vulcan("resume", run, "--budget-candidates", "8")
    assert victim.read_text() == "precious"


def test_a_pack_that_a_file_names_is_not_executed(vulcan: Console, tmp_path: Path) -> None:
    booby_trap(tmp_path / "pack", tmp_path / "ran")
    (tmp_path / "search.toml").write_text('task = "./pack"\n')
    assert "not executed" in one_line(vulcan("search", "--config", "search.toml"))
    library = json.loads((TASKS.parents[2] / "tasks/cache_eviction/library/library.json").read_text("utf-8"))
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "library.json").write_text(json.dumps(library | {"task": str(tmp_path / "pack")}), "utf-8")
    vulcan("library", "show", "library")
    vulcan("library", "export", "library", "-o", "out.py")
    assert not (tmp_path / "ran").exists()


def test_every_row_of_what_is_trusted_names_a_test_that_holds_it() -> None:
    root = Path(__file__).parents[2]
    rows = re.findall(r"^\|.*\| `(tests/[^`]+)::(\w+)` \|$", (root / "SECURITY.md").read_text("utf-8"), re.M)
    assert len(rows) > 5
    for file, name in rows:
        assert f"def {name}(" in (root / file).read_text("utf-8"), name

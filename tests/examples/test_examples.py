"""The examples run from an empty directory, the notebook in a kernel of its own, with less to search at each commit."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import pytest
from effort import ALL
from locations import ROOT, few_starts
from nbclient import NotebookClient

import vulcan
from vulcan.anvil import check
from vulcan.export.formats import export_policy
from vulcan.export.provenance import Provenance
from vulcan.registry import find_task

EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
AT_COMMIT = {
    "budget_candidates=60": "budget_candidates=12", "tune=16": "tune=8", "simplify=16": "simplify=8",
    '\\"cache_eviction\\",': f'\\"{few_starts()}\\",',
}  # fmt: skip


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The directory that the notebook was executed in, and what it came to."""
    place = tmp_path_factory.mktemp("notebook")
    text = (EXAMPLES / "first_search.ipynb").read_text(encoding="utf-8")
    for whole, less in AT_COMMIT.items():
        assert whole in text
        text = text if ALL else text.replace(whole, less)
    notebook = nbformat.reads(text, as_version=4)
    kernel = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(place)}})
    kernel.execute()  # raises where a cell does
    return place, notebook


@pytest.mark.slow
def test_the_notebook_searches_and_leaves_what_it_says(executed: tuple[Path, Any]) -> None:
    place, _ = executed
    (run,) = (place / "runs").iterdir()
    assert (run / "run.db").is_file()
    assert "<html" in (place / "report.html").read_text(encoding="utf-8")[:2000]
    read = "import runpy, sys; runpy.run_path('best.py'); print([name for name in sys.modules if 'vulcan' in name])"
    alone = subprocess.run([sys.executable, "-S", "-c", read], cwd=place, check=True, capture_output=True, text=True)
    assert alone.stdout == "[]\n"


def test_the_notebook_shows_tables_a_program_and_a_plot(executed: tuple[Path, Any]) -> None:
    _, notebook = executed
    kinds = {kind for output in outputs(notebook) for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml"} <= kinds
    pages = "".join(output.get("data", {}).get("text/html", "") for output in outputs(notebook))
    assert "<caption>cache_eviction-" in pages
    assert "def priority" in pages
    assert "best_baseline_policy" in pages


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.name for path in NOTEBOOKS])
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    """So that no figure in them is out of date, and nothing of a machine's stands in them."""
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert outputs(notebook) == []
    assert {cell.execution_count for cell in notebook.cells if cell.cell_type == "code"} == {None}


@pytest.mark.slow
def test_seeds_are_compared(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "compare_seeds.py"), "2", "4"], cwd=tmp_path, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [row[0] for row in rows[2:4]] == ["1", "2"]
    assert done.stdout.splitlines()[-1].startswith("from seed to seed the test score differs by ")


def test_the_page_names_every_example() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    found = [path.name for path in EXAMPLES.iterdir() if path.suffix in (".py", ".ipynb")]
    assert found
    assert all(f"`{name}`" in page for name in found)


def test_figures_become_a_table(tmp_path: Path) -> None:
    judged = {"kind": "CandidateJudged", "seconds": 1.5, "data": {"candidate": 7, "score": None}}
    now = {"best": {"candidate": 3, "score": 0.25}, "gap": -0.5, "completed": 8, "dollars": 0.1, "tokens": 90}
    lines = [{"kind": "Begun", "progress": None}, {**judged, "progress": now}]
    table = tmp_path / "figures.csv"
    command = [sys.executable, EXAMPLES / "csv_figures.py", table]
    subprocess.run(command, input="".join(json.dumps(line) + "\n" for line in lines), text=True, check=True)
    assert table.read_text().splitlines()[1:] == ["7,,0.25,-0.5,8,0.1,90,1.5"]


def printed(example: str, task: str, name: str, *options: str, place: Path, given: str = "") -> list[float]:
    """The numbers that an example prints with a policy of the task's pack, exported."""
    policy, origin = check(find_task(task).seed_policies()[name], find_task(task)), Provenance(task, name, "", "", "")
    (text,) = export_policy(policy, "python", origin).values()
    (place / "policy.py").write_text(text)
    command = [sys.executable, str(EXAMPLES / example), str(place / "policy.py"), *options]
    told = subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", told)]


@pytest.mark.parametrize("name", ["copa", "vegas_like"])
def test_the_sender_uses_its_link_as_the_simulator_does(name: str, tmp_path: Path) -> None:
    used, queued = printed("sender.py", "congestion_control", name, place=tmp_path)
    file = ROOT / "tasks" / "congestion_control" / "policies" / f"{name}.py"
    link = {"link": ["constant:rate=12"], "delay_ms": [20.0], "buffer": ["150"], "jitter_ms": [0.0]}
    measured = vulcan.evaluate(file, "congestion_control", **link).iloc[0]
    assert used == pytest.approx(measured["utilisation"], abs=0.02)
    assert queued == pytest.approx(measured["queueing_delay_avg_ms"], abs=1.5)


@pytest.mark.parametrize("name", ["lru", "usual_gap"])
def test_the_tree_of_prefixes_finds_all_that_it_has_room_for(name: str, tmp_path: Path) -> None:
    numbers, lines, known, there = random.Random(1), [], set[tuple[int, ...]](), 0
    talks = [[n % 3] * 64 for n in range(6)]
    for now in range(60):
        talk = talks[numbers.randrange(6)]
        talk += [numbers.randrange(9_999) for _ in range(32)]
        lines.append(json.dumps({"timestamp": now, "prompt": talk}) + "\n")
        prefixes = {tuple(talk[:end]) for end in range(16, len(talk) + 1, 16)}
        there += 16 * len(prefixes & known)
        known |= prefixes
    run = partial(printed, "prefix_tree.py", "prefix_cache", name, place=tmp_path, given="".join(lines))
    asked = sum(len(json.loads(line)["prompt"]) for line in lines)
    assert run("--capacity", str(16 * len(known))) == [there, asked]
    few = run("--capacity", str(8 * len(known)))
    assert 0 < few[0] < there and few[1] == asked

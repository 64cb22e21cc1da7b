"""Where runs lie, and how they are found by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from vulcan.errors import UserError
from vulcan.store.runs import create_store, find_run, new_run, run_directories


def made(runs: Path, task: str) -> Path:
    place = new_run(runs, task)
    create_store(place).close()
    return place


def test_a_run_is_found_by_its_name_and_by_its_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = made(tmp_path / "deep" / "runs", "a_task")
    assert place.name.startswith("a_task-")
    assert find_run(place.name, place.parent) == place
    assert find_run(str(place), tmp_path) == place
    assert find_run(f"{place}/", tmp_path) == place
    monkeypatch.chdir(place.parent)
    assert find_run(place.name, Path("elsewhere")) == Path(place.name)


def test_two_runs_of_one_second_have_places_of_their_own(tmp_path: Path) -> None:
    made_runs = {made(tmp_path, "a_task") for _ in range(8)}
    assert len(made_runs) == 8
    assert set(run_directories(tmp_path)) == made_runs


def test_a_name_that_is_not_known_finds_the_nearest(tmp_path: Path) -> None:
    place = made(tmp_path, "a_task")
    with pytest.raises(UserError, match=f"did you mean '{place.name}'"):
        find_run(place.name[:-1] + "_", tmp_path)
    with pytest.raises(UserError, match=r"no run 'x' in .*nowhere"):
        find_run("x", tmp_path / "nowhere")


def test_a_run_is_found_by_a_part_of_its_name_or_as_the_latest(tmp_path: Path) -> None:
    names = ["a-20260101-120000-ab12", "b-20260101-110000-cd34", "a-20251231-120000-ab99"]
    for name in names:
        (tmp_path / name).mkdir()
        create_store(tmp_path / name).close()
    assert find_run("cd3", tmp_path).name == names[1]
    assert find_run("latest", tmp_path).name == names[0]
    with pytest.raises(UserError, match=r"'ab' is part of 2 runs .*a-20251231-120000-ab99, a-2026.* or 'latest'"):
        find_run("ab", tmp_path)
    with pytest.raises(UserError, match="no run ''"):
        find_run("", tmp_path / "nowhere")

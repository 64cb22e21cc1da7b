"""Policies on the public leaderboards of spot VMs score what docs/results/spot.md says, and are never late."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from locations import ROOT

from benchmarks import spot, spot_leaderboard, spot_public, spot_windows
from benchmarks.spot_leaderboard import POLICIES, bills, measure
from vulcan.anvil import Policy, check
from vulcan.registry import find_task
from vulcan_spot.job import Prices

PAGE = (ROOT / "docs" / "results" / "spot.md").read_text(encoding="utf-8")


def policy(name: str, task: str) -> Policy:
    return check((POLICIES / f"{name}.py").read_text(encoding="utf-8"), find_task(task))


@pytest.mark.parametrize("task", ["spot_single", "spot_multi"])
def test_the_strategy_for_the_public_evaluator_is_a_program(task: str) -> None:
    source = next(iter(find_task(task).seed_policies().values()))
    program = spot_public.strategy_of(source, task)
    compile(program, "strategy.py", "exec")
    assert repr(source) in program


@pytest.mark.skipif(not spot_windows.TRACES.is_dir(), reason="SkyPilot's traces are not here")
def test_scores_of_several_regions_are_those_of_the_page() -> None:
    marked = {"spot_prices": "| **{:.2f}** | **", "spot_looks": " | {:.2f} | "}
    for name, cell in marked.items():
        who = policy(name, "spot_multi")
        score, missed = measure(who, spot_leaderboard.several_regions())
        assert missed == 0
        assert cell.format(score) in PAGE
        earlier, late = measure(who, spot_leaderboard.earlier_regions())
        assert late == 0
        assert f"`{name}` has {earlier:.2f}" in PAGE or f"`{name}` {earlier:.2f}" in PAGE


@pytest.mark.skipif(not spot_windows.TRACES.is_dir(), reason="SkyPilot's traces are not here")
def test_bills_are_the_score_where_every_region_has_the_one_price(tmp_path: Path) -> None:
    """A checkout made of the traces, as the leaderboard's own prices are in its files alone."""
    for zone in {zone for _, zones in spot_windows.SCENARIOS.values() for zone in zones}:
        folder = tmp_path / spot_windows.PRICED / f"{zone}_v100_1"
        folder.mkdir(parents=True)
        for window in range(len(spot_windows.BEGINS)):
            made = json.dumps({"prices": [Prices().spot] * spot_windows.TICKS})
            (folder / f"{window}.json").write_text(made, encoding="utf-8")
    who = policy("spot_looks", "spot_multi")  # which reads no price
    score, missed = measure(who, spot_leaderboard.several_regions())
    own, public, late = bills(who, spot_leaderboard.several_regions(tmp_path))
    assert (own, public) == pytest.approx((score, score), abs=1e-9)
    assert missed == late == 0


@pytest.mark.skipif(not spot.ARCHIVE.is_file(), reason="the leaderboard's windows are not here")
def test_scores_of_one_region_are_those_of_the_page() -> None:
    cases = spot_leaderboard.one_region(30)
    for name, marks in (("spot_surplus", "**"), ("spot_reserve", ""), ("spot_levi", "")):
        score, missed = measure(policy(name, "spot_single"), cases)
        assert f"| {marks}{score:.2f}{marks} | {marks}{missed}{marks} |" in PAGE

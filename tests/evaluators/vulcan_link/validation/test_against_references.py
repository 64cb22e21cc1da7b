"""The comparison with real TCP, ns-3 and closed forms holds the bounds that it reached."""

from __future__ import annotations

import pytest

from benchmarks.link_cells import Cell, linux_cells, median, ns3_cells
from benchmarks.link_validation import RANGES, Range, closed_forms, shares
from vulcan_link.result import LinkResult
from vulcan_link.simulate import simulate

SEEDS = (1, 2, 3)
CELLS = {cell.name: cell for cell in linux_cells()}
CONSTANT = [cell for cell in CELLS.values() if cell.reference["trace"].startswith("const")]
CELLULAR = [cell for cell in CELLS.values() if not cell.reference["trace"].startswith("const")]


@pytest.fixture(scope="module")
def measured() -> dict[str, list[LinkResult]]:
    return {}


def results_of(cell: Cell, measured: dict[str, list[LinkResult]]) -> list[LinkResult]:
    if cell.name not in measured:
        measured[cell.name] = cell.run(SEEDS)
    return measured[cell.name]


def test_every_reference_run_has_its_cell() -> None:
    assert len(CONSTANT) == 16
    assert len(ns3_cells()) == 22
    assert {accepted.cell for accepted in RANGES} <= set(CELLS)


@pytest.mark.parametrize("accepted", RANGES, ids=lambda accepted: f"{accepted.cell}, {accepted.figure}")
def test_acceptance_ranges(accepted: Range, measured: dict[str, list[LinkResult]]) -> None:
    low, high = accepted.bound
    assert low - 1e-9 <= median(results_of(CELLS[accepted.cell], measured), accepted.figure) <= high + 1e-9


# the kernel throttled its run of the fixed window (docs/link-validation.md)
@pytest.mark.parametrize("cell", [c for c in CONSTANT if c.algorithm != "fixed"], ids=lambda cell: cell.name)
def test_constant_links_are_near_linux(cell: Cell, measured: dict[str, list[LinkResult]]) -> None:
    results, linux = results_of(cell, measured), cell.reference
    assert median(results, "utilisation") == pytest.approx(linux["util"], abs=0.02)
    assert median(results, "queueing_delay_avg_ms") == pytest.approx(linux["qd_avg"], rel=0.15)
    assert median(results, "queueing_delay_p95_ms") == pytest.approx(linux["qd_p95"], rel=0.12)
    assert median(results, "jain") == pytest.approx(linux["jain"], abs=0.06)


@pytest.mark.parametrize("cell", CELLULAR, ids=lambda cell: cell.name)
def test_cellular_links_are_near_linux(cell: Cell, measured: dict[str, list[LinkResult]]) -> None:
    results, linux = results_of(cell, measured), cell.reference
    assert median(results, "utilisation") == pytest.approx(linux["util"], abs=0.03)
    assert median(results, "queueing_delay_avg_ms") == pytest.approx(linux["qd_avg"], rel=0.2)
    assert median(results, "queueing_delay_p95_ms") == pytest.approx(
        linux["qd_p95"], rel=0.25 if "UMTS" not in cell.name else 0.6
    )
    assert median(results, "capacity_bps") / 1e6 == pytest.approx(linux["thr"] / linux["util"], rel=0.03)


def test_a_fixed_window_is_as_fast_as_its_round_trip() -> None:
    """40 packets in a round trip of 43 to 45 ms of the emulated path, slow start of the link's log aside."""
    result = simulate(CELLS["vfixed const12 q160"].scenario)
    assert result.utilisation == pytest.approx(0.88, abs=0.04)


@pytest.mark.parametrize("cell", ns3_cells(), ids=lambda cell: cell.name)
def test_ns3_is_near(cell: Cell) -> None:
    result = simulate(cell.scenario)
    assert result.utilisation == pytest.approx(cell.reference["sum_mbps"] / cell.rate_mbps, abs=0.09)
    assert result.jain == pytest.approx(cell.reference["jain"], abs=0.05)


def test_closed_forms() -> None:
    assert [goal.line() for goal in closed_forms()[1] if not goal.met] == []


def test_bbr_against_cubic_and_cubic_against_itself() -> None:
    assert [goal.line() for goal in shares()[1] if not goal.met] == []

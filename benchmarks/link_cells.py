"""The cells of the reference runs, as scenarios: what `link_validation` and its test compare."""

from __future__ import annotations

import json
import statistics
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import DATA
from vulcan_link.linux.figures import LATENESS_US
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import LinkTrace, load_link, make_link

REFERENCE = Path(__file__).resolve().parents[1] / "tests" / "data" / "link"

SEEDS = (1, 2, 3, 4, 5)
"""The emulator's lateness is random: figures are medians over these."""

RETURN_MS = 1.0
START_S, LINK_S = 0.1, 30.2
"""The emulator: what acknowledgements take longer than packets, up to how late it acts, when its flows start after
its link, and how long its log is for runs of 30 s. The first two are fitted: picked from a grid in view of the cells
with constant links, above all BBR's. The last two follow from the capacity that the reference runs report. All cells
share them; docs/link-validation.md says what the grid was and what depends on it."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A reference run and its scenario."""

    name: str
    reference: dict[str, Any]
    scenario: Scenario
    algorithm: str
    rate_mbps: float

    def run(self, seeds: tuple[int, ...] = SEEDS) -> list[LinkResult]:
        return [simulate(replace(self.scenario, seed=seed)) for seed in seeds]


def median(results: list[LinkResult], figure: str) -> float:
    return float(statistics.median(getattr(result, figure) for result in results))


def constant(per_millisecond: int) -> LinkTrace:
    """That many opportunities each millisecond."""
    return make_link(f"const{12 * per_millisecond}", "opportunities", np.full(per_millisecond, 10**6, np.int64), 10**6)


def wire(megabits: float) -> LinkTrace:
    """Return a constant rate."""
    return make_link(f"{megabits:g}Mbps", "rates", np.zeros(1, np.int64), 10**9, np.array([megabits * 1e6]))


def linux_link(name: str) -> LinkTrace | None:
    """None where the trace is not there."""
    if name.startswith("const"):
        return constant(int(name.removeprefix("const")) // 12)
    path = DATA / "cc" / ("nyc-cellular" if name.startswith("trace-") else "mahimahi") / name
    return load_link(path) if path.is_file() else None


def linux_cells() -> list[Cell]:
    """Linux over Mahimahi; without the cells whose traces are not there."""
    cells = []
    for row in _rows("linux_tcp.jsonl"):
        link = linux_link(row["trace"])
        if link is None:
            continue
        algorithm = "fixed" if row["cc"] == "vfixed" else row["cc"]
        count = len(row["flows"])
        flow = Flow(
            algorithm,
            delay_ms=row["owd"],
            return_delay_ms=row["owd"] + RETURN_MS,
            start_s=START_S,
            stop_s=float(row["dur"]),
            parameter=40.0,
        )
        scenario = Scenario(
            link,
            Queue(packets=row["queue"]),
            (flow,) * count,
            row["dur"] + LINK_S - 30.0,
            clock_ms=1.0,
            jitter_us=LATENESS_US,
            drain=not row["trace"].startswith("const"),
        )
        name = f"{row['cc']} {row['trace'].partition('.')[0]} q{row['queue']}" + (" x2" if count > 1 else "")
        cells.append(Cell(name, row, scenario, algorithm, row["thr"] / row["util"]))
    return cells


NS3 = {"TcpCubic": "cubic", "TcpLinuxReno": "reno", "TcpNewReno": "reno", "TcpBbr": "bbr"}


def ns3_cells() -> list[Cell]:
    """ns-3 over a constant rate, but for its Vegas: that leaves slow start too early by a fault of its own."""
    cells = []
    for row in _rows("ns3_matrix.jsonl"):
        if row["cc"] not in NS3:
            continue
        rate = float(row["rate"].removesuffix("Mbps"))
        flow = Flow(NS3[row["cc"]], delay_ms=row["owd"])
        scenario = Scenario(wire(rate), Queue(packets=row["queue"]), (flow,) * len(row["flows"]), row["dur"])
        name = f"{row['cc']} {row['rate']} q{row['queue']}" + (" x2" if len(row["flows"]) > 1 else "")
        cells.append(Cell(name, row, scenario, flow.algorithm, rate))
    return cells


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (REFERENCE / name).read_text(encoding="utf-8").splitlines()]

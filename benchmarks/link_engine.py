"""Speed of the link simulator: packets per second for one flow on one core, and against ns-3 on the same cells.

    python -m benchmarks.link_engine [--quick] [--check] [--json]

A packet is one transmission. ns-3's times are those of tests/data/link/ns3_matrix.jsonl, measured on another run of a
machine of 2 cores: the ratios are of that order, and the goal is far below them.
"""

from __future__ import annotations

import statistics
import time

from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, run_suite
from benchmarks.link_cells import ns3_cells, wire
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate

PACKETS_PER_SECOND = 3e6
TIMES_NS3 = 50.0


def seconds_of(scenario: Scenario, turns: int) -> tuple[float, int]:
    """Return the least CPU time of these turns, for others can only slow a run, and the packets sent."""
    took, sent = [], 0
    for _ in range(turns):
        began = time.process_time()
        sent = simulate(scenario).sent
        took.append(time.process_time() - began)
    return min(took), sent


def measure(quick: bool) -> BenchmarkResult:
    turns = 3 if quick else 7
    simulate(Scenario(wire(1), Queue(packets=10), (Flow("reno"),), 0.1))  # compiles, or loads what was
    rows, speeds = [], {}
    for algorithm in ("fixed", "reno", "cubic", "bbr"):
        flow = Flow(algorithm, delay_ms=20.0, parameter=400.0)
        scenario = Scenario(wire(96), Queue(packets=320), (flow,), 60.0 if quick else 120.0)
        took, sent = seconds_of(scenario, turns)
        speeds[algorithm] = sent / took
        rows.append((algorithm, str(sent), f"{took:.4f}", f"{sent / took / 1e6:.2f}"))
    cells, times = [], []
    for cell in ns3_cells():
        if quick and cell.rate_mbps > 48:
            continue
        took, _ = seconds_of(cell.scenario, turns)
        times.append(cell.reference["wall"] / took)
        cells.append((cell.name, f"{cell.reference['wall']:.2f}", f"{took:.4f}", f"{times[-1]:.0f}"))
    goals = (
        Goal("one flow of CUBIC, packets per second", speeds["cubic"], PACKETS_PER_SECOND, in_quick=False),
        Goal("one flow of Reno, packets per second", speeds["reno"], PACKETS_PER_SECOND, in_quick=False),
        Goal("times ns-3, the least of the cells", min(times), TIMES_NS3),
        Goal("times ns-3, the median of the cells", statistics.median(times), TIMES_NS3),
    )
    columns = ("one flow, 96 Mbit/s, buffer 1 BDP", "packets", "seconds", "million packets a second")
    tables = (
        BenchmarkTable("Packets per second", columns, tuple(rows)),
        BenchmarkTable("ns-3.44 on the same cells", ("cell", "ns-3, s", "ours, s", "times"), tuple(cells)),
    )
    return BenchmarkResult(tables, goals)


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
